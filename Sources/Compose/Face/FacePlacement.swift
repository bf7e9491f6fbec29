import Frames
import Track

/// Where a face is in the picture, for things that are placed relative to it.
public struct FacePlacement: Equatable, Sendable {
    /// The midpoint of the eyes, in pixels.
    public let eyes: Point
    /// The distance between the eyes as it would be seen from the front, in pixels.
    public let eyeDistance: Float
    /// The head's rotation in the picture, clockwise in degrees.
    public let roll: Float

    /// Measures a face.
    public init(_ face: borrowing Face) {
        (eyes, eyeDistance, roll) = (Anchor.eyes.position(on: face), face.head.scale, face.pose.roll)
    }

    /// The place in a picture that was scaled and translated.
    /// - Parameter map: without rotation or mirroring, such as `Scaler.map`.
    public func moved(by map: Affine) -> FacePlacement {
        FacePlacement(eyes: map(eyes), eyeDistance: eyeDistance * abs(map.determinant).squareRoot(), roll: roll)
    }

    private init(eyes: Point, eyeDistance: Float, roll: Float) {
        (self.eyes, self.eyeDistance, self.roll) = (eyes, eyeDistance, roll)
    }

    /// The position in the picture, in pixels, of a point relative to the face.
    /// - Parameter point: in eye distances from the midpoint of the eyes, along the face's axes.
    func position(of point: Point) -> Point {
        eyes + Affine(scale: eyeDistance, angle: radians(roll), origin: .zero).linear(point)
    }
}
