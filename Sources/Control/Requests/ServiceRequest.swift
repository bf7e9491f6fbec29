import JSON

/// Requests for the daemon as a whole.
public enum ServiceRequest: RequestGroup {
    /// Return the daemon's status.
    case status
    /// Return where the faces are.
    case faces
    /// Run the doctor's checks.
    case doctor
    /// Return the page's address. Starts the page if it is not running.
    case page
    /// End the daemon.
    case stop

    /// The requests' names.
    public enum Name: String, CaseIterable, Sendable { case status, faces, doctor, page, stop }

    /// Reads the keys of the request with a name.
    public init(_ name: Name, _ fields: inout Fields) throws {
        switch name {
        case .status: self = .status
        case .faces: self = .faces
        case .doctor: self = .doctor
        case .page: self = .page
        case .stop: self = .stop
        }
    }

    /// The keys of the request with a name, and what it does.
    public static func help(_ name: Name) -> RequestHelp {
        switch name {
        case .status: RequestHelp("state, masks, camera, readers, faces, rates, delays, costs")
        case .faces:
            RequestHelp(
                """
                where the `faces` of the last frame are, at most eight: the midpoint of their `eyes`, as fractions of \
                the picture's width and height, their `eyeDistance` as a fraction of its height, and their `roll`, \
                clockwise in degrees
                """)
        case .doctor:
            RequestHelp(
                """
                the `checks` of `guise doctor`: `check`, `state` (`ok`, `warning`, `error`), `message`, `fix`; and \
                the numbers of `errors` and `warnings`
                """)
        case .page:
            RequestHelp(
                """
                the `address` of the page, with the secret that opens it; starts the page if it isn't \
                running
                """)
        case .stop: RequestHelp("ends Guise; a placeholder stays on the device")
        }
    }

    /// The request's name and keys.
    public var parts: (name: Name, keys: KeyValuePairs<String, JSON?>) {
        switch self {
        case .status: (.status, [:])
        case .faces: (.faces, [:])
        case .doctor: (.doctor, [:])
        case .page: (.page, [:])
        case .stop: (.stop, [:])
        }
    }
}
