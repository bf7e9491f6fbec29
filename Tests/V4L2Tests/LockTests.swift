import Foundation
import Frames
import Testing

@testable import SystemKit
@testable import V4L2

struct LockTests {
    let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "guise-lock-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    @Test func `the second writer gets an error that names the first`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let first = try DeviceLock(device: "/dev/video10", folder: folder)
        let requestError = #expect(throws: Problem.self) { _ = try DeviceLock(device: "/dev/video10", folder: folder) }
        #expect(requestError?.kind == .busy)
        #expect(requestError?.message.contains("(\(getpid())) already writes to it") == true)
        _ = try DeviceLock(device: "/dev/video11", folder: folder)
        withExtendedLifetime(first) {}
    }

    @Test func `a writer that ended frees the device`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        do { _ = try DeviceLock(device: "/dev/video10", folder: folder) }
        _ = try DeviceLock(device: "/dev/video10", folder: folder)
    }

    @Test func `a link to a device is the same device`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let link = folder + "/by-id"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "../../video10")
        let first = try DeviceLock(device: "/dev/video10", folder: folder)
        #expect(throws: Problem.self) { _ = try DeviceLock(device: link, folder: folder) }
        // The user's own link to one of udev's.
        let own = folder + "/camera"
        try FileManager.default.createSymbolicLink(atPath: own, withDestinationPath: link)
        #expect(throws: Problem.self) { _ = try DeviceLock(device: own, folder: folder) }
        withExtendedLifetime(first) {}
    }

    @Test func `a lock file that is a link is not followed`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data("precious".utf8).write(to: URL(filePath: folder + "/precious"))
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/video10.lock", withDestinationPath: folder + "/precious")
        #expect(throws: Problem.self) { _ = try DeviceLock(device: "/dev/video10", folder: folder) }
        #expect(try String(contentsOfFile: folder + "/precious", encoding: .utf8) == "precious")
    }

    @Test func `the runtime folder is the user's own`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let made = try DeviceLock.runtimeFolder(environment: ["XDG_RUNTIME_DIR": folder])
        #expect(made == folder + "/guise")
        let attributes = try FileManager.default.attributesOfItem(atPath: made)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        #expect(try DeviceLock.runtimeFolder(environment: ["XDG_RUNTIME_DIR": folder]) == made)
        try FileManager.default.removeItem(atPath: made)
        try Data().write(to: URL(filePath: made))
        #expect(throws: Problem.self) { try DeviceLock.runtimeFolder(environment: ["XDG_RUNTIME_DIR": folder]) }
    }
}
