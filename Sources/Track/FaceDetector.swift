import Frames
import SystemKit

/// Detection, verification and landmark fitting on small upright patches cut from the frame: cascades decide whether a
/// face is there, regression trees where its landmarks are. Owns the scratch buffers of both, so nothing is allocated
/// per patch.
public struct FaceDetector: ~Copyable {
    private var classifier: CascadeClassifier
    /// Two more face cascades, with other features and training, and an eye cascade: they verify new faces.
    private var secondClassifier: CascadeClassifier
    private var thirdClassifier: CascadeClassifier
    private var eyeVerifier: CascadeClassifier
    private var pattern = FacePattern()
    private var mirror = MirroredPart()
    /// The regression trees; nil if their data is not installed.
    private var fitter: PatchFitter?
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
                .invalid, "the cascade catalogue has \(verifiers.count) cascades with role 'verifier', two are needed",
                fix: "restore Cascades/catalogue.json")
        }
        let secondClassifier = try CascadeClassifier(verifiers[0], side: ScanScheduler.side)
        let thirdClassifier = try CascadeClassifier(verifiers[1], side: ScanScheduler.side)
        let eyeVerifier = try CascadeClassifier(try catalog.entry(.eyeVerifier), side: ScanScheduler.side)
        let isComplete = isReadable(landmarks)
        let fitter = isComplete ? PatchFitter(try LandmarkModel(path: landmarks, cache: cache)) : nil
        let eyeDetector = isComplete ? nil : try EyeDetector(try catalog.entry(.eye))
        self.classifier = classifier
        self.secondClassifier = secondClassifier
        self.thirdClassifier = thirdClassifier
        self.eyeVerifier = eyeVerifier
        self.fitter = fitter
        self.eyeDetector = eyeDetector
        warning =
            isComplete
            ? nil
            : "landmark data \(landmarks) is missing: masks follow the place, size and tilt of a face, but not its "
                + "rotation or the mouth; install it: sudo apt install libdlib-data"
    }

    /// The lowest log-odds of a look, so that one alone does not decide against two others.
    private static let leastLogOdds: Float = -6

    /// Reserves a patch slot for each face tracked at once.
    mutating func reserveSlots(faces: Int) { patchTracker = PatchTracker(slots: faces) }

    /// Scans one tile of the frame; the results are in `detections`.
    mutating func detect(_ luma: borrowing LumaView, in region: PatchTransform) {
        detections.removeAll(keepingCapacity: true)
        let map = classifier.scan(luma, region)
        for i in classifier.matches.indices {
            detections.append(classifier.detection(classifier.matches[i], region, map))
        }
    }

    /// Searches around an expected face; nil if none is detected.
    /// - Parameters:
    ///   - maxOffset: the maximum offset of the eyes, in twentieths of the cascade's window.
    mutating func detect(_ luma: borrowing LumaView, near eyes: EyePair, maxOffset: Int) -> Detection? {
        classifier.verify(
            luma, at: eyes, maxOffset: maxOffset, sizes: [1, 1.2, 0.83], minStages: classifier.stages, enoughWindows: 3)?
            .detection
    }

    /// Whether the cascade confirms a face where the landmarks are.
    mutating func verifies(_ luma: borrowing LumaView, _ landmarks: borrowing Face.Landmarks) -> Bool {
        let result = classifier.verify(
            luma, at: EyePair(landmarks), maxOffset: 3, sizes: [1, 1.1, 0.9], minStages: classifier.stages - 5,
            enoughWindows: 2)
        return (result?.votes ?? 0) >= 2
    }

    /// The log-odds that a fit shows a face; at 0, face and no face are about equally likely. See `VerifierFeatures`.
    mutating func logOdds(_ luma: borrowing LumaView, _ fit: Fit) -> Float {
        features(luma, fit, isComplete: false).logOdds
    }

    /// The mean log-odds that a fit shows a face, of two looks: at itself, and, unless that one is clear, at the same
    /// face in a mirror.
    mutating func meanLogOdds(_ luma: borrowing LumaView, _ fit: Fit) -> Float {
        let plain = logOdds(luma, fit)
        guard (0..<Thresholds.certainLogOdds).contains(plain) else { return plain }
        return (plain + lookInMirror(luma, at: EyePair(fit.landmarks))) / 2
    }

    /// The mean log-odds that a detection in a photo shows a face, of three looks: the one that detected it, one that
    /// starts from its own eyes, and one in a mirror. Of very many places, those are left where the first look erred.
    /// - Parameters:
    ///   - eyes: where the first look saw the eyes.
    ///   - first: its log-odds.
    mutating func meanLogOdds(_ luma: borrowing LumaView, _ eyes: EyePair, first: Float) -> Float {
        (first + look(luma, at: eyes) + lookInMirror(luma, at: eyes)) / 3
    }

    private mutating func lookInMirror(_ luma: borrowing LumaView, at eyes: EyePair) -> Float {
        mirror.copy(luma, around: eyes)
        // A copy, which shares the samples, because the look needs all of `self`.
        let mirror = mirror
        return look(mirror.luma, at: mirror.eyes)
    }

    /// The log-odds that a face is where its eyes would be.
    private mutating func look(_ luma: borrowing LumaView, at eyes: EyePair) -> Float {
        let detection = Detection(eyes: eyes.middle, eyeDistance: eyes.distance, roll: eyes.roll, votes: 0)
        guard let fit = fit(luma, at: detection) else { return Self.leastLogOdds }
        return max(Self.leastLogOdds, logOdds(luma, fit))
    }

    /// What the verifiers say about a fit.
    /// - Parameter isComplete: whether to search for eyes even if they can't change the decision.
    mutating func features(_ luma: borrowing LumaView, _ fit: Fit, isComplete: Bool) -> VerifierFeatures {
        let eyes = EyePair(fit.landmarks)
        var features = VerifierFeatures(fitResidual: fit.fitResidual, eyeDistance: eyes.distance)
        if let model = fitter?.model, let box = model.box(around: fit.landmarks) {
            features.pattern = pattern.score(
                luma, FacePattern.region(box, eyes: EyePair(model.meanShape).distance))
        }
        features.alt = Self.votes(&secondClassifier, luma, at: eyes, maxOffset: 3, sizes: [1, 1.1, 0.9], maxVotes: 40)
        features.lbp = Self.votes(&thirdClassifier, luma, at: eyes, maxOffset: 4, sizes: [1, 1.1, 0.9], maxVotes: 40)
        // Eyes cost more than all the rest: search for them only if they can change the decision. Without the trees'
        // data they also tell which of two detections is better placed.
        guard isComplete || eyeDetector != nil || Thresholds.undecided.contains(features.logOdds) else {
            return features
        }
        let right = eyeVotes(luma, eyes, at: eyes.right)
        let left = eyeVotes(luma, eyes, at: eyes.left)
        (features.worseEye, features.betterEye) = (min(right, left), max(right, left))
        return features
    }

    private mutating func eyeVotes(_ luma: borrowing LumaView, _ eyes: EyePair, at eye: Point) -> Float {
        // The eye cascade's windows have one eye in the middle.
        var window = eyes
        window.middle = eye
        return Self.votes(&eyeVerifier, luma, at: window, maxOffset: 5, sizes: [1, 1.2, 0.83], maxVotes: 8)
    }

    /// The logarithm of one plus the number of windows of a cascade that pass at a place.
    /// - Parameter maxVotes: the maximum number of windows that count.
    private static func votes(
        _ classifier: inout CascadeClassifier, _ luma: borrowing LumaView, at eyes: EyePair, maxOffset: Int,
        sizes: [3 of Float],
        maxVotes: Int
    ) -> Float {
        let result = classifier.verify(
            luma, at: eyes, maxOffset: maxOffset, sizes: sizes, minStages: classifier.stages, enoughWindows: maxVotes)
        return log(Float(1 + min(result?.votes ?? 0, maxVotes)))
    }

    /// Fits landmarks to a new detection.
    mutating func fit(_ luma: borrowing LumaView, at detection: Detection) -> Fit? {
        if eyeDetector != nil { return eyeDetector?.fit(luma, at: detection.pair) }
        guard let mean = fitter?.model.meanShape else { return nil }
        let eyes = EyePair(mean)
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
        guard fitter?.extractPatch(luma, around: guess) == true else { return nil }
        return fitter?.fit(from: guess, start, and: other)
    }

    /// Tracks a face from the frame before to this one: by patch alignment if it succeeds, and by fitting landmarks.
    /// - Returns: nil if no patch can be cut.
    mutating func follow(_ luma: borrowing LumaView, _ track: borrowing Track, at seconds: Double) -> TrackUpdate? {
        let begin = threadTime()
        defer { landmarkTime += threadTime() - begin }
        let guess = track.predictedLandmarks(at: seconds)
        if eyeDetector != nil {
            return TrackUpdate(
                base: track.landmarks, last: track.fit, fit: eyeDetector?.fit(luma, at: EyePair(guess)))
        }
        guard fitter?.extractPatch(luma, around: guess) == true else { return nil }
        fitter?.passPatch(to: &patchTracker)
        let motion = patchTracker.motion(
            slot: track.slot, guess: track.predictedShift(at: seconds), width: luma.width, height: luma.height)
        guard let motion, motion.correlation > Thresholds.samePatchCorrelation else {
            return TrackUpdate(
                base: track.landmarks, last: track.fit, fit: fitter?.fit(from: guess, .above, and: .below))
        }
        var update = TrackUpdate(base: track.landmarks, last: track.fit, correlation: motion.correlation, fit: nil)
        (update.base, update.last) = (motion.map(update.base), motion.map(update.last))
        let visible = Self.visibleShare(update.base, luma)
        if visible < Thresholds.wholeFaceShare {
            // The trees cannot fit a face that the frame's edge cuts, so the patch motion alone is used.
            update.isCut = true
            if visible > Thresholds.minFaceShare {
                update.fit = Fit(landmarks: update.base, fitResidual: track.fitResidual)
                update.raw = update.last
            }
            return update
        }
        if track.maySkipFit && motion.correlation > Thresholds.stillPatchCorrelation {
            update.isStill = true
            return update
        }
        if track.isSteady, let model = fitter?.model,
            let one = fitter?.fit(from: update.base, track.isEven ? .above : .below),
            // The side changes with each frame, so that two frames' fits are a pair.
            let joined = PatchFitter.join(one, update.last, model), joined.fitResidual < Thresholds.steadyResidual
        {
            update.fit = joined
            update.raw = one
        } else {
            update.fit = fitter?.fit(from: update.base, .above, and: .below)
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
        if isNew { fitter?.passPatch(to: &patchTracker) }
        patchTracker.storePatch(slot: slot)
    }
}
