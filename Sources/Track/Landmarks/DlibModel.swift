import Frames
import Glibc
import SystemKit

/// A reader for shape predictors as dlib 18.10 and later write them: 68 points, cascade levels of regression trees of
/// depth 4 over differences of two pixels (Kazemi and Sullivan, "One Millisecond Face Alignment with an Ensemble of
/// Regression Trees", 2014).
///
/// dlib writes an integer as a control byte (bit 7: negative, bits 0-3: how many bytes follow) and the magnitude,
/// little-endian; a float as mantissa and exponent; a list as its length and its elements; a matrix as minus its
/// number of rows, minus its number of columns, and its elements. The file is read sequentially in three parts: `read`,
/// `readLevel` once per level, `readPixels`.
struct DlibModel: ~Copyable {
    /// Limits of a model. Debian's has 15 levels of 500 trees and 500 pixels.
    static let maxLevels = 64
    static let maxTrees = 512
    /// Shapes are in the unit box, and thresholds differences of grey levels. Sums of much larger values overflow.
    private static let largestValue: Float = 1e6

    let path: String
    /// The mean shape in the unit box: x and y of each point.
    private(set) var reference: [Float] = []
    private(set) var levels = 0
    private let file: MappedFile
    private var position = 0

    /// Opens a model and reads its head.
    /// - Throws: `Problem` that names the file and its package.
    static func read(_ path: String) throws(Problem) -> DlibModel {
        var model = DlibModel(path: path, file: try open(path))
        try model.readHead()
        return model
    }

    private init(path: String, file: consuming MappedFile) {
        self.path = path
        self.file = file
    }

    private mutating func readHead() throws(Problem) {
        guard try integer() == 1 else { throw damaged("its version is not 1") }
        var shape: [Float] = []
        try vector(into: &shape)
        reference = shape
        levels = try count(1...Self.maxLevels, "cascade levels")
    }

    private static func open(_ path: String) throws(Problem) -> MappedFile {
        do throws(Problem) {
            return try MappedFile(path: path)
        } catch {
            throw Problem(error.kind, error.message, fix: "install it: apt install libdlib-data")
        }
    }

    /// The error of a model that cannot be used.
    func damaged(_ why: String) -> Problem {
        Problem(
            .unusable, "\(path) is not a valid landmark model: \(why)",
            fix: "reinstall it: apt install --reinstall libdlib-data")
    }

    /// The file's size in bytes and modification time in nanoseconds, which together identify a model.
    var stamp: (size: Int, modified: Int64) { (file.count, file.modified) }

    /// Reads the next level.
    /// - Parameters:
    ///   - splits: filled with `RegressionTrees.words` per tree.
    ///   - leaves: filled with 136 values per leaf, 16 leaves per tree.
    /// - Throws: `Problem` if the level is damaged.
    mutating func readLevel(splits: inout [UInt32], leaves: inout [Float]) throws(Problem) {
        splits.removeAll(keepingCapacity: true)
        leaves.removeAll(keepingCapacity: true)
        for _ in 0..<(try count(1...Self.maxTrees, "trees")) {
            _ = try count(15...15, "splits per tree")
            splits.append(0)
            for _ in 0..<15 {
                let first = try count(0...RegressionTrees.maxPixels - 1, "pixel index")
                let second = try count(0...RegressionTrees.maxPixels - 1, "pixel index")
                splits.append(RegressionTrees.pack(first: first, second: second, threshold: try float()))
            }
            _ = try count(RegressionTrees.leaves...RegressionTrees.leaves, "leaves per tree")
            for _ in 0..<RegressionTrees.leaves { try vector(into: &leaves) }
        }
        file.forget(first: position)
    }

    /// A sampling point: the index of its anchor landmark, and the offset from it in the unit box.
    struct Pixel { var anchor: Int, x: Float, y: Float }

    /// Reads the pixels of all levels, which follow the last level.
    /// - Throws: `Problem` if the pixels are damaged.
    mutating func readPixels() throws(Problem) -> [[Pixel]] {
        guard try integer() == levels else { throw damaged("its levels and pixels do not match") }
        var pixels: [[Pixel]] = []
        for _ in 0..<levels {
            var level: [Pixel] = []
            for _ in 0..<(try count(1...RegressionTrees.maxPixels, "pixels")) {
                level.append(Pixel(anchor: try count(0...67, "landmark index"), x: 0, y: 0))
            }
            pixels.append(level)
        }
        guard try integer() == levels else { throw damaged("its levels and pixels do not match") }
        for level in pixels.indices {
            guard try integer() == pixels[level].count else { throw damaged("its numbers of pixels do not match") }
            for i in pixels[level].indices { (pixels[level][i].x, pixels[level][i].y) = (try float(), try float()) }
        }
        guard position == file.count else { throw damaged("there is data after its end") }
        return pixels
    }

    /// Appends a column vector of 136 numbers.
    private mutating func vector(into values: inout [Float]) throws(Problem) {
        guard try integer() == -136, try integer() == -1 else { throw damaged("it does not have 68 points") }
        for _ in 0..<136 { values.append(try float()) }
    }

    private mutating func count(_ range: ClosedRange<Int>, _ what: String) throws(Problem) -> Int {
        let n = try integer()
        guard range.contains(n) else { throw damaged("\(what): \(n), expected \(range)") }
        return n
    }

    private mutating func integer() throws(Problem) -> Int {
        let (value, end) = try number(at: position)
        position = end
        return value
    }

    private func number(at start: Int) throws(Problem) -> (value: Int, end: Int) {
        let bytes = file.bytes
        guard start < bytes.count else { throw damaged("it ends too early") }
        let control = bytes[start]
        let end = start + 1 + Int(control & 15)
        guard control & 0x78 == 0 || control & 0x7f == 8 else { throw damaged("byte \(start) is not a number") }
        guard end <= bytes.count else { throw damaged("it ends too early") }
        var magnitude: UInt64 = 0
        for i in start + 1..<end { magnitude |= UInt64(bytes[i]) << UInt64(8 * (i - start - 1)) }
        guard magnitude <= UInt64(Int.max) else { throw damaged("byte \(start) is not a number") }
        return (control & 0x80 == 0 ? Int(magnitude) : -Int(magnitude), end)
    }

    private mutating func float() throws(Problem) -> Float {
        let mantissa = try integer()
        let exponent = try integer()
        // dlib marks infinity and NaN by exponents of 32000 and above.
        guard abs(exponent) < 32000 else { throw damaged("a value before byte \(position) is not finite") }
        let scale = exponent + 127
        let value =
            scale > 0 && scale < 255
            ? Float(mantissa) * Float(bitPattern: UInt32(scale) << 23) : scalbnf(Float(mantissa), CInt(exponent))
        guard abs(value) <= Self.largestValue else {
            throw damaged("a value before byte \(position) is out of range")
        }
        return value
    }
}
