import Frames
import Track

/// Measures how faces are lit, from the frame before anything is drawn on it.
///
/// What a face sends to the camera is light times skin, and skin differs by four times from person to person. So what is
/// taken for the light's brightness are a face's brightest parts (eye whites, teeth, and where skin shines: that is as
/// bright on dark skin as on fair), and how bright the picture itself is: cameras expose for it.
struct LightEstimator: Sendable {
    /// Smoothed.
    private(set) var light = FaceLight()
    /// Luma of the skin, smoothed: the median of cheeks, forehead and nose, in samples of the frame.
    private(set) var skin: Float = 0
    private var isNew = true

    /// The light follows what is seen with this time constant, seconds.
    private static let inertia: Float = 0.5

    /// - Parameter elapsed: seconds since the last look.
    mutating func update(_ illumination: FaceIllumination, elapsed: Float) {
        let weight = isNew ? 1 : 1 - exp(-elapsed / Self.inertia)
        isNew = false
        light.gain += (illumination.light.gain - light.gain) * weight
        light.cast += (illumination.light.cast - light.cast) * weight
        skin += (illumination.skin - skin) * weight
        let direction = light.direction + (illumination.light.direction - light.direction) * weight
        light.direction = direction / max((direction * direction).sum().squareRoot(), 1e-6)
    }
}

/// What one frame shows of the light in the room.
struct AmbientEstimate: Sendable {
    /// Brightness of the picture's light parts, 0...1 from black to white.
    let highlight: Float
    /// What the light adds to white's chroma, samples of 8 bits in full range.
    let cast: SIMD2<Float>

    /// Samples across the picture; as many down as its shape asks for.
    private static let across = 28
    /// Chroma within this of the picture's mean is taken for a grey thing under coloured light.
    private static let nearGrey: Float = 26
    /// Light of a stronger colour is not believed, in U and in V: a red wall is likelier.
    private static let strongest: Float = 10
    /// The same towards green and purple, which light seldom is.
    private static let strongestPurple: Float = 2

    /// A room's light is not told from its walls' colours with certainty: so much of what seems to be cast is taken.
    private static let belief: Float = 0.6

    init(_ pixels: borrowing PixelReader, leavingOut trackedFaces: [TrackedFace]) {
        var boxes = [8 of Rect](repeating: Rect(x: 0, y: 0, width: 0, height: 0))
        for i in 0..<min(8, trackedFaces.count) { boxes[i] = trackedFaces[i].face.box }
        let step = max(8, pixels.width / Self.across)
        var levels = Levels()
        var (sum, weight) = (SIMD2<Float>.zero, Float(0))
        for y in stride(from: step / 2, to: pixels.height, by: step) {
            for x in stride(from: step / 2, to: pixels.width, by: step) {
                var isFace = false
                for i in 0..<min(8, trackedFaces.count) where Self.covers(boxes[i], Point(Float(x), Float(y))) {
                    isFace = true
                }
                if isFace { continue }
                let (luma, chroma) = pixels[x, y]
                levels.add(luma)
                // What is nearly black or cut off at white says nothing of colour.
                guard luma > 40, luma < 245, (chroma * chroma).sum() < Self.nearGrey * Self.nearGrey else { continue }
                // Light things are more often white, and show their colour better.
                let light = Float(luma) / 255
                sum += chroma * light
                weight += light * light
            }
        }
        highlight = Float(levels.percentile(0.95)) / 255
        // Where little is near grey, there is little to go by.
        let mean = sum / (weight + 0.05 * Float(max(levels.count, 1))) * Self.belief
        // Lamps and sky go from amber to blue: U falls as V rises. What is green or purple is a wall, or a camera that errs.
        let amber = max(-Self.strongest, min(Self.strongest, (mean.y - mean.x) / 2))
        let purple = max(-Self.strongestPurple, min(Self.strongestPurple, (mean.x + mean.y) / 2))
        cast = SIMD2(purple - amber, purple + amber)
    }

    /// With the hair, and the neck.
    private static func covers(_ box: Rect, _ p: Point) -> Bool {
        abs(p.x - box.center.x) < box.width * 0.75 && abs(p.y - box.center.y) < box.height * 0.8
    }
}

/// What one frame shows of the light on a face.
struct FaceIllumination: Sendable {
    let light: FaceLight
    let skin: Float
    /// For tests and tuning: the brightest parts, the median skin, 0...1.
    let (highlight, median): (Float, Float)

    /// Head space, one half of the face; the other is its mirror image. z by an ellipsoid.
    private static let rows = (first: Float(-0.75), step: Float(0.125), count: 14)
    private static let columns = (first: Float(0.06), step: Float(0.125), count: 7)

    init(_ pixels: borrowing PixelReader, _ face: borrowing Face, _ ambient: AmbientEstimate) {
        var (all, skin, right, left) = (Levels(), Levels(), Levels(), Levels())
        var (upper, lower) = (Levels(), Levels())
        for row in 0..<Self.rows.count {
            let y = Self.rows.first + Float(row) * Self.rows.step
            for column in 0..<Self.columns.count {
                let x = Self.columns.first + Float(column) * Self.columns.step
                let z = -0.25 + 0.55 * x * x
                let isForehead = y < -0.45 && x < 0.6
                let isCheek = y > 0.2 && y < 0.75 && x > 0.3
                let isNose = y > 0 && y < 0.5 && x < 0.15
                for side in 0..<2 {
                    let p = face.head([side == 0 ? -x : x, y, z])
                    guard pixels.contains(p) else { continue }
                    let luma = pixels.luma(Int(p.x), Int(p.y))
                    all.add(luma)
                    guard isForehead || isCheek || isNose else { continue }
                    skin.add(luma)
                    if isCheek || isForehead {
                        if side == 0 { right.add(luma) } else { left.add(luma) }
                    }
                    if isForehead { upper.add(luma) } else if isCheek { lower.add(luma) }
                }
            }
        }
        highlight = Float(all.percentile(0.97)) / 255
        median = Float(skin.percentile(0.5)) / 255
        self.skin = pixels.sample(ofLevel: Float(skin.percentile(0.5)))
        var light = FaceLight()
        if all.count > 20 {
            light.gain = Self.gain(face: highlight, ambient: ambient.highlight)
            light.cast = ambient.cast
            light.direction = Self.direction(
                right: right.percentile(0.5), left: left.percentile(0.5), upper: upper.percentile(0.5),
                lower: lower.percentile(0.5),
                face)
        }
        self.light = light
    }

    /// Eye whites and shining skin in a well lit room, and its light parts.
    private static let wellLit: (face: Float, ambient: Float) = (0.72, 0.8)

    /// 1 in a well lit room, and never less than what still shows what is worn.
    static func gain(face: Float, ambient: Float) -> Float {
        // A bright face is lit well, however dark what is behind it. A dark one may be dark of skin, or sit with its back
        // to a window: a bright room makes up for two fifths of what it lacks.
        let (face, ambient) = (min(face / wellLit.face, 1), min(ambient / wellLit.ambient, 1))
        return max(0.3, face + (1 - face) * 0.4 * ambient)
    }

    /// Where light comes from, by the medians of the face's halves.
    private static func direction(
        right: Int, left: Int, upper: Int, lower: Int, _ face: borrowing Face
    ) -> SIMD3<Float> {
        let usual = FaceLight().direction
        let across = Float(left - right) / Float(max(left + right, 40))
        let down = Float(lower - upper) / Float(max(lower + upper, 40))
        // A side that is half as bright again as the other (0.2 of their sum) is lit from 45 degrees aside. Half of what
        // a face does not show is as usual: from the left above.
        let x = usual.x / 2 + across * 4
        let y = usual.y + down * 2
        let roll = radians(face.pose.roll)
        let (c, s) = (cos(roll), sin(roll))
        let direction = SIMD3(x * c - y * s, x * s + y * c, usual.z)
        return direction / (direction * direction).sum().squareRoot()
    }
}

/// How often each brightness was seen.
private struct Levels {
    private var bins: [64 of UInt16] = .init(repeating: 0)
    private(set) var count = 0

    /// - Parameter level: 0...255.
    mutating func add(_ level: Int) {
        bins[level >> 2] += 1
        count += 1
    }

    /// The level below which such a share of all lies.
    func percentile(_ share: Float) -> Int {
        let wanted = Int(share * Float(count))
        var sum = 0
        for i in 0..<64 {
            sum += Int(bins[i])
            if sum > wanted { return i * 4 + 2 }
        }
        return 0
    }
}

/// A frame's pixels one by one, whatever its layout, as full-range levels.
struct PixelReader: ~Escapable {
    private let bytes: Span<UInt8>
    let width: Int
    let height: Int
    private let luma: (offset: Int, step: Int, stride: Int)
    private let chroma: (u: Int, v: Int, step: Int, stride: Int)?
    private let shift: (x: Int, y: Int)
    private let isFull: Bool

    @_lifetime(copy view)
    init(_ view: borrowing FrameView) {
        let layout = view.layout
        let planes = layout.planes
        bytes = view.bytes
        (width, height, shift) = (layout.width, layout.height, layout.format.chromaShift)
        luma = (layout.luma.offset, layout.luma.pixelStride, planes[0].stride)
        isFull = layout.range == .full
        switch layout.format {
        case .gray: chroma = nil
        case .yuyv: chroma = (planes[0].offset + 1, planes[0].offset + 3, 4, planes[0].stride)
        case .uyvy: chroma = (planes[0].offset, planes[0].offset + 2, 4, planes[0].stride)
        case .nv12: chroma = (planes[1].offset, planes[1].offset + 1, 2, planes[1].stride)
        case .i420, .i422, .i444: chroma = (planes[1].offset, planes[2].offset, 1, planes[1].stride)
        }
    }

    func contains(_ p: Point) -> Bool { p.x >= 0 && p.y >= 0 && p.x < Float(width) && p.y < Float(height) }

    /// 0...255 from black to white.
    func luma(_ x: Int, _ y: Int) -> Int {
        let sample = Int(bytes[luma.offset + y * luma.stride + x * luma.step])
        return isFull ? sample : max(0, min(255, ((sample - 16) * 298) >> 8))
    }

    /// The frame's own sample of a level.
    func sample(ofLevel level: Float) -> Float { isFull ? level : 16 + level * 219 / 255 }

    /// Luma as above; U and V about 0, as in full range.
    subscript(x: Int, y: Int) -> (luma: Int, chroma: SIMD2<Float>) {
        let luma = luma(x, y)
        guard let chroma else { return (luma, .zero) }
        let place = (y >> shift.y) * chroma.stride + (x >> shift.x) * chroma.step
        let value = SIMD2(Float(bytes[chroma.u + place]), Float(bytes[chroma.v + place])) - 128
        return (luma, isFull ? value : value * (255.0 / 224))
    }
}
