import Frames
import Privacy
import Synchronization

/// Copies of what is published, and of what it was before it was dressed, for those who look at the page.
///
/// The frame loop hands a copy over while somebody looks, as often as the most eager wants, and pays an atomic load while
/// nobody does. JPEGs are made in the tasks of those who look: one for each frame and kind of preview, however many look.
public final class Preview: Sendable {
    /// What is looked at.
    public enum Picture: String, CaseIterable, Sendable {
        /// What others see.
        case after
        /// The same without masks.
        case before
    }

    /// A kind of preview.
    public struct StreamOptions: Hashable, Sendable {
        /// Dressed or not.
        public var picture = Picture.after
        /// Faces, their numbers and landmarks are drawn on it.
        public var hasOverlay = false
        /// Pixels, at most.
        public var width = 640
        /// Pictures a second, at most.
        public var rate = 15.0

        /// What others see, 640 pixels wide, 15 times a second.
        public init() {}
    }

    /// The layout of what is published.
    public let layout: FrameLayout
    private let after = FrameSlot()
    private let before = FrameSlot()
    private let onViewer: @Sendable () -> Void
    private let encodings = Atomic<Int>(0)

    /// - Parameters:
    ///   - layout: of all frames to come.
    ///   - onViewer: somebody began to look.
    public init(layout: FrameLayout, onViewer: @escaping @Sendable () -> Void) {
        (self.layout, self.onViewer) = (layout, onViewer)
    }

    private func slot(_ picture: Picture) -> FrameSlot { picture == .after ? after : before }

    // MARK: - for the frame loop

    /// Somebody looks.
    public var isWatched: Bool {
        after.viewers.load(ordering: .relaxed) > 0 || before.viewers.load(ordering: .relaxed) > 0
    }

    /// Somebody looks at that, and what was handed over last is old enough.
    /// - Parameter now: nanoseconds of the monotonic clock.
    public func needsFrame(_ picture: Picture, at now: UInt64) -> Bool {
        let slot = slot(picture)
        guard slot.viewers.load(ordering: .relaxed) > 0 else { return false }
        return now >= slot.taken.load(ordering: .relaxed) &+ slot.gap.load(ordering: .relaxed)
    }

    /// Copies what others see. Neither waits nor allocates: where somebody is just taking the last one, it is let go.
    /// - Parameter now: nanoseconds of the monotonic clock.
    public func update(_ frame: borrowing PublishableFrame, overlay: borrowing [FaceOverlay], at now: UInt64) {
        // Only the picture before masks is kept as a portrait, which a placeholder must not be.
        update(.after, frame.view, overlay: overlay, isPlaceholder: false, at: now)
    }

    /// Copies the picture as it was before masks, as `update`. The user alone sees it, on the page, to compare.
    public func updateUnmasked(_ view: borrowing FrameView, overlay: borrowing [FaceOverlay], at now: UInt64) {
        update(.before, view, overlay: overlay, isPlaceholder: false, at: now)
    }

    /// Copies what is shown for the picture before masks while there is none, as `update`.
    public func updatePlaceholder(_ frame: borrowing PublishableFrame, at now: UInt64) {
        update(.before, frame.view, overlay: [], isPlaceholder: true, at: now)
    }

    func update(
        _ picture: Picture, _ view: borrowing FrameView, overlay: borrowing [FaceOverlay], isPlaceholder: Bool,
        at now: UInt64
    ) {
        precondition(view.layout == layout, "a frame has the preview's layout")
        let slot = slot(picture)
        let number: Int?? = slot.newest.withLockIfAvailable { newest in
            guard newest.isThere else { return nil }
            convert(view, into: &newest.frame)
            newest.isPlaceholder = isPlaceholder
            newest.overlay.removeAll(keepingCapacity: true)
            for i in overlay.indices { newest.overlay.append(overlay[i]) }
            newest.number += 1
            return newest.number
        }
        guard case .some(.some(let number)) = number else { return }
        slot.taken.store(now, ordering: .relaxed)
        slot.number.store(number, ordering: .releasing)
    }

    // MARK: - for those who look

    /// How many JPEGs were made so far.
    var encoded: Int { encodings.load(ordering: .relaxed) }

    /// One who looks, as long as this value is there.
    final class Viewer: Sendable {
        let preview: Preview
        let options: StreamOptions

        init(_ preview: Preview, _ options: StreamOptions) {
            (self.preview, self.options) = (preview, options)
            preview.slot(options.picture).addViewer(options, preview.layout)
            preview.onViewer()
        }

        deinit { preview.slot(options.picture).removeViewer(options) }

        /// The next picture as a JPEG that is another than that of `number`, which it becomes.
        func next(after number: inout Int) async throws -> [UInt8] {
            let slot = preview.slot(options.picture)
            while true {
                while slot.number.load(ordering: .acquiring) == number { try await Task.sleep(for: Self.patience) }
                if let jpeg = try preview.jpeg(options, &number) { return jpeg }
                // Only the last one's traces are there.
                try await Task.sleep(for: Self.patience)
            }
        }

        /// Between two looks whether there is a new picture. Shorter than a frame at 60 a second.
        private static let patience = Duration.milliseconds(8)
    }

    /// A picture that somebody keeps.
    public final class Portrait: Sendable {
        /// As it was published, or would have been.
        public let frame: Frame

        init(_ frame: consuming Frame) { self.frame = frame }
    }

    /// The present picture without masks; nil where there is none with a face on it in time.
    public func portrait(within patience: Duration) async throws -> Portrait? {
        var options = StreamOptions()
        options.picture = .before
        let viewer = Viewer(self, options)
        let slot = before
        let end = ContinuousClock.now + patience
        var number = slot.number.load(ordering: .acquiring)
        while ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(20))
            let newest = slot.number.load(ordering: .acquiring)
            guard newest != number else { continue }
            number = newest
            let found: Portrait? = slot.newest.withLock { newest in
                guard newest.isThere, !newest.isPlaceholder, !newest.overlay.isEmpty else { return nil }
                var copy = Frame(layout)
                convert(newest.frame, into: &copy)
                return Portrait(copy)
            }
            if let found { return found }
        }
        _ = consume viewer
        return nil
    }

    private func jpeg(_ options: StreamOptions, _ number: inout Int) throws -> [UInt8]? {
        let slot = slot(options.picture)
        let (bytes, shown, isNew) = try slot.shown.withLock { shown -> ([UInt8]?, Int, Bool) in
            slot.newest.withLock { newest in
                guard newest.isThere, newest.number != shown.number else { return }
                if !shown.isThere { shown.frame = Frame(layout) }
                shown.isThere = true
                swap(&newest.frame, &shown.frame)
                shown.overlay = newest.overlay
                shown.number = newest.number
            }
            guard shown.isThere else { return (nil, 0, false) }
            let cache = try shown.cache(options, layout)
            let isNew = cache.number != shown.number
            if isNew {
                cache.jpeg = cache.encoder.encode(shown.frame.view, overlay: options.hasOverlay ? shown.overlay : [])
                cache.number = shown.number
            }
            return (cache.jpeg, shown.number, isNew)
        }
        if isNew { encodings.add(1, ordering: .relaxed) }
        if bytes != nil { number = shown }
        return bytes
    }
}

/// One of the two pictures, between the frame loop and those who look.
private final class FrameSlot: Sendable {
    /// What the frame loop writes to. Without frames while nobody looks.
    struct Newest: ~Copyable {
        var isThere = false
        var frame = Frame(.onePixel)
        var overlay: [FaceOverlay] = []
        var isPlaceholder = false
        var number = 0

        mutating func clear() {
            isThere = false
            frame = Frame(.onePixel)
        }
    }

    /// What those who look share.
    struct Shown: ~Copyable {
        var isThere = false
        var frame = Frame(.onePixel)
        var overlay: [FaceOverlay] = []
        var number = 0
        private var caches: [JPEGCache] = []

        /// The encoder for those who look alike.
        mutating func cache(_ options: Preview.StreamOptions, _ layout: FrameLayout) throws -> JPEGCache {
            if let known = caches.first(where: { $0.matches(options) }) { return known }
            let cache = try JPEGCache(options, layout)
            caches.append(cache)
            return cache
        }

        mutating func clear() {
            isThere = false
            frame = Frame(.onePixel)
        }

        mutating func close(_ options: Preview.StreamOptions) { caches.removeAll { $0.matches(options) } }
    }

    let newest = Mutex(Newest())
    let shown = Mutex(Shown())
    let viewers = Atomic<Int>(0)
    /// Of the newest frame; 0: there was none.
    let number = Atomic<Int>(0)
    /// Nanoseconds from one frame to the next at least.
    let gap = Atomic<UInt64>(0)
    /// When the newest was taken, nanoseconds.
    let taken = Atomic<UInt64>(0)
    private let viewerOptions = Mutex<[Preview.StreamOptions]>([])

    /// Room for so many is there from the beginning; more are seldom.
    private static let mostFaces = 8

    func addViewer(_ options: Preview.StreamOptions, _ layout: FrameLayout) {
        viewerOptions.withLock { viewerOptions in
            viewerOptions.append(options)
            updateRate(viewerOptions)
            newest.withLock { newest in
                guard !newest.isThere else { return }
                newest.frame = Frame(layout)
                newest.overlay.reserveCapacity(Self.mostFaces)
                newest.isThere = true
            }
        }
    }

    func removeViewer(_ options: Preview.StreamOptions) {
        viewerOptions.withLock { viewerOptions in
            if let place = viewerOptions.firstIndex(of: options) { viewerOptions.remove(at: place) }
            updateRate(viewerOptions)
            let isLast = viewerOptions.isEmpty
            if !viewerOptions.contains(where: { ($0.width, $0.hasOverlay) == (options.width, options.hasOverlay) }) {
                shown.withLock { shown in
                    shown.close(options)
                    if isLast { shown.clear() }
                }
            }
            if isLast { newest.withLock { $0.clear() } }
        }
    }

    private func updateRate(_ viewerOptions: [Preview.StreamOptions]) {
        // With room for an uneven loop: at 15 a second each second frame of 30 is taken.
        let rate = viewerOptions.map(\.rate).max() ?? 1
        gap.store(UInt64(0.9e9 / rate), ordering: .relaxed)
        viewers.store(viewerOptions.count, ordering: .releasing)
    }
}

/// Makes the JPEGs of one kind of preview, each once.
private final class JPEGCache {
    var encoder: JPEGEncoder
    var jpeg: [UInt8]?
    var number = 0
    private let options: Preview.StreamOptions

    init(_ options: Preview.StreamOptions, _ layout: FrameLayout) throws {
        self.options = options
        encoder = try JPEGEncoder(layout: layout, maxWidth: options.width)
    }

    func matches(_ other: Preview.StreamOptions) -> Bool {
        (options.width, options.hasOverlay) == (other.width, other.hasOverlay)
    }
}
