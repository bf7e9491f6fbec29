import Frames
import JPEG
import Privacy
import Synchronization
import Track

/// Copies of the published picture and of the unmasked one, for viewers of the page.
///
/// While there are viewers, the frame loop copies frames at the highest rate that any of them wants. Without viewers it
/// pays for one atomic load. JPEGs are encoded in the viewers' tasks: once for each frame and kind of preview,
/// regardless of the number of viewers.
public final class Preview: Sendable {
    /// The picture to show.
    public enum Picture: String, CaseIterable, Sendable {
        /// The published picture, with masks.
        case after
        /// The picture without masks.
        case before
    }

    /// The options of a preview stream.
    public struct StreamOptions: Hashable, Sendable {
        /// The published or the unmasked picture.
        public var picture = Picture.after
        /// Whether the tracked faces, their numbers and landmarks are drawn on the picture.
        public var hasOverlay = false
        /// The maximum width in pixels.
        public var width = 640
        /// The maximum rate in pictures per second. Large pictures come less often, see `Preview.pixelsPerSecond`.
        public var rate = 15.0
        /// Whether the page shows the picture mirrored, so that the numbers on it must be mirrored too.
        public var isMirrored = false

        /// Creates the default options: the published picture, 640 pixels wide, 15 times a second.
        public init() {}
    }

    /// The pixels that a viewer gets per second at most: 15 pictures of 928x522. They cost about 5 % of a processor's
    /// core. A larger picture keeps its sharpness and comes less often.
    static let pixelsPerSecond = 15.0 * 928 * 522
    /// The minimum frame rate, however large the pictures are: with a lower one, nobody takes them for live video.
    static let minRate = 5.0

    /// The layout of the frames.
    public let layout: FrameLayout
    private let after = FrameSlot()
    private let before = FrameSlot()
    private let onViewer: @Sendable () -> Void
    private let encodings = Atomic<Int>(0)

    /// Creates a preview without viewers.
    /// - Parameters:
    ///   - layout: the layout of all frames.
    ///   - onViewer: called when a viewer is added.
    public init(layout: FrameLayout, onViewer: @escaping @Sendable () -> Void) {
        (self.layout, self.onViewer) = (layout, onViewer)
    }

    private func slot(_ picture: Picture) -> FrameSlot { picture == .after ? after : before }

    // MARK: - for the frame loop

    /// Whether there is a viewer of either picture.
    public var hasViewers: Bool {
        after.viewers.load(ordering: .relaxed) > 0 || before.viewers.load(ordering: .relaxed) > 0
    }

    /// Whether a picture has a viewer and its last copy is old enough to be replaced.
    /// - Parameters:
    ///   - picture: the picture.
    ///   - now: nanoseconds of the monotonic clock.
    func needsFrame(_ picture: Picture, at now: UInt64) -> Bool {
        let slot = slot(picture)
        guard slot.viewers.load(ordering: .relaxed) > 0 else { return false }
        return now >= slot.copyTime.load(ordering: .relaxed) &+ slot.minInterval.load(ordering: .relaxed)
    }

    /// Copies the published picture if a viewer wants it. Neither blocks nor allocates: if a viewer is just reading the
    /// last copy, the frame is skipped.
    /// - Parameters:
    ///   - frame: the published picture.
    ///   - faces: the tracked faces, in pixels of the picture.
    ///   - bypassesRateLimit: whether the picture replaces the last one, regardless of the viewers' rate.
    ///   - now: nanoseconds of the monotonic clock.
    public func update(
        _ frame: borrowing PublishableFrame, faces: borrowing [Face], bypassesRateLimit: Bool, at now: UInt64
    ) {
        guard bypassesRateLimit || needsFrame(.after, at: now) else { return }
        let isCopied = update(.after, frame.view, faces: faces, isPlaceholder: frame.isPlaceholder, at: now)
        if bypassesRateLimit, isCopied {
            after.replaced.store(after.number.load(ordering: .relaxed), ordering: .releasing)
        }
    }

    /// Copies the unmasked picture, in the same way as `update`. Only the user sees it, on the page, for comparison.
    public func updateUnmasked(_ view: borrowing FrameView, faces: borrowing [Face], at now: UInt64) {
        guard needsFrame(.before, at: now) else { return }
        update(.before, view, faces: faces, isPlaceholder: false, at: now)
    }

    /// Copies the placeholder that replaces the unmasked picture while there is none, in the same way as `update`.
    public func updateUnmasked(placeholder: borrowing PublishableFrame, at now: UInt64) {
        guard needsFrame(.before, at: now) else { return }
        update(.before, placeholder.view, faces: [], isPlaceholder: true, at: now)
    }

    /// Copies a picture, unless a viewer is just reading the last copy, or there is none. Pictures of another size, as
    /// the first ones may have after a viewer came, are left out.
    /// - Returns: whether it was copied.
    @discardableResult func update(
        _ picture: Picture, _ view: borrowing FrameView, faces: borrowing [Face], isPlaceholder: Bool,
        at now: UInt64
    ) -> Bool {
        guard view.layout == layout else { return false }
        let slot = slot(picture)
        let number: Int?? = slot.newest.withLockIfAvailable { newest in
            guard newest.hasFrame else { return nil }
            convert(view, into: &newest.frame)
            newest.isPlaceholder = isPlaceholder
            newest.faces.removeAll(keepingCapacity: true)
            for i in faces.indices { newest.faces.append(faces[i]) }
            newest.isCopied = true
            newest.number += 1
            return newest.number
        }
        guard case .some(.some(let number)) = number else { return false }
        slot.copyTime.store(now, ordering: .relaxed)
        slot.number.store(number, ordering: .releasing)
        return true
    }

    // MARK: - for the viewers

    /// The number of JPEGs encoded so far.
    var encoded: Int { encodings.load(ordering: .relaxed) }

    /// The registration of a viewer, which lasts as long as this value.
    final class Viewer: Sendable {
        let preview: Preview
        let options: StreamOptions

        init(_ preview: Preview, _ wanted: StreamOptions) {
            var options = wanted
            let width = Double(min(options.width, preview.layout.width))
            let pixels = width * width * Double(preview.layout.height) / Double(preview.layout.width)
            options.rate = min(options.rate, max(Preview.pixelsPerSecond / pixels, Preview.minRate))
            (self.preview, self.options) = (preview, options)
            preview.slot(options.picture).addViewer(options, preview.layout)
            preview.onViewer()
        }

        deinit { preview.slot(options.picture).removeViewer(options) }

        /// Waits for the next picture.
        /// - Parameters:
        ///   - number: the number of the last picture, replaced by that of the returned one.
        ///   - due: the earliest time, unless the last picture was replaced, as after a change of the masks.
        func next(after number: inout Int, due: ContinuousClock.Instant = .now) async throws -> EncodedFrame {
            let slot = preview.slot(options.picture)
            while slot.replaced.load(ordering: .acquiring) <= number, due > .now {
                try await Task.sleep(for: min(Self.pollInterval, due - .now))
            }
            while true {
                while slot.number.load(ordering: .acquiring) == number { try await Task.sleep(for: Self.pollInterval) }
                if let picture = try preview.encode(options, &number) { return picture }
                // There is no frame yet, only the number of the previous viewers' last one.
                try await Task.sleep(for: Self.pollInterval)
            }
        }

        /// The polling interval for a new picture. Shorter than a frame at 60 frames per second.
        private static let pollInterval = Duration.milliseconds(8)
    }

    /// An unmasked picture to store.
    public final class Portrait: Sendable {
        /// The frame, in the preview's layout.
        public let frame: Frame

        init(_ frame: consuming Frame) { self.frame = frame }
    }

    /// Waits for an unmasked picture with a face.
    /// - Parameter timeout: the longest wait.
    /// - Returns: the picture; nil if there is none in time.
    public func portrait(within timeout: Duration) async throws -> Portrait? {
        var options = StreamOptions()
        options.picture = .before
        let slot = before
        var number = slot.number.load(ordering: .acquiring)
        let viewer = Viewer(self, options)
        let end = ContinuousClock.now + timeout
        while ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(20))
            let newest = slot.number.load(ordering: .acquiring)
            guard newest != number else { continue }
            number = newest
            let found: Portrait? = slot.newest.withLock { newest in
                guard newest.hasFrame, !newest.isPlaceholder, !newest.faces.isEmpty else { return nil }
                var copy = Frame(layout)
                convert(newest.frame, into: &copy)
                return Portrait(copy)
            }
            if let found { return found }
        }
        _ = consume viewer
        return nil
    }

    /// A picture as it is sent to viewers.
    struct EncodedFrame {
        let jpeg: [UInt8]
        /// Whether it has words on it, and must not be mirrored.
        let isPlaceholder: Bool
    }

    /// Encodes the newest picture, unless that was done before.
    /// - Parameter number: replaced by the picture's number.
    /// - Returns: nil if nothing was copied since there are viewers.
    func encode(_ options: StreamOptions, _ number: inout Int) throws -> EncodedFrame? {
        let slot = slot(options.picture)
        let (picture, shown, isNew) = try slot.shown.withLock { shown -> (EncodedFrame?, Int, Bool) in
            slot.newest.withLock { newest in
                guard newest.isCopied, newest.number != shown.number else { return }
                if !shown.hasFrame {
                    shown.frame = Frame(layout)
                    shown.faces.reserveCapacity(Tracker.maxFaces)
                    shown.hasFrame = true
                }
                swap(&newest.frame, &shown.frame)
                // Exchanged like the frames: a shared array would be allocated again by the frame loop.
                swap(&newest.faces, &shown.faces)
                (shown.number, shown.isPlaceholder) = (newest.number, newest.isPlaceholder)
            }
            guard shown.hasFrame else { return (nil, 0, false) }
            let cache = try shown.cache(options, layout)
            let isNew = cache.number != shown.number
            if isNew {
                cache.jpeg = cache.encoder.encode(
                    shown.frame.view, faces: options.hasOverlay ? shown.faces : [], isMirrored: options.isMirrored)
                cache.number = shown.number
            }
            let isPlaceholder = shown.isPlaceholder
            let picture = cache.jpeg.map { EncodedFrame(jpeg: $0, isPlaceholder: isPlaceholder) }
            return (picture, shown.number, isNew)
        }
        if isNew { encodings.add(1, ordering: .relaxed) }
        if picture != nil { number = shown }
        return picture
    }
}

/// The exchange of one of the two pictures between the frame loop and the viewers.
private final class FrameSlot: Sendable {
    /// The copy that the frame loop writes to. It has no frame memory while there are no viewers.
    struct Newest: ~Copyable {
        var hasFrame = false
        /// Whether a frame was copied since there are viewers.
        var isCopied = false
        var frame = Frame(.onePixel)
        var faces: [Face] = []
        var isPlaceholder = false
        var number = 0

        /// Frees the memory. What was copied last is old by the time that somebody looks again.
        mutating func clear() {
            (hasFrame, isCopied) = (false, false)
            frame = Frame(.onePixel)
            faces.removeAll(keepingCapacity: true)
        }
    }

    /// The copy that the viewers read from.
    struct Shown: ~Copyable {
        var hasFrame = false
        var frame = Frame(.onePixel)
        var faces: [Face] = []
        var isPlaceholder = false
        var number = 0
        private var caches: [JPEGCache] = []

        /// The encoder for all viewers with the same width and overlay.
        mutating func cache(_ options: Preview.StreamOptions, _ layout: FrameLayout) throws -> JPEGCache {
            if let known = caches.first(where: { $0.matches(options) }) { return known }
            let cache = try JPEGCache(options, layout)
            caches.append(cache)
            return cache
        }

        /// Frees the memory. Faces would later be taken for those of the next frame, which is empty at first.
        mutating func clear() {
            hasFrame = false
            frame = Frame(.onePixel)
            faces.removeAll(keepingCapacity: true)
        }

        mutating func close(_ options: Preview.StreamOptions) { caches.removeAll { $0.matches(options) } }
    }

    let newest = Mutex(Newest())
    let shown = Mutex(Shown())
    let viewers = Atomic<Int>(0)
    /// The number of the newest frame; 0 if there was none.
    let number = Atomic<Int>(0)
    /// The number of the newest frame that replaced the one before it.
    let replaced = Atomic<Int>(0)
    /// The minimum interval between two copies, in nanoseconds.
    let minInterval = Atomic<UInt64>(0)
    /// The time of the newest copy, in nanoseconds of the monotonic clock.
    let copyTime = Atomic<UInt64>(0)
    private let viewerOptions = Mutex<[Preview.StreamOptions]>([])

    func addViewer(_ options: Preview.StreamOptions, _ layout: FrameLayout) {
        viewerOptions.withLock { viewerOptions in
            viewerOptions.append(options)
            updateRate(viewerOptions)
            newest.withLock { newest in
                guard !newest.hasFrame else { return }
                newest.frame = Frame(layout)
                newest.faces.reserveCapacity(Tracker.maxFaces)
                newest.hasFrame = true
            }
        }
    }

    func removeViewer(_ options: Preview.StreamOptions) {
        viewerOptions.withLock { viewerOptions in
            if let index = viewerOptions.firstIndex(of: options) { viewerOptions.remove(at: index) }
            updateRate(viewerOptions)
            let isLast = viewerOptions.isEmpty
            if !viewerOptions.contains(where: { $0.hasSameCache(as: options) }) {
                shown.withLock { shown in
                    shown.close(options)
                    if isLast { shown.clear() }
                }
            }
            if isLast { newest.withLock { $0.clear() } }
        }
    }

    private func updateRate(_ viewerOptions: [Preview.StreamOptions]) {
        // The factor leaves room for jitter of the frame loop: at 15 pictures a second, every second frame of 30 is
        // copied.
        let rate = viewerOptions.map(\.rate).max() ?? 1
        minInterval.store(UInt64(0.9e9 / rate), ordering: .relaxed)
        viewers.store(viewerOptions.count, ordering: .releasing)
    }
}

/// A JPEG encoder for one kind of preview that encodes each frame once.
private final class JPEGCache {
    var encoder: JPEGEncoder
    var jpeg: [UInt8]?
    var number = 0
    private let options: Preview.StreamOptions

    init(_ options: Preview.StreamOptions, _ layout: FrameLayout) throws {
        self.options = options
        encoder = try JPEGEncoder(layout: layout, maxWidth: options.width)
    }

    func matches(_ other: Preview.StreamOptions) -> Bool { options.hasSameCache(as: other) }
}

extension Preview.StreamOptions {
    /// Whether the pictures are the same, apart from their rate.
    fileprivate func hasSameCache(as other: Preview.StreamOptions) -> Bool {
        (width, hasOverlay, hasOverlay && isMirrored) == (
            other.width, other.hasOverlay, other.hasOverlay && other.isMirrored
        )
    }
}
