import NIOCore

/// Stops accepting connections for a while when one can't be accepted, such as for lack of file descriptors.
///
/// NIO's own `AcceptBackoffHandler` only delays the next read that is asked for. If the first connection of a wake-up
/// fails, a read is still pending: none is asked for, and the event loop is woken again and again.
final class AcceptPauseHandler: ChannelInboundHandler {
    typealias InboundIn = Channel

    private let pause: TimeAmount

    /// - Parameter pause: the time without attempts after a failed one.
    init(pause: TimeAmount) { self.pause = pause }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is IOError {
            let channel = context.channel
            // Without automatic reads the channel is not woken, even while a read is pending.
            channel.setOption(.autoRead, value: false).assumeIsolated().whenSuccess {
                channel.eventLoop.assumeIsolated().scheduleTask(in: self.pause) {
                    _ = channel.setOption(.autoRead, value: true)
                }
            }
        }
        context.fireErrorCaught(error)
    }
}
