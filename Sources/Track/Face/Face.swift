import Frames

/// One face in one frame. All positions are in pixels of the searched frame, origin at the top left.
public struct Face: Sendable {
    /// The 68 points of the iBUG 300-W mark-up, in its order (from 0): jaw 0-16 from the subject's right ear to the
    /// left, brows 17-26, nose 27-35, eyes 36-47, outer lips 48-59, inner lips 60-67.
    public typealias Landmarks = [68 of Point]

    /// Whether a frame shows the face.
    public enum State: String, Sendable {
        /// Seen in this frame.
        case tracked
        /// Not seen in this frame; the position is predicted from the frames before.
        case predicted
    }

    /// The kind of face.
    public enum Kind: String, Sendable { case human, cat }

    /// What the landmarks were measured from.
    public enum Basis: String, Sendable {
        /// All of them were fitted to the face.
        case landmarks
        /// Only the eyes were found; the others are those of a mean face.
        case eyes
    }

    /// The face's number. It stays the same while the face is tracked, and if it comes back near its last position
    /// within seconds; no other face ever gets it.
    public var id: Int
    /// The kind of face.
    public var kind: Kind
    /// Whether this frame shows the face.
    public var state: State
    /// What the landmarks were measured from, in this frame or, if it is predicted, in the last that showed the face.
    public var basis: Basis
    /// The bounding box of the landmarks, brows to chin, in pixels: smaller than the head.
    public var box: Rect
    /// The landmarks, pixels.
    public var landmarks: Landmarks
    /// The head's placement, which gives its pose and the position of parts that are no landmarks (a crown, an ear).
    public var head: HeadPlacement
    /// 0 (uncertain) to 1 (certain).
    public var confidence: Float

    /// The head's pose, degrees.
    public var pose: Pose { head.pose }
}

/// A head's orientation in degrees: what `HeadPlacement` says about it without position and size.
public struct Pose: Equatable, Sendable {
    /// Rotation in the image plane. Positive: the head leans to the right of the picture (clockwise as seen).
    public var roll: Float
    /// Rotation about the vertical axis. Positive: the face looks to the right of the picture.
    public var yaw: Float
    /// Rotation about the horizontal axis. Positive: the face looks up.
    public var pitch: Float

    /// Creates a pose from angles in degrees.
    public init(roll: Float, yaw: Float, pitch: Float) { (self.roll, self.yaw, self.pitch) = (roll, yaw, pitch) }
}

extension Affine {
    /// Maps all landmarks of a face.
    func callAsFunction(_ landmarks: borrowing Face.Landmarks) -> Face.Landmarks {
        var images = Face.Landmarks(repeating: .zero)
        for i in 0..<68 { images[i] = self(landmarks[i]) }
        return images
    }
}

extension Rect {
    /// The bounding box of a face's landmarks.
    init(around landmarks: borrowing Face.Landmarks) {
        var (low, high) = (landmarks[0], landmarks[0])
        for i in 1..<68 {
            low = pointwiseMin(low, landmarks[i])
            high = pointwiseMax(high, landmarks[i])
        }
        self.init(x: low.x, y: low.y, width: high.x - low.x, height: high.y - low.y)
    }
}

/// The positions of a face's two eyes, pixels of the frame.
struct EyePair: Sendable {
    /// The midpoint between the eyes.
    var middle: Point
    /// The distance between the eyes, pixels.
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

    /// Whether two eye distances, in pixels, may belong to one face in two frames.
    static func areAlike(_ distance: Float, _ other: Float) -> Bool {
        (0.6...1.67).contains(distance / max(other, 1e-3))
    }

    /// The subject's right eye.
    var right: Point { middle - across }
    /// The subject's left eye.
    var left: Point { middle + across }

    /// The vector from the midpoint to the left eye.
    private var across: Point {
        Affine(scale: distance / 2, angle: radians(roll), origin: .zero).linear(Point(1, 0))
    }
}

/// The reference points of a face. Right and left are the subject's own.
public enum FacePoint: Sendable {
    /// The centre of the right eye's outline.
    case rightEye
    /// The centre of the left eye's outline.
    case leftEye
    /// The tip of the nose.
    case nose
    /// The midpoint between the corners.
    case mouth
    /// The tip of the chin, landmark 8.
    case chin
}

extension Face {
    /// The position of a reference point, pixels of the frame.
    public subscript(point: FacePoint) -> Point {
        switch point {
        case .rightEye: mean(36...41)
        case .leftEye: mean(42...47)
        // Landmark 30 is on the ridge, a little above the tip and, seen from the side, behind it.
        case .nose: landmarks[30] * 0.9 + landmarks[33] * 0.1 + ahead(0.1)
        // The mean of outer and inner corners is steadier than the outer ones alone.
        case .mouth: (landmarks[48] + landmarks[54] + landmarks[60] + landmarks[64]) / 4 + ahead(0.05)
        case .chin: landmarks[8]
        }
    }

    /// The correction for a point that the trees place too far back on a turned face: a vector across the face, pixels.
    /// - Parameter depth: depth of the correction in eye distances, in the direction that the face points. Measured on
    ///   labelled clips (docs/tracker.md).
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

    /// A mean head that faces the camera, with its eyes one pixel apart around the origin. For measuring only.
    public static let mean = Face(
        id: 0, kind: .human, state: .predicted, basis: .landmarks, box: Rect(x: -1, y: -1, width: 2, height: 3),
        landmarks: HeadPlacement(x: [1, 0, 0], y: [0, 1, 0], origin: .zero).landmarks,
        head: HeadPlacement(x: [1, 0, 0], y: [0, 1, 0], origin: .zero), confidence: 0)
}
