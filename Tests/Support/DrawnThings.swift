import Frames

/// Random numbers that are the same in every run.
package struct SeededGenerator {
    private var state: UInt64

    package init(_ seed: Int) {
        state = UInt64(bitPattern: Int64(seed)) &* 0x9e37_79b9_7f4a_7c15 &+ 0x1234_5678_9abc_def1
    }

    package mutating func next() -> Float {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Float(state >> 40) / Float(1 << 24)
    }

    package mutating func number(_ range: ClosedRange<Float>) -> Float {
        range.lowerBound + (range.upperBound - range.lowerBound) * next()
    }

    package mutating func index(_ count: Int) -> Int { min(count - 1, Int(next() * Float(count))) }
}

/// Strokes in a colour, as of print or of an engraving.
private struct Strokes: Sendable {
    struct Stroke: Sendable {
        let (from, to): (Point, Point)
        let width: Float
        let color: SIMD3<Float>
    }

    let strokes: [Stroke]

    init(_ seed: Int, count: Int, within half: Point, widths: ClosedRange<Float>, colors: [SIMD3<Float>]) {
        var generator = SeededGenerator(seed)
        strokes = (0..<count).map { _ in
            let from = Point(generator.number(-half.x...half.x), generator.number(-half.y...half.y))
            let to = from + Point(generator.number(-0.4...0.4), generator.number(-0.4...0.4))
            return Stroke(
                from: from, to: Point(max(-half.x, min(half.x, to.x)), max(-half.y, min(half.y, to.y))),
                width: generator.number(widths), color: colors[generator.index(colors.count)])
        }
    }

    func color(at p: Point) -> SIMD3<Float>? {
        for stroke in strokes {
            let along = stroke.to - stroke.from
            let t = max(0, min(1, ((p - stroke.from) * along).sum() / max(1e-4, (along * along).sum())))
            if (p - stroke.from - along * t).length < stroke.width { return stroke.color }
        }
        return nil
    }
}

/// A thing that the tests draw: of a kind, and one of several of that kind.
package struct DrawnThing: Sendable {
    package enum Kind: String, CaseIterable { case coin, card, bean, key }

    package let kind: Kind
    package let number: Int
    private let strokes: Strokes
    private let base: SIMD3<Float>

    package var name: String { "\(kind.rawValue) \(number)" }

    /// How many things of a kind there are to be taught; those from there on are never taught.
    package static let taught: [Kind: Int] = [.coin: 3, .card: 3, .bean: 3, .key: 2]
    package static let untaught = 2

    package static var allTaught: [DrawnThing] {
        Kind.allCases.flatMap { kind in (0..<(taught[kind] ?? 0)).map { DrawnThing(kind, $0) } }
    }

    package static var allUntaught: [DrawnThing] {
        Kind.allCases.flatMap { kind in
            (0..<untaught).map { DrawnThing(kind, (taught[kind] ?? 0) + $0) }
        }
    }

    package init(_ kind: Kind, _ number: Int) {
        (self.kind, self.number) = (kind, number)
        let seed = 1000 + number * 17
        switch kind {
        case .coin:
            let metals: [SIMD3<Float>] = [
                [0.78, 0.62, 0.25], [0.62, 0.63, 0.65], [0.66, 0.38, 0.24], [0.62, 0.63, 0.65], [0.78, 0.62, 0.25],
            ]
            base = metals[number]
            strokes = Strokes(
                seed, count: 11, within: [0.55, 0.55], widths: 0.05...0.1, colors: [base * 0.5, base * 1.35])
        case .card:
            let papers: [SIMD3<Float>] = [
                [0.85, 0.3, 0.25], [0.25, 0.45, 0.8], [0.95, 0.85, 0.35], [0.3, 0.65, 0.4], [0.25, 0.45, 0.8],
            ]
            base = papers[number]
            strokes = Strokes(
                seed + 1, count: 26, within: [0.85, 0.5], widths: 0.03...0.08,
                colors: [[0.1, 0.1, 0.15], [0.97, 0.97, 0.95], [0.9, 0.6, 0.1], base * 0.5])
        case .bean:
            let skins: [SIMD3<Float>] = [
                [0.45, 0.1, 0.1], [0.12, 0.11, 0.13], [0.35, 0.5, 0.2], [0.75, 0.5, 0.15], [0.3, 0.25, 0.6],
            ]
            base = skins[number]
            strokes = Strokes(0, count: 0, within: .zero, widths: 0...1, colors: [.zero])
        case .key:
            let metals: [SIMD3<Float>] = [
                [0.5, 0.51, 0.53], [0.72, 0.56, 0.25], [0.3, 0.34, 0.45], [0.72, 0.56, 0.25],
            ]
            base = metals[number]
            strokes = Strokes(
                seed + 2, count: 6, within: [0.2, 0.2], widths: 0.03...0.05, colors: [base * 0.55, base * 1.3])
        }
    }

    /// The length of the thing's half, in its own unit.
    package var reach: Float { kind == .card ? 1.12 : kind == .bean ? 0.8 : 1.02 }

    package func contains(_ p: Point) -> Bool {
        switch kind {
        case .coin: return p.length < 1
        case .card:
            let corner = Point(max(0, abs(p.x) - 0.87), max(0, abs(p.y) - 0.53))
            return corner.length < 0.1
        case .bean:
            let bent = Point(p.x, p.y + 0.28 * p.x * p.x - 0.06)
            return (bent / [0.78, 0.42]).length < 1
        case .key:
            let bow = p - [-0.62, 0]
            let isHole: Bool
            let isBow: Bool
            switch number % 4 {
            case 0: (isBow, isHole) = (bow.length < 0.38, (bow - [-0.15, 0]).length < 0.1)
            case 1: (isBow, isHole) = (max(abs(bow.x), abs(bow.y)) < 0.33, (bow - [-0.12, 0]).length < 0.09)
            case 2: (isBow, isHole) = (abs(bow.x) + abs(bow.y) < 0.42, bow.length < 0.1)
            default: (isBow, isHole) = ((bow / [0.38, 0.25]).length < 1, bow.length < 0.1)
            }
            if isBow { return !isHole }
            guard p.x > -0.4, p.x < 1, p.y > -0.1 else { return false }
            let tooth = Int((p.x - 0.35) * 11)
            let depth: Float = p.x > 0.35 ? [0.02, 0.12, 0.06, 0.14, 0.03, 0.1, 0.05][(tooth * (number + 1)) % 7] : 0
            return p.y < 0.1 + depth
        }
    }

    /// The colour at a place of the thing, as light shines on it from the upper left of the picture.
    /// - Parameter instance: of several things of the kind, such as beans.
    package func color(at p: Point, instance: Int) -> SIMD3<Float> {
        switch kind {
        case .coin:
            if (0.86...0.93).contains(p.length) { return base * 0.6 }
            return (p.length < 0.82 ? strokes.color(at: p) : nil) ?? base * (1 + 0.12 * p.x)
        case .card: return strokes.color(at: p) ?? base
        case .bean:
            // Mottled, each bean in another way; round, so that its rim is darker.
            var generator = SeededGenerator(instance &* 7919 &+ Int((p.x + 2) * 9) &* 131 &+ Int((p.y + 2) * 9))
            let depth = max(0, 1 - (p / [0.85, 0.5]).length)
            return base * (0.8 + 0.3 * depth + 0.12 * generator.next()) + SIMD3(repeating: depth > 0.75 ? 0.12 : 0)
        case .key:
            let edge = abs(p.y) < 0.03 && p.x > -0.2 ? Float(0.75) : 1
            return (strokes.color(at: p - [-0.62, 0]) ?? base) * (edge + 0.1 * p.y)
        }
    }
}

/// The place and the pose of a drawn thing.
package struct DrawnPose: Sendable {
    package var center: Point
    /// Pixels per unit of the thing.
    package var scale: Float
    package var angle: Float
    /// How far it is tilted away from the camera, and about which axis; radians.
    package var tilt: Float = 0
    package var tiltAxis: Float = 0
    package var instance = 0
    /// Of a shadow: how much of the light it takes, how far it falls, relative to the thing, and how soft it is.
    package var shadow: Float = 0.35
    package var shadowOffset: Point = [0.1, 0.14]
    package var softness: Float = 0.12

    package init(
        center: Point, scale: Float, angle: Float, tilt: Float = 0, tiltAxis: Float = 0, instance: Int = 0,
        shadow: Float = 0.35, shadowOffset: Point = [0.1, 0.14], softness: Float = 0.12
    ) {
        (self.center, self.scale, self.angle, self.tilt, self.tiltAxis) = (center, scale, angle, tilt, tiltAxis)
        (self.instance, self.shadow, self.shadowOffset) = (instance, shadow, shadowOffset)
        self.softness = softness
    }

    /// The place on the thing that is seen at a pixel.
    package func local(_ pixel: Point) -> Point {
        let d = (pixel - center) / scale
        let (c, s) = (cos(tiltAxis), sin(tiltAxis))
        var (across, along) = (d.x * c + d.y * s, -d.x * s + d.y * c)
        // Foreshortened, and the nearer half a little larger.
        let depth = 1 + 0.12 * sin(tilt) * along
        (across, along) = (across * depth, along * depth / max(0.2, cos(tilt)))
        let p = Point(across * c - along * s, across * s + along * c)
        let (ca, sa) = (cos(-angle), sin(-angle))
        return Point(p.x * ca - p.y * sa, p.x * sa + p.y * ca)
    }
}

/// A drawn hand that holds a thing, with the forearm that leads to it from outside the picture.
package struct DrawnHand: Sendable {
    package enum Grip: CaseIterable {
        /// All fingers are before the thing.
        case fist
        /// The thumb is before the thing, the fingers are behind it.
        case pinch
    }

    package var grip: Grip
    /// Where the thumb ends, in pixels.
    package var tip: Point
    /// The direction in which the forearm leads away, radians clockwise from the right.
    package var direction: Float
    /// Half of the fist's breadth, pixels.
    package var size: Float
    package var skin: SIMD3<Float>
    /// The colour of a sleeve, which begins at the wrist; nil: a bare arm.
    package var sleeve: SIMD3<Float>?

    package init(_ grip: Grip, tip: Point, direction: Float, size: Float, skin: SIMD3<Float>) {
        (self.grip, self.tip, self.direction, self.size, self.skin) = (grip, tip, direction, size, skin)
    }

    /// The colour at a pixel; nil beside the hand.
    /// - Parameter isBehind: of the part behind the thing instead of that before it.
    package func color(at pixel: Point, isBehind: Bool) -> SIMD3<Float>? {
        let d = (pixel - tip) / size
        let (c, s) = (cos(direction), sin(direction))
        // Along the arm, away from the thing; and across it.
        let p = Point(d.x * c + d.y * s, -d.x * s + d.y * c)
        let isThumb = ((p - [0.55, 0]) / [0.6, 0.24]).length < 1
        let isFist = ((p - [1.15, 0.1]) / [0.95, 0.9]).length < 1
        let isArm = p.x > 1.1 && abs(p.y - 0.1) < (sleeve != nil && p.x > 3.4 ? 0.8 : 0.62)
        let isThere = isBehind ? isFist || isArm : isThumb || grip == .fist && (isFist || isArm)
        guard isThere else { return nil }
        if let sleeve, p.x > 3.4 { return sleeve * (1.05 - 0.3 * min(1, abs(p.y - 0.1))) }
        // Round, so that it is darker towards its rim, with a crease around the thumb and between the fingers.
        let thumbRim = ((p - [0.55, 0]) / [0.6, 0.24]).length
        if grip == .fist, !isBehind, (0.93...1.1).contains(thumbRim) { return skin * 0.72 }
        if isFist, !isThumb, p.x < 0.9, abs((p.y * 2.4).truncatingRemainder(dividingBy: 1)) < 0.1 { return skin * 0.75 }
        return skin * (1.05 - 0.2 * min(1, abs(p.y - 0.1)))
    }
}

/// The light of a drawn picture, and what things lie on.
package struct DrawnLight: Sendable {
    package var ground: SIMD3<Float> = [0.82, 0.8, 0.76]
    package var gain: Float = 1
    /// How much brighter the light is at the right and at the bottom than in the middle.
    package var slope: Point = .zero
    /// The light's colour.
    package var tint: SIMD3<Float> = [1, 1, 1]
    /// The standard deviation of the noise, in samples.
    package var noise: Float = 1.5

    package init() {}
}

/// A picture that the tests draw.
package struct DrawnPicture {
    package var light = DrawnLight()
    package var things: [(thing: DrawnThing, pose: DrawnPose)] = []
    /// What holds the thing that was drawn last.
    package var hand: DrawnHand?
    package var seed = 1
    package var (width, height) = (1280, 720)

    package init() {}

    /// The picture as a PPM file, in full range and without noise, for the program to read.
    package var ppm: [UInt8] {
        Array("P6\n\(width) \(height)\n255\n".utf8)
            + colors.flatMap { color in
                let c = (color * light.gain).clamped(lowerBound: .zero, upperBound: .one) * 255
                return [UInt8(c.x), UInt8(c.y), UInt8(c.z)]
            }
    }

    /// A clip of pictures of the same size, each for some frames, as YUV4MPEG2, for the program to read.
    package static func clip(_ pictures: [DrawnPicture], frames: Int, rate: Int) -> [UInt8] {
        guard let first = pictures.first else { return [] }
        var file = Array("YUV4MPEG2 W\(first.width) H\(first.height) F\(rate):1 Ip A1:1 C420jpeg\n".utf8)
        for picture in pictures {
            let frame = picture.frame(.i420)
            var bytes: [UInt8] = []
            for i in 0..<frame.bytes.count { bytes.append(frame.bytes[i]) }
            for _ in 0..<frames { file += Array("FRAME\n".utf8) + bytes }
        }
        return file
    }

    package func frame(_ format: PixelFormat = .i420) -> Frame { encode(colors, format) }

    /// The colours of all pixels, from 0 to 1, before the light.
    private var colors: [SIMD3<Float>] {
        var rgb = [SIMD3<Float>](repeating: .zero, count: width * height)
        for y in 0..<height {
            for x in 0..<width { rgb[y * width + x] = light.ground }
        }
        for (thing, pose) in things {
            let reach = thing.reach * pose.scale
            let around = (0..<12).map { i in
                let a = Float(i) * 2.4
                return Point(cos(a), sin(a)) * (pose.softness * (Float(i) + 0.5).squareRoot() / 3.5)
            }
            for y in rows(pose.center.y, 1.5 * reach) {
                for x in columns(pose.center.x, 1.5 * reach) {
                    let pixel = Point(Float(x), Float(y))
                    var covered: Float = 0
                    for offset in around
                    where thing.contains(pose.local(pixel - (pose.shadowOffset + offset) * pose.scale)) {
                        covered += 1 / Float(around.count)
                    }
                    rgb[y * width + x] *= 1 - pose.shadow * covered
                }
            }
        }
        if let hand { draw(hand, isBehind: true, on: &rgb) }
        for (thing, pose) in things {
            let reach = thing.reach * pose.scale
            for y in rows(pose.center.y, 1.1 * reach) {
                for x in columns(pose.center.x, 1.1 * reach) {
                    for k in 0..<4 {
                        let part = Point(Float(x) + (k & 1 == 0 ? -0.25 : 0.25), Float(y) + (k < 2 ? -0.25 : 0.25))
                        let p = pose.local(part)
                        guard thing.contains(p) else { continue }
                        let i = y * width + x
                        rgb[i] += (thing.color(at: p, instance: pose.instance) - rgb[i]) / Float(4 - k)
                    }
                }
            }
        }
        if let hand { draw(hand, isBehind: false, on: &rgb) }
        return rgb
    }

    private func rows(_ center: Float, _ reach: Float) -> Range<Int> {
        let first = max(0, min(height, Int(center - reach)))
        return first..<max(first, min(height, Int(center + reach) + 1))
    }

    private func columns(_ center: Float, _ reach: Float) -> Range<Int> {
        let first = max(0, min(width, Int(center - reach)))
        return first..<max(first, min(width, Int(center + reach) + 1))
    }

    private func draw(_ hand: DrawnHand, isBehind: Bool, on rgb: inout [SIMD3<Float>]) {
        for y in 0..<height {
            for x in 0..<width {
                var (sum, count) = (SIMD3<Float>.zero, Float(0))
                for k in 0..<4 {
                    let part = Point(Float(x) + (k & 1 == 0 ? -0.25 : 0.25), Float(y) + (k < 2 ? -0.25 : 0.25))
                    guard let color = hand.color(at: part, isBehind: isBehind) else {
                        // Most pixels are far from it.
                        if k == 0, (part - hand.tip).length > 3 * hand.size { break }
                        continue
                    }
                    (sum, count) = (sum + color, count + 1)
                }
                guard count > 0 else { continue }
                let i = y * width + x
                rgb[i] += (sum / count - rgb[i]) * (count / 4)
            }
        }
    }

    private func encode(_ rgb: [SIMD3<Float>], _ format: PixelFormat) -> Frame {
        let full = FrameLayout(width: width, height: height, format: .i444, range: .limited)
        var frame = Frame(full)
        var generator = SeededGenerator(seed)
        let count = width * height
        do {
            var bytes = frame.mutableBytes
            for y in 0..<height {
                for x in 0..<width {
                    let i = y * width + x
                    let place = Point(Float(x) / Float(width) * 2 - 1, Float(y) / Float(height) * 2 - 1)
                    let shine = light.gain * max(0.1, 1 + (light.slope * place).sum())
                    let c = (rgb[i] * light.tint * shine).clamped(lowerBound: .zero, upperBound: .one)
                    // BT.601, limited range.
                    let luma = 16 + 65.481 * c.x + 128.553 * c.y + 24.966 * c.z
                    let u = 128 - 37.797 * c.x - 74.203 * c.y + 112 * c.z
                    let v = 128 + 112 * c.x - 93.786 * c.y - 18.214 * c.z
                    // The sum of two uniform numbers, of which each has a deviation of 0.29.
                    let noise = (generator.next() + generator.next() - 1) * light.noise * 2.45
                    bytes[i] = UInt8(max(0, min(255, luma + noise)))
                    bytes[count + i] = UInt8(max(0, min(255, u + noise * 0.4)))
                    bytes[2 * count + i] = UInt8(max(0, min(255, v - noise * 0.4)))
                }
            }
        }
        guard format != .i444 else { return frame }
        var converted = Frame(FrameLayout(width: width, height: height, format: format, range: .limited))
        convert(frame, into: &converted)
        return converted
    }
}

extension DrawnPicture {
    /// One thing alone, as it is taught: in ordinary light, in some pose.
    package static func lesson(_ thing: DrawnThing, _ number: Int, seed: Int) -> DrawnPicture {
        var generator = SeededGenerator(seed &* 977 &+ number &* 31 &+ thing.number &* 7 &+ thing.kind.hashOfName)
        var picture = DrawnPicture()
        picture.seed = seed &+ number
        picture.light.gain = generator.number(0.85...1.05)
        picture.light.slope = Point(generator.number(-0.1...0.1), generator.number(-0.1...0.1))
        picture.things = [
            (
                thing,
                DrawnPose(
                    center: Point(generator.number(500...780), generator.number(300...420)),
                    scale: generator.number(90...150), angle: generator.number(0...(2 * .pi)),
                    tilt: generator.number(0...0.3),
                    tiltAxis: generator.number(0...(2 * .pi)), instance: generator.index(1000),
                    shadow: generator.number(0.15...0.35))
            )
        ]
        return picture
    }

    /// A thing that is held up by a hand.
    /// - Parameter share: the part of the thing that the hand covers.
    package static func held(
        _ thing: DrawnThing, _ grip: DrawnHand.Grip, covering share: Float, seed: Int
    ) -> DrawnPicture {
        var generator = SeededGenerator(seed &* 6151 &+ 11)
        let skins: [SIMD3<Float>] = [[0.8, 0.58, 0.47], [0.9, 0.7, 0.6], [0.62, 0.42, 0.3], [0.4, 0.26, 0.19]]
        var picture = scene([], seed: seed)
        let scale = generator.number(80...140)
        let pose = DrawnPose(
            center: Point(generator.number(500...780), generator.number(280...420)), scale: scale,
            angle: generator.number(0...(2 * .pi)), tilt: generator.number(0...0.4),
            tiltAxis: generator.number(0...(2 * .pi)),
            instance: generator.index(1000), shadow: 0)
        // Arms come from below, and from the sides.
        var hand = DrawnHand(
            grip, tip: pose.center, direction: generator.number(0.1...(.pi - 0.1)),
            size: scale * generator.number(0.55...0.8),
            skin: skins[generator.index(skins.count)])
        let away = Point(cos(hand.direction), sin(hand.direction))
        let aside = Point(-away.y, away.x) * generator.number(-0.3...0.3)
        picture.things = [(thing, pose)]
        // From beside the thing towards its middle, until it covers enough.
        var distance = 1.3 * thing.reach
        repeat {
            hand.tip = pose.center + (away * distance + aside) * scale
            distance -= 0.02
        } while distance > -0.6 && coveredShare(thing, pose, hand) < share
        let sleeves: [SIMD3<Float>?] = [nil, nil, [0.25, 0.3, 0.42], [0.7, 0.16, 0.14]]
        hand.sleeve = sleeves[generator.index(sleeves.count)]
        picture.hand = hand
        return picture
    }

    private static func coveredShare(_ thing: DrawnThing, _ pose: DrawnPose, _ hand: DrawnHand) -> Float {
        let reach = Int(thing.reach * pose.scale)
        var (covered, all) = (Float(0), Float(0))
        for y in stride(from: -reach, through: reach, by: 4) {
            for x in stride(from: -reach, through: reach, by: 4) {
                let pixel = pose.center + Point(Float(x), Float(y))
                guard thing.contains(pose.local(pixel)) else { continue }
                all += 1
                covered += hand.color(at: pixel, isBehind: false) == nil ? 0 : 1
            }
        }
        return covered / max(1, all)
    }

    /// A clip of three seconds in which a red card is held up.
    package static var heldCard: [UInt8] {
        let poses: [(center: Point, angle: Float, tilt: Float)] = [
            ([640, 330], 0.2, 0), ([660, 320], 0.35, 0.2), ([620, 340], 0, 0.1),
        ]
        let pictures = poses.map { place in
            var picture = DrawnPicture()
            let pose = DrawnPose(center: place.center, scale: 130, angle: place.angle, tilt: place.tilt, shadow: 0)
            picture.things = [(DrawnThing(.card, 0), pose)]
            let tip = place.center + Point(20, 45)
            picture.hand = DrawnHand(.pinch, tip: tip, direction: 1.3, size: 80, skin: [0.8, 0.58, 0.47])
            return picture
        }
        return clip(pictures, frames: 5, rate: 5)
    }

    /// Several things in any pose, with uneven light and shadows.
    package static func scene(_ things: [DrawnThing], seed: Int) -> DrawnPicture {
        var generator = SeededGenerator(seed &* 7907 &+ 5)
        let grounds: [SIMD3<Float>] = [
            [0.82, 0.8, 0.76], [0.88, 0.88, 0.9], [0.7, 0.72, 0.74], [0.78, 0.72, 0.64], [0.62, 0.7, 0.66],
        ]
        var picture = DrawnPicture()
        picture.seed = seed
        picture.light.ground = grounds[generator.index(grounds.count)]
        picture.light.gain = generator.number(0.6...1.1)
        picture.light.slope = Point(generator.number(-0.3...0.3), generator.number(-0.25...0.25))
        picture.light.tint = [generator.number(0.94...1.06), 1, generator.number(0.92...1.08)]
        picture.light.noise = generator.number(0.5...2.5)
        let (columns, rows) = (4, 2)
        var free = Array(0..<columns * rows)
        let direction = generator.number(0...(2 * .pi))
        let (shadow, softness) = (generator.number(0.15...0.5), generator.number(0.1...0.3))
        for thing in things.prefix(columns * rows) {
            let place = free.remove(at: generator.index(free.count))
            let center = Point(
                (Float(place % columns) + 0.5) * 320 + generator.number(-20...20),
                (Float(place / columns) + 0.5) * 360 + generator.number(-30...30))
            picture.things.append(
                (
                    thing,
                    DrawnPose(
                        center: center, scale: generator.number(58...125), angle: generator.number(0...(2 * .pi)),
                        tilt: generator.number(0...0.5), tiltAxis: generator.number(0...(2 * .pi)),
                        instance: generator.index(1000),
                        shadow: shadow,
                        shadowOffset: Point(cos(direction), sin(direction)) * generator.number(0.05...0.2),
                        softness: softness)
                ))
        }
        return picture
    }
}

extension DrawnThing.Kind {
    fileprivate var hashOfName: Int { rawValue.utf8.reduce(0) { $0 &* 31 &+ Int($1) } }
}
