import JSON

/// Requests for the daemon as a whole.
public enum ServiceRequest: RequestGroup {
    /// Return the daemon's status.
    case status
    /// Run the doctor's checks.
    case doctor
    /// Return the page's address. Starts the page if it is not running.
    case page
    /// End the daemon.
    case stop

    /// The requests' names.
    public enum Name: String, CaseIterable, Sendable { case status, doctor, page, stop }

    /// Reads the keys of the request of a name.
    public init(_ name: Name, _ fields: inout Fields) throws {
        switch name {
        case .status: self = .status
        case .doctor: self = .doctor
        case .page: self = .page
        case .stop: self = .stop
        }
    }

    /// The request's name and keys.
    public var parts: (name: Name, keys: KeyValuePairs<String, JSON?>) {
        switch self {
        case .status: (.status, [:])
        case .doctor: (.doctor, [:])
        case .page: (.page, [:])
        case .stop: (.stop, [:])
        }
    }
}
