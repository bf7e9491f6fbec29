/// Decides which picture the camera sends when: new ones at once, the last one again if the next is late, and the
/// placeholder if nobody feeds the camera. Holds no pictures, and reads no clock.
///
/// Times are nanoseconds of a monotonic clock.
public struct FrameScheduler {
    /// A picture to send.
    public enum Picture: Equatable, Sendable {
        /// A slot of the ring.
        case slot(Int)
        /// The placeholder which says that nobody feeds the camera.
        case placeholder
    }

    /// The number of slots: one that is sent, one that waits, and one that is written.
    public static let slots = 3

    /// Whether a program feeds the camera.
    public private(set) var isFed = false
    /// Whether a program that fed the camera is expected to come back.
    private var isAwaited = false
    /// Whether the program that fed the camera has ended, and no placeholder was shown since.
    private var isAbandoned = false
    private var stream: Stream?
    /// The newest picture that was sent, which is repeated.
    private var shown: Int?
    /// A picture that was not sent yet.
    private var pending: Int?
    /// When the last picture was offered.
    private var offered: UInt64 = 0

    private struct Stream {
        let mode: CameraMode
        let interval: UInt64
        let started: UInt64
        /// When the last picture was begun, and the last new one; 0: none yet.
        var begun: UInt64 = 0
        var newest: UInt64 = 0
        /// When the next picture of a feeder is due by the reader's rate.
        var next: UInt64

        /// A new picture of the feeder is begun.
        mutating func beginNew(at now: UInt64) {
            newest = now
            // A feeder's clock may be fast by 2 %, and after a pause its pictures may catch up by two.
            let limit = 2 * interval
            next = max(next + interval * 49 / 50, now > limit ? now - limit : 0)
        }
    }

    /// Nanoseconds after which a feeder that offers nothing counts as stalled, and its last picture is no longer shown.
    static let stallTimeout: UInt64 = 2_000_000_000

    /// A camera that nobody reads or feeds.
    public init() {}

    // MARK: - events

    /// A program began to feed the camera, or ended.
    public mutating func setFed(_ isFed: Bool, at now: UInt64) {
        isAbandoned = self.isFed && !isFed
        self.isFed = isFed
        isAwaited = false
        (shown, pending, offered) = (nil, nil, now)
    }

    /// A program that fed the camera is expected to come back at once: the placeholder waits for it.
    public mutating func awaitFeeder() { isAwaited = true }

    /// A reader began to stream, or stopped (nil).
    /// - Parameters:
    ///   - mode: the size of its pictures.
    ///   - interval: the time between two pictures, in UVC's units of 100 ns.
    /// - Returns: the slots that are no longer used.
    public mutating func setStream(_ mode: CameraMode?, interval: UInt32, at now: UInt64) -> [Int] {
        stream = mode.map { Stream(mode: $0, interval: UInt64(interval) * 100, started: now, next: now) }
        offered = now
        let unused = [shown, pending].compactMap { $0 }
        (shown, pending) = (nil, nil)
        return unused
    }

    /// Whether the camera holds a slot, so that nobody may offer it.
    public func holds(_ slot: Int) -> Bool { shown == slot || pending == slot }

    /// A feeder offers a new picture. Only the newest is kept, and only in the reader's size.
    /// - Returns: the slot that is no longer used, which may be this one.
    public mutating func offer(_ slot: Int, width: Int, height: Int, at now: UInt64) -> Int? {
        guard let stream, stream.mode.width == width, stream.mode.height == height else { return slot }
        offered = now
        let old = pending
        pending = slot
        return old
    }

    // MARK: - decisions

    /// Begins the next picture if one is due.
    /// - Returns: the picture, and the slot that is no longer used; nil if nothing is due.
    public mutating func begin(at now: UInt64) -> (picture: Picture, unused: Int?)? {
        guard let due, now >= due, var stream else { return nil }
        var unused: Int?
        let picture: Picture
        if let pending {
            unused = shown
            (shown, self.pending) = (pending, nil)
            stream.beginNew(at: now)
            picture = .slot(pending)
        } else if let shown, now < offered + Self.stallTimeout {
            picture = .slot(shown)
        } else {
            unused = shown
            shown = nil
            picture = .placeholder
            // Counts as a new picture, so that programs that come and go do not make the camera faster.
            if isAbandoned { stream.newest = now }
            (isAbandoned, isAwaited) = (false, false)
        }
        stream.begun = now
        self.stream = stream
        return (picture, unused)
    }

    /// When the next picture is due; nil without a reader.
    public var due: UInt64? {
        guard let stream else { return nil }
        // A picture may come a little early. The first placeholder after a feeder's end does not wait for its turn
        // either: the feeder has shown the same picture since it began to end.
        if pending != nil || isAbandoned {
            let early = stream.newest == 0 ? stream.started : stream.newest + stream.interval * 3 / 4
            return isAbandoned ? early : max(early, stream.next)
        }
        if isFed || isAwaited, stream.begun == 0 { return stream.started + Self.firstPictureTimeout }
        // Keeps a late picture of a source at the same rate from losing its turn to a repetition.
        let interval = isFed && shown != nil ? stream.interval * 3 / 2 : stream.interval
        return stream.begun == 0 ? stream.started : stream.begun + interval
    }

    /// Nanoseconds that a reader waits for a feeder's first picture: the feeder may have to connect or open a camera.
    static let firstPictureTimeout: UInt64 = 1_000_000_000
}
