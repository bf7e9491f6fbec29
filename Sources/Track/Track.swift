import Frames

/// One face that is followed, with what the next frame's search needs.
struct Track: Sendable {
    /// Frames for which good landmarks alone keep a face that the cascade no longer sees (profiles, strong tilts).
    static let maxUnverifiedFrames = 45
    /// Frames in a row that may go without a fit while nothing of the face's look changes, and frames from one look of
    /// the cascade at a face that is followed steadily to the next.
    static let maxSkippedFits = 2
    static let verifyInterval = 5
    /// Frames that must agree before a find is shown, and the mean certainty that they must reach.
    static let needed: Float = 2
    static let neededTiny: Float = 3
    static let confirmLogOdds: Float = 0.35
    static let confirmTinyLogOdds: Float = 0.8
    /// The certainty from which on one frame will do: the surest find in pictures without faces and cats has 0.11.
    static let confirmAtOnceLogOdds: Float = 2
    /// No single frame may speak against it as clearly as this.
    static let vetoLogOdds: Float = -0.5
    /// Frames in which a find must become a face.
    static let maxTentativeFrames = 10
    /// A shown face whose mean falls below this is dropped; one whose mean rises above the other is judged no more.
    static let refuteLogOdds: Float = -0.4
    static let trustLogOdds: Float = 3
    /// Seconds in which a lost face's motion falls to a third.
    static let velocityDecay: Float = 0.2
    /// Judgements that the mean remembers, and frames from one to the next.
    static let memory: Float = 4
    static let scoringInterval = 3

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
    private(set) var logOdds: Float
    private var scoredFrames: Float = 1
    /// Sure enough to be given out.
    var isConfirmed = false
    /// Beyond doubt: no longer judged, for a face that turns away is still one.
    private var isTrusted = false
    private var frames = 0
    private var unverifiedFrames = 0
    private var framesSinceVerified = 0
    /// Frames since the last fit.
    private var skippedFits = 0
    /// Followed by its look into the last frame.
    private var isMoved = false
    private(set) var fitResidual: Float
    private var smooth: Smoothing
    /// In this frame.
    var seen = true

    init(id: Int, slot: Int, _ fit: Fit, logOdds: Float, at seconds: Double) {
        self.id = id
        self.slot = slot
        self.logOdds = logOdds
        self.fit = fit.landmarks
        head = HeadPlacement(fitting: fit.landmarks)
        fitResidual = fit.fitResidual
        lastSeen = seconds
        smooth = Smoothing(fit.landmarks, at: seconds)
    }

    var mayGoUnverified: Bool { unverifiedFrames < Self.maxUnverifiedFrames }

    /// True for a face that is to be judged in this frame: a new one always, one that was never quite sure at times.
    var isDueForScoring: Bool { !isConfirmed || (!isTrusted && frames % Self.scoringInterval == 0) }

    /// True where a find that was taken for a face turned out to be none.
    var isRefuted: Bool {
        !isTrusted && (logOdds < Self.refuteLogOdds || (!isConfirmed && frames > Self.maxTentativeFrames))
    }

    /// Of two finds on one face the one with more of this is better placed: how well the fits agree counts twice.
    var placementQuality: Float { logOdds - log(max(fitResidual, 0.002)) }

    /// Another frame's certainty that this is a face.
    mutating func updateLogOdds(_ next: Float) {
        scoredFrames = min(scoredFrames + 1, Self.memory)
        logOdds += (next - logOdds) / scoredFrames
        let isTiny = head.scale < Thresholds.tinyEyes
        let needed = isTiny ? (Self.neededTiny, Self.confirmTinyLogOdds) : (Self.needed, Self.confirmLogOdds)
        if scoredFrames >= needed.0 && logOdds > needed.1 && next > Self.vetoLogOdds { isConfirmed = true }
        if scoredFrames >= Self.memory && logOdds > Self.trustLogOdds { isTrusted = true }
    }

    /// Smoothed; pixels of the last frame that showed it.
    var landmarks: Face.Landmarks { smooth.landmarks }
    /// Whether one fit a frame will do.
    var isSteady: Bool { isMoved && isConfirmed && isTrusted && fitResidual < Thresholds.steadyResidual }
    /// From which side this frame's fit begins.
    private(set) var isEven = false
    /// Whether this frame may go without a fit.
    var maySkipFit: Bool { isSteady && skippedFits < Self.maxSkippedFits }
    /// Whether the cascade need not be asked again yet.
    var isRecentlyVerified: Bool { isSteady && framesSinceVerified < Self.verifyInterval }

    /// How far the face should have gone since, if it went on as it moved, pixels.
    func predictedShift(at seconds: Double) -> Affine {
        // A face that was lost comes to rest.
        let elapsed = max(0, Float(seconds - lastSeen))
        let way = velocity * Self.velocityDecay * (1 - exp(-elapsed / Self.velocityDecay))
        return Affine(a: 1, b: 0, c: 0, d: 1, tx: way.x, ty: way.y)
    }

    /// Where the landmarks should be now.
    func predictedLandmarks(at seconds: Double) -> Face.Landmarks { predictedShift(at: seconds)(landmarks) }

    /// Goes on with the face's look alone.
    mutating func advanceWithoutFit(_ update: TrackUpdate, at seconds: Double) {
        skippedFits += 1
        smooth.move(to: update.base)
        fit = update.last
        moveHead(at: seconds)
    }

    private mutating func moveHead(at seconds: Double) {
        let elapsed = Float(seconds - lastSeen)
        let head = HeadPlacement(fitting: smooth.landmarks)
        if elapsed > 0 { velocity = (head.origin - self.head.origin) / elapsed }
        (self.head, lastSeen, seen) = (head, seconds, true)
        frames += 1
        framesSinceVerified += 1
    }

    /// - Parameter update: nil where the face was found anew.
    mutating func update(_ fit: Fit, _ update: TrackUpdate?, at seconds: Double, verified: Bool) {
        isMoved = update?.correlation != nil
        smooth.update(
            fit.landmarks, from: update?.base ?? landmarks, isMoved: isMoved, eyeDistance: head.scale, at: seconds)
        (self.fit, fitResidual) = (update?.raw ?? fit.landmarks, fit.fitResidual)
        if !isRecentlyVerified {
            unverifiedFrames = verified ? 0 : unverifiedFrames + 1
            if verified { framesSinceVerified = 0 }
        }
        skippedFits = 0
        isEven.toggle()
        moveHead(at: seconds)
    }

    /// True where a sighting lies on this very face.
    func covers(_ detection: Detection) -> Bool {
        (detection.eyes - head.origin).length < max(head.scale, detection.eyeDistance)
    }

    /// True where a place between two eyes is between this face's, or nearly so.
    func isAt(_ eyes: Point) -> Bool { (eyes - head.origin).length < head.scale / 2 }

    /// True where both are one face: no two faces share a quarter of the smaller one's box.
    func covers(_ other: Track) -> Bool {
        box.overlap(other.box) > 0.25 * min(box.area, other.box.area)
    }

    /// True where another track may be this face, come back: near, and of about its size.
    func mayBe(_ other: Track) -> Bool {
        (other.head.origin - head.origin).length < 4 * head.scale && EyePair.areAlike(head.scale, other.head.scale)
    }

    /// Takes the name of a shown track on the same face, and what is known of it.
    mutating func adoptIdentity(_ older: Track) {
        (id, isConfirmed, isTrusted) = (older.id, true, isTrusted || older.isTrusted)
    }

    /// Where it is, as the cascade would tell it.
    var detection: Detection { Detection(eyes: head.origin, eyeDistance: head.scale, roll: 0, votes: 0) }

    /// Round the landmarks.
    var box: Rect { Rect(around: landmarks) }

    /// As given out; a face that was not seen is where it should be by now.
    func face(at seconds: Double) -> Face {
        guard !seen else {
            return Face(
                id: id, kind: .human, state: .tracked, box: box, landmarks: landmarks, head: head,
                confidence: max(0, 1 - fitResidual / Thresholds.keepResidual))
        }
        let points = predictedLandmarks(at: seconds)
        var moved = head
        moved.origin = predictedShift(at: seconds)(head.origin)
        return Face(
            id: id, kind: .human, state: .predicted, box: Rect(around: points), landmarks: points, head: moved,
            confidence: 0)
    }
}
