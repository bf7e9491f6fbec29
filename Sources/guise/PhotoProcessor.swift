import Capture
import Compose
import Engine
import Frames
import Page
import Privacy
import SystemKit
import Track

/// Masks the faces of photos, one at a time, in parallel with the frame loop. One that takes longer than three seconds
/// delays no other.
final class PhotoProcessor: Sendable {
    private let context: AppContext
    private let corrections: CorrectionStore
    private let worker = Worker("photos", maxQueued: 4, patience: 3) { ArtReader.shutDown() }

    init(_ context: AppContext, _ corrections: CorrectionStore) {
        (self.context, self.corrections) = (context, corrections)
    }

    /// Masks the faces of a photo, at their corrected landmarks if there are any.
    /// - Parameters:
    ///   - photo: the bytes of the image file.
    ///   - selections: the masks.
    ///   - onLostFace: the policy for lost faces; nil for each mask's own.
    ///   - encode: makes the result from the masked picture, the photo's hash, the number of faces, and the number of
    ///     other places that may be faces and were covered. Called on the processor's thread.
    /// - Returns: the result; nil if too many photos are waiting.
    /// - Throws: `Problem` of kind `unusable` if it isn't a photo, or shows no face though a mask must hide faces.
    func mask<Photo: Sendable>(
        _ photo: [UInt8], _ selections: [MaskSelection], _ onLostFace: LostFacePolicy?,
        encode:
            @escaping @Sendable (
                borrowing PublishableFrame, PhotoHash, _ faces: Int, _ coveredCandidates: Int
            ) throws -> Photo
    ) async throws -> Photo? {
        try await worker.run { [self] in
            try draw(photo, selections, onLostFace) { pipeline, hash, _ in
                switch pipeline.gate.outcome {
                case .publishable(let frame):
                    return try encode(
                        frame, hash, pipeline.tracker.faces.count, pipeline.tracker.candidateHeads.count)
                case .withheld(.noFaceFound): throw Problem(.unusable, "no face to hide was found in the photo")
                case .withheld(.faceMayBeVisible):
                    throw Problem(.unusable, "more places in the photo may be faces than can be covered")
                case .withheld: throw Problem(.unusable, "what is to be hidden in the photo could not be covered")
                }
            }
        }
    }

    /// The faces of a photo, which get the masks, with the landmarks at which these are drawn on human ones.
    /// - Returns: the faces; nil if too many photos are waiting.
    /// - Throws: `Problem` of kind `unusable` if it isn't a photo.
    func faces(
        of photo: [UInt8], _ selections: [MaskSelection], _ onLostFace: LostFacePolicy?
    ) async throws -> PhotoFaces? {
        try await worker.run { [self] in
            try draw(photo, selections, onLostFace) { pipeline, hash, layout in
                let found = pipeline.tracker.replacedFaces
                var faces: [PhotoFaces.LandmarkedFace] = []
                for face in pipeline.tracker.faces where face.kind == .human {
                    let correction = pipeline.corrections.first { $0.matches(face) }
                    let box = correction?.box ?? found.first { $0.id == face.id }?.box ?? face.box
                    faces.append(
                        PhotoFaces.LandmarkedFace(
                            box: box, landmarks: (0..<68).map { face.landmarks[$0] }, corrected: correction != nil))
                }
                let places = pipeline.tracker.faces.map { face in
                    let place = FacePlacement(face)
                    return PhotoFaces.Place(
                        eyes: place.eyes, eyeDistance: place.eyeDistance, roll: place.roll, in: layout)
                }
                return PhotoFaces(of: hash, layout, faces, at: places)
            }
        }
    }

    /// Draws masks on a photo, and reads the result from the pipeline.
    private func draw<Result>(
        _ photo: [UInt8], _ selections: [MaskSelection], _ onLostFace: LostFacePolicy?,
        _ read: (borrowing Pipeline, PhotoHash, FrameLayout) throws -> Result
    ) throws -> Result {
        let file = try MemoryFile(photo, what: "a photo")
        let hash = PhotoHash(of: photo)
        var result: Result?
        try Clip.firstPicture(of: file.path, named: "the photo", within: .upload) { view in
            let layout = view.layout
            let loader = try MaskLoader(
                searchPaths: context.paths.masks, target: context.artTarget(layout), selections: selections,
                log: { _ in })
            var pipeline = Pipeline(
                tracker: try context.tracker(isPhoto: true), masks: loader.masks, output: layout)
            pipeline.onLostFace = onLostFace
            pipeline.corrections = corrections.corrections(of: hash, layout)
            pipeline.process(view, at: FrameTime(number: 0, seconds: 0), .whole)
            result = try read(pipeline, hash, layout)
        }
        guard let result else { throw Problem(.unusable, "the file contains no picture") }
        return result
    }
}
