import Frames

/// A face as a cascade sees it: where the eyes should be, pixels of the frame.
public struct Detection: Sendable {
    /// The middle between the eyes.
    public var eyes: Point
    /// Pixels.
    public var eyeDistance: Float
    /// Degrees.
    public var roll: Float
    /// Windows that agreed.
    public var votes: Int

    var pair: EyePair { EyePair(middle: eyes, distance: eyeDistance, roll: roll) }

    /// True where both may be one face: near each other, and of about one size, for a large false find would otherwise
    /// hide the small true one inside it.
    func mayBe(_ other: Detection) -> Bool {
        (eyes - other.eyes).length < max(eyeDistance, other.eyeDistance) / 2
            && Track.areAlike(eyeDistance, other.eyeDistance)
    }

    /// An upright box round the whole head, as wide as 3 and as high as 3.8 eye distances, for a head that may be turned
    /// and tilted: its features lie in the inner half, hair and chin within.
    var head: Rect {
        let (width, height) = (3 * eyeDistance, 3.8 * eyeDistance)
        return Rect(x: eyes.x - width / 2, y: eyes.y - height * 0.42, width: width, height: height)
    }
}

/// What became of a face from one frame to the next; pixels of this frame.
struct TrackUpdate: Sendable {
    /// Its landmarks of the frame before, moved with its look; where that could not be followed, unmoved.
    var base: Face.Landmarks
    /// The fit of the frame before, moved alike.
    var last: Face.Landmarks
    /// Of both frames' looks; nil: could not be followed.
    var correlation: Float?
    /// This frame's fit, joined with the last one where that could be moved.
    var fit: Fit?
    /// It looks as it did: nothing was fitted.
    var isStill = false
    /// The frame's edge cuts it.
    var isCut = false
    /// This frame's alone.
    var raw: Face.Landmarks?
}

/// Looks at small upright patches cut from the frame: a cascade says whether a face is there, the trees where its
/// landmarks are. Holds the scratch that both need, so that a look allocates nothing.
public struct FaceDetector: ~Copyable {
    /// The certainty that makes a find a face.
    static let detectionLogOdds: Float = -0.6
    /// The same for photos, which have no second frame to ask but are searched at more sizes and tilts.
    static let photoLogOdds: Float = -0.2
    /// From this on a place in a photo may be a face, so a mask that hides faces covers it too: on every third labelled
    /// photo no face of 58 stays bare (2 without), and 1.5 other places a photo are covered.
    static let weakLogOdds: Float = -2.4
    /// Up to this a face in a photo gives way to a cat's: cats have eyes too.
    static let catLogOdds: Float = 2.5
    /// Tiny faces are looked for in so many more places that they must be surer: eye distance in pixels, log-odds.
    static let tinyEyes: Float = 20
    static let tinyPenalty: Float = 0.3
    /// The certainty without eyes above which they add nothing that matters, and below which they cannot help: both
    /// open add 2.8.
    private static let undecided: ClosedRange<Float> = -4...3
    /// Below the certainty needed, but above this, a find is looked at again in the next frames.
    static let candidateLogOdds: Float = -3
    /// The disagreement up to which a known face is kept without the cascade.
    static let keepResidual: Float = 0.04
    /// And that up to which it is taken where the cascade finds it again: the fits of what is no face, in whose place the
    /// landmarks slid even farther, have more.
    static let foundResidual: Float = 0.06
    /// Below this, fits of two frames agree so well that one a frame will do.
    static let steadyResidual: Float = 0.025
    /// Above this, a fit may have slid: the cascade is asked where the face is.
    static let doubtfulResidual: Float = 0.03
    /// A face with fewer of its landmarks inside the frame is cut by its edge, and one with fewer still is gone.
    static let wholeFace: Float = 0.9
    static let leastFace: Float = 0.3
    /// The correlation from which on two frames' patches show the same.
    static let samePatchCorrelation: Float = 0.8
    /// And that from which on they are so alike that no lid or lip has moved.
    static let stillPatchCorrelation: Float = 0.995

    private var classifier: CascadeClassifier
    /// Two more face cascades, of other features and training, and one of eyes: asked about new faces only.
    private var secondClassifier: CascadeClassifier
    private var thirdClassifier: CascadeClassifier
    private var eyeVerifier: CascadeClassifier
    /// The regression trees; nil where their data is not installed.
    private var scaler: PatchFitter?
    /// What stands in for them then.
    private var eyeDetector: EyeDetector?
    /// What is lost on this machine and how to get it; nil: nothing.
    public let warning: String?
    private var patchTracker = PatchTracker(slots: 0)
    /// CPU time spent on landmarks since it was last set, nanoseconds.
    var landmarkTime: UInt64 = 0
    /// What the last look at a slice saw, the surest first.
    private(set) var detections: [Detection] = []

    /// - Parameters:
    ///   - landmarks: the landmark trees' data; where it is missing, the eye cascade stands in and `warning` says so.
    ///   - cache: where the trees' compact file is kept; nil: nowhere.
    /// - Throws: `Problem` where a cascade is missing or damaged, or the landmark data is damaged.
    public init(catalog: CascadeCatalog, landmarks: String = LandmarkModel.debianPath, cache: String?) throws {
        let classifier = try CascadeClassifier(try catalog.entry(.face), side: ScanScheduler.side, scansTiles: true)
        let verifiers = catalog.all(.verifier)
        guard verifiers.count == 2 else {
            throw Problem(
                .invalid, "the cascade catalogue has \(verifiers.count) of role 'verifier', two are needed",
                fix: "restore Cascades/catalogue.json")
        }
        let secondClassifier = try CascadeClassifier(verifiers[0], side: ScanScheduler.side)
        let thirdClassifier = try CascadeClassifier(verifiers[1], side: ScanScheduler.side)
        let eyeVerifier = try CascadeClassifier(try catalog.entry(.eyeVerifier), side: ScanScheduler.side)
        let isComplete = isReadable(landmarks)
        let scaler = isComplete ? PatchFitter(try LandmarkModel(path: landmarks, cache: cache)) : nil
        let eyeDetector = isComplete ? nil : try EyeDetector(try catalog.entry(.eye))
        self.classifier = classifier
        self.secondClassifier = secondClassifier
        self.thirdClassifier = thirdClassifier
        self.eyeVerifier = eyeVerifier
        self.scaler = scaler
        self.eyeDetector = eyeDetector
        warning =
            isComplete
            ? nil
            : "landmark data \(landmarks) is missing: masks follow place, size and tilt of a face, but neither turns nor "
                + "the mouth; get it: sudo apt install libdlib-data"
    }

    /// Makes room for the looks of faces that are followed at once, each in a slot.
    mutating func reserveSlots(faces: Int) { patchTracker = PatchTracker(slots: faces) }

    /// Looks at one slice of the frame; what is there is in `detect`.
    mutating func detect(_ luma: borrowing LumaView, in region: PatchTransform) {
        detections.removeAll(keepingCapacity: true)
        let map = classifier.scan(luma, region)
        for i in classifier.finds.indices { detections.append(classifier.detection(classifier.finds[i], region, map)) }
    }

    /// Looks round a place where a face should be; nil where none is seen.
    /// - Parameters:
    ///   - reach: how far the eyes may be off, in shares of the cascade's window of 20.
    mutating func detect(_ luma: borrowing LumaView, near eyes: EyePair, reach: Int) -> Detection? {
        classifier.verify(luma, at: eyes, reach: reach, sizes: [1, 1.2, 0.83], stage: classifier.stages, agree: 3)?
            .detection
    }

    /// True where the cascade agrees that a face is where the landmarks say.
    mutating func verifies(_ luma: borrowing LumaView, _ landmarks: borrowing Face.Landmarks) -> Bool {
        let result = classifier.verify(
            luma, at: Self.eyes(landmarks), reach: 3, sizes: [1, 1.1, 0.9], stage: classifier.stages - 5, agree: 2)
        return (result?.votes ?? 0) >= 2
    }

    /// How sure it is that a fit shows a face: the logarithm of the odds, 0 where face and no face are about equally
    /// likely.
    ///
    /// A logistic regression on the two fits' disagreement, the windows of two further face cascades that pass there,
    /// and those of an eye cascade that pass on either eye, over some 2000 finds on faces and 370 on none
    /// (cross-validated by picture; see docs/tracker.md).
    mutating func logOdds(_ luma: borrowing LumaView, _ fit: Fit) -> Float {
        let eyes = Self.eyes(fit.landmarks)
        let alt = Self.votes(&secondClassifier, luma, at: eyes, reach: 3, sizes: [1, 1.1, 0.9], most: 40)
        let lbp = Self.votes(&thirdClassifier, luma, at: eyes, reach: 4, sizes: [1, 1.1, 0.9], most: 40)
        let fits = -6.09 - 0.98 * log(max(fit.fitResidual, 0.002)) + 0.95 * alt + 1.11 * lbp
        // Eyes cost more than all the rest: they are looked for where they decide.
        guard Self.undecided.contains(fits) else { return fits }
        let right = eyeVotes(luma, eyes, at: eyes.right)
        let left = eyeVotes(luma, eyes, at: eyes.left)
        return fits + 0.23 * min(right, left) + 1.06 * max(right, left)
    }

    private mutating func eyeVotes(_ luma: borrowing LumaView, _ eyes: EyePair, at eye: Point) -> Float {
        var place = eyes
        place.middle = eye
        return Self.votes(&eyeVerifier, luma, at: place, reach: 5, sizes: [1, 1.2, 0.83], most: 8)
    }

    /// The logarithm of one more than the windows of a cascade that pass at a place.
    /// - Parameter most: windows beyond which more say no more.
    private static func votes(
        _ classifier: inout CascadeClassifier, _ luma: borrowing LumaView, at eyes: EyePair, reach: Int,
        sizes: [3 of Float],
        most: Int
    ) -> Float {
        let result = classifier.verify(
            luma, at: eyes, reach: reach, sizes: sizes, stage: classifier.stages, agree: most)
        return log(Float(1 + min(result?.votes ?? 0, most)))
    }

    /// Fits landmarks to a face that was just seen.
    mutating func fit(_ luma: borrowing LumaView, at detection: Detection) -> Fit? {
        if eyeDetector != nil { return eyeDetector?.fit(luma, at: detection.pair) }
        guard let mean = scaler?.model.meanShape else { return nil }
        let eyes = Self.eyes(mean)
        let map = Affine(
            scale: detection.eyeDistance / eyes.distance, angle: radians(detection.roll), origin: .zero)
        let middle = map.linear(eyes.middle)
        let placed = Affine(
            a: map.a, b: map.b, c: map.c, d: map.d, tx: detection.eyes.x - middle.x, ty: detection.eyes.y - middle.y)
        // The cascade's box is coarse: what it leads to settles the box in which the fits are compared.
        guard let rough = fitPair(luma, from: placed(mean), .above, .below),
            let settled = fitPair(luma, from: rough.landmarks, .above, .below),
            var resized = fitPair(luma, from: settled.landmarks, .smaller, .larger)
        else { return nil }
        resized.fitResidual = max(settled.fitResidual, resized.fitResidual)
        return resized
    }

    /// Cuts a face's patch and fits twice in it.
    private mutating func fitPair(
        _ luma: borrowing LumaView, from guess: borrowing Face.Landmarks, _ start: LandmarkFitter.Start,
        _ other: LandmarkFitter.Start
    ) -> Fit? {
        let begin = threadTime()
        defer { landmarkTime += threadTime() - begin }
        guard scaler?.extractPatch(luma, around: guess) == true else { return nil }
        return scaler?.fit(from: guess, start, and: other)
    }

    /// Follows a face from the frame before to this one: by its look where that can be laid on the last, and by its
    /// landmarks.
    /// - Returns: nil where there is nothing to be cut from the frame.
    mutating func follow(_ luma: borrowing LumaView, _ track: borrowing Track, at seconds: Double) -> TrackUpdate? {
        let begin = threadTime()
        defer { landmarkTime += threadTime() - begin }
        let guess = track.predictedLandmarks(at: seconds)
        if eyeDetector != nil {
            return TrackUpdate(
                base: track.landmarks, last: track.fit, fit: eyeDetector?.fit(luma, at: Self.eyes(guess)))
        }
        guard scaler?.extractPatch(luma, around: guess) == true else { return nil }
        scaler?.passPatch(to: &patchTracker)
        let motion = patchTracker.motion(
            slot: track.slot, guess: track.predictedShift(at: seconds), width: luma.width, height: luma.height)
        guard let motion, motion.correlation > Self.samePatchCorrelation else {
            return TrackUpdate(
                base: track.landmarks, last: track.fit, fit: scaler?.fit(from: guess, .above, and: .below))
        }
        var update = TrackUpdate(base: track.landmarks, last: track.fit, correlation: motion.correlation, fit: nil)
        (update.base, update.last) = (motion.map(update.base), motion.map(update.last))
        let visible = Self.visibleShare(update.base, luma)
        if visible < Self.wholeFace {
            // Trees know no face that the frame's edge cuts; its look goes on.
            update.isCut = true
            if visible > Self.leastFace {
                update.fit = Fit(landmarks: update.base, fitResidual: track.fitResidual)
                update.raw = update.last
            }
            return update
        }
        if track.maySkipFit && motion.correlation > Self.stillPatchCorrelation {
            update.isStill = true
            return update
        }
        if track.isSteady, let model = scaler?.model,
            let one = scaler?.fit(from: update.base, track.isEven ? .above : .below),
            // The side changes with each frame, so that two frames' fits are a pair.
            let joined = PatchFitter.join(one, update.last, model), joined.fitResidual < Self.steadyResidual
        {
            update.fit = joined
            update.raw = one
        } else {
            update.fit = scaler?.fit(from: update.base, .above, and: .below)
        }
        return update
    }

    /// The part of a face's landmarks that lies inside the frame.
    private static func visibleShare(_ landmarks: borrowing Face.Landmarks, _ luma: borrowing LumaView) -> Float {
        let (width, height) = (Float(luma.width), Float(luma.height))
        var inside = 0
        for i in 0..<68 {
            let p = landmarks[i]
            if p.x >= 0 && p.y >= 0 && p.x < width && p.y < height { inside += 1 }
        }
        return Float(inside) / 68
    }

    /// Keeps the look of the face that was followed or fitted last, for the next frame.
    mutating func storePatch(slot: Int, isNew: Bool) {
        if isNew { scaler?.passPatch(to: &patchTracker) }
        patchTracker.storePatch(slot: slot)
    }

    /// Where a shape has its eyes.
    static func eyes(_ p: borrowing Face.Landmarks) -> EyePair {
        var (right, left) = (Point.zero, Point.zero)
        for i in 36..<42 { right += p[i] }
        for i in 42..<48 { left += p[i] }
        (right, left) = (right / 6, left / 6)
        let across = left - right
        return EyePair(
            middle: (right + left) / 2, distance: across.length, roll: degrees(atan2(across.y, across.x)))
    }
}
