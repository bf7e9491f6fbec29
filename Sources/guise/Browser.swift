import Control
import FoundationEssentials
import SystemKit

/// The user's browser.
enum Browser {
    /// Opens a link in the browser, if there is a display and xdg-open.
    ///
    /// Every user of the computer can read the arguments of programs. Therefore xdg-open gets the name of a file that
    /// only this user can read and that redirects to the link. The file is removed after 10 seconds.
    static func open(_ link: String) {
        let environment = ProcessInfo.processInfo.environment
        let hasScreen = ["WAYLAND_DISPLAY", "DISPLAY"].contains { environment[$0]?.isEmpty == false }
        let folders = (environment["PATH"] ?? "").split(separator: ":")
        guard hasScreen, folders.contains(where: { FileManager.default.isExecutableFile(atPath: "\($0)/xdg-open") }),
            let file = redirection(to: link)
        else { return }
        // xdg-open may become the browser itself, which outlives Guise.
        let script = "exec >/dev/null 2>&1; (sleep 10; rm -f \"$0\") & exec xdg-open \"$0\""
        ChildProcess.startDetached(["/bin/sh", "-c", script, file])
    }

    /// Writes a page that redirects to a link.
    /// - Returns: the file's path; nil if there is no runtime folder, or the file cannot be written.
    private static func redirection(to link: String) -> String? {
        let page = """
            <!doctype html>
            <meta charset="utf-8">
            <meta name="referrer" content="no-referrer">
            <title>Guise</title>
            <script>location.replace("\(link)")</script>

            """
        guard let folder = try? ControlSocket.makeFolder() else { return nil }
        let file = "\(folder)/open-\(randomFileName()).html"
        return (try? writeOwnFile(Array(page.utf8), to: file)) == nil ? nil : file
    }
}
