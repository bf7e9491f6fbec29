import Capture
import Compose
import Engine
import Frames
import Privacy
import SystemKit
import Track

/// Masks the faces of photos, one at a time, beside the frame loop.
final class PhotoProcessor: Sendable {
    private let context: AppContext
    private let worker = Worker("photos", maxQueued: 4) { ArtReader.shutDown() }

    init(_ context: AppContext) { self.context = context }

    /// Masks the faces of a photo.
    /// - Parameters:
    ///   - photo: the bytes of the image file.
    ///   - selections: the masks.
    ///   - onLostFace: the policy for lost faces; nil for each mask's own.
    ///   - encode: makes the result from the masked picture, the number of faces, and the number of other places that
    ///     may be faces and were covered. Called on the processor's thread.
    /// - Returns: the result; nil if too many photos are waiting.
    /// - Throws: `Problem` of kind `unusable` if it isn't a photo, or shows no face though a mask must hide faces.
    func process<Photo: Sendable>(
        _ photo: [UInt8], _ selections: [MaskSelection], _ onLostFace: LostFacePolicy?,
        encode: @escaping @Sendable (borrowing PublishableFrame, _ faces: Int, _ coveredCandidates: Int) throws -> Photo
    ) async throws -> Photo? {
        try await worker.run { [self] in try draw(photo, selections, onLostFace, encode) }
    }

    private func draw<Photo>(
        _ photo: [UInt8], _ selections: [MaskSelection], _ onLostFace: LostFacePolicy?,
        _ encode: (borrowing PublishableFrame, Int, Int) throws -> Photo
    ) throws -> Photo {
        let file = try MemoryFile(photo, what: "a photo")
        let path = file.path
        do {
            var drawn: Photo?
            try Clip.firstPicture(of: path, within: .received) { view in
                let layout = view.layout
                let loader = try MaskLoader(
                    searchPaths: context.paths.masks, target: context.artTarget(layout), selections: selections,
                    log: { _ in })
                var pipeline = Pipeline(
                    tracker: try context.tracker(isPhoto: true), masks: loader.masks, output: layout)
                pipeline.onLostFace = onLostFace
                try pipeline.process(view, at: FrameTime(number: 0, seconds: 0), .whole)
                guard case .publishable(let frame) = pipeline.gate.outcome else {
                    throw Problem(.unusable, "no face to hide was found in the photo")
                }
                drawn = try encode(frame, pipeline.tracker.faces.count, pipeline.tracker.candidateHeads.count)
            }
            guard let drawn else { throw Problem(.unusable, "the file contains no picture") }
            return drawn
        } catch let problem as Problem {
            throw Problem(problem.kind, problem.message.replacing(path, with: "the photo"), fix: problem.fix)
        }
    }
}
