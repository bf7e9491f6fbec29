import Frames
import Track

/// The human faces of a photo, for correction by hand.
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

    private let photo: String
    private let width: Int
    private let height: Int
    private let faces: [LandmarkedFace]
    /// The landmarks of a mean face from the front, [x, y] in eye distances from the point between the eyes, for faces
    /// that are added by hand.
    private let meanFace = HeadPlacement.meanHead.map { [$0.x, $0.y] }

    /// - Parameter layout: the layout of the upright photo.
    public init(of photo: PhotoHash, _ layout: FrameLayout, _ faces: [LandmarkedFace]) {
        (self.photo, width, height, self.faces) = (photo.description, layout.width, layout.height, faces)
    }
}
