import ArgumentParser
import Control
import JSON
import SystemKit
import V4L2

extension CameraReply: PrintableReply {
    var line: String? { nil }

    var lines: [String] {
        guard let camera, let path else { return ["no camera is in use; choose one with `guise use`"] }
        let title = "\(camera) (\(path))"
        return [controls.isEmpty ? "\(title) has no controls" : title] + controls.map(\.line)
    }
}

extension CameraReply.Control {
    private var menuItems: [CameraControl.MenuItem] {
        (items ?? []).map { CameraControl.MenuItem(value: Int32(clamping: $0.value), name: $0.name) }
    }

    /// The control as the command line shows it: "exposure: 157 (3 to 2047; default 250; automatic now)".
    var line: String {
        let (values, allowed): (CameraControl.Kind, String) =
            switch kind {
            case .integer: (.integer, "\(min) to \(max)")
            case .boolean: (.boolean, "on, off")
            case .menu: (.menu(menuItems), menuItems.map(\.name).joined(separator: ", "))
            }
        func text(_ value: Int) -> String { values.text(of: Int32(clamping: value)) }
        let state = automatic == true ? ["automatic now"] : inactive ? ["without effect now"] : []
        return
            "\(name): \(text(value)) (\(([allowed, "default \(text(defaultValue))"] + state).joined(separator: "; ")))"
    }
}

struct CameraCommand: ControlCommand {
    typealias Reply = CameraReply

    static let configuration = CommandConfiguration(
        commandName: "camera", abstract: "List or set the camera's controls, such as brightness and exposure.",
        discussion: """
            guise camera                  what can be set, the values and their ranges
            guise camera brightness 140
            guise camera exposure 200     by hand; auto: automatically again
            guise camera brightness default
            Guise remembers the values for each camera.
            """)
    @Argument(help: "The control.")
    var control: String?
    @Argument(help: "Its value: a number, on, off, an item's name, `auto` or `default`.")
    var value: String?
    @Flag(help: "Set all controls to the camera's own defaults, and forget what was set.")
    var reset = false
    @Flag(help: "Print one JSON object, the reply of the socket's request `camera`.")
    var json = false

    func validate() throws {
        guard !reset || control == nil else {
            throw ValidationError("--reset takes no control; for one: CONTROL default")
        }
    }

    var request: Command {
        switch (control, value) {
        case _ where reset: .device(.resetCamera)
        case (let control?, let value?): .device(.setControl(control, JSON(value)))
        default: .device(.camera)
        }
    }

    func run() throws {
        var client = try connectToDaemon()
        let reply = try client.perform(request, as: Reply.self)
        guard !json else { return print(JSON(encoding: reply).text) }
        guard let control, reply.camera != nil else {
            for line in reply.lines { print(terminalSafe(line)) }
            return
        }
        guard let found = reply.controls.first(where: { $0.name == control }) else {
            throw Problem(
                .missing, "the camera has no control '\(brief(control))'",
                fix: "list them with `guise camera`; for another camera: `guise use`")
        }
        print(terminalSafe(found.line))
    }
}
