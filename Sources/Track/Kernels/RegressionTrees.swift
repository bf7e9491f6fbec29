import Frames
import CLinux

/// Kernels for an ensemble of regression trees of depth 4 whose splits compare two pixels.
///
/// A split is one 32-bit word: bits 0-8 and 9-17 are the indices of two pixels, bits 22-31 a signed threshold. The left
/// branch is taken if the first pixel minus the second exceeds it. A tree is 16 words in heap order (word 0 is unused,
/// the children of n are 2n and 2n + 1), one cache line. Leaves are rows of bytes.
public enum RegressionTrees {
    /// The words of a tree: its splits and the unused first word.
    public static let words = 16
    /// The leaves of a tree.
    public static let leaves = 16
    /// The most pixels that 9 bits can index.
    public static let maxPixels = 512
    /// The block size of leaves in bytes: a leaf's size is a multiple of it.
    public static let block = 64

    /// Packs a split. `threshold` is rounded down, which doesn't change the result for integer differences.
    public static func pack(first: Int, second: Int, threshold: Float) -> UInt32 {
        // Differences are -255...255: at -256 the left branch is always taken, at 255 never.
        let limit = Int32(max(-256, min(255, threshold.rounded(.down))))
        return UInt32(first & 511) | UInt32(second & 511) << 9 | UInt32(bitPattern: limit) << 22
    }

    /// Samples brightness at `places[anchor] + across * delta.x + down * delta.y`, the nearest pixel; 0 outside.
    /// - Parameters:
    ///   - places: the 68 landmarks, picture pixels.
    ///   - anchors: the landmark of each sample.
    ///   - deltas: the offset of each sample from its anchor, in the coordinates given by `across` and `down`.
    ///   - across: the picture's vector for one unit of x, pixels.
    ///   - down: the picture's vector for one unit of y, pixels.
    ///   - pixels: its first `deltas.count` values are filled.
    public static func sample(
        _ picture: borrowing LumaView, places: Span<SIMD2<Double>>, anchors: Span<UInt8>, deltas: Span<Point>,
        across: SIMD2<Double>, down: SIMD2<Double>, into pixels: inout MutableSpan<UInt8>
    ) {
        precondition(anchors.count == deltas.count && deltas.count <= pixels.count && places.count == 68)
        let (dx, dy) = (picture.pixelStride, picture.rowStride)
        let (width, height) = (Double(picture.width), Double(picture.height))
        unsafe picture.samples.withUnsafeBufferPointer { samples in
            for i in deltas.indices {
                let delta = unsafe deltas[unchecked: i]
                let anchor = unsafe places[unchecked: min(67, Int(anchors[unchecked: i]))]
                // Half a pixel more, so that truncation rounds to the nearest.
                let p = anchor + across * Double(delta.x) + down * Double(delta.y) + 0.5
                // Written so that NaN counts as outside.
                let inside = p.x >= 0 && p.y >= 0 && p.x < width && p.y < height
                let at = inside ? Int(p.y) * dy + Int(p.x) * dx : 0
                unsafe pixels[unchecked: i] = inside ? samples[at] : 0
            }
        }
    }

    /// Finds the leaf of each tree.
    /// - Parameters:
    ///   - splits: `words` per tree.
    ///   - pixels: `maxPixels` values.
    ///   - rows: filled with the index of each tree's leaf, counted over all trees: `leaves * tree + leaf`.
    public static func descend(_ splits: Span<UInt32>, pixels: Span<UInt8>, rows: inout MutableSpan<UInt32>) {
        let trees = splits.count / words
        precondition(trees <= rows.count && pixels.count >= maxPixels)
        unsafe splits.withUnsafeBufferPointer { splits in
            unsafe pixels.withUnsafeBufferPointer { pixels in
                for tree in 0..<trees {
                    let start = tree * words
                    var node = 1
                    for _ in 0..<4 {
                        let split = unsafe splits[start + node]
                        let first = unsafe Int32(pixels[Int(split & 511)])
                        let second = unsafe Int32(pixels[Int(split >> 9 & 511)])
                        let right = first &- second > Int32(bitPattern: split) >> 22 ? 0 : 1
                        node = 2 &* node &+ right
                    }
                    unsafe rows[unchecked: tree] = UInt32(truncatingIfNeeded: start + node - words)
                }
            }
        }
    }

    /// Prefetches all selected rows, so that they are loaded from memory in parallel before `sum` adds them one by one.
    public static func prefetch(_ leaves: Span<UInt8>, rows: Span<UInt32>, width: Int) {
        let count = UInt32(leaves.count / max(1, width))
        unsafe leaves.withUnsafeBytes { leaves in
            guard let base = leaves.baseAddress else { return }
            for i in rows.indices where rows[i] < count {
                let row = unsafe base + Int(rows[i]) * width
                for line in stride(from: 0, to: width, by: block) { unsafe clinux_touch(row + line) }
            }
        }
    }

    /// Sums the selected rows, byte by byte.
    /// - Parameters:
    ///   - leaves: rows of `sums.count` bytes, which is a multiple of `block`.
    ///   - rows: the indices of the rows to add; every one must be within `leaves`.
    public static func sum(_ leaves: Span<UInt8>, rows: Span<UInt32>, into sums: inout MutableSpan<UInt32>) {
        let width = sums.count
        precondition(width % block == 0)
        for i in sums.indices { sums[i] = 0 }
        let count = UInt32(leaves.count / max(1, width))
        for i in rows.indices { precondition(rows[i] < count) }
        unsafe leaves.withUnsafeBytes { leaves in
            guard let base = leaves.baseAddress else { return }
            // Bytes are added in 16-bit lanes, even and odd ones separately; 256 of them cannot overflow.
            for first in stride(from: 0, to: rows.count, by: 256) {
                let last = min(rows.count, first + 256)
                for start in stride(from: 0, to: width, by: block) {
                    var (e0, e1, e2, e3) = (SIMD8<UInt16>(), SIMD8<UInt16>(), SIMD8<UInt16>(), SIMD8<UInt16>())
                    var (o0, o1, o2, o3) = (e0, e0, e0, e0)
                    let low = SIMD8<UInt16>(repeating: 255)
                    for i in first..<last {
                        let leaf = unsafe base + Int(rows[unchecked: i]) * width + start
                        let a = unsafe leaf.loadUnaligned(as: SIMD8<UInt16>.self)
                        let b = unsafe leaf.loadUnaligned(fromByteOffset: 16, as: SIMD8<UInt16>.self)
                        let c = unsafe leaf.loadUnaligned(fromByteOffset: 32, as: SIMD8<UInt16>.self)
                        let d = unsafe leaf.loadUnaligned(fromByteOffset: 48, as: SIMD8<UInt16>.self)
                        e0 &+= a & low
                        o0 &+= a &>> 8
                        e1 &+= b & low
                        o1 &+= b &>> 8
                        e2 &+= c & low
                        o2 &+= c &>> 8
                        e3 &+= d & low
                        o3 &+= d &>> 8
                    }
                    add(e0, o0, to: &sums, at: start)
                    add(e1, o1, to: &sums, at: start + 16)
                    add(e2, o2, to: &sums, at: start + 32)
                    add(e3, o3, to: &sums, at: start + 48)
                }
            }
        }
    }

    /// Adds `factor * row`, element by element, to the elements of `sum` from `start` on.
    public static func add(_ factor: Float, times row: Span<Float>, to sum: inout MutableSpan<Float>, at start: Int) {
        precondition(start >= 0 && row.count <= sum.count - start)
        for i in row.indices { unsafe sum[unchecked: start + i] += factor * row[unchecked: i] }
    }

    private static func add(
        _ even: SIMD8<UInt16>, _ odd: SIMD8<UInt16>, to sums: inout MutableSpan<UInt32>, at start: Int
    ) {
        for lane in 0..<8 {
            sums[start + 2 * lane] &+= UInt32(even[lane])
            sums[start + 2 * lane + 1] &+= UInt32(odd[lane])
        }
    }
}
