import Frames

/// One face that is followed, with what the next frame's search needs.
struct Track: Sendable {
    /// Frames for which good landmarks alone keep a face that the cascade no longer sees (profiles, strong tilts).
    static let mostUnconfirmed = 45
    /// Frames in a row that may go without a fit while nothing of the face's look changes, and frames from one look of
    /// the cascade at a face that is followed steadily to the next.
    static let mostRest = 2
    static let confirmInterval = 5
    /// Frames that must agree before a find is shown, and the mean certainty that they must reach.
    static let needed: Float = 2
    static let neededTiny: Float = 3
    static let shownCertainty: Float = 0.35
    static let shownTiny: Float = 0.8
    /// The certainty from which on one frame will do: the surest find in pictures without faces and cats has 0.11.
    static let shownAtOnce: Float = 2
    /// No single frame may speak against it as clearly as this.
    static let againstCertainty: Float = -0.5
    /// Frames in which a find must become a face.
    static let longestTrial = 10
    /// A shown face whose mean falls below this is dropped; one whose mean rises above the other is judged no more.
    static let refutedCertainty: Float = -0.4
    static let trustedCertainty: Float = 3
    /// Seconds in which a lost face's motion falls to a third.
    static let rest: Float = 0.2
    /// Judgements that the mean remembers, and frames from one to the next.
    static let memory: Float = 4
    static let trialInterval = 3

    var id: Int
    /// Where the eye keeps its look.
    var slot: Int
    /// As fitted to the last frame that showed it, unsmoothed.
    private(set) var fit: Face.Landmarks
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
    private var sinceConfirmed = 0
    /// Frames since the last fit.
    private var rested = 0
    /// Followed by its look into the last frame.
    private var isMoved = false
    private(set) var disagreement: Float
    private var smooth: Smoothing
    /// In this frame.
    var seen = true

    init(id: Int, slot: Int, _ fit: Fit, certainty: Float, at seconds: Double) {
        self.id = id
        self.slot = slot
        self.certainty = certainty
        self.fit = fit.landmarks
        head = HeadPlacement(fitting: fit.landmarks)
        disagreement = fit.disagreement
        lastSeen = seconds
        smooth = Smoothing(fit.landmarks, at: seconds)
    }

    var mayGoUnconfirmed: Bool { unconfirmed < Self.mostUnconfirmed }

    /// True for a face that is to be judged in this frame: a new one always, one that was never quite sure at times.
    var isOnTrial: Bool { !isShown || (!isTrusted && frames % Self.trialInterval == 0) }

    /// True where a find that was taken for a face turned out to be none.
    var isRefuted: Bool {
        !isTrusted && (certainty < Self.refutedCertainty || (!isShown && frames > Self.longestTrial))
    }

    /// Of two finds on one face the one with more of this is better placed: how well the fits agree counts twice.
    var standing: Float { certainty - logarithm(max(disagreement, 0.002)) }

    /// Another frame's certainty that this is a face.
    mutating func judge(_ next: Float) {
        judged = min(judged + 1, Self.memory)
        certainty += (next - certainty) / judged
        let isTiny = head.scale < Looker.tinyEyes
        let needed = isTiny ? (Self.neededTiny, Self.shownTiny) : (Self.needed, Self.shownCertainty)
        if judged >= needed.0 && certainty > needed.1 && next > Self.againstCertainty { isShown = true }
        if judged >= Self.memory && certainty > Self.trustedCertainty { isTrusted = true }
    }

    /// Smoothed; pixels of the last frame that showed it.
    var landmarks: Face.Landmarks { smooth.landmarks }
    /// Whether one fit a frame will do.
    var isSteady: Bool { isMoved && isShown && isTrusted && disagreement < Looker.steadyDisagreement }
    /// From which side this frame's fit begins.
    private(set) var isEven = false
    /// Whether this frame may go without a fit.
    var mayRest: Bool { isSteady && rested < Self.mostRest }
    /// Whether the cascade need not be asked again yet.
    var isFreshlyConfirmed: Bool { isSteady && sinceConfirmed < Self.confirmInterval }

    /// How far the face should have gone since, if it went on as it moved, pixels.
    func shift(at seconds: Double) -> Affine {
        // A face that was lost comes to rest.
        let elapsed = max(0, Float(seconds - lastSeen))
        let way = velocity * Self.rest * (1 - exponential(-elapsed / Self.rest))
        return Affine(a: 1, b: 0, c: 0, d: 1, tx: way.x, ty: way.y)
    }

    /// Where the landmarks should be now.
    func guess(at seconds: Double) -> Face.Landmarks { shift(at: seconds)(landmarks) }

    /// Goes on with the face's look alone.
    mutating func rest(_ following: Following, at seconds: Double) {
        rested += 1
        smooth.move(to: following.base)
        fit = following.last
        moveHead(at: seconds)
    }

    private mutating func moveHead(at seconds: Double) {
        let elapsed = Float(seconds - lastSeen)
        let head = HeadPlacement(fitting: smooth.landmarks)
        if elapsed > 0 { velocity = (head.origin - self.head.origin) / elapsed }
        (self.head, lastSeen, seen) = (head, seconds, true)
        frames += 1
        sinceConfirmed += 1
    }

    /// - Parameter following: nil where the face was found anew.
    mutating func take(_ fit: Fit, _ following: Following?, at seconds: Double, confirmed: Bool) {
        isMoved = following?.correlation != nil
        smooth.update(
            fit.landmarks, from: following?.base ?? landmarks, isMoved: isMoved, eyeDistance: head.scale, at: seconds)
        (self.fit, disagreement) = (following?.raw ?? fit.landmarks, fit.disagreement)
        if !isFreshlyConfirmed {
            unconfirmed = confirmed ? 0 : unconfirmed + 1
            if confirmed { sinceConfirmed = 0 }
        }
        rested = 0
        isEven.toggle()
        moveHead(at: seconds)
    }

    /// True where a sighting lies on this very face.
    func covers(_ sighting: Sighting) -> Bool {
        (sighting.eyes - head.origin).length < max(head.scale, sighting.eyeDistance)
    }

    /// True where a place between two eyes is between this face's, or nearly so.
    func isAt(_ eyes: Point) -> Bool { (eyes - head.origin).length < head.scale / 2 }

    /// True where both are one face: no two faces share a quarter of the smaller one's box.
    func covers(_ other: Track) -> Bool {
        box.overlap(other.box) > 0.25 * min(box.area, other.box.area)
    }

    /// True where another track may be this face, come back: near, and of about its size.
    func mayBe(_ other: Track) -> Bool {
        (other.head.origin - head.origin).length < 4 * head.scale && Self.areAlike(head.scale, other.head.scale)
    }

    /// True where two eye distances may be one face's, whose size is not known better than this.
    static func areAlike(_ distance: Float, _ other: Float) -> Bool {
        (0.6...1.67).contains(distance / max(other, 1e-3))
    }

    /// Takes the name of a shown track on the same face, and what is known of it.
    mutating func inherit(_ older: Track) {
        (id, isShown, isTrusted) = (older.id, true, isTrusted || older.isTrusted)
    }

    /// Where it is, as the cascade would tell it.
    var sighting: Sighting { Sighting(eyes: head.origin, eyeDistance: head.scale, roll: 0, votes: 0) }

    /// Round the landmarks.
    var box: Rect { Rect(around: landmarks) }

    /// As given out; a face that was not seen is where it should be by now.
    func face(at seconds: Double) -> Face {
        guard !seen else {
            return Face(
                id: id, kind: .human, state: .tracked, box: box, landmarks: landmarks, head: head,
                confidence: max(0, 1 - disagreement / Looker.keepDisagreement))
        }
        let points = guess(at: seconds)
        var moved = head
        moved.origin = shift(at: seconds)(head.origin)
        return Face(
            id: id, kind: .human, state: .predicted, box: Rect(around: points), landmarks: points, head: moved,
            confidence: 0)
    }
}
