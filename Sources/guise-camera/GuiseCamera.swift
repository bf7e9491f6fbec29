import CCamera
import CLinux
import Glibc
import SystemKit

/// `guise-camera`: the system service that presents the camera. Started as root; it keeps root's privileges until
/// the camera is plugged in.
@main
struct GuiseCamera {
    static func main() {
        do throws(Problem) {
            try run(Options(CommandLine.arguments))
        } catch {
            report("\(error)", .error)
            exit(1)
        }
    }

    private static func run(_ options: Options) throws(Problem) {
        guard !options.waitsUntilUnplugged else {
            guard Port.waitUntilUnplugged() else { throw Problem(.busy, "the camera is still plugged in") }
            return
        }
        let signals = ccamera_signals()
        guard signals >= 0 else { throw Problem(.system, "signalfd failed: \(errorMessage(of: -signals))") }
        var (user, ownGroup, group) = (uid_t(), gid_t(), gid_t())
        guard unsafe ccamera_find_user(options.user, &user, &ownGroup) == 0 else {
            throw Problem(.missing, "there is no user \(options.user)", fix: "run `systemd-sysusers`")
        }
        guard unsafe ccamera_find_group(options.group, &group) == 0 else {
            throw Problem(.missing, "there is no group \(options.group)", fix: "choose another with --group")
        }
        let listener = try Listener(options.socket, group: group)
        let handover = Handover()
        let inherited = handover.restore()
        let port = if let inherited { Port(descriptor: inherited.port, number: inherited.number) } else { try Port() }
        let dropped = ccamera_drop_privileges(user, ownGroup, Ring.fileSize)
        guard dropped == 0 else {
            throw Problem(.system, "could not drop root's privileges: \(errorMessage(of: -dropped))")
        }
        handover.notifyReady()
        let restricted = ccamera_restrict_calls()
        guard restricted == 0 else {
            throw Problem(.system, "could not restrict the system calls: \(errorMessage(of: -restricted))")
        }
        report("the camera is plugged in\(inherited == nil ? "" : ", as it was before")")
        var service = Service(port: port, camera: inherited?.camera, listener: listener, signals: signals)
        try service.run()
        service.end(handover)
    }
}
