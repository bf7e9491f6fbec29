import Capture
import Control
import Engine
import JSON
import SystemKit
import V4L2

/// Answers requests for cameras. All of them look at devices, which may take a while.
struct DeviceHandler {
    let mailbox: Mailbox
    let configuration: ConfigurationStore
    let history: ChangeHistory
    let cameras: CameraSettingsStore
    /// Called after a change of a camera's controls, to store it.
    let onChange: @Sendable () -> Void

    func handle(_ request: DeviceRequest) -> Answer {
        switch request {
        case .devices: .background { DeviceListReply.here() }
        case .use(let name): .background { [self] in SourceReply(source: try switchSource(name)) }
        case .camera:
            .background { [self] in CameraReply(try cameras.controls(of: mailbox.settings.source)) }
        case .setControl(let control, let value):
            .background { [self] in try set(control, to: Self.text(value)) }
        case .resetCamera: .background { [self] in try set(nil, to: "default") }
        }
    }

    /// Sets a control of the camera in use; nil: all of them.
    private func set(_ control: String?, to text: String) throws -> CameraReply {
        do {
            guard let (camera, before) = try cameras.set(control, to: text, of: mailbox.settings.source) else {
                throw RequestError(
                    .notNow, "no camera is in use; choose one with `guise use`; `guise devices` lists them")
            }
            if let before { history.recordCamera("camera \(control ?? "reset")", before) }
            onChange()
            return CameraReply(camera)
        } catch let problem as Problem where [.invalid, .unusable].contains(problem.kind) {
            throw RequestError(problem.kind == .invalid ? .badValue : .notNow, problem.description)
        }
    }

    /// A control's value as on the command line.
    private static func text(_ value: JSON) -> String {
        if let flag = value.bool { return flag ? "on" : "off" }
        return value.string ?? value.text
    }

    /// Changes the source, in the configuration too.
    /// - Returns: how the configuration names it.
    private func switchSource(_ name: String) throws -> String {
        guard mailbox.settings.isSourceSwitchable else {
            throw RequestError(.notNow, "the source is a file, which can't be changed; restart with another --source")
        }
        let source = try source(named: name)
        try history.record("use \(name)") {
            mailbox.change { $0.source = source }
            try configuration.setSource(source)
        }
        return source.description
    }

    /// The source that a name means: `auto`, `sample`, a camera by its node or name, or a readable photo or clip by its
    /// path from the root.
    private func source(named name: String) throws -> SourceSpec {
        let spec = SourceSpec(name)
        if spec == .automatic || spec == .sample { return spec }
        let node = name.hasPrefix("/dev/") ? realPath(of: name) ?? name : name
        let cameras = listDevices().filter { $0.isCamera || $0.path == node }
        if let found = cameras.first(where: { $0.path == node || $0.capabilities?.card == name || $0.name == name }) {
            let isTwin = cameras.contains { $0.path != found.path && $0.label == found.label }
            // The node's number may be another camera's at the next start.
            return SourceSpec(stablePath(of: found.path, hasTwin: isTwin) ?? found.path)
        }
        guard name.hasPrefix("/"), isReadable(name) else {
            let names = cameras.map(\.title)
            throw RequestError(
                .unknownDevice,
                "no camera '\(brief(name))'; there \(names.isEmpty ? "is none" : "are: \(names.joined(separator: ", "))")"
            )
        }
        _ = try Clip(path: name)
        return spec
    }
}
