import Control
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import SystemKit

/// The page's HTTP server on 127.0.0.1. It has its own thread, apart from the frame loop. It stops listening and closes
/// its connections with this value.
public final class PageServer: Sendable {
    /// The port that the server listens on.
    public let port: Int
    private let listener: any Channel
    private let router: PageRouter

    /// The thread of all servers in this process, created on first use. It sleeps while no connection has work.
    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// Starts to listen.
    /// - Parameters:
    ///   - port: the port; 0 for any free one.
    ///   - files: the folder with the page's files.
    ///   - secrets: the storage of the page's secret.
    ///   - preview: the source of the pictures.
    ///   - backend: the daemon's interface to the page.
    /// - Throws: `Problem` of kind `busy` if the port is taken, `system` otherwise.
    public convenience init(
        port: UInt16, files: String, secrets: PageSecretStore, preview: Preview, backend: any PageBackend
    ) throws(Problem) {
        try self.init(
            port: port, files: files, secrets: secrets, preview: preview, backend: backend, limits: PageLimits())
    }

    init(
        port: UInt16, files: String, secrets: PageSecretStore, preview: Preview, backend: any PageBackend,
        limits: PageLimits
    ) throws(Problem) {
        let router = PageRouter(limits, PageFiles(folder: files), secrets, preview, backend)
        do {
            listener = try ServerBootstrap(group: Self.group)
                .serverChannelOption(.backlog, value: 64)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelInitializer { channel in
                    // Without free descriptors, it pauses for a second and then continues.
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(AcceptPauseHandler(pause: .seconds(1)))
                    }
                }
                .childChannelOption(
                    .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: limits.readBytes)
                )
                // A larger buffer would let pictures queue in the kernel for a slow reader.
                .childChannelOption(.socketOption(.so_sndbuf), value: limits.sendBufferBytes)
                .childChannelInitializer { channel in Self.configure(channel, router) }
                .bind(host: "127.0.0.1", port: Int(port)).wait()
        } catch {
            if (error as? IOError)?.errnoCode == EADDRINUSE {
                throw Problem(
                    .busy, "cannot serve the page on port \(port): another program uses it",
                    fix: "set page.port to another port, or to 0 for any free one")
            }
            throw Problem(.system, "cannot serve the page on port \(port): \(error)")
        }
        self.port = listener.localAddress?.port ?? Int(port)
        router.port = self.port
        self.router = router
    }

    deinit {
        try? listener.close().wait()
        router.table.closeAll()
    }

    /// The page's address without the secret, for logs that others may read: "http://127.0.0.1:8787/".
    public var address: String { "http://127.0.0.1:\(port)/" }
    /// The page's address with the secret in its fragment, which browsers do not send. For this user only.
    /// - Throws: `Problem` of kind `system` if a new secret cannot be written.
    public func link() throws(Problem) -> String { "\(address)#\(try router.secrets.current().hex)" }

    /// The number of authenticated pages.
    var sessions: Int { router.sessions.count }

    /// The number of open connections.
    var connections: Int { router.table.count }

    /// The number of bytes that wait in this process until clients read.
    var unsentBytes: Int { router.table.unsentBytes }

    private static func configure(_ channel: any Channel, _ router: PageRouter) -> EventLoopFuture<Void> {
        router.table.admit(channel)
        let limits = router.limits
        return channel.eventLoop.makeCompletedFuture {
            let timer = RequestTimer(limits)
            let requests = RequestHandler(router, timer)
            let handlers = NIOLoopBound((timer: timer, requests: requests), eventLoop: channel.eventLoop)
            let upgrader = NIOWebSocketServerUpgrader(
                maxFrameSize: ControlLimits.longestLine, automaticErrorHandling: false,
                shouldUpgrade: { channel, head in
                    let request = HTTPRequest(head)
                    let isOpen = request.route == .socket && router.decision(request) == .open
                    return channel.eventLoop.makeSucceededFuture(isOpen ? [:] : nil)
                },
                upgradePipelineHandler: { channel, _ in
                    channel.eventLoop.makeCompletedFuture {
                        handlers.value.timer.requestArrived()
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(FrameValidator())
                        try pipeline.addHandler(
                            NIOWebSocketFrameAggregator(
                                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 256,
                                maxAccumulatedFrameSize: ControlLimits.longestLine))
                        try pipeline.addHandler(HandshakeHandler(router, handlers.value.timer))
                    }
                })
            var decoder = NIOHTTPDecoderLimitConfiguration()
            decoder.maxHeaderFieldSize = limits.maxHeadBytes
            decoder.maxHeaderListSize = limits.maxHeadBytes
            decoder.maxHeaderFieldCount = limits.maxHeaderFields
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(timer)
            try pipeline.configureHTTPServerPipeline(
                withServerUpgrade: (
                    upgraders: [upgrader],
                    completionHandler: { context in
                        context.pipeline.syncOperations.removeHandler(handlers.value.requests, promise: nil)
                    }
                ),
                withErrorHandling: false, withEncoderConfiguration: HTTPResponseEncoder.Configuration(),
                withDecoderLimitConfiguration: decoder)
            try pipeline.addHandler(requests)
        }
    }
}
