/// A reply of the control protocol, before it is encoded.
typealias AnyReply = any Encodable & Sendable

/// A function that gets the reply to a request, once.
typealias ReplyHandler = @Sendable (Result<AnyReply, any Error>) -> Void

/// The way in which a request is answered. The handlers run on the control thread, so they must not block.
enum Answer {
    /// A reply that is there at once.
    case immediate(AnyReply)
    /// Work with the user's files, after that of earlier requests. Later requests of the same client wait for it.
    case stored(@Sendable () throws -> AnyReply)
    /// Work on a separate thread, which waits for devices, other programs or files.
    case background(@Sendable () throws -> AnyReply)
    /// A function that calls the handler when the reply is there.
    case deferred(@Sendable (@escaping ReplyHandler) -> Void)
}
