import JSON
import SystemKit

/// The reason that a request failed: a code for programs and a message for people.
public struct RequestError: Error, Equatable, Sendable {
    /// The error codes of the protocol. New codes may be added; existing ones never change.
    public enum Code: String, Sendable, CaseIterable {
        /// The line is not a JSON object, or is longer than `ControlLimits.longestLine`.
        case badLine = "bad-line"
        /// No request has this name.
        case unknownRequest = "unknown-request"
        /// A key is missing, is unknown, or has an invalid value.
        case badValue = "bad-value"
        /// No mask has this name.
        case unknownMask = "unknown-mask"
        /// No look has this name.
        case unknownLook = "unknown-look"
        /// No camera has this name or device node.
        case unknownDevice = "unknown-device"
        /// The request makes no sense in the current state: the state is already as requested, or something it needs is
        /// missing.
        case notNow = "not-now"
        /// The operation was tried and failed.
        case failed
        /// The limit of connections is reached.
        case tooManyClients = "too-many-clients"
        /// The client did not read the data sent to it.
        case tooSlow = "too-slow"
    }

    /// The code, for programs.
    public let code: Code
    /// The message, for people. It says what would have been valid.
    public let message: String

    /// Creates an error from its code and message.
    public init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    /// Converts any error to the protocol's form.
    public init(_ error: any Error) {
        switch error {
        case let requestError as RequestError: self = requestError
        case let problem as Problem: self.init(.failed, problem.description)
        default: self.init(.failed, "\(error)")
        }
    }

    /// Reads an error from a reply. A code of a later version counts as `failed`.
    init(_ json: JSON) {
        code = json["code"]?.string.flatMap(Code.init(rawValue:)) ?? .failed
        message = json["message"]?.string ?? "the request failed"
    }

    var json: JSON { JSON(["code": JSON(code.rawValue), "message": JSON(message)]) }
}

extension RequestError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}
