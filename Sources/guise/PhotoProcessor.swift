import CLinux
import Capture
import Compose
import Frames
import Glibc
import Page
import Privacy
import SystemKit
import Track

/// Masks the faces of photos sent by the page, one at a time, beside the frame loop.
final class PhotoProcessor: Sendable {
    private let context: AppContext
    private let worker = Worker("photos", most: 4) { ArtReader.shutDownRenderer() }

    /// The maximum number of pixels. Masking a photo of this size takes half a gigabyte.
    private static let mostPixels = MediaLimits.received.pixels
    /// The JPEG quality: a photo is looked at longer than a preview.
    private static let quality = 92

    init(_ context: AppContext) { self.context = context }

    /// Masks the faces of a photo.
    /// - Parameters:
    ///   - photo: the bytes of the image file.
    ///   - selections: the masks.
    ///   - onLostFace: the policy for lost faces; nil for each mask's own.
    /// - Throws: `PageError` if it isn't a photo, is too large, or shows no face though a mask must hide faces.
    func process(_ photo: [UInt8], _ selections: [MaskSelection], _ onLostFace: LostFacePolicy?) async throws
        -> MaskedPhoto
    {
        guard let header = PhotoHeader(photo) else {
            throw PageError(415, "unsupported", "this is not a photo; JPEG, PNG and WebP are supported")
        }
        guard header.width <= Self.mostPixels / header.height else {
            throw PageError(
                413, "too-large",
                "\(header.width)x\(header.height) is more than \(Self.mostPixels / 1_000_000) million pixels; "
                    + "make the photo smaller")
        }
        let masked = try await worker.run { [self] in try draw(photo, selections, onLostFace) }
        guard let masked else {
            throw PageError(409, "not-now", "other photos are being processed; try again when they are done")
        }
        return masked
    }

    private func draw(_ photo: [UInt8], _ selections: [MaskSelection], _ onLostFace: LostFacePolicy?) throws
        -> MaskedPhoto
    {
        let descriptor = try Self.file(of: photo)
        defer { close(descriptor) }
        let path = "/proc/self/fd/\(descriptor)"
        do {
            var drawn: MaskedPhoto?
            try Clip.firstPicture(of: path, within: .received) { view in
                let layout = view.layout
                let loader = try MaskLoader(
                    searchPaths: context.paths.masks, target: context.artTarget(layout), selections: selections,
                    log: { _ in })
                var pipeline = Pipeline(tracker: try context.tracker(), masks: loader.masks, output: layout)
                pipeline.onLostFace = onLostFace
                try pipeline.process(view, at: FrameTime(number: 0, seconds: 0), .whole)
                guard case .publishable(let frame) = pipeline.gate.outcome else {
                    throw PageError(422, "unusable", "no face to hide was found in the photo")
                }
                drawn = try MaskedPhoto(
                    frame, faces: pipeline.tracker.faces.count,
                    coveredCandidates: pipeline.tracker.candidateHeads.count,
                    quality: Self.quality)
            }
            guard let drawn else { throw Problem(.unusable, "the file contains no picture") }
            return drawn
        } catch let problem as Problem {
            throw Problem(problem.kind, problem.message.replacing(path, with: "the photo"), fix: problem.fix)
        }
    }

    /// Writes bytes to an anonymous file in memory.
    /// - Returns: the file's descriptor.
    private static func file(of bytes: [UInt8]) throws -> CInt {
        let descriptor = unsafe clinux_memory_file("guise-photo")
        guard descriptor >= 0 else { throw Problem(.system, "no memory for a photo: \(errorMessage(of: -descriptor))") }
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBufferPointer {
                unsafe write(descriptor, $0.baseAddress?.advanced(by: written), $0.count - written)
            }
            guard count > 0 else {
                close(descriptor)
                throw Problem(.system, "no memory for a photo: \(errorMessage(of: errno))")
            }
            written += count
        }
        return descriptor
    }
}
