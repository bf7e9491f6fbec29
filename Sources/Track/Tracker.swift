import Frames

/// Finds faces and follows them, frame by frame.
///
/// A known face is sought only round its last place, at its last size and tilt. The whole frame is searched in slices
/// (`Sweep`), a few in each frame while no face is known, fewer once one is. A find becomes a face only when the
/// landmarks fit it; a face that is lost is carried on for `Settings.hold` and then forgotten.
///
/// Work is counted in slices and never in time: the same frames give the same faces on every run and machine.
public struct Tracker: ~Copyable {
    /// What a user may choose.
    public struct Settings: Equatable, Sendable {
        /// Faces followed at once.
        public var most = 8
        /// The smallest face that is looked for: a window's side as a fraction of the frame's shorter side.
        public var smallest: Float = 0.05
        /// Slices of the sweep in one second while no face is known but one was `alert` seconds ago, or the first frame.
        public var slicesAlert = 90.0
        /// Seconds.
        public var alert = 3.0
        /// Slices in one second once nobody has been there for longer.
        public var slicesAlone = 30.0
        /// Slices in one second while one is: less than half as many as frames, so that most frames carry none.
        public var slicesBeside = 14.0
        /// Seconds for which a lost face is carried on.
        public var hold = 0.4
        /// Whether cats' faces are looked for.
        public var cats = true

        /// The defaults.
        public init() {}
    }

    /// As given.
    public let settings: Settings
    /// The faces of the last frame, oldest first.
    public private(set) var faces: [Face] = []

    /// What is lost on this machine and how to get it; nil: nothing.
    public var warning: String? { eye.warning }
    /// CPU time that the last frame spent on landmarks, nanoseconds.
    public var landmarkTime: UInt64 { eye.landmarkTime }

    private var eye: Looker
    private var tracks: [Track] = []
    private var sweep: Sweep?
    private var frameSize = (width: 0, height: 0)
    private var nextID = 1
    private var lastTime = 0.0
    /// Slices that are due, the broken part of one included.
    private var due = 0.0
    /// When a face was last there, seconds.
    private var lastPresence = 0.0
    /// Faces that were lost of late, to be known again.
    private var lost: [Track] = []
    /// nil: cats are not looked for.
    private var cats: CatFinder?
    /// Slices of the sweep since cats were last looked for.
    private var slicesSinceCats = 0

    /// Slices of the sweep for each that is searched for cats.
    private static let slicesPerCats = 6
    /// No frame carries more slices than this, however slowly frames come; and but one beside a known face.
    private static let mostSlices = 5
    /// A face that is found again near where it was lost, within so many seconds, gets its name back.
    private static let recall = 3.0

    /// Begins without any face.
    /// - Parameter cats: finds cats' faces; nil: they are not looked for.
    public init(_ looker: consuming Looker, cats: consuming CatFinder? = nil, settings: Settings = Settings()) {
        eye = looker
        self.cats = cats
        self.settings = settings
        faces.reserveCapacity(settings.most)
        lost.reserveCapacity(settings.most)
        tracks.reserveCapacity(settings.most + 1)
    }

    /// Finds the faces of the next frame of a clip or camera; they are in `faces` then.
    /// - Parameter seconds: the frame's time; must grow from frame to frame.
    public mutating func update(_ luma: borrowing LumaView, at seconds: Double) {
        prepare(luma)
        for i in tracks.indices {
            var track = tracks[i]
            follow(&track, luma, seconds)
            tracks[i] = track
        }
        dropDoubles()
        forget(at: seconds)
        let slices = slices(at: seconds)
        search(luma, slices: slices, seconds)
        cats?.follow(luma, at: seconds, hold: settings.hold)
        slicesSinceCats += slices
        if slicesSinceCats >= Self.slicesPerCats {
            slicesSinceCats = 0
            cats?.search(luma, besides: tracks, at: seconds, &nextID)
        }
        show()
    }

    /// Searches one picture whole, at several tilts: for photos. No frame waits for this.
    public mutating func searchWhole(_ luma: borrowing LumaView) {
        prepare(luma)
        tracks.removeAll()
        let all = Sweep(width: luma.width, height: luma.height, smallest: smallest(luma), rolls: [0, 20, -20, 40, -40])
        for region in all.regions { search(luma, region, atLeast: Looker.photoCertainty, 0) }
        for i in tracks.indices { tracks[i].isShown = true }
        cats?.searchWhole(luma, besides: tracks, &nextID)
        show()
    }

    /// Drops what was lost for too long, and what turned out to be no face.
    private mutating func forget(at seconds: Double) {
        var i = 0
        while i < tracks.count {
            let track = tracks[i]
            let isGone = track.isShown && seconds - track.lastSeen > settings.hold
            if isGone {
                if lost.count == settings.most { lost.removeFirst() }
                lost.append(track)
                // It may come back at any size.
                sweep?.restart()
            }
            if isGone || track.isRefuted || !(track.isShown || track.seen) { tracks.remove(at: i) } else { i += 1 }
        }
        lost.removeAll { seconds - $0.lastSeen > Self.recall }
    }

    /// Slices for this frame: as many a second whatever the frame rate.
    private mutating func slices(at seconds: Double) -> Int {
        let elapsed = max(0, seconds - lastTime)
        lastTime = seconds
        let isBeside = tracks.contains { $0.isShown }
        if isBeside { lastPresence = seconds }
        let isAlert = seconds - lastPresence < settings.alert
        due += elapsed * (isBeside ? settings.slicesBeside : isAlert ? settings.slicesAlert : settings.slicesAlone)
        let whole = min(Int(due), isBeside ? 1 : Self.mostSlices)
        due = min(due - Double(whole), 1)
        return seconds == 0 ? Self.mostSlices : whole
    }

    private func smallest(_ luma: borrowing LumaView) -> Float {
        max(Float(Sweep.sizes.lowerBound), settings.smallest * Float(min(luma.width, luma.height)))
    }

    private mutating func prepare(_ luma: borrowing LumaView) {
        eye.landmarkTime = 0
        guard sweep == nil || frameSize != (luma.width, luma.height) else { return }
        frameSize = (luma.width, luma.height)
        sweep = Sweep(width: luma.width, height: luma.height, smallest: smallest(luma), rolls: [0, 40, -40])
        tracks.removeAll(keepingCapacity: true)
        cats?.restart(width: luma.width, height: luma.height)
    }

    /// Looks for a known face where it should be now: first by its landmarks, then round about by the cascade.
    private mutating func follow(_ track: inout Track, _ luma: borrowing LumaView, _ seconds: Double) {
        track.seen = false
        let guess = track.guess(at: seconds)
        let near = eye.fit(luma, from: guess)
        if let near, eye.confirms(luma, near.landmarks) {
            track.take(near, at: seconds, confirmed: true)
        } else if let sighting = eye.sighting(luma, near: guess), let fit = eye.fit(luma, at: sighting),
            fit.disagreement < Looker.keepDisagreement
        {
            track.take(fit, at: seconds, confirmed: true)
        } else if let near, near.disagreement < Looker.keepDisagreement, track.mayGoUnconfirmed {
            track.take(near, at: seconds, confirmed: false)
        } else {
            return
        }
        if track.isOnTrial {
            track.judge(eye.certainty(luma, Fit(landmarks: track.landmarks, disagreement: track.disagreement)))
        }
    }

    /// Two tracks on one face: the older stays.
    private mutating func dropDoubles() {
        var i = 0
        while i < tracks.count {
            var j = i + 1
            while j < tracks.count {
                if tracks[i].covers(tracks[j]) {
                    // One that is only predicted gives way to one that is seen, and hands it its name.
                    if !tracks[i].seen && tracks[j].seen {
                        tracks[j].inherit(tracks[i])
                        tracks.swapAt(i, j)
                    }
                    tracks.remove(at: j)
                } else {
                    j += 1
                }
            }
            i += 1
        }
    }

    /// Searches the next slices of the frame for faces that are not known yet.
    private mutating func search(_ luma: borrowing LumaView, slices: Int, _ seconds: Double) {
        for _ in 0..<slices {
            guard let region = sweep?.advance() else { return }
            search(luma, region, atLeast: Looker.findCertainty, seconds)
        }
    }

    /// Searches one slice. Of two finds on one new face the surer one stays.
    private mutating func search(
        _ luma: borrowing LumaView, _ region: Region, atLeast needed: Float, _ seconds: Double
    ) {
        eye.sightings(luma, in: region)
        for sighting in eye.seen {
            if tracks.contains(where: { $0.isShown && $0.covers(sighting) }) { continue }
            guard let fit = eye.fit(luma, at: sighting) else { continue }
            let certainty = eye.certainty(luma, fit)
            let isTiny = sighting.eyeDistance < Looker.tinyEyes
            guard certainty > needed + (isTiny ? Looker.tinyPenalty : 0) else { continue }
            var track = Track(id: nextID, fit, certainty: certainty, at: seconds)
            if let rival = tracks.firstIndex(where: { $0.covers(track) }) {
                guard !tracks[rival].isShown, tracks[rival].certainty < certainty else { continue }
                track.id = tracks[rival].id
                tracks[rival] = track
            } else if tracks.count < settings.most {
                if let known = lost.firstIndex(where: { $0.mayBe(track) }) {
                    track.id = lost.remove(at: known).id
                } else {
                    nextID += 1
                }
                tracks.append(track)
            }
        }
    }

    private mutating func show() {
        faces.removeAll(keepingCapacity: true)
        for track in tracks where track.isShown { faces.append(track.face) }
        cats?.show(in: &faces)
    }
}

/// One face that is followed, with what the next frame's search needs.
struct Track: Sendable {
    /// Frames for which good landmarks alone keep a face that the cascade no longer sees (profiles, strong tilts).
    static let mostUnconfirmed = 45
    /// Frames that must agree before a find is shown, and the mean certainty that they must reach.
    static let needed: Float = 2
    static let shownCertainty: Float = 0.6
    /// A shown face whose mean falls below this is dropped; one whose mean rises above the other is judged no more.
    static let refutedCertainty: Float = -1
    static let trustedCertainty: Float = 3
    /// Judgements that the mean remembers, and frames from one to the next.
    static let memory: Float = 4
    static let trialInterval = 6

    var id: Int
    /// As fitted, unsmoothed, in the last frame that showed it.
    private(set) var landmarks: Face.Landmarks
    private(set) var head: HeadPlacement
    /// Pixels per second.
    private(set) var velocity = Point.zero
    private(set) var lastSeen: Double
    /// The mean over the frames that were judged, the last ones counting most, and their number.
    private(set) var certainty: Float
    private var judged: Float = 1
    /// Sure enough to be given out.
    var isShown = false
    /// Beyond doubt: no longer judged, for a face that turns away is still one.
    private var isTrusted = false
    private var frames = 0
    private var unconfirmed = 0
    private(set) var disagreement: Float
    private var smooth: Smoothing
    /// In this frame.
    var seen = true

    init(id: Int, _ fit: Fit, certainty: Float, at seconds: Double) {
        self.id = id
        self.certainty = certainty
        landmarks = fit.landmarks
        head = HeadPlacement(fitting: fit.landmarks)
        disagreement = fit.disagreement
        lastSeen = seconds
        smooth = Smoothing(fit.landmarks, at: seconds)
    }

    var mayGoUnconfirmed: Bool { unconfirmed < Self.mostUnconfirmed }

    /// True for a face that is to be judged in this frame: a new one always, one that was never quite sure at times.
    var isOnTrial: Bool { !isShown || (!isTrusted && frames % Self.trialInterval == 0) }

    /// True where a find that was taken for a face turned out to be none.
    var isRefuted: Bool { !isTrusted && certainty < Self.refutedCertainty }

    /// Another frame's certainty that this is a face.
    mutating func judge(_ next: Float) {
        judged = min(judged + 1, Self.memory)
        certainty += (next - certainty) / judged
        if judged >= Self.needed && certainty > Self.shownCertainty { isShown = true }
        if judged >= Self.memory && certainty > Self.trustedCertainty { isTrusted = true }
    }

    /// Where the landmarks should be now, if the face went on as it moved.
    func guess(at seconds: Double) -> Face.Landmarks {
        // A face that was lost is not thought to run on.
        let shift = velocity * Float(min(seconds - lastSeen, 0.1))
        var guess = landmarks
        for i in 0..<68 { guess[i] += shift }
        return guess
    }

    mutating func take(_ fit: Fit, at seconds: Double, confirmed: Bool) {
        let head = HeadPlacement(fitting: fit.landmarks)
        let elapsed = Float(seconds - lastSeen)
        if elapsed > 0 { velocity = (head.origin - self.head.origin) / elapsed }
        smooth.update(fit.landmarks, eyeDistance: head.scale, at: seconds)
        (landmarks, self.head, disagreement, lastSeen, seen) = (fit.landmarks, head, fit.disagreement, seconds, true)
        unconfirmed = confirmed ? 0 : unconfirmed + 1
        frames += 1
    }

    /// True where a sighting lies on this very face.
    func covers(_ sighting: Sighting) -> Bool {
        (sighting.eyes - head.origin).length < max(head.scale, sighting.eyeDistance)
    }

    /// True where both are one face: no two faces share a quarter of the smaller one's box.
    func covers(_ other: Track) -> Bool {
        box.overlap(other.box) > 0.25 * min(box.area, other.box.area)
    }

    /// True where another track may be this face, come back: near, and of about its size.
    func mayBe(_ other: Track) -> Bool {
        let ratio = head.scale / max(other.head.scale, 1e-3)
        return (other.head.origin - head.origin).length < 4 * head.scale && (0.6...1.67).contains(ratio)
    }

    mutating func inherit(_ older: Track) {
        (id, isShown, isTrusted) = (older.id, true, older.isTrusted)
    }

    /// Round the unsmoothed landmarks.
    private var box: Rect { Self.box(landmarks) }

    private static func box(_ points: borrowing Face.Landmarks) -> Rect {
        var (low, high) = (points[0], points[0])
        for i in 1..<68 {
            low = pointwiseMin(low, points[i])
            high = pointwiseMax(high, points[i])
        }
        return Rect(x: low.x, y: low.y, width: high.x - low.x, height: high.y - low.y)
    }

    var face: Face {
        let points = smooth.landmarks
        return Face(
            id: id, kind: .human, state: seen ? .tracked : .predicted, box: Self.box(points), landmarks: points,
            head: HeadPlacement(fitting: points), confidence: max(0, 1 - disagreement / Looker.keepDisagreement))
    }
}
