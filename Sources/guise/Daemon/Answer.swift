/// A reply of the control protocol, before it is encoded.
typealias AnyReply = any Encodable & Sendable

/// A function that gets the reply to a request, once.
typealias ReplyHandler = @Sendable (Result<AnyReply, any Error>) -> Void

/// The way in which a request is answered. The handlers run on the control thread, so they must not block.
enum Handling {
    /// At once.
    case now(AnyReply)
    /// By a thread of its own, for work that waits for devices or other programs.
    case background(@Sendable () throws -> AnyReply)
    /// Whenever the function that gets the handler calls it.
    case later(@Sendable (@escaping ReplyHandler) -> Void)
}
