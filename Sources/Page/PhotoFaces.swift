import Frames
import Track

/// The faces of a photo, for correction by hand, and for stamps to be placed on them.
public struct PhotoFaces: Encodable, Sendable {
    /// A face. Its landmarks are those of the iBUG 300-W mark-up, [x, y] in pixels of the photo as it is shown.
    public struct LandmarkedFace: Encodable, Sendable {
        let box: [Float]
        let landmarks: [[Float]]
        let corrected: Bool

        /// - Parameters:
        ///   - box: the bounding box of the face where it was found, pixels; empty for one that was not.
        ///   - landmarks: all 68 landmarks in their order, pixels.
        ///   - corrected: whether somebody has placed landmarks of this face by hand.
        public init(box: Rect, landmarks: [Point], corrected: Bool) {
            self.box = [box.x, box.y, box.width, box.height]
            self.landmarks = landmarks.map { [$0.x, $0.y] }
            self.corrected = corrected
        }
    }

    /// A face's position and angle, in the format of the `faces` reply for live video.
    public struct Place: Encodable, Sendable {
        let eyes: [Float]
        let eyeDistance: Float
        let roll: Float

        /// - Parameters:
        ///   - eyes: the midpoint of the eyes, pixels.
        ///   - eyeDistance: as it would be seen from the front, pixels.
        ///   - roll: the head's rotation in the picture, clockwise in degrees.
        ///   - layout: the layout of the upright photo.
        public init(eyes: Point, eyeDistance: Float, roll: Float, in layout: FrameLayout) {
            let (width, height) = (Float(layout.width), Float(layout.height))
            self.eyes = [eyes.x / width, eyes.y / height]
            (self.eyeDistance, self.roll) = (eyeDistance / height, roll)
        }
    }

    private let photo: String
    private let width: Int
    private let height: Int
    private let faces: [LandmarkedFace]
    /// The positions of all faces, those of cats too.
    private let places: [Place]
    /// The landmarks of a mean face from the front, [x, y] in eye distances from the point between the eyes, for faces
    /// that are added by hand.
    private let meanFace = HeadPlacement.meanHead.map { [$0.x, $0.y] }

    /// - Parameters:
    ///   - layout: the layout of the upright photo.
    ///   - faces: the human ones.
    ///   - places: of all faces.
    public init(of photo: PhotoHash, _ layout: FrameLayout, _ faces: [LandmarkedFace], at places: [Place]) {
        (self.photo, width, height) = (photo.description, layout.width, layout.height)
        (self.faces, self.places) = (faces, places)
    }
}
