import NIOCore
import NIOWebSocket

/// The channel handler that checks each frame of a web socket, before fragments become messages. Once a frame is not
/// valid, it passes on the error, and no more frames.
final class FrameValidator: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    /// A frame that is not masked, as a client's must be (RFC 6455, 5.1), or that uses what is reserved (5.2).
    struct InvalidFrame: Error {}

    private var hasFailed = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasFailed else { return }
        if Self.isValid(unwrapInboundIn(data)) {
            context.fireChannelRead(data)
        } else {
            hasFailed = true
            context.fireErrorCaught(InvalidFrame())
        }
    }

    private static func isValid(_ frame: WebSocketFrame) -> Bool {
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return false }
        switch frame.opcode {
        case .continuation, .text, .binary, .connectionClose, .ping, .pong: return true
        default: return false
        }
    }
}
