import Frames

/// A face as a cascade sees it: where the eyes should be, pixels of the frame.
public struct Sighting: Sendable {
    /// The middle between the eyes.
    public var eyes: Point
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
    /// The side of the cascade's window, pixels.
    static let window = 20
    /// The side of a window in the patch in which a known face is sought, pixels.
    static let seekWindow = 30
    /// Windows that must agree on a new face.
    static let findVotes = 3
    /// The most that two fits may disagree on a new face, and on one that is known.
    static let findDisagreement: Float = 0.02
    static let keepDisagreement: Float = 0.04
    /// Side of the patch in which landmarks are fitted, and the distance between the eyes in it, pixels.
    static let fitSide = 136
    static let fitEyes: Float = 40

    private var search: CascadeSearch
    private let entry: Catalogue.Entry
    private var fitter: LandmarkFitter
    private var patch: [UInt8]
    /// Work done so far, in the cascade's unit: evaluated stumps.
    private(set) var work = 0
    /// CPU time spent on landmarks since it was last set, nanoseconds.
    var landmarkTime: UInt64 = 0
    /// What the last look at a slice saw, the surest first.
    private(set) var seen: [Sighting] = []

    /// - Parameter cache: where the landmark trees' compact file is kept; nil: nowhere.
    /// - Throws: `Problem` where the cascade or the landmark data is missing or damaged.
    public init(catalogue: Catalogue, cache: String?) throws {
        let landmarks = try LandmarkModel(cache: cache)
        let face = try catalogue.entry(.face)
        let xml = try contents(of: face.path)
        let cascade = try Cascade(xml: xml.span, file: face.path)
        search = CascadeSearch(cascade, maxWidth: Sweep.side, maxHeight: Sweep.side)
        entry = face
        fitter = LandmarkFitter(landmarks)
        patch = Array(repeating: 0, count: max(Sweep.side, Self.fitSide) * max(Sweep.side, Self.fitSide))
    }

    /// Looks at one slice of the frame; what is there is in `seen`.
    mutating func sightings(_ luma: borrowing LumaView, in region: Region) {
        seen.removeAll(keepingCapacity: true)
        let map = cut(luma, region, side: Sweep.side)
        var sweep = CascadeSearch.Sweep(
            smallest: Float(Sweep.sizes.lowerBound), largest: Float(Sweep.sizes.upperBound), factor: Float(Sweep.step),
            stage: search.cascade.stageCount)
        search.groups.removeAll()
        work += Self.sweep(&search, patch, side: Sweep.side, &sweep)
        search.groups.group(atLeast: Self.findVotes)
        for find in search.groups.finds { seen.append(sighting(find, region, map)) }
    }

    /// Looks round a place where a face should be; nil where none is seen.
    mutating func sighting(_ luma: borrowing LumaView, near guess: borrowing Face.Landmarks) -> Sighting? {
        seek(luma, guess, reach: 14, sizes: [1, 1.2, 0.83], stage: search.cascade.stageCount, agree: 3)
    }

    /// True where the cascade agrees that a face is where the landmarks say.
    mutating func confirms(_ luma: borrowing LumaView, _ landmarks: borrowing Face.Landmarks) -> Bool {
        seek(luma, landmarks, reach: 3, sizes: [1, 1.1, 0.9], stage: search.cascade.stageCount - 5, agree: 2) != nil
    }

    /// - Parameter reach: how far the window may be off, in twentieths of it.
    private mutating func seek(
        _ luma: borrowing LumaView, _ landmarks: borrowing Face.Landmarks, reach: Int, sizes: [3 of Float], stage: Int,
        agree: Int
    ) -> Sighting? {
        let eyes = Self.eyes(landmarks)
        let side = Self.seekWindow + Self.seekWindow * 2 * reach / Self.window + 12
        let window = Float(Self.seekWindow)
        let scale = eyes.distance / entry.eyeDistance / window
        var region = Region(center: eyes.middle, scale: scale, roll: eyes.roll)
        // The window's own middle, not the eyes', goes to the patch's middle.
        let offset = (Point(0.5, 0.5) - entry.eyes) * window
        region.center += Affine(scale: scale, angle: radians(eyes.roll), origin: .zero).linear(offset)
        let map = cut(luma, region, side: side)
        let corner = (Float(side) - window) / 2
        let near = CascadeSearch.Near(
            rect: Rect(x: corner, y: corner, width: window, height: window), reach: reach, sizes: sizes, stage: stage,
            agree: agree)
        guard let find = Self.find(&search, patch, side: side, near, &work) else { return nil }
        return sighting(find, region, map)
    }

    private mutating func cut(_ luma: borrowing LumaView, _ region: Region, side: Int) -> Affine {
        let map = region.map(side: side)
        var samples = patch.mutableSpan
        resample(luma, by: map, into: &samples, width: side, height: side)
        return map
    }

    private func sighting(_ find: CascadeFind, _ region: Region, _ map: Affine) -> Sighting {
        Sighting(
            eyes: map(Point(find.rect.x + entry.eyes.x * find.rect.width, find.rect.y + entry.eyes.y * find.rect.height)),
            eyeDistance: find.rect.width * entry.eyeDistance * region.scale, roll: region.roll, votes: find.count)
    }

    private static func sweep(
        _ search: inout CascadeSearch, _ patch: borrowing [UInt8], side: Int, _ sweep: inout CascadeSearch.Sweep
    ) -> Int {
        search.sweep(
            LumaView(samples: patch.span, width: side, height: side, rowStride: side), &sweep, budget: Int.max)
    }

    private static func find(
        _ search: inout CascadeSearch, _ patch: borrowing [UInt8], side: Int, _ near: CascadeSearch.Near,
        _ work: inout Int
    ) -> CascadeFind? {
        search.find(
            LumaView(samples: patch.span, width: side, height: side, rowStride: side), near: near, work: &work)
    }

    /// Fits landmarks to a face that was just seen.
    mutating func fit(_ luma: borrowing LumaView, at sighting: Sighting) -> Fit? {
        let mean = fitter.model.meanShape
        let eyes = Self.eyes(mean)
        let map = Affine(
            scale: sighting.eyeDistance / eyes.distance, angle: radians(sighting.roll), origin: .zero)
        let middle = map.linear(eyes.middle)
        let placed = Affine(
            a: map.a, b: map.b, c: map.c, d: map.d, tx: sighting.eyes.x - middle.x, ty: sighting.eyes.y - middle.y)
        var landmarks = mean
        for i in 0..<68 { landmarks[i] = placed(mean[i]) }
        // The cascade's box is coarse: what it leads to settles the box in which the fits are compared.
        guard let rough = fit(luma, from: landmarks), let settled = fit(luma, from: rough.landmarks),
            let resized = fit(luma, from: settled.landmarks, .size)
        else { return nil }
        var fit = resized
        fit.disagreement = max(settled.disagreement, resized.disagreement)
        return fit
    }

    /// Fits landmarks, starting from where they are thought to be (pixels of the frame).
    mutating func fit(
        _ luma: borrowing LumaView, from guess: borrowing Face.Landmarks, _ pair: LandmarkFitter.Pair = .height
    ) -> Fit? {
        let start = threadTime()
        defer { landmarkTime += threadTime() - start }
        guard let box = fitter.model.box(around: guess) else { return nil }
        let side = Self.fitSide
        let roll = degrees(arcTangent(box.c, box.a))
        let size = abs(box.determinant).squareRoot()
        guard size > 8 else { return nil }
        let meanEyes = Self.eyes(fitter.model.meanShape)
        let region = Region(
            center: box(Point(0.5, 0.5)), scale: size * meanEyes.distance / Self.fitEyes, roll: roll)
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
        _ fitter: inout LandmarkFitter, _ patch: borrowing [UInt8], _ box: Affine, _ pair: LandmarkFitter.Pair
    ) -> (landmarks: Face.Landmarks, disagreement: Float)? {
        fitter.fit(
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
