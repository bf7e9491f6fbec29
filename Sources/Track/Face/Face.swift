import Frames

/// One face in one frame. All positions are pixels of the frame that was searched, origin at the top left.
public struct Face: Sendable {
    /// The 68 points of the iBUG 300-W mark-up, in its order (from 0): jaw 0-16 from the subject's right ear to the
    /// left, brows 17-26, nose 27-35, eyes 36-47, outer lips 48-59, inner lips 60-67.
    public typealias Landmarks = [68 of Point]

    /// Whether the last frame showed it.
    public enum State: String, Sendable {
        /// Seen in this frame.
        case tracked
        /// Not seen in this frame; its place is carried on from the frames before.
        case predicted
    }

    /// Whose face.
    public enum Kind: String, Sendable { case human, cat }

    /// Stays with the person while the face is followed, and when it comes back near the place within seconds; never
    /// given to another.
    public var id: Int
    /// Whose face.
    public var kind: Kind
    /// Whether this frame showed it.
    public var state: State
    /// Round brows to chin: smaller than the head.
    public var box: Rect
    /// Pixels.
    public var landmarks: Landmarks
    /// How the head lies: where things that are no landmarks (a crown, an ear) are, and the head's pose.
    public var head: HeadPlacement
    /// 0 (barely) to 1 (sure).
    public var confidence: Float

    /// Degrees.
    public var pose: Pose { head.pose }
}

/// How a head is turned. Degrees.
public struct Pose: Equatable, Sendable {
    /// In the picture's plane; positive: the head leans to the right of the picture (clockwise as seen).
    public var roll: Float
    /// Positive: the face looks to the right of the picture.
    public var yaw: Float
    /// Positive: the face looks up.
    public var pitch: Float

    /// From degrees.
    public init(roll: Float, yaw: Float, pitch: Float) { (self.roll, self.yaw, self.pitch) = (roll, yaw, pitch) }
}

extension Affine {
    /// The images of a face's landmarks.
    func callAsFunction(_ landmarks: borrowing Face.Landmarks) -> Face.Landmarks {
        var images = Face.Landmarks(repeating: .zero)
        for i in 0..<68 { images[i] = self(landmarks[i]) }
        return images
    }
}

extension Rect {
    /// The smallest that holds all landmarks.
    init(around landmarks: borrowing Face.Landmarks) {
        var (low, high) = (landmarks[0], landmarks[0])
        for i in 1..<68 {
            low = pointwiseMin(low, landmarks[i])
            high = pointwiseMax(high, landmarks[i])
        }
        self.init(x: low.x, y: low.y, width: high.x - low.x, height: high.y - low.y)
    }
}

/// Where a face's two eyes are; pixels of the frame.
struct EyePair: Sendable {
    /// Between the two.
    var middle: Point
    /// From one to the other.
    var distance: Float
    /// Degrees.
    var roll: Float

    init(middle: Point, distance: Float, roll: Float) {
        (self.middle, self.distance, self.roll) = (middle, distance, roll)
    }

    /// The eyes of landmarks: the means of six points each.
    init(_ landmarks: borrowing Face.Landmarks) {
        var (right, left) = (Point.zero, Point.zero)
        for i in 36..<42 { right += landmarks[i] }
        for i in 42..<48 { left += landmarks[i] }
        (right, left) = (right / 6, left / 6)
        let across = left - right
        self.init(middle: (right + left) / 2, distance: across.length, roll: degrees(atan2(across.y, across.x)))
    }

    /// Whether two eye distances, in pixels, may be of one face in two frames.
    static func areAlike(_ distance: Float, _ other: Float) -> Bool {
        (0.6...1.67).contains(distance / max(other, 1e-3))
    }

    /// The subject's own.
    var right: Point { middle - across }
    /// The subject's own.
    var left: Point { middle + across }

    /// From the middle to the left eye.
    private var across: Point {
        Affine(scale: distance / 2, angle: radians(roll), origin: .zero).linear(Point(1, 0))
    }
}

/// The points of a face that everything else is measured by. Right and left are the subject's own.
public enum FacePoint: Sendable {
    /// The middle of the lids' outline.
    case rightEye
    /// The middle of the lids' outline.
    case leftEye
    /// The tip.
    case nose
    /// The middle between the corners.
    case mouth
    case chin
}

extension Face {
    /// Pixels of the frame.
    public subscript(point: FacePoint) -> Point {
        switch point {
        case .rightEye: mean(36...41)
        case .leftEye: mean(42...47)
        // The mark-up's point 30 lies on the ridge, a little above the tip and, seen from the side, behind it.
        case .nose: landmarks[30] * 0.9 + landmarks[33] * 0.1 + ahead(0.1)
        // Inner and outer corners: stiller than the outer ones alone.
        case .mouth: (landmarks[48] + landmarks[54] + landmarks[60] + landmarks[64]) / 4 + ahead(0.05)
        case .chin: landmarks[8]
        }
    }

    /// What a turn to the side adds to a point that the trees leave too far behind: the way across the face, pixels.
    /// - Parameter depth: eye distances towards where the face looks. Found on labelled clips (docs/tracker.md).
    private func ahead(_ depth: Float) -> Point {
        let (right, back) = (Point(head.x.x, head.y.x), Point(head.x.z, head.y.z))
        let across = right / max(right.length, 1e-6)
        return across * (-(back * across).sum() * depth)
    }

    private func mean(_ range: ClosedRange<Int>) -> Point {
        var sum = Point.zero
        for i in range { sum += landmarks[i] }
        return sum / Float(range.count)
    }

    /// A mean head that faces the camera, its eyes one pixel apart at the origin: for measuring, not for drawing.
    public static let mean = Face(
        id: 0, kind: .human, state: .predicted, box: Rect(x: -1, y: -1, width: 2, height: 3),
        landmarks: HeadPlacement(x: [1, 0, 0], y: [0, 1, 0], origin: .zero).landmarks,
        head: HeadPlacement(x: [1, 0, 0], y: [0, 1, 0], origin: .zero), confidence: 0)
}
