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
    public struct Look: Hashable, Sendable {
        /// Dressed or not.
        public var picture = Picture.after
        /// Faces, their numbers and landmarks are drawn on it.
        public var isMarked = false
        /// Pixels, at most.
        public var width = 640
        /// Pictures a second, at most.
        public var rate = 15.0

        /// What others see, 640 pixels wide, 15 times a second.
        public init() {}
    }

    /// The layout of what is published.
    public let layout: FrameLayout
    private let after = Slot()
    private let before = Slot()
    private let came: @Sendable () -> Void
    private let encodings = Atomic<Int>(0)

    /// - Parameters:
    ///   - layout: of all frames to come.
    ///   - came: somebody began to look.
    public init(layout: FrameLayout, came: @escaping @Sendable () -> Void) {
        (self.layout, self.came) = (layout, came)
    }

    private func slot(_ picture: Picture) -> Slot { picture == .after ? after : before }

    // MARK: - for the frame loop

    /// Somebody looks.
    public var isWatched: Bool {
        after.viewers.load(ordering: .relaxed) > 0 || before.viewers.load(ordering: .relaxed) > 0
    }

    /// Somebody looks at that, and what was handed over last is old enough.
    /// - Parameter now: nanoseconds of the monotonic clock.
    public func wants(_ picture: Picture, at now: UInt64) -> Bool {
        let slot = slot(picture)
        guard slot.viewers.load(ordering: .relaxed) > 0 else { return false }
        return now >= slot.taken.load(ordering: .relaxed) &+ slot.gap.load(ordering: .relaxed)
    }

    /// Copies what others see. Neither waits nor allocates: where somebody is just taking the last one, it is let go.
    /// - Parameter now: nanoseconds of the monotonic clock.
    public func put(_ frame: borrowing PublishableFrame, marks: borrowing [FaceMark], at now: UInt64) {
        // Only the picture before masks is kept as a portrait, which a placeholder must not be.
        put(.after, frame.view, marks: marks, isCard: false, at: now)
    }

    /// Copies the picture as it was before masks, as `put`. The user alone sees it, on the page, to compare.
    public func putUncovered(_ view: borrowing FrameView, marks: borrowing [FaceMark], at now: UInt64) {
        put(.before, view, marks: marks, isCard: false, at: now)
    }

    /// Copies what is shown for the picture before masks while there is none, as `put`.
    public func putPlaceholder(_ frame: borrowing PublishableFrame, at now: UInt64) {
        put(.before, frame.view, marks: [], isCard: true, at: now)
    }

    func put(
        _ picture: Picture, _ view: borrowing FrameView, marks: borrowing [FaceMark], isCard: Bool, at now: UInt64
    ) {
        precondition(view.layout == layout, "a frame has the preview's layout")
        let slot = slot(picture)
        let number: Int?? = slot.newest.withLockIfAvailable { newest in
            guard newest.isThere else { return nil }
            convert(view, into: &newest.frame)
            newest.isCard = isCard
            newest.marks.removeAll(keepingCapacity: true)
            for i in marks.indices { newest.marks.append(marks[i]) }
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
        let look: Look

        init(_ preview: Preview, _ look: Look) {
            (self.preview, self.look) = (preview, look)
            preview.slot(look.picture).come(look, preview.layout)
            preview.came()
        }

        deinit { preview.slot(look.picture).go(look) }

        /// The next picture as a JPEG that is another than that of `number`, which it becomes.
        func next(after number: inout Int) async throws -> [UInt8] {
            let slot = preview.slot(look.picture)
            while true {
                while slot.number.load(ordering: .acquiring) == number { try await Task.sleep(for: Self.patience) }
                if let jpeg = try preview.jpeg(look, &number) { return jpeg }
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
        var look = Look()
        look.picture = .before
        let viewer = Viewer(self, look)
        let slot = before
        let end = ContinuousClock.now + patience
        var number = slot.number.load(ordering: .acquiring)
        while ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(20))
            let newest = slot.number.load(ordering: .acquiring)
            guard newest != number else { continue }
            number = newest
            let found: Portrait? = slot.newest.withLock { newest in
                guard newest.isThere, !newest.isCard, !newest.marks.isEmpty else { return nil }
                var copy = Frame(layout)
                convert(newest.frame, into: &copy)
                return Portrait(copy)
            }
            if let found { return found }
        }
        _ = consume viewer
        return nil
    }

    private func jpeg(_ look: Look, _ number: inout Int) throws -> [UInt8]? {
        let slot = slot(look.picture)
        let (bytes, shown, isNew) = try slot.shown.withLock { shown -> ([UInt8]?, Int, Bool) in
            slot.newest.withLock { newest in
                guard newest.isThere, newest.number != shown.number else { return }
                if !shown.isThere { shown.frame = Frame(layout) }
                shown.isThere = true
                swap(&newest.frame, &shown.frame)
                shown.marks = newest.marks
                shown.number = newest.number
            }
            guard shown.isThere else { return (nil, 0, false) }
            let studio = try shown.studio(look, layout)
            let isNew = studio.number != shown.number
            if isNew {
                studio.jpeg = studio.encoder.encode(shown.frame.view, marks: look.isMarked ? shown.marks : [])
                studio.number = shown.number
            }
            return (studio.jpeg, shown.number, isNew)
        }
        if isNew { encodings.add(1, ordering: .relaxed) }
        if bytes != nil { number = shown }
        return bytes
    }
}

/// One of the two pictures, between the frame loop and those who look.
private final class Slot: Sendable {
    /// What the frame loop writes to. Without frames while nobody looks.
    struct Newest: ~Copyable {
        var isThere = false
        var frame = Frame(.onePixel)
        var marks: [FaceMark] = []
        var isCard = false
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
        var marks: [FaceMark] = []
        var number = 0
        private var studios: [Studio] = []

        /// The encoder for those who look alike.
        mutating func studio(_ look: Preview.Look, _ layout: FrameLayout) throws -> Studio {
            if let known = studios.first(where: { $0.makes(look) }) { return known }
            let studio = try Studio(look, layout)
            studios.append(studio)
            return studio
        }

        mutating func clear() {
            isThere = false
            frame = Frame(.onePixel)
        }

        mutating func close(_ look: Preview.Look) { studios.removeAll { $0.makes(look) } }
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
    private let looks = Mutex<[Preview.Look]>([])

    /// Room for so many is there from the beginning; more are seldom.
    private static let mostFaces = 8

    func come(_ look: Preview.Look, _ layout: FrameLayout) {
        looks.withLock { looks in
            looks.append(look)
            settle(looks)
            newest.withLock { newest in
                guard !newest.isThere else { return }
                newest.frame = Frame(layout)
                newest.marks.reserveCapacity(Self.mostFaces)
                newest.isThere = true
            }
        }
    }

    func go(_ look: Preview.Look) {
        looks.withLock { looks in
            if let place = looks.firstIndex(of: look) { looks.remove(at: place) }
            settle(looks)
            let isLast = looks.isEmpty
            if !looks.contains(where: { ($0.width, $0.isMarked) == (look.width, look.isMarked) }) {
                shown.withLock { shown in
                    shown.close(look)
                    if isLast { shown.clear() }
                }
            }
            if isLast { newest.withLock { $0.clear() } }
        }
    }

    private func settle(_ looks: [Preview.Look]) {
        // With room for an uneven loop: at 15 a second each second frame of 30 is taken.
        let rate = looks.map(\.rate).max() ?? 1
        gap.store(UInt64(0.9e9 / rate), ordering: .relaxed)
        viewers.store(looks.count, ordering: .releasing)
    }
}

/// Makes the JPEGs of one kind of preview, each once.
private final class Studio {
    var encoder: JPEGEncoder
    var jpeg: [UInt8]?
    var number = 0
    private let look: Preview.Look

    init(_ look: Preview.Look, _ layout: FrameLayout) throws {
        self.look = look
        encoder = try JPEGEncoder(layout: layout, maxWidth: look.width)
    }

    func makes(_ other: Preview.Look) -> Bool { (look.width, look.isMarked) == (other.width, other.isMarked) }
}
