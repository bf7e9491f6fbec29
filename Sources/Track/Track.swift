import Frames

/// One tracked face, with the state that the next frame's search needs.
struct Track: Sendable {
    /// Frames for which good landmarks alone keep a face that the cascade does not detect (profiles, strong tilts).
    static let maxUnverifiedFrames = 45
    /// The maximum number of consecutive frames without a fit while the patch does not change, and the number of frames
    /// between two verifications of a steadily tracked face by the cascade.
    static let maxSkippedFits = 2
    static let verifyInterval = 5
    /// Frames that must agree before a detection is shown, and the mean log-odds that they must reach.
    static let needed: Float = 2
    static let neededTiny: Float = 3
    static let confirmLogOdds: Float = 0.35
    static let confirmTinyLogOdds: Float = 0.8
    /// Log-odds at which one frame is enough: 2 % of pictures without faces have a detection above 0.94.
    static let confirmAtOnceLogOdds: Float = 2
    /// The minimum log-odds of the last frame for a face to be confirmed.
    static let vetoLogOdds: Float = -0.5
    /// The number of frames within which a detection must be confirmed.
    static let maxTentativeFrames = 10
    /// The mean log-odds below which even a shown face is dropped, and above which a face is no longer scored.
    static let refuteLogOdds: Float = -0.4
    static let trustLogOdds: Float = 3
    /// The time constant of a lost face's velocity, seconds: in that time it falls to 1/e.
    static let velocityDecay: Float = 0.2
    /// The number of scores that the running mean covers, and the frames from one score to the next.
    static let memory: Float = 4
    static let scoringInterval = 3
    /// The number of frames for which a face is new.
    static let newFrames = 30

    /// Where the eyes of a face are whose nose and mouth were taken for a face, in eye distances of the latter: their
    /// distance, and how far above. Of one such face of one clip: 3.4 and 2.
    static let (wholeFaceSize, wholeFaceOffset): (Float, Float) = (3, 2)

    var id: Int
    /// The patch tracker's slot that stores the face's patch.
    var slot: Int
    /// The unsmoothed landmarks in the last frame that showed the face.
    private(set) var fit: Face.Landmarks
    /// What all fits of this face are measured from.
    private let basis: Face.Basis
    private(set) var head: HeadPlacement
    /// The velocity, pixels per second.
    private(set) var velocity = Point.zero
    private(set) var lastSeen: Double
    /// The mean log-odds over the scored frames, weighted towards recent ones, and the number of frames in it.
    private(set) var logOdds: Float
    private var scoredFrames: Float = 1
    /// Whether the face is certain enough to be published.
    var isConfirmed = false
    /// Whether the face is beyond doubt and no longer scored, since a face that turns away is still one.
    private var isTrusted = false
    private var frames = 0
    private var unverifiedFrames = 0
    private var framesSinceVerified = 0
    /// Frames since the last fit.
    private var skippedFits = 0
    /// Whether patch alignment succeeded in the last frame.
    private var isMoved = false
    private(set) var fitResidual: Float
    private var smooth: Smoothing
    /// Whether the last frame showed the face.
    var seen = true

    init(id: Int, slot: Int, _ fit: Fit, logOdds: Float, at seconds: Double) {
        self.id = id
        self.slot = slot
        self.logOdds = logOdds
        self.fit = fit.landmarks
        basis = fit.basis
        head = HeadPlacement(fitting: fit.landmarks)
        fitResidual = fit.fitResidual
        lastSeen = seconds
        smooth = Smoothing(fit.landmarks, at: seconds)
    }

    var mayGoUnverified: Bool { unverifiedFrames < Self.maxUnverifiedFrames }

    /// Whether the face was found within the last second or so, and may still turn out to be something else. A look in
    /// a mirror costs as much as a tile of the search, so older ones have none.
    var isNew: Bool { frames < Self.newFrames }

    /// Whether to score the face in this frame: a tentative one always, a confirmed but untrusted one at intervals.
    var isDueForScoring: Bool { !isConfirmed || (!isTrusted && frames % Self.scoringInterval == 0) }

    /// Whether the track has turned out not to be a face.
    var isRefuted: Bool {
        !isTrusted && (logOdds < Self.refuteLogOdds || (!isConfirmed && frames > Self.maxTentativeFrames))
    }

    /// A measure of placement for two detections on one face: log-odds without the share of their size, of which the
    /// larger one would have more, plus how well the fits agree, which thus counts twice.
    var placementQuality: Float {
        logOdds - VerifierFeatures.sizeTerm(eyeDistance: head.scale) - log(max(fitResidual, 0.002))
    }

    /// Adds another frame's log-odds that this is a face.
    mutating func updateLogOdds(_ next: Float) {
        scoredFrames = min(scoredFrames + 1, Self.memory)
        logOdds += (next - logOdds) / scoredFrames
        let isTiny = head.scale < Thresholds.tinyEyeDistance
        let needed = isTiny ? (Self.neededTiny, Self.confirmTinyLogOdds) : (Self.needed, Self.confirmLogOdds)
        if scoredFrames >= needed.0 && logOdds > needed.1 && next > Self.vetoLogOdds { isConfirmed = true }
        if scoredFrames >= Self.memory && logOdds > Self.trustLogOdds { isTrusted = true }
    }

    /// The smoothed landmarks, pixels of the last frame that showed the face.
    var landmarks: Face.Landmarks { smooth.landmarks }
    /// Whether one fit per frame is enough.
    var isSteady: Bool { isMoved && isConfirmed && isTrusted && fitResidual < Thresholds.steadyResidual }
    /// Which side this frame's fit starts from.
    private(set) var isEven = false
    /// Whether this frame may go without a fit.
    var maySkipFit: Bool { isSteady && skippedFits < Self.maxSkippedFits }
    /// Whether the cascade need not verify the face yet.
    var isRecentlyVerified: Bool { isSteady && framesSinceVerified < Self.verifyInterval }

    /// The predicted translation since the last frame that showed the face, pixels.
    func predictedShift(at seconds: Double) -> Affine {
        // The velocity decays, so that a lost face comes to rest.
        let elapsed = max(0, Float(seconds - lastSeen))
        let displacement = velocity * Self.velocityDecay * (1 - exp(-elapsed / Self.velocityDecay))
        return Affine(a: 1, b: 0, c: 0, d: 1, tx: displacement.x, ty: displacement.y)
    }

    /// The predicted landmarks, pixels.
    func predictedLandmarks(at seconds: Double) -> Face.Landmarks { predictedShift(at: seconds)(landmarks) }

    /// Advances to the next frame by patch motion alone.
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

    /// Updates the track with a new fit.
    /// - Parameter update: nil if the cascade detected the face anew.
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

    /// Whether a detection is on this face.
    func covers(_ detection: Detection) -> Bool {
        detection.isOn(EyePair(middle: head.origin, distance: head.scale, roll: 0))
    }

    /// Whether the track may be on a part of a detected face, such as its nose, and not on the face.
    func mayBePart(of detection: Detection) -> Bool {
        detection.eyeDistance > head.scale && !EyePair.areAlike(detection.eyeDistance, head.scale)
            && covers(detection)
    }

    /// The eyes of the face whose nose and mouth this would be, three times as far from each other, above.
    var wholeFace: EyePair {
        EyePair(
            middle: head.origin - Point(0, Self.wholeFaceOffset * head.scale),
            distance: Self.wholeFaceSize * head.scale, roll: 0)
    }

    /// Whether the midpoint between two eyes is at or near that of this face.
    func isAt(_ eyes: Point) -> Bool { (eyes - head.origin).length < head.scale / 2 }

    /// Whether two tracks are one face: they share more than a quarter of the smaller one's box.
    func covers(_ other: Track) -> Bool {
        box.overlap(other.box) > 0.25 * min(box.area, other.box.area)
    }

    /// Whether another track may be this face, come back: near, and of similar size.
    func mayBe(_ other: Track) -> Bool {
        (other.head.origin - head.origin).length < 4 * head.scale && EyePair.areAlike(head.scale, other.head.scale)
    }

    /// Adopts the id and confirmation of a confirmed track on the same face.
    mutating func adoptIdentity(_ older: Track) {
        (id, isConfirmed, isTrusted) = (older.id, true, isTrusted || older.isTrusted)
    }

    /// The face's place in the form of a detection, upright.
    var detection: Detection { Detection(eyes: head.origin, eyeDistance: head.scale, roll: 0, votes: 0) }

    /// The bounding box of the landmarks.
    var box: Rect { Rect(around: landmarks) }

    /// The face as it is published; if the last frame did not show it, at its predicted position.
    func face(at seconds: Double) -> Face {
        guard !seen else {
            return Face(
                id: id, kind: .human, state: .tracked, basis: basis, box: box, landmarks: landmarks, head: head,
                confidence: max(0, 1 - fitResidual / Thresholds.keepResidual))
        }
        let points = predictedLandmarks(at: seconds)
        var moved = head
        moved.origin = predictedShift(at: seconds)(head.origin)
        return Face(
            id: id, kind: .human, state: .predicted, basis: basis, box: Rect(around: points), landmarks: points,
            head: moved, confidence: 0)
    }
}
