import JSON

/// Requests for cameras and other video devices.
public enum DeviceRequest: RequestGroup {
    /// List the video devices.
    case devices
    /// Switch to another camera: a device node, a name, `auto`, `sample`, or the absolute path of a photo or clip.
    case use(String)
    /// List the controls of the camera in use.
    case camera
    /// Set a control of the camera in use, by its name: to a number, true, false, or the name of one of its values.
    case setControl(String, JSON)
    /// Set all controls to the camera's own defaults.
    case resetCamera

    /// The requests' names.
    public enum Name: String, CaseIterable, Sendable { case devices, use, camera }

    private enum CameraAction: String, CaseIterable { case list, set, reset }

    /// Reads the keys of the request with a name.
    public init(_ name: Name, _ fields: inout Fields) throws {
        switch name {
        case .devices: self = .devices
        case .use: self = .use(try fields.string("device"))
        case .camera:
            switch try fields.choice("action", default: CameraAction.list) {
            case .list: self = .camera
            case .set:
                let control = try fields.string("control")
                self = .setControl(control, try fields.value(of: control))
            case .reset: self = .resetCamera
            }
        }
    }

    /// The keys of the request with a name, and what it does.
    public static func help(_ name: Name) -> RequestHelp {
        switch name {
        case .devices: RequestHelp("cameras with their `modes`, and loopbacks")
        case .use:
            RequestHelp(
                keys: "`device`",
                """
                switches to another camera: its node, its name, `auto`, `sample`, or the absolute path of a photo or \
                clip
                """)
        case .camera:
            RequestHelp(
                keys: "`action`: `list` (default), `set`, `reset`; `control`, `value`",
                "lists the `controls` of the camera in use, sets one, or sets all to the camera's own defaults")
        }
    }

    /// The request's name and keys.
    public var parts: (name: Name, keys: KeyValuePairs<String, JSON?>) {
        switch self {
        case .devices: (.devices, [:])
        case .use(let device): (.use, ["device": JSON(device)])
        case .camera: (.camera, [:])
        case .setControl(let control, let value):
            (.camera, ["action": JSON(CameraAction.set.rawValue), "control": JSON(control), "value": value])
        case .resetCamera: (.camera, ["action": JSON(CameraAction.reset.rawValue)])
        }
    }
}
