import Foundation
import Frames

@testable import SystemKit
@testable import Track

/// A small synthetic landmark model, and the file that dlib would write for it.
struct ModelFile {
    struct Tree { var splits: [(Int, Int, Float)], leaves: [[Float]] }
    var shape: [Float]
    var levels: [[Tree]]
    var anchors: [[Int]]
    var deltas: [[(Float, Float)]]

    init(levels: Int = 3, trees: Int = 20, pixels: Int = 30) {
        var random = Numbers()
        shape = (0..<68).flatMap { i in
            let angle = Float(i) * 0.37
            return [0.5 + 0.4 * Frames.cos(angle), 0.5 + 0.4 * Frames.sin(angle)]
        }
        // Real leaves are close to a space of few dimensions, and so are these.
        let space = (0..<12).map { _ in (0..<136).map { _ in random.next(-0.01...0.01) } }
        self.levels = (0..<levels).map { _ in
            (0..<trees).map { _ in
                Tree(
                    splits: (0..<15).map { _ in
                        let pair = (random.next(0...Float(pixels) - 1), random.next(0...Float(pixels) - 1))
                        return (Int(pair.0), Int(pair.1), random.next(-60...60))
                    },
                    leaves: (0..<16).map { _ in
                        var leaf = [Float](repeating: 0, count: 136)
                        for direction in space {
                            let amount = random.next(-0.3...0.3)
                            for i in 0..<136 { leaf[i] += amount * direction[i] }
                        }
                        return leaf
                    })
            }
        }
        anchors = (0..<levels).map { _ in (0..<pixels).map { _ in Int(random.next(0...67)) } }
        deltas = (0..<levels).map { _ in
            (0..<pixels).map { _ in (random.next(-0.1...0.1), random.next(-0.1...0.1)) }
        }
    }

    /// The file's bytes in dlib's serialisation.
    var bytes: [UInt8] {
        var out: [UInt8] = []
        func put(_ value: Int) {
            var rest = value.magnitude
            var digits: [UInt8] = []
            repeat {
                digits.append(UInt8(rest & 255))
                rest >>= 8
            } while rest > 0
            out += [UInt8(digits.count) | (value < 0 ? 0x80 : 0)] + digits
        }
        func put(_ value: Float) {
            let exponent = value == 0 ? 0 : Int(value.exponent) - 23
            put(Int(value * Float(sign: .plus, exponent: -exponent, significand: 1)))
            put(exponent)
        }
        func put(column: [Float]) {
            put(-column.count)
            put(-1)
            column.forEach(put)
        }
        put(1)
        put(column: shape)
        put(levels.count)
        for level in levels {
            put(level.count)
            for tree in level {
                put(tree.splits.count)
                for split in tree.splits {
                    put(split.0)
                    put(split.1)
                    put(split.2)
                }
                put(tree.leaves.count)
                tree.leaves.forEach(put(column:))
            }
        }
        put(anchors.count)
        for level in anchors {
            put(level.count)
            level.forEach { put($0) }
        }
        put(deltas.count)
        for level in deltas {
            put(level.count)
            for delta in level {
                put(delta.0)
                put(delta.1)
            }
        }
        return out
    }

    /// The plain method: Kazemi and Sullivan's cascade in dlib's arithmetic.
    func fit(_ picture: Picture, in box: Affine) -> [Point] {
        var shape = (0..<68).map { Point(self.shape[2 * $0], self.shape[2 * $0 + 1]) }
        let mean = shape
        let centre = mean.reduce(Point(), +) / 68
        for (level, trees) in levels.enumerated() {
            let middle = shape.reduce(Point(), +) / 68
            var (a, b, square): (Float, Float, Float) = (0, 0, 0)
            for i in 0..<68 {
                let (from, to) = (mean[i] - centre, shape[i] - middle)
                a += from.x * to.x + from.y * to.y
                b += from.x * to.y - from.y * to.x
                square += from.x * from.x + from.y * from.y
            }
            (a, b) = (a / square, b / square)
            let values = anchors[level].indices.map { i in
                let (dx, dy) = deltas[level][i]
                let p = box(shape[anchors[level][i]] + Point(a * dx - b * dy, b * dx + a * dy))
                return Float(picture[Int((p.x + 0.5).rounded(.down)), Int((p.y + 0.5).rounded(.down))])
            }
            for tree in trees {
                var node = 0
                while node < 15 {
                    let (first, second, threshold) = tree.splits[node]
                    node = 2 * node + (values[first] - values[second] > threshold ? 1 : 2)
                }
                for i in 0..<68 { shape[i] += Point(tree.leaves[node - 15][2 * i], tree.leaves[node - 15][2 * i + 1]) }
            }
        }
        return shape.map { box($0) }
    }
}

/// A picture with detail everywhere.
struct Picture {
    let width: Int
    let height: Int
    var samples: [UInt8]

    init(width: Int, height: Int) {
        (self.width, self.height) = (width, height)
        samples = (0..<width * height).map { i in
            let (x, y) = (Float(i % width), Float(i / width))
            return UInt8(128 + 60 * Frames.sin(x / 9) + 60 * Frames.cos(y / 7 + x / 31))
        }
    }

    subscript(x: Int, y: Int) -> UInt8 {
        x >= 0 && y >= 0 && x < width && y < height ? samples[y * width + x] : 0
    }

    /// Lends the picture; with `pixelStride` 2 like packed formats.
    func withView<Result>(pixelStride: Int = 1, _ body: (borrowing LumaView) -> Result) -> Result {
        let spread = pixelStride == 1 ? samples : samples.flatMap { [$0, 0xaa] }
        return body(
            LumaView(
                samples: spread.span, width: width, height: height, pixelStride: pixelStride,
                rowStride: width * pixelStride))
    }
}

/// The same numbers in every run.
struct Numbers {
    private var state: UInt64 = 0x9e37_79b9_7f4a_7c15

    mutating func next(_ range: ClosedRange<Float>) -> Float {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return range.lowerBound + Float(state >> 40) / Float(1 << 24) * (range.upperBound - range.lowerBound)
    }
}
