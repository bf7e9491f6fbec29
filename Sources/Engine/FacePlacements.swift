import Compose
import Frames

/// Where the faces of a frame are, for clients that place things on them. Copied with every frame, so it is not an
/// array, which would be allocated.
package struct FacePlacements: Equatable, Sendable {
    /// The placement of one face.
    package struct Placement: Equatable, Sendable {
        /// The midpoint of the eyes, as fractions of the picture's width and height.
        package let eyes: Point
        /// The distance between the eyes as it would be seen from the front, as a fraction of the picture's height.
        package let eyeDistance: Float
        /// The head's rotation in the picture, clockwise in degrees.
        package let roll: Float
    }

    /// The most faces; more are left out. The configuration allows more, but nobody places things on so many by hand.
    private static let maxCount = 8

    /// Four numbers for each face.
    private var values = SIMD32<Float>.zero
    /// The number of faces.
    package private(set) var count = 0

    /// No faces.
    package init() {}

    /// Adds a face.
    /// - Parameters:
    ///   - face: in pixels of the picture.
    ///   - layout: the picture's layout.
    package mutating func append(_ face: FacePlacement, in layout: FrameLayout) {
        guard count < Self.maxCount else { return }
        let height = Float(layout.height)
        values[4 * count] = face.eyes.x / Float(layout.width)
        values[4 * count + 1] = face.eyes.y / height
        values[4 * count + 2] = face.eyeDistance / height
        values[4 * count + 3] = face.roll
        count += 1
    }

    /// The faces' placements, in the order in which they were added.
    package var all: [Placement] {
        (0..<count).map {
            Placement(
                eyes: Point(values[4 * $0], values[4 * $0 + 1]), eyeDistance: values[4 * $0 + 2],
                roll: values[4 * $0 + 3])
        }
    }
}
