import Foundation
import SystemKit
import TestSupport
import Testing

@testable import V4L2

struct DeviceLinksTests {
    let scratch: ScratchFolder
    init() throws { scratch = try ScratchFolder() }

    /// A link as udev makes it, in `by-id` or `by-path`.
    private func link(_ name: String, to node: String) throws {
        let path = scratch.path("v4l/\(name)")
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "../../\(node)")
    }

    private func stable(_ node: String, hasTwin: Bool = false) throws -> String? {
        let real = try #require(realPath(of: scratch.path(node)))
        return stablePath(of: real, hasTwin: hasTwin, in: scratch.path("v4l"))
    }

    @Test func `a camera is kept by its name, and one of two alike by its port`() throws {
        for node in ["video0", "video2", "video4"] { try scratch.write("", node) }
        #expect(try stable("video0") == nil, "there is no udev")
        try link("by-path/pci-usb-0:1-video-index0", to: "video0")
        try link("by-path/pci-usb-0:2-video-index0", to: "video2")
        try link("by-id/usb-Webcam-video-index0", to: "video2")
        try link("by-id/usb-gone-video-index0", to: "video9")
        #expect(try stable("video2") == scratch.path("v4l/by-id/usb-Webcam-video-index0"))
        #expect(try stable("video2", hasTwin: true) == scratch.path("v4l/by-path/pci-usb-0:2-video-index0"))
        #expect(try stable("video0") == scratch.path("v4l/by-path/pci-usb-0:1-video-index0"))
        #expect(try stable("video4") == nil)
    }
}
