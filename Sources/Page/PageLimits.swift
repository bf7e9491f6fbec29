import NIOCore

/// The limits on what clients of the page can cost the daemon.
struct PageLimits: Sendable {
    /// The largest number of connections, web sockets included. A page uses eight.
    var maxConnections = 64
    /// The longest life of a connection without a session, which also bounds the handshake.
    var unauthenticatedTimeout = TimeAmount.seconds(10)
    /// The time from the first byte of a request's head to the last.
    var headTimeout = TimeAmount.seconds(10)
    /// The time without a byte during a request's body, or between two requests.
    var idleTimeout = TimeAmount.seconds(60)
    /// The delay before a connection is closed after an error, so that a client which still sends can read the answer.
    var closeDelay = TimeAmount.seconds(1)
    /// The delay before a wrong proof of the secret is answered.
    var refusalDelay = TimeAmount.seconds(1)
    /// The interval between checks for a changed secret, while there are sessions.
    var secretInterval = TimeAmount.seconds(2)
    /// The largest head of a request, in bytes.
    var maxHeadBytes = 16 << 10
    /// The largest number of header fields of a request.
    var maxHeaderFields = 100
    /// The largest body other than a photo or picture, in bytes.
    var maxBodyBytes = 64 << 10
    /// The largest photo, in bytes.
    var maxPhotoBytes = 24 << 20
    /// The largest picture or clip to keep, in bytes: half a minute from most phones.
    var maxPictureBytes = 64 << 20
    /// The bytes that all photos and pictures take together while they arrive and are processed: three of the largest
    /// pictures, or eight photos.
    var maxUploadBytes = 192 << 20
    /// The number of bytes of an oversized photo or picture that are read and discarded, so that its sender receives
    /// the error.
    var maxDiscardedBytes = 256 << 20
    /// The number of bytes that are read from a connection at once.
    var readBytes = 16 << 10
    /// The size in bytes of the kernel's send buffer for a connection; the kernel doubles it.
    var sendBufferBytes = 128 << 10
}
