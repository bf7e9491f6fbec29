import CVision
import Frames
import Track

/// The way that faces are mostly looked for: OpenCV's classifier over each whole frame. Only for comparison.
///
/// The unsafe calls to the C shim are in this file alone.
@safe final class NaiveSearch {
    private let cascade: OpaquePointer
    private static let textSize = 256

    /// - Throws: `unusable` where OpenCV cannot read the cascade that the tracker uses.
    init(catalogue: Catalogue) throws {
        let path = try catalogue.entry(.face).path
        var text = [CChar](repeating: 0, count: Self.textSize)
        guard let cascade = unsafe cvision_cascade_open(path, &text, text.count) else {
            throw Problem(.unusable, "OpenCV cannot read \(path)", cure: "sudo apt install --reinstall opencv-data")
        }
        unsafe self.cascade = cascade
    }

    deinit { unsafe cvision_cascade_close(cascade) }

    /// Searches a frame whose luma is a plane of its own.
    /// - Returns: CPU nanoseconds.
    /// - Throws: `system` where OpenCV fails.
    func search(_ view: borrowing FrameView) throws -> UInt64 {
        let luma = view.luma
        precondition(luma.pixelStride == 1, "clips and the sample are planar")
        var finds = [cvision_find](repeating: cvision_find(), count: 32)
        var text = [CChar](repeating: 0, count: Self.textSize)
        let start = threadTime()
        let count = unsafe luma.samples.withUnsafeBufferPointer { samples in
            unsafe cvision_cascade_detect(
                cascade, samples.baseAddress, CInt(luma.width), CInt(luma.height), luma.rowStride, 1.1, 3, 30, 0,
                &finds,
                CInt(finds.count), &text, text.count)
        }
        let end = threadTime()
        guard count >= 0 else { throw Problem(.system, "OpenCV failed to search a frame") }
        return end - start
    }
}
