import CLinux
import FoundationEssentials
import Glibc
import SystemKit

/// A lock that keeps this user's other processes from writing to the same loopback: old drivers let two writers mix
/// their frames.
///
/// The kernel releases the lock when the process and its guard have ended, whatever ended them.
public struct DeviceLock: ~Copyable {
    private let lock: FileLock

    /// The lock file's descriptor, for the guard, which holds the lock a moment longer.
    public var descriptor: CInt { lock.descriptor }

    /// Milliseconds within which the guard of a crashed writer is done with the device.
    private static let timeout = 1500

    /// Locks a device.
    /// - Parameters:
    ///   - device: the path of the node; its last component names the lock.
    ///   - folder: the folder of the lock files, see `runtimeFolder`.
    /// - Throws: `Problem` of kind `busy` that names the holder, or `system`.
    public init(device: String, folder: String) throws(Problem) {
        let path = "\(folder)/\(Device.node(of: device)).lock"
        do throws(FileLock.Failure) {
            lock = try FileLock(path, timeout: Self.timeout)
        } catch {
            switch error {
            case .held(let holder):
                throw Problem(
                    .busy, "could not write to \(device): \(holder) already writes to it",
                    fix: "stop it, or choose another loopback with --sink")
            case .system(let code):
                throw Problem(
                    .system, "could not lock the file \(path): \(errorMessage(of: code))",
                    fix: "remove it, or set XDG_RUNTIME_DIR to a folder that you own")
            }
        }
    }

    /// The folder for locks and sockets, created if missing: `$XDG_RUNTIME_DIR/guise`, `/run/user/UID/guise` or
    /// `/tmp/guise-UID`.
    /// - Throws: `Problem` of kind `system` if there is no such folder of this user and none can be created.
    public static func runtimeFolder(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(Problem) -> String {
        let user = getuid()
        let parents = [UserFolder.runtime(in: environment), UserFolder.loginRuntime(of: user)].compactMap { $0 }
        let parent = parents.first { unsafe access($0, W_OK) == 0 }
        let folder = parent.map { "\($0)/guise" } ?? "/tmp/guise-\(user)"
        try makeOwnFolder(folder)
        return folder
    }
}
