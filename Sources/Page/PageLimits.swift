import NIOCore

/// What visitors may cost the daemon.
struct PageLimits: Sendable {
    /// Connections at once, those of web sockets among them. A page takes eight.
    var connections = 64
    /// A connection of no session lives no longer, which bounds the handshake too.
    var unauthenticated = TimeAmount.seconds(10)
    /// From the first byte of a request's head to its last.
    var head = TimeAmount.seconds(10)
    /// Without a byte while a request's body, or the next request, is waited for.
    var idle = TimeAmount.seconds(60)
    /// For a client to read why its connection ends, if it has more to send.
    var farewell = TimeAmount.seconds(1)
    /// Before a wrong proof of the secret is answered.
    var refusalPause = TimeAmount.seconds(1)
    /// Between two looks whether the secret is still the same, while there are sessions.
    var secretInterval = TimeAmount.seconds(2)
    /// Bytes of a request's head.
    var headBytes = 16 << 10
    /// Header fields of a request.
    var headerFields = 100
    /// Bytes of a body other than a photo.
    var body = 64 << 10
    /// Bytes of a photo.
    var photo = 24 << 20
    /// Bytes of an oversized photo that are read and discarded, so that its sender receives the error.
    var dropped = 256 << 20
    /// Bytes that are read from a connection at once.
    var readSize = 16 << 10
    /// Bytes that the kernel keeps for a client that reads slowly; it doubles them.
    var sendBuffer = 128 << 10
}
