import FoundationEssentials
import Glibc
import SystemKit

extension Device {
    /// The `Problem` for an `errno` on this device, with its fix.
    /// - Parameter what: what failed, such as "could not read from /dev/video0".
    public func problem(_ code: CInt, _ what: String) -> Problem { Self.problem(code, what, path: path) }

    /// The `Problem` for an `errno` on a node.
    /// - Parameter opening: whether the node was being opened: "no such device" then means that there never was one.
    static func problem(_ code: CInt, _ what: String, path: String, opening: Bool = false) -> Problem {
        switch code {
        case EBUSY:
            let holders = holders(of: path)
            let who = holders.isEmpty ? "another program" : holders.map(\.description).joined(separator: ", ")
            return Problem(.busy, "\(what): \(who) is using it", fix: "close that program, or choose another device")
        case EACCES, EPERM:
            return Problem(
                .forbidden, "\(what): permission denied",
                fix: "join the group video with `sudo usermod -aG video $USER`, then log out and in")
        case ENOENT, ENXIO, ENODEV:
            return opening
                ? Problem(
                    .missing, "\(what): there is no such device", fix: "`guise devices` lists the devices")
                : Problem(.gone, "\(what): it was unplugged or its driver removed", fix: "plug it in again")
        case EIO:
            return Problem(.gone, "\(what): it stopped responding", fix: "unplug it and plug it in again")
        default:
            return Problem(.system, "\(what): \(errorMessage(of: code))")
        }
    }

    /// The processes that have a node open, as far as this user may see.
    /// - Parameters:
    ///   - processes: the mount point of procfs.
    ///   - includesOwn: whether this process counts too.
    public static func holders(
        of path: String, processes: String = "/proc", includesOwn: Bool = false
    ) -> [RunningProcess] {
        let files = FileManager.default
        let node = node(of: path)
        var found: [RunningProcess] = []
        for process in (try? files.contentsOfDirectory(atPath: processes)) ?? [] {
            guard let id = CInt(process), includesOwn || id != getpid() else { continue }
            let folder = "\(processes)/\(process)/fd"
            let isHolder = ((try? files.contentsOfDirectory(atPath: folder)) ?? []).contains {
                (try? files.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == "/dev/\(node)"
            }
            if isHolder { found.append(RunningProcess(id, processes: processes)) }
        }
        return found
    }
}

extension Device {
    /// The kernel's name of a node, such as "video0".
    /// - Parameter path: the node, or a link that leads to it, such as those in /dev/v4l/by-id. Neither need exist.
    public static func node(of path: String) -> String {
        let target = (try? resolvedPath(of: path)) ?? path
        return target.split(separator: "/").last.map(String.init) ?? target
    }
}
