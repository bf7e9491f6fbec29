import Foundation
import Frames
import Synchronization

/// A bare page on this computer's loopback address that shows the stream, for those who have no loopback device.
///
/// The frame loop hands over copies of the newest frame while somebody looks, about 15 a second, and pays one atomic
/// load while nobody does. Frames are encoded in the tasks of those who look. The server ends with this value.
public struct PageSink: FrameSink, ~Copyable {
    /// "page http://127.0.0.1:8787, YUYV 1280x720".
    public let description: String
    /// The layout that frames must have.
    public let layout: FrameLayout
    /// Where the page is: "http://127.0.0.1:8787".
    public let address: String

    private let exchange: Exchange
    private let server: PageServer
    private var handedOver: ContinuousClock.Instant?

    /// The least time between two frames that are handed over: 15 a second, with room for an uneven loop.
    private static let pause = Duration.milliseconds(60)

    /// Starts the server.
    /// - Parameters:
    ///   - layout: the layout of all frames to come.
    ///   - port: 0: any that is free.
    ///   - maxWidth: pixels; wider frames are halved until they fit, twice at most.
    /// - Throws: `busy` where the port is taken, `system` where the server does not start.
    public init(layout: FrameLayout, port: UInt16 = 8787, maxWidth: Int = 640) throws {
        let exchange = Exchange(layout: layout, encoder: try JPEGEncoder(layout: layout, maxWidth: maxWidth))
        let server = try PageServer(port: port, exchange: exchange)
        let address = "http://127.0.0.1:\(server.port)"
        self.layout = layout
        self.exchange = exchange
        self.server = server
        self.address = address
        description = "page \(address), \(layout)"
    }

    /// How many frames were encoded so far.
    var encoded: Int { exchange.encoded }

    /// True while a browser shows it.
    public mutating func isWatched(at now: UInt64) -> Bool? { exchange.hasViewers }

    /// Hands over a copy where somebody looks and the last one is old enough.
    public mutating func publish(_ frame: borrowing FrameView) throws {
        precondition(frame.layout == layout, "a frame has its sink's layout")
        guard exchange.hasViewers else { return }
        let now = ContinuousClock.now
        if let handedOver, now - handedOver < Self.pause { return }
        if exchange.put(frame) { handedOver = now }
    }

    /// Shows the card to those who look, and ends the server.
    public consuming func finish(card: borrowing FrameView) throws {
        if exchange.hasViewers, exchange.put(card) { Thread.sleep(forTimeInterval: 0.1) }
    }
}

/// The newest frame, and the JPEG of it, between the frame loop and those who look.
final class Exchange: Sendable {
    /// What the frame loop writes to.
    private struct Newest: ~Copyable {
        var frame: Frame
        var number = 0
    }

    /// What those who look share, so that one frame is encoded once.
    private struct Picture: ~Copyable {
        var encoder: JPEGEncoder
        var spare: Frame
        var number = 0
        var jpeg: [UInt8]?
    }

    private let newest: Mutex<Newest>
    private let picture: Mutex<Picture>
    private let viewers = Atomic<Int>(0)
    private let encodings = Atomic<Int>(0)
    private let number = Atomic<Int>(0)

    init(layout: FrameLayout, encoder: consuming JPEGEncoder) {
        newest = Mutex(Newest(frame: Frame(layout)))
        picture = Mutex(Picture(encoder: encoder, spare: Frame(layout)))
    }

    var hasViewers: Bool { viewers.load(ordering: .relaxed) > 0 }
    var encoded: Int { encodings.load(ordering: .relaxed) }
    /// Of the newest frame; 0: there was none.
    var newestNumber: Int { number.load(ordering: .acquiring) }

    func come() { viewers.add(1, ordering: .relaxed) }
    func go() { viewers.subtract(1, ordering: .relaxed) }

    /// Copies a frame. Never waits: false where somebody is just taking the last one.
    func put(_ view: borrowing FrameView) -> Bool {
        let copied: Int? = newest.withLockIfAvailable { newest in
            convert(view, into: &newest.frame)
            newest.number += 1
            return newest.number
        }
        guard let copied else { return false }
        number.store(copied, ordering: .releasing)
        return true
    }

    /// The newest frame as a JPEG, with its number. Encodes unless another viewer has had it done.
    func jpeg() -> (bytes: [UInt8]?, number: Int) {
        picture.withLock { picture in
            let number = newest.withLock { newest in
                if newest.number != picture.number { swap(&newest.frame, &picture.spare) }
                return newest.number
            }
            if number != picture.number {
                picture.jpeg = picture.encoder.encode(picture.spare)
                picture.number = number
                encodings.add(1, ordering: .relaxed)
            }
            return (picture.jpeg, number)
        }
    }
}
