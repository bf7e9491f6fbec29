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

/// Fitted landmarks, pixels of the frame, and how well they fit: 0 (a wall) to 1 (surely a face).
struct Fit: Sendable {
    var landmarks: Face.Landmarks
    var score: Float
}

/// Looks at small upright patches cut from the frame: a cascade says whether a face is there, the trees where its
/// landmarks are. Holds the scratch that both need, so that a look allocates nothing.
public struct Looker: ~Copyable {
    /// The side of the cascade's window, pixels.
    static let window = 20
    static let findScore: Float = 0.5
    static let keepScore: Float = 0.3
    /// Side of the patch in which landmarks are fitted, and the distance between the eyes in it, pixels.
    static let fitSide = 136
    static let fitEyes: Float = 40

    private var cascade: CascadeDetector
    private let entry: Catalogue.Entry
    private var fitter: LandmarkFitter
    private var patch: [UInt8]
    private var finds: [Find] = []
    /// What the last search saw, the surest first.
    private(set) var seen: [Sighting] = []

    public init(catalogue: Catalogue, landmarks: LandmarkModel) throws {
        let face = try catalogue.entry(.face)
        cascade = try CascadeDetector(path: face.path)
        entry = face
        fitter = LandmarkFitter(landmarks)
        patch = Array(repeating: 0, count: max(Sweep.side, Self.fitSide) * max(Sweep.side, Self.fitSide))
    }

    /// Looks at one slice of the frame.
    mutating func sightings(_ luma: borrowing LumaView, in region: Region) {
        look(luma, region, side: Sweep.side, sizes: Sweep.sizes, step: Sweep.step, votes: 3)
    }

    /// Looks round a place where a face should be; nil where none is seen.
    mutating func search(_ luma: borrowing LumaView, near guess: borrowing Face.Landmarks) -> Sighting? {
        let head = HeadPlacement(fitting: guess)
        let center = head.origin
        // A window of `window * 1.4` pixels shows a face of the guessed size.
        let scale = head.scale / entry.eyeDistance / (Float(Self.window) * 1.4)
        let region = Region(center: center, scale: scale, roll: head.pose.roll)
        look(luma, region, side: 76, sizes: Self.window...40, step: 1.15, votes: 2)
        return seen.max { a, b in
            Float(a.votes) - (a.eyes - center).length / head.scale * 4
                < Float(b.votes) - (b.eyes - center).length / head.scale * 4
        }
    }

    /// True where the cascade agrees that a face is where the landmarks say.
    mutating func confirms(_ luma: borrowing LumaView, _ landmarks: borrowing Face.Landmarks) -> Bool {
        let eyes = Self.eyes(landmarks)
        let scale = eyes.distance / entry.eyeDistance / (Float(Self.window) * 1.15)
        var region = Region(center: eyes.middle, scale: scale, roll: eyes.roll)
        // The window's own middle, not the eyes', goes to the patch's middle.
        let offset = (Point(0.5, 0.5) - entry.eyes) * Float(Self.window) * 1.15
        region.center += Affine(scale: scale, angle: radians(eyes.roll), origin: .zero).linear(offset)
        look(luma, region, side: 34, sizes: Self.window...28, step: 1.1, votes: 1)
        return !seen.isEmpty
    }

    private mutating func look(
        _ luma: borrowing LumaView, _ region: Region, side: Int, sizes: ClosedRange<Int>, step: Double, votes: Int
    ) {
        seen.removeAll(keepingCapacity: true)
        finds.removeAll(keepingCapacity: true)
        let map = region.map(side: side)
        var samples = patch.mutableSpan
        resample(luma, by: map, into: &samples, width: side, height: side)
        Self.detect(&cascade, patch, side, sizes, step, votes, &finds)
        for find in finds {
            let eyes = Point(find.box.x + entry.eyes.x * find.box.width, find.box.y + entry.eyes.y * find.box.height)
            seen.append(
                Sighting(
                    eyes: map(eyes), eyeDistance: find.box.width * entry.eyeDistance * region.scale, roll: region.roll,
                    votes: find.votes))
        }
        seen.sort { $0.votes > $1.votes }
    }

    private static func detect(
        _ cascade: inout CascadeDetector, _ patch: borrowing [UInt8], _ side: Int, _ sizes: ClosedRange<Int>,
        _ step: Double, _ votes: Int, _ finds: inout [Find]
    ) {
        try? cascade.detect(patch.span, width: side, height: side, sizes: sizes, step: step, votes: votes, into: &finds)
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
        return fit(luma, from: landmarks)
    }

    /// Fits landmarks, starting from where they are thought to be (pixels of the frame).
    mutating func fit(_ luma: borrowing LumaView, from guess: borrowing Face.Landmarks) -> Fit? {
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
        guard let fit = Self.run(&fitter, patch, back.after(box)) else { return nil }
        var landmarks = fit.landmarks
        for i in 0..<68 { landmarks[i] = map(landmarks[i]) }
        return Fit(landmarks: landmarks, score: 1)
    }

    private static func run(
        _ fitter: inout LandmarkFitter, _ patch: borrowing [UInt8], _ box: Affine
    ) -> LandmarkFit? {
        fitter.fit(LumaView(samples: patch.span, width: fitSide, height: fitSide, rowStride: fitSide), in: box)
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
