import Frames

/// A face as a cascade sees it: where the eyes should be, pixels of the frame.
public struct Sighting: Sendable {
    /// The middle between the eyes.
    public var eyes: Point
    /// Pixels.
    public var eyeDistance: Float
    /// Degrees.
    public var roll: Float
    /// Windows that agreed.
    public var votes: Int
}

/// Fitted landmarks, pixels of the frame, and how far two fits from opposite sides lie apart: as a share of the
/// face's side, small on faces and large on what is none.
struct Fit: Sendable {
    var landmarks: Face.Landmarks
    var disagreement: Float
}

/// Looks at small upright patches cut from the frame: a cascade says whether a face is there, the trees where its
/// landmarks are. Holds the scratch that both need, so that a look allocates nothing.
public struct Looker: ~Copyable {
    /// Windows that must agree for a find to be looked at more closely.
    static let findVotes = 1
    /// The certainty that makes a find a face, and the disagreement up to which a known face is kept without the
    /// cascade.
    static let findCertainty: Float = 0.2
    /// The same for photos, which have no second frame to ask, and whose faces are smaller.
    static let photoCertainty: Float = -0.4
    /// Tiny faces are looked for in so many more places that they must be surer: eye distance in pixels, log-odds.
    static let tinyEyes: Float = 20
    static let tinyPenalty: Float = 0.6
    static let keepDisagreement: Float = 0.04
    /// Side of the patch in which landmarks are fitted, and the distance between the eyes in it, pixels.
    static let fitSide = 136
    static let fitEyes: Float = 40

    private var finder: Witness
    /// Two more cascades, of other features and training: asked about new faces only.
    private var second: Witness
    private var third: Witness
    /// The regression trees; nil where their data is not installed.
    private var fitter: LandmarkFitter?
    /// What stands in for them then.
    private var eyeFinder: EyeFinder?
    /// What is lost on this machine and how to get it; nil: nothing.
    public let warning: String?
    private var patch: [UInt8]
    /// CPU time spent on landmarks since it was last set, nanoseconds.
    var landmarkTime: UInt64 = 0
    /// What the last look at a slice saw, the surest first.
    private(set) var seen: [Sighting] = []

    /// - Parameters:
    ///   - landmarks: the landmark trees' data; where it is missing, the eye cascade stands in and `warning` says so.
    ///   - cache: where the trees' compact file is kept; nil: nowhere.
    /// - Throws: `Problem` where a cascade is missing or damaged, or the landmark data is damaged.
    public init(catalogue: Catalogue, landmarks: String = LandmarkModel.debianPath, cache: String?) throws {
        let finder = try Witness(try catalogue.entry(.face), side: Sweep.side)
        let witnesses = catalogue.all(.witness)
        guard witnesses.count == 2 else {
            throw Problem(
                .invalid, "the cascade catalogue has \(witnesses.count) of role 'witness', two are needed",
                cure: "restore Cascades/catalogue.json")
        }
        let second = try Witness(witnesses[0], side: Sweep.side)
        let third = try Witness(witnesses[1], side: Sweep.side)
        let isComplete = isReadable(landmarks)
        let fitter = isComplete ? LandmarkFitter(try LandmarkModel(path: landmarks, cache: cache)) : nil
        let eyeFinder = isComplete ? nil : try EyeFinder(try catalogue.entry(.eye))
        self.finder = finder
        self.second = second
        self.third = third
        self.fitter = fitter
        self.eyeFinder = eyeFinder
        warning =
            isComplete
            ? nil
            : "landmark data \(landmarks) is missing: masks follow place, size and tilt of a face, but neither turns nor "
                + "the mouth; get it: sudo apt install libdlib-data"
        patch = Array(repeating: 0, count: Self.fitSide * Self.fitSide)
    }

    /// Looks at one slice of the frame; what is there is in `seen`.
    mutating func sightings(_ luma: borrowing LumaView, in region: Region) {
        seen.removeAll(keepingCapacity: true)
        let map = finder.sweep(luma, region, votes: Self.findVotes)
        for i in finder.search.groups.finds.indices {
            seen.append(finder.sighting(finder.search.groups.finds[i], region, map))
        }
    }

    /// Looks round a place where a face should be; nil where none is seen.
    mutating func sighting(_ luma: borrowing LumaView, near guess: borrowing Face.Landmarks) -> Sighting? {
        finder.look(
            luma, at: Self.eyes(guess), reach: 14, sizes: [1, 1.2, 0.83], stage: finder.stages, agree: 3)?.sighting
    }

    /// True where the cascade agrees that a face is where the landmarks say.
    mutating func confirms(_ luma: borrowing LumaView, _ landmarks: borrowing Face.Landmarks) -> Bool {
        let look = finder.look(
            luma, at: Self.eyes(landmarks), reach: 3, sizes: [1, 1.1, 0.9], stage: finder.stages - 5, agree: 2)
        return (look?.votes ?? 0) >= 2
    }

    /// How sure it is that a fit shows a face: the logarithm of the odds, 0 where face and no face are equally likely.
    ///
    /// A logistic regression on the two fits' disagreement and the windows of two further cascades that pass there,
    /// over some 700 finds on faces and 600 on none (cross-validated by picture; see docs/tracker.md).
    mutating func certainty(_ luma: borrowing LumaView, _ fit: Fit) -> Float {
        let eyes = Self.eyes(fit.landmarks)
        let sizes: [3 of Float] = [1, 1.1, 0.9]
        let (a, b) = (second.stages, third.stages)
        let alt = second.look(luma, at: eyes, reach: 3, sizes: sizes, stage: a, agree: .max)?.votes ?? 0
        let lbp = third.look(luma, at: eyes, reach: 4, sizes: sizes, stage: b, agree: .max)?.votes ?? 0
        return -6.68 - 1.24 * logarithm(max(fit.disagreement, 0.002)) + 1.15 * logarithm(Float(1 + min(alt, 40)))
            + 1.41 * logarithm(Float(1 + min(lbp, 40)))
    }

    /// Fits landmarks to a face that was just seen.
    mutating func fit(_ luma: borrowing LumaView, at sighting: Sighting) -> Fit? {
        if eyeFinder != nil { return eyeFinder?.fit(luma, at: (sighting.eyes, sighting.eyeDistance, sighting.roll)) }
        guard let mean = fitter?.model.meanShape else { return nil }
        let eyes = Self.eyes(mean)
        let map = Affine(
            scale: sighting.eyeDistance / eyes.distance, angle: radians(sighting.roll), origin: .zero)
        let middle = map.linear(eyes.middle)
        let placed = Affine(
            a: map.a, b: map.b, c: map.c, d: map.d, tx: sighting.eyes.x - middle.x, ty: sighting.eyes.y - middle.y)
        var landmarks = mean
        for i in 0..<68 { landmarks[i] = placed(mean[i]) }
        // The cascade's box is coarse: what it leads to settles the box in which the fits are compared.
        guard let rough = fitTrees(luma, from: landmarks, .height),
            let settled = fitTrees(luma, from: rough.landmarks, .height),
            var resized = fitTrees(luma, from: settled.landmarks, .size)
        else { return nil }
        resized.disagreement = max(settled.disagreement, resized.disagreement)
        return resized
    }

    /// Fits landmarks, starting from where they are thought to be (pixels of the frame).
    mutating func fit(_ luma: borrowing LumaView, from guess: borrowing Face.Landmarks) -> Fit? {
        if eyeFinder != nil { return eyeFinder?.fit(luma, at: Self.eyes(guess)) }
        return fitTrees(luma, from: guess, .height)
    }

    private mutating func fitTrees(
        _ luma: borrowing LumaView, from guess: borrowing Face.Landmarks, _ pair: LandmarkFitter.Pair
    ) -> Fit? {
        let start = threadTime()
        defer { landmarkTime += threadTime() - start }
        guard let model = fitter?.model, let box = model.box(around: guess) else { return nil }
        let side = Self.fitSide
        let size = abs(box.determinant).squareRoot()
        guard size > 8 else { return nil }
        let region = Region(
            center: box(Point(0.5, 0.5)), scale: size * Self.eyes(model.meanShape).distance / Self.fitEyes,
            roll: degrees(arcTangent(box.c, box.a)))
        let map = region.map(side: side)
        guard let back = map.inverse else { return nil }
        var samples = patch.mutableSpan
        resample(luma, by: map, into: &samples, width: side, height: side)
        guard let fit = Self.run(&fitter, patch, back.after(box), pair) else { return nil }
        var landmarks = fit.landmarks
        for i in 0..<68 { landmarks[i] = map(landmarks[i]) }
        return Fit(landmarks: landmarks, disagreement: fit.disagreement)
    }

    private static func run(
        _ fitter: inout LandmarkFitter?, _ patch: borrowing [UInt8], _ box: Affine, _ pair: LandmarkFitter.Pair
    ) -> (landmarks: Face.Landmarks, disagreement: Float)? {
        fitter?.fit(
            LumaView(samples: patch.span, width: fitSide, height: fitSide, rowStride: fitSide), around: box, pair)
    }

    /// The eyes' middle, distance and roll (degrees) of a shape.
    static func eyes(_ p: borrowing Face.Landmarks) -> (middle: Point, distance: Float, roll: Float) {
        var (right, left) = (Point.zero, Point.zero)
        for i in 36..<42 { right += p[i] }
        for i in 42..<48 { left += p[i] }
        (right, left) = (right / 6, left / 6)
        let across = left - right
        return ((right + left) / 2, across.length, degrees(arcTangent(across.y, across.x)))
    }
}
