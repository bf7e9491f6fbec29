import Frames
import SystemKit
import Track

/// Estimates how a face is lit, from the frame before anything is drawn on it.
///
/// What a face sends to the camera is light times the skin's reflectance, which differs by a factor of four between
/// people. So the brightness of the light is taken from the face's brightest parts (eye whites, teeth, and specular
/// highlights, which are as bright on dark skin as on fair) and from the picture's own brightness, since cameras expose
/// for it. The light's colour is taken from the skin's, which differs much less between people, and from near-grey
/// things in the room.
struct LightEstimator: Sendable {
    /// The light, smoothed over time.
    private(set) var light = FaceLight()
    private var isNew = true

    /// Time constants of the smoothing, in seconds: of brightness and colour, and of the direction and contrast, which
    /// seem to change when a head turns. A mesh whose light changes has to be drawn again.
    private static let (timeConstant, slowTimeConstant): (Float, Float) = (0.5, 2.5)

    /// Adds what a frame shows.
    /// - Parameter elapsed: seconds since the last update.
    mutating func update(_ illumination: FaceIllumination, elapsed: Float) {
        let weight = isNew ? 1 : 1 - exp(-elapsed / Self.timeConstant)
        let slowWeight = isNew ? 1 : 1 - exp(-elapsed / Self.slowTimeConstant)
        isNew = false
        light.gain += (illumination.light.gain - light.gain) * weight
        light.cast += (illumination.light.cast - light.cast) * weight
        light.saturation += (illumination.light.saturation - light.saturation) * weight
        light.matteness += (illumination.light.matteness - light.matteness) * weight
        light.blackLevel += (illumination.light.blackLevel - light.blackLevel) * weight
        light.shade += (illumination.light.shade - light.shade) * weight
        light.contrast += (illumination.light.contrast - light.contrast) * slowWeight
        let direction = light.direction + (illumination.light.direction - light.direction) * slowWeight
        light.direction = direction / max((direction * direction).sum().squareRoot(), 1e-6)
    }
}

/// The light in the room, estimated from one frame.
struct AmbientEstimate: Sendable {
    /// Brightness of the picture's highlights (95th percentile), from 0 (black) to 1 (white).
    let highlight: Float
    /// What the light adds to the chroma of white, in full-range 8-bit samples (U, V).
    let cast: SIMD2<Float>
    /// The chroma of the picture's colourful parts (95th percentile of its distance from neutral), 8-bit samples.
    let colorfulness: Float
    /// How matte the picture is, 0...1: 1 if it has little contrast and no strong colours.
    let matteness: Float
    /// Luma of the picture's darkest parts (1st percentile) and of its brightest (98th), faces and hair among them,
    /// 0...255.
    let (darkest, brightest): (Float, Float)

    /// Number of samples across the picture. Rows have the same spacing.
    private static let across = 28
    /// The part of a picture, or of a face, that is taken for its darkest, and the rest of its brightest.
    fileprivate static let dark: Float = 0.01
    private static let bright: Float = 0.98
    /// The largest chroma, as a distance from neutral, that is taken for a grey thing under coloured light.
    private static let nearGrey: Float = 26
    /// The strongest cast along the axis from amber to blue, in U and in V. A stronger one is more likely a coloured
    /// wall.
    private static let strongest: Float = 10
    /// The strongest cast along the axis from green to purple, which light rarely has.
    private static let strongestPurple: Float = 2

    /// The part of the apparent cast that is used, because the light's colour can't be separated from the walls' with
    /// certainty.
    private static let belief: Float = 0.6

    /// Ranges of luma, and chroma of the most colourful parts (as `colorfulness`, with the faces), of a matte picture
    /// and of a brilliant one. Muted art was preferred in 13 of 14 and 13 of 15 pictures shown in pairs; nearly all
    /// were matte by this, and the others better off without.
    private static let matte: (range: Float, chroma: Float) = (205, 55)
    private static let brilliant: (range: Float, chroma: Float) = (235, 75)

    /// Estimates the light from samples outside the faces.
    init(_ pixels: borrowing PixelReader, leavingOut trackedFaces: [TrackedFace]) {
        // The largest, since they are last; those of a crowd behind them are a small part of the picture.
        let faces = trackedFaces.suffix(Tracker.maxFaces)
        let step = max(8, pixels.width / Self.across)
        var (levels, distances, everywhere, allDistances) = (Levels(), Levels(), Levels(), Levels())
        var (sum, weight) = (SIMD2<Float>.zero, Float(0))
        for y in stride(from: step / 2, to: pixels.height, by: step) {
            for x in stride(from: step / 2, to: pixels.width, by: step) {
                let (luma, chroma) = pixels[x, y]
                // The histogram's bins are four wide: one for each sample of distance.
                let distance = min(255, Int(4 * (chroma * chroma).sum().squareRoot()))
                everywhere.add(luma)
                allDistances.add(distance)
                if faces.contains(where: { Self.covers($0.face.box, Point(Float(x), Float(y))) }) { continue }
                levels.add(luma)
                distances.add(distance)
                // Nearly black and clipped pixels carry no colour information.
                guard luma > 40, luma < 245, (chroma * chroma).sum() < Self.nearGrey * Self.nearGrey else { continue }
                // Light things are white more often, and show the light's colour better.
                let light = Float(luma) / 255
                sum += chroma * light
                weight += light * light
            }
        }
        highlight = Float(levels.percentile(0.95)) / 255
        colorfulness = Float(distances.percentile(0.95)) / 4
        darkest = Float(everywhere.percentile(AmbientEstimate.dark))
        brightest = Float(everywhere.percentile(Self.bright))
        let chroma = Float(allDistances.percentile(0.95)) / 4
        let contrast = (Self.brilliant.range - (brightest - darkest)) / (Self.brilliant.range - Self.matte.range)
        let color = (Self.brilliant.chroma - chroma) / (Self.brilliant.chroma - Self.matte.chroma)
        matteness = max(0, min(1, contrast)) * max(0, min(1, color))
        // With few samples near grey, the estimate shrinks towards no cast.
        let mean = sum / (weight + 0.05 * Float(max(levels.count, 1))) * Self.belief
        // The colours of lamps and sky are between amber and blue: U falls as V rises. Green or purple is a wall or a
        // camera's error.
        let amber = max(-Self.strongest, min(Self.strongest, (mean.y - mean.x) / 2))
        let purple = max(-Self.strongestPurple, min(Self.strongestPurple, (mean.x + mean.y) / 2))
        cast = SIMD2(purple - amber, purple + amber)
    }

    /// Whether a point is in a face's box, grown to include hair and neck.
    private static func covers(_ box: Rect, _ p: Point) -> Bool {
        abs(p.x - box.center.x) < box.width * 0.75 && abs(p.y - box.center.y) < box.height * 0.8
    }
}

/// The light on a face, estimated from one frame.
struct FaceIllumination: Sendable {
    let light: FaceLight

    /// The sample grid in head space for one half of the face; the other half mirrors it. z is on an ellipsoid.
    private static let rows = (first: Float(-0.75), step: Float(0.125), count: 14)
    private static let columns = (first: Float(0.06), step: Float(0.125), count: 7)

    init(_ pixels: borrowing PixelReader, _ face: borrowing Face, _ ambient: AmbientEstimate) {
        var (all, right, left) = (Levels(), Levels(), Levels())
        var (upper, lower) = (Levels(), Levels())
        var color = SkinColor()
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
                    let (luma, chroma) = pixels[Int(p.x), Int(p.y)]
                    all.add(luma)
                    if isCheek || isNose { color.add(luma, chroma) }
                    if isCheek || isForehead {
                        if side == 0 { right.add(luma) } else { left.add(luma) }
                    }
                    if isForehead { upper.add(luma) } else if isCheek { lower.add(luma) }
                }
            }
        }
        var light = FaceLight()
        if all.count > 20 {
            light.gain = min(
                Self.gain(face: Float(all.percentile(0.97)) / 255, ambient: ambient.highlight),
                Self.maxGain(brightest: ambient.brightest / 255))
            light.cast = color.cast(ambient)
            light.saturation = color.saturation(ambient)
            light.matteness = ambient.matteness
            light.blackLevel = Self.blackLevel(face: Float(all.percentile(AmbientEstimate.dark)), ambient)
            light.shade = color.shade
            let across = Self.difference(left, right)
            light.contrast = Self.contrast(across: across)
            light.direction = Self.direction(
                across: across, down: Self.difference(lower, upper), roll: radians(face.pose.roll))
        }
        self.light = light
    }

    /// Highlights of the face (eye whites and shining skin) and of the picture in a well-lit room.
    private static let wellLit: (face: Float, ambient: Float) = (0.72, 0.8)

    /// The least brightness, at which masks are still visible.
    private static let leastGain: Float = 0.3

    /// How much brighter than a dark picture's brightest parts masks may be; up to which brightness of those it is
    /// dark; and how fast the bound rises from there on, so that there is none from 0.56 on.
    private static let (excess, darkest, release): (Float, Float, Float) = (1.1, 0.45, 6)

    /// The most brightness for masks: in a dark picture nothing is much brighter than its brightest parts, be they
    /// light things or not. Where those are of medium brightness, there may just be no white.
    static func maxGain(brightest: Float) -> Float {
        max(leastGain, excess * brightest + release * max(0, brightest - darkest))
    }

    /// The brightness for masks: 1 in a well-lit room.
    static func gain(face: Float, ambient: Float) -> Float {
        // A bright face is well lit, however dark the background. A dark one may have dark skin or a window behind it,
        // so a bright room makes up for two fifths of what it lacks.
        let (face, ambient) = (min(face / wellLit.face, 1), min(ambient / wellLit.ambient, 1))
        return max(leastGain, face + (1 - face) * 0.4 * ambient)
    }

    /// The part of the darkest luma that is taken for black, since nothing in a picture need be black, and the most.
    private static let (blackPart, maxBlack): (Float, Float) = (0.5, 24)

    /// The luma of black, from the darkest parts of the face (pupils, brows and nostrils) and of the whole picture.
    private static func blackLevel(face: Float, _ ambient: AmbientEstimate) -> Float {
        min(maxBlack, blackPart * min(face, ambient.darkest))
    }

    /// The difference of two parts' medians, relative to their sum.
    private static func difference(_ a: Levels, _ b: Levels) -> Float {
        let (a, b) = (a.percentile(0.5), b.percentile(0.5))
        return Float(a - b) / Float(max(a + b, 40))
    }

    /// The difference between a face's halves up to which the light counts as even, since no face is quite symmetric,
    /// and from which on as directed: one half is half as bright again as the other.
    private static let (evenHalves, unevenHalves): (Float, Float) = (0.03, 0.2)

    /// How much of the light comes from one direction.
    /// - Parameter across: the difference between the face's halves.
    private static func contrast(across: Float) -> Float {
        smoothstep((abs(across) - evenHalves) / (unevenHalves - evenHalves))
    }

    /// The direction to the light.
    /// - Parameters:
    ///   - across: how much brighter the face's left half is than its right one.
    ///   - down: how much brighter its lower half is.
    ///   - roll: the head's, radians.
    private static func direction(across: Float, down: Float, roll: Float) -> SIMD3<Float> {
        let usual = FaceLight().direction
        // If one side is half as bright again as the other (0.2 of their sum), the light comes from the side rather
        // than from the front. The usual direction, from the upper left, is added for what a face doesn't show: half of
        // its x, and all of its y.
        let x = usual.x / 2 + across * 6
        let y = usual.y + down * 2
        let (c, s) = (cos(roll), sin(roll))
        let direction = SIMD3(x * c - y * s, x * s + y * c, usual.z)
        return direction / (direction * direction).sum().squareRoot()
    }
}

/// The colour of a face's skin, and of the light that it shows.
///
/// Skin of all kinds has a similar hue; the darker, the more saturated. What a face's skin differs from that by more
/// than people differ from each other is the light's. On photos of 123 faces, graded warm and cool, white things follow
/// 0.67 of the skin's change, 0.61 in the worst fold of five (in logarithms of red to blue), and they are within 8 % of
/// grey on 89 % of the photos as they are (`Benchmarks/light.py`).
private struct SkinColor {
    /// Sums over samples.
    private var (luma, chroma) = (Float(0), SIMD2<Float>.zero)
    private var count: Float = 0

    /// The chroma of skin in plain light along the axis from blue to amber, relative to its luma in 255ths, at a luma
    /// of 150, and its change for each step of luma.
    private static let (amber, slope): (Float, Float) = (40, -0.24)
    /// How much skin may differ from that towards amber and towards blue before it is the light's, and the gain of what
    /// is more. Flashes and windows bleach skin, whose red is clipped first, so more is allowed towards blue.
    private static let warm: (spread: Float, gain: Float) = (16, 1.8)
    private static let cool: (spread: Float, gain: Float) = (20, 2.3)
    /// The strongest cast that is believed, along the same axis. Stronger ones are painted faces.
    private static let strongest: Float = 54
    /// The chroma of skin along the axis from green to purple, relative to its luma in 255ths: the median of 156 faces
    /// in photos, how far nine of ten are from it at most, and what is made of more, as on a stage.
    private static let (purple, purpleSpread, purpleGain): (Float, Float, Float) = (7.6, 14, 0.9)
    private static let strongestPurple: Float = 15
    /// Chroma relative to luma, in 255ths, of pictures without colours, and of those with.
    private static let (colorless, colored): (Float, Float) = (6, 14)
    /// Luma and chroma of skin in deep shade, relative to the lit skin's: less light comes there, and more of it
    /// through the skin, which colours it.
    private static let (shadeLuma, shadeChroma): (Float, Float) = (0.07, 0.3)
    /// The same for the masks' colours, of the skin, and of what is around the face, in samples. Of 148 photos and
    /// clips in colour the least has 19.6; a black and white one that was scanned with a tint has 6.8, and 7.1 around.
    private static let (greySkin, coloredSkin): (Float, Float) = (9, 18)
    private static let (greyRoom, coloredRoom): (Float, Float) = (9, 14)

    /// Adds a sample. Nearly black and clipped ones carry no colour information.
    mutating func add(_ luma: Int, _ chroma: SIMD2<Float>) {
        guard luma > 30, luma < 240 else { return }
        self.luma += Float(luma)
        self.chroma += chroma
        count += 1
    }

    /// The skin's chroma relative to its luma, in 255ths.
    private var own: SIMD2<Float> { chroma * (255 / luma) }

    /// The colour of this skin in deep shade: luma, U and V.
    var shade: SIMD3<Float> {
        guard count >= 8 else { return .zero }
        let (luma, chroma) = (luma * Self.shadeLuma / count, chroma * (Self.shadeChroma / count))
        return SIMD3(luma, chroma.x, chroma.y)
    }

    /// 0 up to one saturation of the skin, 1 from another one on.
    private func rise(from grey: Float, to colored: Float) -> Float {
        max(0, min(1, ((own * own).sum().squareRoot() - grey) / (colored - grey)))
    }

    /// The part of the masks' colours that the picture can show: none in black and white, or in infrared light.
    func saturation(_ ambient: AmbientEstimate) -> Float {
        guard count >= 8 else { return 1 }
        let room = (ambient.colorfulness - Self.greyRoom) / (Self.coloredRoom - Self.greyRoom)
        return max(rise(from: Self.greySkin, to: Self.coloredSkin), min(1, room))
    }

    /// What the light adds to the chroma of white (U, V), in full-range samples.
    func cast(_ ambient: AmbientEstimate) -> SIMD2<Float> {
        guard count >= 8 else { return ambient.cast }
        let deviation = (own.y - own.x) / 2 - Self.amber - Self.slope * (luma / count - 150)
        let (spread, gain) = deviation < 0 ? Self.cool : Self.warm
        let beyond = max(0, abs(deviation) - spread) * gain
        let amber = min(Self.strongest, beyond) * (deviation < 0 ? -1 : 1)
        // Light is mostly between amber and blue. Of what is green or purple, little is believed of the room, and of
        // the skin only what people's skin never is.
        let tinge = (own.x + own.y) / 2 - Self.purple
        let excess = min(Self.strongestPurple, max(0, abs(tinge) - Self.purpleSpread) * Self.purpleGain)
        let purple = (ambient.cast.x + ambient.cast.y) / 2 + excess * (tinge < 0 ? -1 : 1)
        let certainty = min(rise(from: Self.colorless, to: Self.colored), saturation(ambient))
        return SIMD2(purple - amber, purple + amber) * certainty
    }
}

/// A histogram of brightness.
private struct Levels {
    private var bins: [64 of UInt16] = .init(repeating: 0)
    private(set) var count = 0

    /// Adds a sample.
    /// - Parameter level: 0...255.
    mutating func add(_ level: Int) {
        bins[level >> 2] += 1
        count += 1
    }

    /// The level below which the given fraction of all samples is.
    func percentile(_ fraction: Float) -> Int {
        let wanted = Int(fraction * Float(count))
        var sum = 0
        for i in 0..<64 {
            sum += Int(bins[i])
            if sum > wanted { return i * 4 + 2 }
        }
        return 0
    }
}
