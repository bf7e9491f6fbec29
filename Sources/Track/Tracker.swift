import Frames

/// Finds faces and follows them, frame by frame.
///
/// A known face is sought only round its last place, at its last size and tilt. The whole frame is searched in slices
/// (`Sweep`), a few in each frame while no face is known, fewer once one is. A find becomes a face only when the
/// landmarks fit it; a face that is lost is carried on for `Settings.hold` and then forgotten.
///
/// Work is counted in slices and never in time: the same frames give the same faces on every run and machine.
public struct Tracker: ~Copyable {
    public struct Settings: Equatable, Sendable {
        /// Faces followed at once.
        public var most = 8
        /// The smallest face that is looked for: a window's side as a fraction of the frame's shorter side.
        public var smallest: Float = 0.05
        /// Slices of the sweep in one frame while no face is known, and while one is.
        public var slicesAlone = 3
        public var slicesBeside = 1
        /// Seconds for which a lost face is carried on.
        public var hold = 0.4

        public init() {}
    }

    public let settings: Settings
    /// The faces of the last frame, oldest first.
    public private(set) var faces: [Face] = []

    /// CPU time that the last frame spent on landmarks, nanoseconds.
    public var landmarkTime: UInt64 { eye.landmarkTime }

    private var eye: Looker
    private var tracks: [Track] = []
    private var sweep: Sweep?
    private var frameSize = (width: 0, height: 0)
    private var nextID = 1

    public init(_ looker: consuming Looker, settings: Settings = Settings()) {
        eye = looker
        self.settings = settings
        faces.reserveCapacity(settings.most)
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
        let hold = settings.hold
        tracks.removeAll { track in
            track.isShown ? seconds - track.lastSeen > hold : !track.seen
        }
        search(luma, slices: tracks.isEmpty ? settings.slicesAlone : settings.slicesBeside, seconds)
        show()
    }

    /// Searches one picture whole, at several tilts: for photos. No frame waits for this.
    public mutating func searchWhole(_ luma: borrowing LumaView) {
        prepare(luma)
        tracks.removeAll()
        search(luma, slices: sweep?.regions.count ?? 0, 0)
        for i in tracks.indices { tracks[i].agreed = Track.needed }
        show()
    }

    private mutating func prepare(_ luma: borrowing LumaView) {
        eye.landmarkTime = 0
        guard sweep == nil || frameSize != (luma.width, luma.height) else { return }
        frameSize = (luma.width, luma.height)
        let smallest = max(Float(Looker.window), settings.smallest * Float(min(luma.width, luma.height)))
        sweep = Sweep(width: luma.width, height: luma.height, smallest: smallest, rolls: [0, 40, -40])
        tracks.removeAll(keepingCapacity: true)
    }

    /// Looks for a known face where it should be now.
    private mutating func follow(_ track: inout Track, _ luma: borrowing LumaView, _ seconds: Double) {
        track.seen = false
        let guess = track.guess(at: seconds)
        if let fit = eye.fit(luma, from: guess) {
            let seen = eye.confirms(luma, fit.landmarks)
            if seen || (fit.disagreement < Looker.keepDisagreement && track.unconfirmed < Track.mostUnconfirmed) {
                track.take(fit, at: seconds, confirmed: seen)
                return
            }
        }
        guard let sighting = eye.sighting(luma, near: guess), let fit = eye.fit(luma, at: sighting),
            fit.disagreement < Looker.keepDisagreement
        else { return }
        track.take(fit, at: seconds, confirmed: true)
    }

    /// Two tracks on one face: the older stays.
    private mutating func dropDoubles() {
        var i = 0
        while i < tracks.count {
            var j = i + 1
            while j < tracks.count {
                if tracks[i].covers(tracks[j].head) {
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
            eye.sightings(luma, in: region)
            for sighting in eye.seen {
                guard tracks.count < settings.most else { return }
                if tracks.contains(where: { $0.covers(sighting) }) { continue }
                guard let fit = eye.fit(luma, at: sighting), fit.disagreement < Looker.findDisagreement,
                    eye.confirms(luma, fit.landmarks)
                else { continue }
                let track = Track(id: nextID, fit, votes: sighting.votes, at: seconds)
                if tracks.contains(where: { $0.covers(track.head) }) { continue }
                nextID += 1
                tracks.append(track)
            }
        }
    }

    private mutating func show() {
        faces.removeAll(keepingCapacity: true)
        for track in tracks where track.isShown { faces.append(track.face) }
    }
}

/// One face that is followed, with what the next frame's search needs.
struct Track: Sendable {
    /// Frames for which good landmarks alone keep a face that the cascade no longer sees (profiles, strong tilts).
    static let mostUnconfirmed = 45
    /// Frames that must agree before a find is shown.
    static let needed = 2

    var id: Int
    /// As fitted, unsmoothed, in the last frame that showed it.
    private(set) var landmarks: Face.Landmarks
    private(set) var head: HeadPlacement
    /// Pixels per second.
    private(set) var velocity = Point.zero
    private(set) var lastSeen: Double
    /// Frames that agreed so far.
    var agreed = 1
    private(set) var unconfirmed = 0
    private(set) var disagreement: Float
    private var smooth: Smoothing
    /// In this frame.
    var seen = true

    init(id: Int, _ fit: Fit, votes: Int, at seconds: Double) {
        self.id = id
        landmarks = fit.landmarks
        head = HeadPlacement(fitting: fit.landmarks)
        disagreement = fit.disagreement
        lastSeen = seconds
        smooth = Smoothing(fit.landmarks, at: seconds)
    }

    var isShown: Bool { agreed >= Self.needed }

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
        agreed += 1
        unconfirmed = confirmed ? 0 : unconfirmed + 1
    }

    /// True where a sighting shows this very face.
    func covers(_ sighting: Sighting) -> Bool {
        (sighting.eyes - head.origin).length < max(head.scale, sighting.eyeDistance)
    }

    func covers(_ other: HeadPlacement) -> Bool {
        (other.origin - head.origin).length < 0.7 * max(head.scale, other.scale)
    }

    mutating func inherit(_ older: Track) {
        id = older.id
        agreed += older.agreed
    }

    var face: Face {
        let points = smooth.landmarks
        var (low, high) = (points[0], points[0])
        for i in 1..<68 {
            low = pointwiseMin(low, points[i])
            high = pointwiseMax(high, points[i])
        }
        return Face(
            id: id, kind: .human, state: seen ? .tracked : .predicted,
            box: Rect(x: low.x, y: low.y, width: high.x - low.x, height: high.y - low.y), landmarks: points,
            head: HeadPlacement(fitting: points), confidence: max(0, 1 - disagreement / Looker.keepDisagreement))
    }
}
