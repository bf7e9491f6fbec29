import Glibc
import SystemKit

/// The command's options.
struct Options {
    var user = "guise-camera"
    var group = "video"
    var socket = "/run/guise-camera/socket"
    var waitsUntilUnplugged = false

    private static let usage = """
        usage: guise-camera [--user NAME] [--group NAME] [--socket PATH]
               guise-camera --wait-unplugged
        Presents the camera "Guise Camera", which guise feeds. Must be started as root.
          --user NAME     the user as whom it runs once the camera is plugged in (guise-camera)
          --group NAME    whose members may feed the camera, in addition to the user at the seat (video)
          --socket PATH   where it listens for guise (/run/guise-camera/socket)
          --wait-unplugged   waits until the camera is unplugged, at most three seconds, and does nothing else
        """

    /// - Parameter arguments: with the program's name.
    init(_ arguments: [String]) {
        var rest = arguments.dropFirst()
        while let option = rest.popFirst() {
            if option == "--wait-unplugged" {
                waitsUntilUnplugged = true
                continue
            }
            if option == "--help" {
                print(Self.usage)
                exit(0)
            }
            guard ["--user", "--group", "--socket"].contains(option), let value = rest.popFirst() else {
                report("unknown option, or one without a value: \(option); see guise-camera --help", .error)
                exit(EX_USAGE)
            }
            switch option {
            case "--user": user = value
            case "--group": group = value
            default: socket = value
            }
        }
    }
}
