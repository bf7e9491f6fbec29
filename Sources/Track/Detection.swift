import Frames

/// A face detected by a cascade: the estimated eyes, pixels of the frame.
public struct Detection: Sendable {
    /// The midpoint between the eyes.
    public var eyes: Point
    /// The distance between the eyes, pixels.
    public var eyeDistance: Float
    /// The rotation in the image plane, degrees.
    public var roll: Float
    /// The number of windows that agreed.
    public var votes: Int

    var pair: EyePair { EyePair(middle: eyes, distance: eyeDistance, roll: roll) }

    /// Whether two detections may be one face: near each other, and of similar size, since a large false detection
    /// would otherwise hide a small true one inside it.
    func mayBe(_ other: Detection) -> Bool {
        (eyes - other.eyes).length < max(eyeDistance, other.eyeDistance) / 2
            && EyePair.areAlike(eyeDistance, other.eyeDistance)
    }

    /// Whether this is on the face with these eyes: less than an eye distance from them.
    func isOn(_ face: EyePair) -> Bool { (eyes - face.middle).length < max(face.distance, eyeDistance) }

    /// An upright box around the whole head, 3 eye distances wide and 3.8 high, for a head that may be turned and
    /// tilted. Its features are in the inner half; hair and chin are inside too.
    var head: Rect {
        let (width, height) = (3 * eyeDistance, 3.8 * eyeDistance)
        return Rect(x: eyes.x - width / 2, y: eyes.y - height * 0.42, width: width, height: height)
    }
}
