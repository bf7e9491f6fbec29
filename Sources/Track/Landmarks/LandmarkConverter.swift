import Frames
import SystemKit

/// A converter from a dlib model to the bytes of a `LandmarkFile`. Reads the model twice, level by level, to keep
/// memory use low.
struct LandmarkConverter {
    /// Every 13th leaf is enough to find the subspace near which all leaves are. Not a divisor of the number of leaves
    /// per tree, so that every leaf position is sampled.
    private static let sampling = 13

    static func convert(_ path: String) throws(Problem) -> [UInt8] {
        var model = try DlibModel.read(path)
        let basis = try self.basis(&model)
        return try write(try DlibModel.read(path), pixels: try model.readPixels(), basis: basis)
    }

    /// The leading eigenvectors of the leaves, 136 values each. Reads `model` to the end of its last level.
    private static func basis(_ model: inout DlibModel) throws(Problem) -> [[Double]] {
        var moment = [Float](repeating: 0, count: 136 * 136)
        var (splits, leaves): ([UInt32], [Float]) = ([], [])
        for _ in 0..<model.levels {
            try model.readLevel(splits: &splits, leaves: &leaves)
            var sums = moment.mutableSpan
            let values = leaves.span
            for leaf in stride(from: 0, to: values.count / 136, by: sampling) {
                let row = values.extracting(leaf * 136..<leaf * 136 + 136)
                for i in 0..<136 { RegressionTrees.add(row[i], times: row, to: &sums, at: i * 136) }
            }
        }
        let vectors = EigenBasis.of(moment.map(Double.init), size: 136)
        return Array(vectors.prefix(LandmarkFile.wordCoordinates + LandmarkFile.byteCoordinates))
    }

    private static func write(
        _ model: consuming DlibModel, pixels: [[DlibModel.Pixel]], basis: [[Double]]
    ) throws(Problem) -> [UInt8] {
        let width = pixels.map(\.count).max() ?? 0
        var (splits, leaves): ([UInt32], [Float]) = ([], [])
        try model.readLevel(splits: &splits, leaves: &leaves)
        let trees = splits.count / RegressionTrees.words
        let stamp = model.stamp
        let file = LandmarkFile(
            levels: model.levels, trees: trees, pixels: width, sourceSize: stamp.size, sourceModified: stamp.modified)
        var bytes = [UInt8](repeating: 0, count: file.byteCount)
        put(model.reference, at: file.reference.offset, in: &bytes)
        put(basis.joined().map { Float($0) }, at: file.basis.offset, in: &bytes)
        for (level, pixels) in pixels.enumerated() {
            put(pixels.flatMap { [$0.x, $0.y] }, at: file.deltas.offset + level * width * 8, in: &bytes)
            for (i, pixel) in pixels.enumerated() {
                bytes[file.anchors.offset + level * width + i] = UInt8(pixel.anchor)
            }
        }
        let columns = (0..<136).flatMap { i in basis.map { Float($0[i]) } }
        for level in 0..<file.levels {
            if level > 0 { try model.readLevel(splits: &splits, leaves: &leaves) }
            guard splits.count == trees * RegressionTrees.words else {
                throw model.damaged("its levels have different numbers of trees")
            }
            for (i, split) in splits.enumerated() {
                put(split, at: file.splits.offset + (level * splits.count + i) * 4, in: &bytes)
            }
            let steps = quantize(leaves, columns: columns, level: level, file: file, bytes: &bytes)
            put(steps, at: file.steps.offset + level * file.coordinates * 4, in: &bytes)
        }
        finishHeader(&bytes, file)
        return bytes
    }

    /// Writes the leaves of one level as quantised coordinates.
    /// - Parameter columns: the basis, point by point: `file.coordinates` values for each of 136.
    /// - Returns: the step of each coordinate.
    private static func quantize(
        _ leaves: [Float], columns: [Float], level: Int, file: LandmarkFile, bytes: inout [UInt8]
    ) -> [Float] {
        let n = file.coordinates
        let rows = leaves.count / 136
        var coordinates = [Float](repeating: 0, count: rows * n)
        var largest = [Float](repeating: 0, count: n)
        do {
            var all = coordinates.mutableSpan
            let (columns, leaves) = (columns.span, leaves.span)
            for leaf in 0..<rows {
                for i in 0..<136 {
                    let column = columns.extracting(i * n..<i * n + n)
                    RegressionTrees.add(leaves[leaf * 136 + i], times: column, to: &all, at: leaf * n)
                }
                for k in 0..<n { largest[k] = max(largest[k], abs(all[leaf * n + k])) }
            }
        }
        let steps = (0..<n).map {
            max(largest[$0], .leastNormalMagnitude) / ($0 < LandmarkFile.wordCoordinates ? 32767 : 127)
        }
        for leaf in 0..<rows {
            let start = file.leaves.offset + (level * rows + leaf) * file.bytesPerLeaf
            for k in 0..<n {
                let units = Int((coordinates[leaf * n + k] / steps[k]).rounded())
                if k < LandmarkFile.wordCoordinates {
                    let biased = max(0, min(65535, units + 32768))
                    bytes[start + 2 * k] = UInt8(biased & 255)
                    bytes[start + 2 * k + 1] = UInt8(biased >> 8)
                } else {
                    bytes[start + LandmarkFile.wordCoordinates + k] = UInt8(max(0, min(255, units + 128)))
                }
            }
        }
        return steps
    }

    /// Writes the header in front of the finished tables.
    private static func finishHeader(_ bytes: inout [UInt8], _ file: LandmarkFile) {
        var words: [UInt64] = []
        words.reserveCapacity(bytes.count / 8)
        for start in stride(from: LandmarkFile.headerWords * 8, to: bytes.count, by: 8) {
            var word: UInt64 = 0
            for i in 0..<8 { word |= UInt64(bytes[start + i]) << UInt64(8 * i) }
            words.append(word)
        }
        for (i, word) in file.header(checksum: LandmarkFile.checksum(words.span)).enumerated() {
            put(word, at: i * 8, in: &bytes)
        }
    }

    private static func put(_ values: [Float], at offset: Int, in bytes: inout [UInt8]) {
        for (i, value) in values.enumerated() { put(value.bitPattern, at: offset + 4 * i, in: &bytes) }
    }

    private static func put<Word: FixedWidthInteger>(_ word: Word, at offset: Int, in bytes: inout [UInt8]) {
        for i in 0..<Word.bitWidth / 8 { bytes[offset + i] = UInt8(truncatingIfNeeded: word >> Word(8 * i)) }
    }
}
