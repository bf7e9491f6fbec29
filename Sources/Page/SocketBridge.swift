import Control
import NIOCore
import NIOPosix
import NIOWebSocket

/// The web socket's side of a bridge to the control server, where each text message is one line. Only a few lines are
/// queued: neither side is read while the other is not writable, nor the browser while answers to its pings wait. The
/// control server limits what clients may do.
final class SocketBridge: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let limits: PageLimits
    private let connect: () throws -> CInt
    private var context: ChannelHandlerContext?
    private var control: ControlEnd?
    private var isReadHeld = false
    /// True if the close frame has been sent.
    private var isClosing = false

    /// Creates a bridge.
    /// - Parameters:
    ///   - limits: the limits of the page's server.
    ///   - connect: returns a connected descriptor of the control server, which the bridge then owns.
    init(_ limits: PageLimits, connect: @escaping () throws -> CInt) {
        (self.limits, self.connect) = (limits, connect)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        open(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        control?.close()
        control = nil
    }

    private func open(_ context: ChannelHandlerContext) {
        let end = NIOLoopBound(ControlEnd(self), eventLoop: context.eventLoop)
        do {
            let descriptor = try connect()
            ClientBootstrap(group: context.eventLoop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(end.value) }
                }
                .withConnectedSocket(descriptor)
                .assumeIsolated()
                .whenFailure { [self] _ in close(.unexpectedServerError, "Guise did not answer") }
            control = end.value
        } catch { close(.unexpectedServerError, "Guise did not answer") }
    }

    // MARK: - from the browser

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text: control?.send(line: frame.unmaskedData)
        case .ping: write(WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData))
        case .connectionClose: close(.normalClosure, "")
        case .pong: break
        default: close(.unacceptableData, "text messages only")
        }
    }

    /// Whether what the browser sends can be passed on or answered. While closing, it is discarded.
    private var canRead: Bool { isClosing || (isWritable && control?.isWritable == true) }

    /// Continues to read if both sides are writable.
    func read(context: ChannelHandlerContext) {
        if canRead { context.read() } else { isReadHeld = true }
    }

    fileprivate func resumeReading() {
        guard isReadHeld, canRead, let context else { return }
        isReadHeld = false
        context.read()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketError.invalidFrameLength,
            NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
            NIOWebSocketFrameAggregator.Error.tooManyFragments:
            close(.messageTooLarge, "the line is longer than \(ControlLimits.longestLine >> 10) KiB")
        case is FrameValidator.InvalidFrame, is NIOWebSocketError, is NIOWebSocketFrameAggregator.Error:
            close(.protocolError, "")
        default: context.close(promise: nil)
        }
    }

    // MARK: - to the browser

    fileprivate var isWritable: Bool { context?.channel.isWritable ?? false }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            control?.resumeReading()
            resumeReading()
        }
        context.fireChannelWritabilityChanged()
    }

    fileprivate func send(line: ByteBuffer) {
        if !isClosing { write(WebSocketFrame(fin: true, opcode: .text, data: line)) }
    }

    /// Sends a close frame with the reason, and then closes. The browser has a moment to read it; what it sends
    /// meanwhile is discarded.
    fileprivate func close(_ code: WebSocketErrorCode, _ reason: String) {
        guard !isClosing, let context else { return }
        isClosing = true
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        data.writeString(reason)
        write(WebSocketFrame(fin: true, opcode: .connectionClose, data: data))
        control?.close()
        control = nil
        resumeReading()
        let channel = context.channel
        let pause = code == .normalClosure ? TimeAmount.zero : limits.closeDelay
        channel.eventLoop.scheduleTask(in: pause) { channel.close(promise: nil) }
    }

    private func write(_ frame: WebSocketFrame) { context?.writeAndFlush(wrapOutboundOut(frame), promise: nil) }
}

/// The control server's side of the bridge.
private final class ControlEnd: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let newline = UInt8(ascii: "\n")
    private unowned let bridge: SocketBridge
    private var context: ChannelHandlerContext?
    /// The incomplete line received so far.
    private var received = ByteBuffer()
    private var isReadHeld = false
    private var isClosed = false

    init(_ bridge: SocketBridge) { self.bridge = bridge }

    func handlerAdded(context: ChannelHandlerContext) {
        if isClosed { context.close(promise: nil) } else { self.context = context }
    }

    func channelActive(context: ChannelHandlerContext) {
        bridge.resumeReading()
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.context = nil
        if !isClosed { bridge.close(.goingAway, "Guise has ended") }
    }

    func close() {
        isClosed = true
        context?.close(promise: nil)
        context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosed else { return }
        var bytes = unwrapInboundIn(data)
        received.writeBuffer(&bytes)
        while let end = received.readableBytesView.firstIndex(of: Self.newline) {
            guard let line = received.readSlice(length: end - received.readerIndex) else { break }
            received.moveReaderIndex(forwardBy: 1)
            bridge.send(line: line)
        }
        received.discardReadBytes()
    }

    /// Continues to read if the browser's side is writable.
    func read(context: ChannelHandlerContext) {
        if bridge.isWritable { context.read() } else { isReadHeld = true }
    }

    func resumeReading() {
        guard isReadHeld, let context else { return }
        isReadHeld = false
        context.read()
    }

    var isWritable: Bool { context?.channel.isActive == true && context?.channel.isWritable == true }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { bridge.resumeReading() }
        context.fireChannelWritabilityChanged()
    }

    /// Sends a JSON text as a line. JSON allows newlines as white space, which would end the request here.
    func send(line: ByteBuffer) {
        guard let context else { return }
        var bytes = ByteBuffer()
        bytes.reserveCapacity(line.readableBytes + 1)
        for byte in line.readableBytesView { bytes.writeInteger(byte == Self.newline ? UInt8(ascii: " ") : byte) }
        bytes.writeInteger(Self.newline)
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }
}
