/// An error in the words that a user reads: what was tried on what, why it failed, and how to fix it.
///
/// Thrown where it happens and shown once, by the outermost caller. Code that must distinguish errors checks `kind`.
public struct Problem: Error, Equatable, Sendable {
    /// The category of an error, for code that handles some errors differently.
    public enum Kind: String, Sendable {
        /// A device, file, package or program is not there.
        case missing
        /// Something with that name exists already and was not to be replaced.
        case exists
        /// Another process is using it.
        case busy
        /// The user lacks the permission.
        case forbidden
        /// Something exists and is readable, but it is not usable for its purpose.
        case unusable
        /// Something disappeared while in use: unplugged, closed, killed.
        case gone
        /// The user's input (config, option, mask) is wrong.
        case invalid
        /// The system failed for another reason.
        case system
    }

    /// The category of the error.
    public let kind: Kind
    /// One sentence without a full stop: what was tried on what, and why it failed.
    public let message: String
    /// The fix, one sentence without a full stop; empty if there is nothing to do.
    public let fix: String

    /// An error with its message and fix.
    public init(_ kind: Kind, _ message: String, fix: String = "") {
        (self.kind, self.message, self.fix) = (kind, message, fix)
    }
}

extension Problem: CustomStringConvertible {
    /// The message and the fix in one line.
    public var description: String { fix.isEmpty ? message : "\(message); \(fix)" }
}
