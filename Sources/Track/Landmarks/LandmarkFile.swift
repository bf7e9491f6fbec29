import Frames
import SystemKit

/// The layout of a landmark model's cache file: a header of 16 words of 64 bits, then tables, each aligned to a cache
/// line.
///
/// All leaves of all levels are near one low-dimensional subspace, since they are differences of face shapes. A leaf is
/// stored as its coordinates along the first eigenvectors of the leaves' second moment ("basis"): the first
/// `wordCoordinates` in 16 bits, little-endian, the next `byteCoordinates` in 8 bits, all biased to be positive, in
/// units that each level has for each coordinate ("steps"). So a leaf is one cache line, and sums of leaves are sums of
/// bytes.
struct LandmarkFile: Equatable {
    /// Must be incremented with every change of the layout or of the meaning of its values.
    static let version: UInt64 = 2
    static let magic: UInt64 = 0x004d_4c45_5349_5547  // "GUISELM\0" as bytes
    static let headerWords = 16

    var levels: Int
    /// Trees per level.
    var trees: Int
    /// Pixels per level.
    var pixels: Int
    /// The source model: its size in bytes, and its modification time in nanoseconds.
    var sourceSize: Int
    var sourceModified: Int64

    /// Coordinates of a leaf that take 16 bits.
    static let wordCoordinates = 8
    /// Coordinates of a leaf that take 8 bits.
    static let byteCoordinates = 48

    var coordinates: Int { Self.wordCoordinates + Self.byteCoordinates }
    var bytesPerLeaf: Int { 2 * Self.wordCoordinates + Self.byteCoordinates }

    // Tables: the offset of the first byte and the number of elements.
    var reference: (offset: Int, count: Int) { (Self.headerWords * 8, 136) }
    var basis: (offset: Int, count: Int) { (Self.after(reference, 4), coordinates * 136) }
    var steps: (offset: Int, count: Int) { (Self.after(basis, 4), levels * coordinates) }
    /// Offsets from the anchors, x and y.
    var deltas: (offset: Int, count: Int) { (Self.after(steps, 4), levels * pixels * 2) }
    var anchors: (offset: Int, count: Int) { (Self.after(deltas, 4), levels * pixels) }
    var splits: (offset: Int, count: Int) { (Self.after(anchors, 1), levels * trees * RegressionTrees.words) }
    var leaves: (offset: Int, count: Int) {
        (Self.after(splits, 4), levels * trees * RegressionTrees.leaves * bytesPerLeaf)
    }
    var byteCount: Int { Self.after(leaves, 1) }

    private static func after(_ table: (offset: Int, count: Int), _ size: Int) -> Int {
        (table.offset + table.count * size + 63) & ~63
    }

    /// The header of a file whose remaining bytes have the given checksum.
    func header(checksum: UInt64) -> [UInt64] {
        var words: [UInt64] = [
            Self.magic, Self.version, UInt64(sourceSize), UInt64(bitPattern: sourceModified), UInt64(levels),
            UInt64(trees), UInt64(pixels), UInt64(Self.wordCoordinates), UInt64(Self.byteCoordinates),
            UInt64(byteCount), checksum,
        ]
        while words.count < Self.headerWords - 1 { words.append(0) }
        words.append(Self.checksum(words.span))
        return words
    }

    /// Whether a file was once written as a cache file, of whatever version.
    static func isMeant(by file: borrowing MappedFile) -> Bool {
        guard file.count >= 8 else { return false }
        let words = file.table(of: UInt64.self, at: 0, count: 1)
        return words[0] == magic
    }

    /// Reads a header and checks the whole file against it.
    /// - Returns: nil if the file is damaged, of another version, or of another kind.
    init?(_ file: borrowing MappedFile) {
        guard file.count >= Self.headerWords * 8, file.count % 64 == 0 else { return nil }
        let words = file.table(of: UInt64.self, at: 0, count: Self.headerWords)
        guard words[0] == Self.magic, words[1] == Self.version,
            words[15] == Self.checksum(words.extracting(0..<15))
        else { return nil }
        guard let levels = Int(exactly: words[4]), (1...DlibModel.maxLevels).contains(levels),
            let trees = Int(exactly: words[5]), (1...DlibModel.maxTrees).contains(trees),
            let pixels = Int(exactly: words[6]), (1...RegressionTrees.maxPixels).contains(pixels),
            words[7] == UInt64(Self.wordCoordinates), words[8] == UInt64(Self.byteCoordinates),
            let size = Int(exactly: words[2])
        else { return nil }
        self.init(
            levels: levels, trees: trees, pixels: pixels, sourceSize: size, sourceModified: Int64(bitPattern: words[3]))
        guard file.count == byteCount, words[9] == UInt64(byteCount) else { return nil }
        let body = file.table(of: UInt64.self, at: Self.headerWords * 8, count: file.count / 8 - Self.headerWords)
        guard Self.checksum(body) == words[10] else { return nil }
        // A matching checksum over wrong values would be a bug of ours, but even then nothing may trap.
        let anchors = file.table(of: UInt8.self, at: anchors.offset, count: anchors.count)
        for i in anchors.indices where anchors[i] > 67 { return nil }
        let end = self.anchors.offset
        let floats = file.table(of: Float.self, at: reference.offset, count: (end - reference.offset) / 4)
        for i in floats.indices where !floats[i].isFinite { return nil }
    }

    init(levels: Int, trees: Int, pixels: Int, sourceSize: Int, sourceModified: Int64) {
        (self.levels, self.trees, self.pixels) = (levels, trees, pixels)
        (self.sourceSize, self.sourceModified) = (sourceSize, sourceModified)
    }

    /// A hash after FNV-1a, over 64-bit words, in four independent chains so that it keeps up with memory.
    static func checksum(_ words: Span<UInt64>) -> UInt64 {
        let prime: UInt64 = 0x100_0000_01b3
        var chains: SIMD4<UInt64> = [0xcbf2_9ce4_8422_2325, 1, 2, 3]
        for i in words.indices {
            let mixed = (chains[i & 3] ^ words[i]) &* prime
            // Multiplication carries only upward, so the high bits are folded back down.
            chains[i & 3] = mixed ^ mixed >> 32
        }
        var sum: UInt64 = 0
        for i in 0..<4 { sum = (sum ^ chains[i]) &* prime }
        return sum
    }
}
