import Frames
import Track

/// Chooses what of the picture is shown, so that the largest face fills it as in a portrait.
///
/// It holds still while the head stays in a middle band. Once the head is out of it, it is followed until it is caught up
/// with. The way there is that of a critically damped spring: it begins softly and does not swing over. All that it
/// passes through lies between places that were wanted, each inside of the picture, so that it never leaves that.
public struct FaceZoom: Sendable {
    /// A place that is shown: the middle's x and y, and the width; pixels.
    private typealias Place = SIMD3<Float>

    private let whole: Rect
    private let most: Float
    private var place: Place
    /// Pixels a second.
    private var speed = Place.zero
    /// Where it goes, or stays.
    private var target: Place
    /// The head was out of the middle band, and is not caught up with yet.
    private var isFollowing = false
    private var face: (id: Int, seen: Double)?
    private var time: Double?

    /// The part of what is shown that the head fills, from crown to chin.
    private static let headHeight: Float = 1.0 / 3
    /// From crown to chin, eye distances: `HeadOutline`'s ellipsoid.
    private static let head: Float = 4.12
    /// The ellipsoid's middle, head space.
    private static let middle: SIMD3<Float> = [0, 0, 0.75]
    /// So far above the middle of what is shown the head's is, as a part of its height: shoulders need more room than hats.
    private static let above: Float = 0.05
    /// How far the head may be from where it should be before it is followed, as a part of what is shown.
    private static let band: Float = 0.1
    /// By how much it may be too large or too small, as a logarithm.
    private static let sizeBand: Float = 0.18
    /// It is caught up with when it is so near, as a part of what is shown.
    private static let caught: Float = 0.02
    /// The spring's frequency, radians a second: a step is done to 2 % in 1.2 s.
    private static let frequency: Float = 5
    /// So near and so slow it is there, as parts of the width (and of that a second): a third of a pixel at 1280.
    private static let (nearEnough, slowEnough): (Float, Float) = (1.0 / 4000, 1.0 / 1000)
    /// A face that is not seen for so long, seconds, is not waited for.
    private static let patience = 2.0
    /// Whoever was followed stays it while nobody is so much larger.
    private static let larger: Float = 1.25
    /// A longer pause between frames, seconds, is no time to move in.
    private static let longest = 0.1

    /// Begins with all.
    /// - Parameters:
    ///   - part: what may be shown, pixels of the frames in which faces are searched.
    ///   - most: the largest zoom.
    public init(in part: PixelRect, most: Double) {
        whole = Rect(part)
        self.most = Float(most)
        place = Place(whole.center.x, whole.center.y, whole.width)
        target = place
    }

    /// What is shown of the next frame; it always has the shape of all that may be.
    /// - Parameters:
    ///   - faces: of the frame.
    ///   - time: seconds, by the source's clock.
    public mutating func update(_ faces: borrowing [Face], at time: Double) -> Rect {
        let elapsed = Float(self.time.map { max(0, min(time - $0, Self.longest)) } ?? 0)
        self.time = time
        if let head = largest(faces) {
            face = (head.id, time)
            let wanted = place(for: head.head)
            if isOut(wanted) { isFollowing = true }
            if isFollowing { target = wanted }
        } else if face.map({ !(0...Self.patience).contains(time - $0.seen) }) ?? true {
            target = Place(whole.center.x, whole.center.y, whole.width)
            (face, isFollowing) = (nil, false)
        }
        step(elapsed)
        return shown
    }

    private func largest(_ faces: borrowing [Face]) -> (id: Int, head: HeadPlacement)? {
        var (best, kept): (Int?, Int?) = (nil, nil)
        for i in faces.indices {
            if faces[i].id == face?.id { kept = i }
            if best.map({ faces[i].head.scale > faces[$0].head.scale }) ?? true { best = i }
        }
        guard let best else { return nil }
        let isLarger = kept.map { faces[best].head.scale > Self.larger * faces[$0].head.scale } ?? true
        let chosen = isLarger ? best : kept ?? best
        return (faces[chosen].id, faces[chosen].head)
    }

    private func place(for head: HeadPlacement) -> Place {
        let zoom = max(1, min(Self.headHeight * whole.height / max(Self.head * head.scale, 1), most))
        let (width, height) = (whole.width / zoom, whole.height / zoom)
        let middle = head(Self.middle)
        func clamped(_ value: Float, _ start: Float, _ length: Float, _ own: Float) -> Float {
            max(start + own / 2, min(value, start + length - own / 2))
        }
        return onWholePixels(
            Place(
                clamped(middle.x, whole.x, whole.width, width),
                clamped(middle.y + Self.above * height, whole.y, whole.height, height), width))
    }

    /// What is shown at rest begins and ends between even pixels, for that is scaled at a third of the cost.
    private func onWholePixels(_ place: Place) -> Place {
        let width = Self.even(place.z)
        guard width < whole.width else { return place }
        let height = Self.even(width * shape)
        return Place(
            Self.even(place.x - width / 2) + width / 2, Self.even(place.y - height / 2) + height / 2, width)
    }

    private static func even(_ value: Float) -> Float { (value / 2).rounded() * 2 }

    private var shape: Float { whole.height / whole.width }

    private func isOut(_ wanted: Place) -> Bool {
        let off = wanted - target
        let ratio = wanted.z / target.z
        return abs(off.x) > Self.band * target.z || abs(off.y) > Self.band * target.z * shape
            || max(ratio, 1 / ratio) > exp(Self.sizeBand)
    }

    /// The spring's exact motion towards a target that holds for this frame.
    private mutating func step(_ elapsed: Float) {
        let off = place - target
        let push = (speed + off * Self.frequency) * elapsed
        let decay = exp(-Self.frequency * elapsed)
        place = target + (off + push) * decay
        speed = (speed - push * Self.frequency) * decay
        let left = place - target
        func most(_ v: Place) -> Float { max(abs(v.x), abs(v.y), abs(v.z)) }
        if most(left) < Self.caught * place.z { isFollowing = false }
        if most(left) < Self.nearEnough * place.z, most(speed) < Self.slowEnough * place.z {
            (place, speed) = (target, .zero)
        }
    }

    private var shown: Rect {
        // Rounding must not lead outside.
        let part = min(1, place.z / whole.width)
        let isStill = place == target && speed == .zero && part < 1
        let (width, exact) = (whole.width * part, whole.height * part)
        let height = isStill ? Self.even(exact) : exact
        return Rect(
            x: max(whole.x, min(place.x - width / 2, whole.x + whole.width - width)),
            y: max(whole.y, min(place.y - height / 2, whole.y + whole.height - height)), width: width, height: height)
    }
}
