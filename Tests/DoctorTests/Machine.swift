import Foundation
import Frames
import TestSupport
import Testing
import V4L2

@testable import Doctor
@testable import SystemKit

/// A fake machine in a temporary folder: the contents of /sys, /proc, /etc and the user's home, and the output of
/// programs.
final class Machine {
    /// The source folder, which has `systemd` and `Cascades`.
    static let package = Fixtures.package
    static let kernel = "6.1.0-31-amd64"

    private let scratch: ScratchFolder
    let root: String
    var system: System
    /// Programs' outputs by their command lines; other programs are not installed.
    var programs: [String: System.Output] = [:] {
        didSet { system.run = { [programs] in programs[$0.joined(separator: " ")] ?? .absent } }
    }

    init() throws {
        scratch = try ScratchFolder()
        root = scratch.url.path
        system = System(
            root: root,
            environment: ["HOME": "/home/ann", "USER": "ann", "PATH": "/bin", "XDG_RUNTIME_DIR": "/run/user/1000"],
            user: 1000, shared: Self.package)
        try put("/proc/sys/kernel/osrelease", "\(Self.kernel)\n")
    }

    func put(_ path: String, _ text: String = "") throws { try put(path, Data(text.utf8)) }

    func put(_ path: String, _ bytes: Data) throws {
        let file = URL(fileURLWithPath: root + path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try bytes.write(to: file)
    }

    func text(_ path: String) -> String? { try? String(contentsOfFile: root + path, encoding: .utf8) }

    /// All files and folders, relative to the root.
    var paths: Set<String> { Set(FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []) }

    /// Sets the loaded module's version and options. Before 0.13 it has no file for the version.
    func load(_ version: String = "0.12.7", exclusive: String = "Y,N", numbers: String = "10,-1") throws {
        for file in ["/sys/module/v4l2loopback/version", "/usr/src"] {
            try? FileManager.default.removeItem(atPath: root + file)
        }
        try put("/usr/src/v4l2loopback-\(version)/Makefile")
        if !version.hasPrefix("0.12") { try put("/sys/module/v4l2loopback/version", "\(version)\n") }
        try put("/sys/module/v4l2loopback/parameters/exclusive_caps", "\(exclusive)\n")
        try put("/sys/module/v4l2loopback/parameters/video_nr", "\(numbers)\n")
    }

    /// Adds a loopback; `capture` and `output` are its capabilities.
    func addLoopback(_ path: String = "/dev/video10", card: String = "Guise Camera", capture: Bool, output: Bool) {
        let capabilities = Capabilities(
            driver: "v4l2 loopback", card: card, bus: "platform:v4l2loopback-000", isCapture: capture, isOutput: output)
        system.devices.append(DeviceListing(path: path, capabilities: capabilities, name: card, isLoopback: true))
    }

    func addCamera(_ path: String = "/dev/video0") {
        let capabilities = Capabilities(
            driver: "uvcvideo", card: "Webcam", bus: "usb-1", isCapture: true, isOutput: false)
        let offer = SupportedFormat(fourCC: "YUYV", width: .init(1280), height: .init(720), rates: .listed([30]))
        system.devices.append(
            DeviceListing(path: path, capabilities: capabilities, supportedFormats: [offer], name: "Webcam"))
    }

    /// Adds a node that this user has no permission to open.
    func addForbidden(_ path: String) {
        system.devices.append(DeviceListing(path: path, problem: Problem(.forbidden, "could not open \(path)")))
    }

    /// Adds a process that has a node open.
    func run(_ name: String, _ id: Int, on node: String) throws {
        try put("/proc/\(id)/comm", "\(name)\n")
        let folder = "\(root)/proc/\(id)/fd"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/3", withDestinationPath: node)
    }

    /// Sets the user manager's properties of a unit.
    func unit(_ name: String, _ properties: String...) {
        programs["systemctl --user show \(name)"] = .text(properties.joined(separator: "\n") + "\n")
    }

    /// The result of a check. Errors and warnings have a fix, and others have none.
    func look(_ check: Check, _ place: SourceLocation = #_sourceLocation) throws -> Finding {
        let finding = try #require(check.probe(system), "\(check.name) looks", sourceLocation: place)
        #expect((finding.state == .ok) == finding.fix.isEmpty, "\(finding)", sourceLocation: place)
        print("\(finding.state.rawValue)  \(check.name)  \(finding.message)  ->  \(finding.fix)")
        return finding
    }

    /// Compares the result of a check with the expected one.
    func expect(
        _ check: Check, _ state: Finding.State, _ message: String, fix: String = "",
        _ place: SourceLocation = #_sourceLocation
    ) throws {
        let finding = try look(check, place)
        #expect(finding.state == state, "\(finding)", sourceLocation: place)
        #expect(finding.message.contains(message), "\(finding)", sourceLocation: place)
        #expect(finding.fix == fix, "\(finding)", sourceLocation: place)
    }
}
