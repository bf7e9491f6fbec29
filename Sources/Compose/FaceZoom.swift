import Frames
import Track

/// Chooses the visible part of the picture, so that the largest face fills it like a portrait.
///
/// The view holds still while the head stays in a central band. When the head leaves the band, the view follows until
/// it has caught up. It moves like a critically damped spring: it starts softly and doesn't overshoot. Every view on
/// the way is between views that were targets, each inside the picture, so the view never leaves the picture.
public struct FaceZoom: Sendable {
    /// A view: its centre's x and y, and its width; pixels.
    private typealias View = SIMD3<Float>

    /// The part of the picture that may be shown, in pixels.
    private let whole: Rect
    /// The largest magnification, at least 1.
    private let maxZoom: Float
    /// The current view.
    private var view: View
    /// The view's velocity, in pixels per second.
    private var speed = View.zero
    /// The view to move to, or to stay at.
    private var target: View
    /// Whether the view is following a head that left the central band.
    private var isFollowing = false
    /// The face that is followed, and when it was last seen, in seconds.
    private var face: (id: Int, seen: Double)?
    /// The last frame's time in seconds; nil before the first.
    private var time: Double?

    /// The head's height from crown to chin, relative to the view's height.
    private static let headPerView: Float = 1.0 / 3
    /// Height from crown to chin in eye distances, that of `HeadOutline`'s ellipsoid.
    private static let headHeight: Float = 4.12
    /// The ellipsoid's centre in head space.
    private static let headCenter: SIMD3<Float> = [0, 0, 0.75]
    /// How far the head's centre is above the view's, relative to the view's height. Shoulders need more room than
    /// hats.
    private static let headOffset: Float = 0.05
    /// How far the head may move from its intended position before the view follows, relative to the view's size.
    private static let positionBand: Float = 0.1
    /// How much the head may be too large or too small, as a natural logarithm of the ratio.
    private static let sizeBand: Float = 0.18
    /// The distance to the target at which the view has caught up, relative to the view's width.
    private static let caughtUpDistance: Float = 0.02
    /// The spring's angular frequency, in radians per second: 98 % of a step is done in 1.2 s.
    private static let frequency: Float = 5
    /// Distance, relative to the view's width, and speed, in view widths per second, at which the view stops. The
    /// distance is a third of a pixel at 1280.
    private static let (nearEnough, slowEnough): (Float, Float) = (1.0 / 4000, 1.0 / 1000)
    /// Seconds for which the view waits for a face that isn't seen.
    private static let timeout = 2.0
    /// The most seconds between two frames that count as time to move in.
    private static let maxElapsed = 0.1

    /// Starts with the whole part.
    /// - Parameters:
    ///   - part: what may be shown, in pixels of the frames in which faces are searched.
    ///   - maxZoom: the largest magnification, at least 1.
    public init(in part: PixelRect, maxZoom: Double) {
        whole = Rect(part)
        self.maxZoom = Float(maxZoom)
        view = View(whole.center.x, whole.center.y, whole.width)
        target = view
    }

    /// Moves the view for the next frame. It always has the shape of the whole part.
    /// - Parameters:
    ///   - faces: the frame's faces, in its pixels.
    ///   - time: seconds, by the source's clock.
    /// - Returns: the view, in pixels.
    public mutating func update(_ faces: borrowing [Face], at time: Double) -> Rect {
        let elapsed = Float(self.time.map { max(0, min(time - $0, Self.maxElapsed)) } ?? 0)
        self.time = time
        if let head = largest(faces) {
            face = (head.id, time)
            let wanted = view(for: head.head)
            if isOut(wanted) { isFollowing = true }
            if isFollowing { target = wanted }
        } else if face.map({ !(0...Self.timeout).contains(time - $0.seen) }) ?? true {
            target = View(whole.center.x, whole.center.y, whole.width)
            (face, isFollowing) = (nil, false)
        }
        step(elapsed)
        return shown
    }

    /// The face to follow: the one that was followed, unless another one is clearly larger.
    private func largest(_ faces: borrowing [Face]) -> (id: Int, head: HeadPlacement)? {
        var (best, kept): (Int?, Int?) = (nil, nil)
        for i in faces.indices {
            if faces[i].id == face?.id { kept = i }
            if best.map({ faces[i].head.scale > faces[$0].head.scale }) ?? true { best = i }
        }
        guard let best else { return nil }
        let isLarger = kept.map { faces[best].head.scale > Compositor.replacingRatio * faces[$0].head.scale } ?? true
        let index = isLarger ? best : kept ?? best
        return (faces[index].id, faces[index].head)
    }

    /// The intended view for a head.
    private func view(for head: HeadPlacement) -> View {
        let zoom = max(1, min(Self.headPerView * whole.height / max(Self.headHeight * head.scale, 1), maxZoom))
        let (width, height) = (whole.width / zoom, whole.height / zoom)
        let middle = head(Self.headCenter)
        func clamped(_ value: Float, _ start: Float, _ length: Float, _ own: Float) -> Float {
            max(start + own / 2, min(value, start + length - own / 2))
        }
        return View(
            clamped(middle.x, whole.x, whole.width, width),
            clamped(middle.y + Self.headOffset * height, whole.y, whole.height, height), width)
    }

    private var heightPerWidth: Float { whole.height / whole.width }

    /// Whether an intended view is outside the band around the target.
    private func isOut(_ wanted: View) -> Bool {
        let off = wanted - target
        let ratio = wanted.z / target.z
        return abs(off.x) > Self.positionBand * target.z || abs(off.y) > Self.positionBand * target.z * heightPerWidth
            || max(ratio, 1 / ratio) > exp(Self.sizeBand)
    }

    /// Advances by the spring's exact motion, with a target that is constant for the frame.
    private mutating func step(_ elapsed: Float) {
        let off = view - target
        let push = (speed + off * Self.frequency) * elapsed
        let decay = exp(-Self.frequency * elapsed)
        view = target + (off + push) * decay
        speed = (speed - push * Self.frequency) * decay
        let left = view - target
        func largest(_ v: View) -> Float { max(abs(v.x), abs(v.y), abs(v.z)) }
        if largest(left) < Self.caughtUpDistance * view.z { isFollowing = false }
        if largest(left) < Self.nearEnough * view.z, largest(speed) < Self.slowEnough * view.z {
            (view, speed) = (target, .zero)
        }
    }

    /// The current view as a rectangle, in pixels.
    private var shown: Rect {
        // Rounding must not move the view outside the part.
        let part = min(1, view.z / whole.width)
        let (width, height) = (whole.width * part, whole.height * part)
        return Rect(
            x: max(whole.x, min(view.x - width / 2, whole.x + whole.width - width)),
            y: max(whole.y, min(view.y - height / 2, whole.y + whole.height - height)), width: width, height: height)
    }
}
