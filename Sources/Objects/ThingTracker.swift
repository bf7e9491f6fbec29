import Frames

/// Follows the things in a video, and names those that were taught.
///
/// Every frame is segmented, so that what is drawn on a thing never lags behind it. Names are found beside the frame
/// loop, a thing at a time: new things first, then those that were recognised longest ago.
public struct ThingTracker: ~Copyable {
    /// A thing that is followed.
    public struct Track: Sendable {
        /// The place in the last frame in which the thing was seen.
        public fileprivate(set) var region: Region
        /// The index of the taught thing that it is; nil while that is unknown, or if it is none of them.
        public fileprivate(set) var thing: Int?
        /// Whether it is in the last frame.
        public fileprivate(set) var isSeen = true
        fileprivate let id: Int
        fileprivate var lastSeen: Double
        /// When the thing is to be recognised again, in seconds.
        fileprivate var due: Double
        /// What the thing was recognised as last, and how often in a row.
        fileprivate var candidate: Int?
        fileprivate var agreements = 0
    }

    public private(set) var tracks: [Track] = []
    private var segmenter: Segmenter?
    private var cutout = Cutout()
    private var nextID = 1
    private var lastTime: Double?
    private var revision: Int?
    /// When a cut-out was last taken to teach a thing.
    private var taughtTime = -Double.infinity
    private var contour = Contour()
    /// Points that divide the outline of the thing that was traced last into equal parts, and the direction there.
    public private(set) var outline: [(position: Point, direction: Point)] = []

    /// Seconds after which a thing that isn't seen is forgotten.
    private static let lostTimeout = 0.4
    /// Seconds between two recognitions of a thing, and once several have agreed.
    private static let (interval, stableInterval) = (0.6, 1.5)
    /// Seconds between the pictures by which a thing is taught: the hand has moved by then.
    private static let lessonInterval = 0.7
    /// Recognitions that must agree before a name is changed, and before it is taken away.
    private static let (agreementsToName, agreementsToForget) = (2, 3)

    /// Starts without memory: all is allocated by the first frame.
    public init() {}

    /// Frees all memory but a little, because no mask needs it.
    public mutating func release() {
        guard segmenter != nil else { return }
        self = ThingTracker()
    }

    /// Forgets all things, for another scene or other taught things.
    public mutating func reset() { tracks.removeAll(keepingCapacity: true) }

    /// The number of things in the last frame that are a taught one.
    public func count(of thing: Int) -> Int { tracks.count { $0.isSeen && $0.thing == thing } }

    /// Whether a taught thing was seen in the last moment.
    public func isPresent(_ thing: Int) -> Bool { tracks.contains { $0.thing == thing } }

    /// Updates the things with a frame, before anything is drawn on it. Allocates nothing once warm.
    /// - Parameters:
    ///   - waits: whether all things are to be named in this very frame, such as a photo.
    ///   - time: seconds, by the source's clock.
    ///   - isOnHead: tells whether a place is on somebody's head, which isn't what is taught.
    public mutating func update(
        _ frame: borrowing Frame, _ taught: TaughtThings, _ recognizer: ThingRecognizer, waits: Bool, at time: Double,
        isOnHead: (Point) -> Bool = { _ in false }
    ) {
        let view = frame.view
        if let lastTime, time < lastTime || time > lastTime + 1 { reset() }
        if let revision, revision != taught.revision { reset() }
        (lastTime, revision) = (time, taught.revision)
        var segmenter = segmenter.take() ?? Segmenter(view.layout)
        if segmenter.layout != view.layout { segmenter = Segmenter(view.layout) }
        segmenter.update(view)
        follow(segmenter.regions, at: time)
        if recognizer.isLearning, !(taughtTime...taughtTime + Self.lessonInterval).contains(time),
            let held = ThingFinder.heldUp(segmenter.regions, isOnHead: isOnHead)
        {
            cutout.cut(held, from: view, segmenter)
            if recognizer.learn(cutout) { taughtTime = time }
        }
        if waits {
            for i in tracks.indices where tracks[i].isSeen && tracks[i].due <= time {
                cutout.cut(tracks[i].region, from: view, segmenter)
                tracks[i].thing = recognizer.recognize(cutout, taught)
                tracks[i].due = time + Self.interval
            }
        } else {
            if let answer = recognizer.takeAnswer() { apply(answer, at: time) }
            request(from: view, segmenter, taught, recognizer, at: time)
        }
        self.segmenter = consume segmenter
    }

    /// Matches the regions of a frame with the things of the one before: each with the nearest one of a similar size.
    private mutating func follow(_ regions: [Region], at time: Double) {
        tracks.removeAll { $0.lastSeen < time - Self.lostTimeout }
        for i in tracks.indices { tracks[i].isSeen = false }
        for region in regions {
            var (best, nearest) = (-1, region.radius)
            for i in tracks.indices where !tracks[i].isSeen {
                let ratio = Float(tracks[i].region.area) / Float(region.area)
                let distance = (tracks[i].region.center - region.center).length
                if (0.5...2).contains(ratio), distance < nearest { (best, nearest) = (i, distance) }
            }
            if best >= 0 {
                (tracks[best].region, tracks[best].isSeen, tracks[best].lastSeen) = (region, true, time)
            } else if tracks.count < 2 * Segmenter.maxRegions {
                tracks.append(Track(region: region, id: nextID, lastSeen: time, due: time))
                nextID += 1
            }
        }
    }

    /// Requests the recognition of the thing that is due longest.
    private mutating func request(
        from view: borrowing FrameView, _ segmenter: borrowing Segmenter, _ taught: TaughtThings,
        _ recognizer: ThingRecognizer, at time: Double
    ) {
        guard !taught.things.isEmpty, recognizer.isIdle else { return }
        var (next, due) = (-1, time)
        for i in tracks.indices where tracks[i].isSeen && tracks[i].due <= due { (next, due) = (i, tracks[i].due) }
        guard next >= 0 else { return }
        let isStable = tracks[next].agreements >= Self.agreementsToForget
        tracks[next].due = time + (isStable ? Self.stableInterval : Self.interval)
        cutout.cut(tracks[next].region, from: view, segmenter)
        recognizer.request(&cutout, taught, track: tracks[next].id)
    }

    /// Changes a thing's name if several recognitions agree.
    private mutating func apply(_ answer: ThingRecognizer.Answer, at time: Double) {
        guard let i = tracks.firstIndex(where: { $0.id == answer.track }) else { return }
        tracks[i].agreements = answer.thing == tracks[i].candidate ? tracks[i].agreements + 1 : 1
        tracks[i].candidate = answer.thing
        guard answer.thing != tracks[i].thing else { return }
        let needed = answer.thing == nil ? Self.agreementsToForget : Self.agreementsToName
        if tracks[i].agreements >= needed { tracks[i].thing = answer.thing } else { tracks[i].due = time }
    }

    /// Traces the outline of a thing into `outline`.
    /// - Parameters:
    ///   - track: an index in `tracks`.
    ///   - spacing: between points, in pixels; a little more or less, so that all parts are equal.
    ///   - offset: outwards, in pixels.
    ///   - phase: by how much of the spacing the points are moved along the outline, 0...1.
    public mutating func traceOutline(of track: Int, spacing: Float, offset: Float, phase: Float) {
        outline.removeAll(keepingCapacity: true)
        guard let segmenter = segmenter.take() else { return }
        contour.trace(tracks[track].region, segmenter)
        self.segmenter = consume segmenter
        contour.divide(spacing: spacing, offset: offset, phase: phase, into: &outline)
    }
}
