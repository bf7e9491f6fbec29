/// Something that went wrong, in the words that a user reads: what was tried on what, why it failed, what to do next.
///
/// Thrown where it happens and shown once, at the edge. Code that must tell problems apart looks at `kind`.
public struct Problem: Error, Equatable, Sendable {
    /// What sort of thing went wrong, for code that goes on differently.
    public enum Kind: String, Sendable {
        /// A device, file, package or program is not there.
        case missing
        /// There is one already, and it was not to be replaced.
        case exists
        /// Somebody else holds it.
        case busy
        /// The user may not use it.
        case forbidden
        /// It is there and readable, and not what it should be.
        case unusable
        /// It was there and has gone: unplugged, closed, killed.
        case gone
        /// What the user wrote (config, option, mask) is wrong.
        case invalid
        /// The system refused for a reason of its own.
        case system
    }

    /// What sort of thing went wrong.
    public let kind: Kind
    /// One sentence without a full stop: what was tried on what, and why it failed.
    public let message: String
    /// What to do next, one sentence without a full stop; empty where there is nothing to do.
    public let fix: String

    /// A problem in words.
    public init(_ kind: Kind, _ message: String, fix: String = "") {
        (self.kind, self.message, self.fix) = (kind, message, fix)
    }
}

extension Problem: CustomStringConvertible {
    /// What went wrong; what to do.
    public var description: String { fix.isEmpty ? message : "\(message); \(fix)" }
}
