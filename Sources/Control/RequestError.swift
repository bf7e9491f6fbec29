import Frames
import JSON

/// Why a request was not done, for programs (`code`) and for people (`message`, which says what would have been right).
public struct RequestError: Error, Equatable, Sendable {
    /// The codes are part of the protocol: they are added to, never changed.
    public enum Code: String, Sendable, CaseIterable {
        /// The line is no JSON object, or is longer than `ControlLimits.longestLine`.
        case badLine = "bad-line"
        case unknownRequest = "unknown-request"
        /// A key is missing, unknown, or has a value that it cannot have.
        case badValue = "bad-value"
        case unknownMask = "unknown-mask"
        case unknownDevice = "unknown-device"
        /// It cannot be done now: what is asked for is so already, or needs what is not there.
        case notNow = "not-now"
        /// It was tried, and the system refused.
        case failed
        case tooManyClients = "too-many-clients"
        /// The client did not read what was sent to it.
        case tooSlow = "too-slow"
    }

    /// For programs.
    public let code: Code
    /// For people.
    public let message: String

    /// In words.
    public init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    /// Any error, in the protocol's terms.
    public init(_ error: any Error) {
        switch error {
        case let requestError as RequestError: self = requestError
        case let problem as Problem: self.init(.failed, problem.description)
        default: self.init(.failed, "\(error)")
        }
    }

    var json: JSON { JSON(["code": JSON(code.rawValue), "message": JSON(message)]) }
}

extension RequestError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}
