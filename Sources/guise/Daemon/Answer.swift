/// A reply of the control protocol, before it is encoded.
typealias AnyReply = any Encodable & Sendable

/// A function that gets the reply to a request, once.
typealias ReplyHandler = @Sendable (Result<AnyReply, any Error>) -> Void

/// The way in which a request is answered. The handlers run on the control thread, so they must not block.
enum Answer {
    /// At once.
    case immediate(AnyReply)
    /// On a separate thread, for work that waits for devices, other programs or files.
    case background(@Sendable () throws -> AnyReply)
    /// When the function that gets the handler calls it.
    case deferred(@Sendable (@escaping ReplyHandler) -> Void)
}
