import Frames

/// A face detected by a cascade: the estimated eyes, pixels of the frame.
public struct Detection: Sendable {
    /// The midpoint between the eyes.
    public var eyes: Point
    /// The distance between the eyes, pixels.
    public var eyeDistance: Float
    /// Degrees.
    public var roll: Float
    /// The number of windows that agreed.
    public var votes: Int

    var pair: EyePair { EyePair(middle: eyes, distance: eyeDistance, roll: roll) }

    /// Whether two detections may be one face: near each other, and of similar size, since a large false detection
    /// would otherwise hide a small true one inside it.
    func mayBe(_ other: Detection) -> Bool {
        (eyes - other.eyes).length < max(eyeDistance, other.eyeDistance) / 2
            && Track.areAlike(eyeDistance, other.eyeDistance)
    }

    /// An upright box around the whole head, 3 eye distances wide and 3.8 high, for a head that may be turned and
    /// tilted. Its features are in the inner half; hair and chin are inside too.
    var head: Rect {
        let (width, height) = (3 * eyeDistance, 3.8 * eyeDistance)
        return Rect(x: eyes.x - width / 2, y: eyes.y - height * 0.42, width: width, height: height)
    }
}

/// The result of tracking a face from one frame to the next; positions in pixels of the new frame.
struct TrackUpdate: Sendable {
    /// The smoothed landmarks of the frame before, moved by the patch motion; unmoved if the patch could not be
    /// aligned.
    var base: Face.Landmarks
    /// The fit of the frame before, moved likewise.
    var last: Face.Landmarks
    /// The correlation of both frames' patches; nil if they could not be aligned.
    var correlation: Float?
    /// This frame's fit, averaged with the last one if only one fit was run.
    var fit: Fit?
    /// Whether the patch is unchanged, so that nothing was fitted.
    var isStill = false
    /// Whether the frame's edge cuts the face.
    var isCut = false
    /// This frame's landmarks before averaging or smoothing; nil: those of `fit`.
    var raw: Face.Landmarks?
}

/// Detection, verification and landmark fitting on small upright patches cut from the frame: cascades decide whether a
/// face is there, regression trees where its landmarks are. Owns the scratch buffers of both, so nothing is allocated
/// per patch.
public struct FaceDetector: ~Copyable {
    /// The minimum log-odds at which a detection becomes a face.
    static let detectionLogOdds: Float = -0.6
    /// The same for photos, which have no second frame for confirmation but are searched at more sizes and tilts.
    static let photoLogOdds: Float = -0.2
    /// The minimum log-odds at which a place in a photo may be a face, so that a mask that hides faces covers it too.
    /// On every third labelled photo no face of 58 is left uncovered (2 without this), and 1.5 other places per photo
    /// are covered.
    static let weakLogOdds: Float = -2.4
    /// The maximum log-odds at which a face in a photo yields to a cat's: cats have eyes too.
    static let catLogOdds: Float = 2.5
    /// The eye distance in pixels below which a face is tiny, and the additional log-odds it needs: tiny faces are
    /// searched in so many more places.
    static let tinyEyes: Float = 20
    static let tinyPenalty: Float = 0.3
    /// The range of log-odds without eyes in which the eyes can decide. Above it they hardly matter; below it they
    /// cannot help, since both open add 2.8.
    private static let undecided: ClosedRange<Float> = -4...3
    /// Detections below the required log-odds but above this are examined again in the next frames.
    static let candidateLogOdds: Float = -3
    /// The maximum fit residual at which a known face is kept without the cascade.
    static let keepResidual: Float = 0.04
    /// The maximum fit residual at which a face is accepted where the cascade detects it again. Fits to what is no face
    /// have more, because the landmarks slide even farther.
    static let foundResidual: Float = 0.06
    /// The residual below which the fits of two frames agree so well that one fit per frame is enough.
    static let steadyResidual: Float = 0.025
    /// The residual above which a fit may have drifted, so the cascade searches for the face.
    static let doubtfulResidual: Float = 0.03
    /// The share of its landmarks inside the frame below which a face is cut by the edge, and below which it is gone.
    static let wholeFace: Float = 0.9
    static let leastFace: Float = 0.3
    /// The minimum correlation of two frames' patches that show the same face.
    static let samePatchCorrelation: Float = 0.8
    /// The minimum correlation at which the patches are so alike that no eyelid or lip has moved.
    static let stillPatchCorrelation: Float = 0.995

    private var classifier: CascadeClassifier
    /// Two more face cascades, with other features and training, and an eye cascade: they verify new faces.
    private var secondClassifier: CascadeClassifier
    private var thirdClassifier: CascadeClassifier
    private var eyeVerifier: CascadeClassifier
    /// The regression trees; nil if their data is not installed.
    private var scaler: PatchFitter?
    /// The replacement for the trees if their data is not installed.
    private var eyeDetector: EyeDetector?
    /// What does not work without the missing data and how to install it; nil if nothing is missing.
    public let warning: String?
    private var patchTracker = PatchTracker(slots: 0)
    /// CPU time spent on landmarks since this was last reset, nanoseconds.
    var landmarkTime: UInt64 = 0
    /// Detections in the tile that was scanned last, the most confident first.
    private(set) var detections: [Detection] = []

    /// - Parameters:
    ///   - landmarks: the landmark trees' data. If it is missing, the eye cascade replaces it and `warning` says so.
    ///   - cache: the directory of the trees' compact file; nil: no cache.
    /// - Throws: `Problem` if a cascade is missing or damaged, or the landmark data is damaged.
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

    /// Reserves a patch slot for each face tracked at once.
    mutating func reserveSlots(faces: Int) { patchTracker = PatchTracker(slots: faces) }

    /// Scans one tile of the frame; the results are in `detections`.
    mutating func detect(_ luma: borrowing LumaView, in region: PatchTransform) {
        detections.removeAll(keepingCapacity: true)
        let map = classifier.scan(luma, region)
        for i in classifier.finds.indices { detections.append(classifier.detection(classifier.finds[i], region, map)) }
    }

    /// Searches around an expected face; nil if none is detected.
    /// - Parameters:
    ///   - reach: the maximum offset of the eyes, in twentieths of the cascade's window.
    mutating func detect(_ luma: borrowing LumaView, near eyes: EyePair, reach: Int) -> Detection? {
        classifier.verify(luma, at: eyes, reach: reach, sizes: [1, 1.2, 0.83], stage: classifier.stages, agree: 3)?
            .detection
    }

    /// Whether the cascade confirms a face where the landmarks are.
    mutating func verifies(_ luma: borrowing LumaView, _ landmarks: borrowing Face.Landmarks) -> Bool {
        let result = classifier.verify(
            luma, at: Self.eyes(landmarks), reach: 3, sizes: [1, 1.1, 0.9], stage: classifier.stages - 5, agree: 2)
        return (result?.votes ?? 0) >= 2
    }

    /// The log-odds that a fit shows a face; at 0, face and no face are about equally likely.
    ///
    /// A logistic regression on the residual of the two fits, the number of windows of two further face cascades that
    /// pass there, and the number of windows of an eye cascade that pass on either eye. Trained on some 2000 detections
    /// of faces and 370 false ones (cross-validated by picture; see docs/tracker.md).
    mutating func logOdds(_ luma: borrowing LumaView, _ fit: Fit) -> Float {
        let eyes = Self.eyes(fit.landmarks)
        let alt = Self.votes(&secondClassifier, luma, at: eyes, reach: 3, sizes: [1, 1.1, 0.9], most: 40)
        let lbp = Self.votes(&thirdClassifier, luma, at: eyes, reach: 4, sizes: [1, 1.1, 0.9], most: 40)
        let fits = -6.09 - 0.98 * log(max(fit.fitResidual, 0.002)) + 0.95 * alt + 1.11 * lbp
        // The eye cascade costs more than all the rest, so it runs only if it can decide.
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

    /// The logarithm of one plus the number of windows of a cascade that pass at a place.
    /// - Parameter most: the maximum number of windows that count.
    private static func votes(
        _ classifier: inout CascadeClassifier, _ luma: borrowing LumaView, at eyes: EyePair, reach: Int,
        sizes: [3 of Float],
        most: Int
    ) -> Float {
        let result = classifier.verify(
            luma, at: eyes, reach: reach, sizes: sizes, stage: classifier.stages, agree: most)
        return log(Float(1 + min(result?.votes ?? 0, most)))
    }

    /// Fits landmarks to a new detection.
    mutating func fit(_ luma: borrowing LumaView, at detection: Detection) -> Fit? {
        if eyeDetector != nil { return eyeDetector?.fit(luma, at: detection.pair) }
        guard let mean = scaler?.model.meanShape else { return nil }
        let eyes = Self.eyes(mean)
        let map = Affine(
            scale: detection.eyeDistance / eyes.distance, angle: radians(detection.roll), origin: .zero)
        let middle = map.linear(eyes.middle)
        let placed = Affine(
            a: map.a, b: map.b, c: map.c, d: map.d, tx: detection.eyes.x - middle.x, ty: detection.eyes.y - middle.y)
        // The cascade's box is coarse: two fits settle the box in which the final fits are compared.
        guard let rough = fitPair(luma, from: placed(mean), .above, .below),
            let settled = fitPair(luma, from: rough.landmarks, .above, .below),
            var resized = fitPair(luma, from: settled.landmarks, .smaller, .larger)
        else { return nil }
        resized.fitResidual = max(settled.fitResidual, resized.fitResidual)
        return resized
    }

    /// Cuts a face's patch and fits it twice.
    private mutating func fitPair(
        _ luma: borrowing LumaView, from guess: borrowing Face.Landmarks, _ start: LandmarkFitter.Start,
        _ other: LandmarkFitter.Start
    ) -> Fit? {
        let begin = threadTime()
        defer { landmarkTime += threadTime() - begin }
        guard scaler?.extractPatch(luma, around: guess) == true else { return nil }
        return scaler?.fit(from: guess, start, and: other)
    }

    /// Tracks a face from the frame before to this one: by patch alignment if it succeeds, and by fitting landmarks.
    /// - Returns: nil if no patch can be cut.
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
            // The trees cannot fit a face that the frame's edge cuts, so the patch motion alone is used.
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
            // The starting side alternates, so that the fits of two frames form a pair.
            let joined = PatchFitter.join(one, update.last, model), joined.fitResidual < Self.steadyResidual
        {
            update.fit = joined
            update.raw = one
        } else {
            update.fit = scaler?.fit(from: update.base, .above, and: .below)
        }
        return update
    }

    /// The share of a face's landmarks inside the frame.
    private static func visibleShare(_ landmarks: borrowing Face.Landmarks, _ luma: borrowing LumaView) -> Float {
        let (width, height) = (Float(luma.width), Float(luma.height))
        var inside = 0
        for i in 0..<68 {
            let p = landmarks[i]
            if p.x >= 0 && p.y >= 0 && p.x < width && p.y < height { inside += 1 }
        }
        return Float(inside) / 68
    }

    /// Stores the patch that was tracked or fitted last, for the next frame.
    mutating func storePatch(slot: Int, isNew: Bool) {
        if isNew { scaler?.passPatch(to: &patchTracker) }
        patchTracker.storePatch(slot: slot)
    }

    /// The eyes of a set of landmarks.
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
