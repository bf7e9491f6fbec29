import JSON

/// Requests for cameras and other video devices.
public enum DeviceRequest: RequestGroup {
    /// List the video devices.
    case devices
    /// Switch to another camera: a device node, a name, or `auto`.
    case use(String)

    /// The requests' names.
    public enum Name: String, CaseIterable, Sendable { case devices, use }

    /// Reads the keys of the request of a name.
    public init(_ name: Name, _ fields: inout Fields) throws {
        switch name {
        case .devices: self = .devices
        case .use: self = .use(try fields.string("device"))
        }
    }

    /// The request's name and keys.
    public var parts: (name: Name, keys: KeyValuePairs<String, JSON?>) {
        switch self {
        case .devices: (.devices, [:])
        case .use(let device): (.use, ["device": JSON(device)])
        }
    }
}
