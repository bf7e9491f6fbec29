import ArgumentParser
import CLinux
import Control
import Foundation
import Frames
import JSON

/// `guise page`: the page of the daemon that runs, else of one that runs from now on.
struct PageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "page", abstract: "See yourself in the browser, and choose masks there.",
        discussion: "Prints the page's address, which lets in whoever has it. Where no guise runs, this one does.")

    @Flag(help: "Print the address alone.")
    var noOpen = false

    func run() throws {
        do {
            var client = try connect()
            let address = try client.ask(JSON(["request": "page"]))["address"]?.string ?? ""
            print(plain(address))
            if !noOpen { Browser.open(address) }
        } catch is NoDaemon {
            try RunCommand.serve(Session(), page: noOpen ? .printed : .shown)
        }
    }
}

/// The user's browser.
enum Browser {
    /// Shows an address there, if there is a screen and something that opens browsers.
    static func open(_ address: String) {
        let environment = ProcessInfo.processInfo.environment
        let hasScreen = ["WAYLAND_DISPLAY", "DISPLAY"].contains { environment[$0]?.isEmpty == false }
        let places = (environment["PATH"] ?? "").split(separator: ":")
        guard hasScreen, places.contains(where: { FileManager.default.isExecutableFile(atPath: "\($0)/xdg-open") })
        else { return }
        // It may become the browser itself, which lives longer than we do and says much: to nobody.
        let words = ["/bin/sh", "-c", "exec xdg-open \"$0\" >/dev/null 2>&1", address]
        let strings: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe strings.forEach { unsafe free($0) } }
        let pointers: [UnsafePointer<CChar>?] = unsafe strings.map { unsafe UnsafePointer($0) }
        var child = clinux_child()
        guard unsafe clinux_child_start(pointers, 0, -1, &child) == 0 else { return }
        close(child.pipe)
        close(child.errors)
        let process = child.pid
        Thread.detachNewThread { _ = clinux_child_wait(process) }
    }
}
