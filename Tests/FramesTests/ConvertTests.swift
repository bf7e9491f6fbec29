import Testing
import TestSupport

@testable import Frames

@Suite struct ConvertTests {
    /// One pixel of a frame, read by the format's definition, independent of the kernels.
    private func pixel(_ layout: FrameLayout, _ bytes: [UInt8], _ x: Int, _ y: Int) -> [UInt8] {
        func sample(_ plane: Int, _ x: Int, _ y: Int) -> UInt8 {
            bytes[layout.planes[plane].offset + y * layout.planes[plane].stride + x]
        }
        return switch layout.format {
        case .yuyv: [sample(0, 2 * x, y), sample(0, x / 2 * 4 + 1, y), sample(0, x / 2 * 4 + 3, y)]
        case .uyvy: [sample(0, 2 * x + 1, y), sample(0, x / 2 * 4, y), sample(0, x / 2 * 4 + 2, y)]
        case .nv12: [sample(0, x, y), sample(1, x / 2 * 2, y / 2), sample(1, x / 2 * 2 + 1, y / 2)]
        case .i420: [sample(0, x, y), sample(1, x / 2, y / 2), sample(2, x / 2, y / 2)]
        case .i422: [sample(0, x, y), sample(1, x / 2, y), sample(2, x / 2, y)]
        case .i444: [sample(0, x, y), sample(1, x, y), sample(2, x, y)]
        case .gray: [sample(0, x, y), 128, 128]
        }
    }

    /// BT.601's formulas in floating point.
    private func ranged(_ value: Double, _ component: Int, _ from: ColorRange, _ to: ColorRange) -> Double {
        let (low, span, mid) = component == 0 ? (16.0, 219.0, 0.0) : (128.0, 224.0, 128.0)
        return switch (from, to) {
        case (.full, .limited): low + (value - mid) * span / 255
        case (.limited, .full): max(0, min(255, mid + (value - low) * 255 / span))
        default: value
        }
    }

    private func noise(_ layout: FrameLayout) -> Frame {
        var frame = Frame(layout)
        var generator = Numbers(state: 7)
        var bytes = frame.mutableBytes
        for i in bytes.indices { bytes[i] = UInt8.random(in: 0...255, using: &generator) }
        return frame
    }

    /// Each pixel of the result must be the mean of the source's chroma over the result's chroma cell.
    private func check(_ width: Int, _ height: Int, _ from: FrameLayout, _ to: FrameLayout) {
        let source = noise(from)
        var result = Frame(to)
        convert(source.view, into: &result)
        let (a, b) = (source.array, result.array)
        let shift = to.format.chromaShift
        var worst = 0.0
        for y in 0..<height {
            for x in 0..<width {
                let got = pixel(to, b, x, y)
                for component in 0..<3 where component == 0 || to.format != .gray {
                    var cell = [(x, y)]
                    if component > 0 {
                        let (left, top) = ((x >> shift.x) << shift.x, (y >> shift.y) << shift.y)
                        let xs = left...min(width - 1, left + shift.x)
                        let ys = top...min(height - 1, top + shift.y)
                        cell = ys.flatMap { y in xs.map { ($0, y) } }
                    }
                    let mean =
                        cell.reduce(0.0) { $0 + Double(pixel(from, a, $1.0, $1.1)[component]) } / Double(cell.count)
                    worst = max(worst, abs(ranged(mean, component, from.range, to.range) - Double(got[component])))
                }
            }
        }
        // Two means, each rounded upward, and a range, rounded.
        #expect(worst <= 1.76, "\(from) \(from.range) to \(to) \(to.range): off by \(worst)")
    }

    @Test(arguments: PixelFormat.allCases, PixelFormat.allCases)
    func `every format is converted to every other in both ranges and odd sizes`(from: PixelFormat, to: PixelFormat) {
        for (width, height) in [(1, 1), (6, 4), (7, 5)] {
            for (a, b) in [(ColorRange.full, ColorRange.limited), (.limited, .full), (.full, .full)] {
                check(
                    width, height, FrameLayout(width: width, height: height, format: from, range: a),
                    FrameLayout(width: width, height: height, format: to, range: b))
            }
        }
    }

    @Test(arguments: [(PixelFormat.i420, PixelFormat.yuyv), (.yuyv, .nv12), (.uyvy, .i444)])
    func `wide and padded rows are converted to their end`(from: PixelFormat, to: PixelFormat) {
        let input = FrameLayout(width: 1031, height: 3, format: from, lumaStride: 2112)
        check(1031, 3, input, FrameLayout(width: 1031, height: 3, format: to, lumaStride: 4200))
    }

    @Test func `black, white and grey stay so in every range`() {
        for (from, to) in [(ColorRange.full, ColorRange.limited), (.limited, .full)] {
            for value in [from == .full ? 0 : 16, from == .full ? 255 : 235] as [UInt8] {
                var frame = Frame(FrameLayout(width: 8, height: 4, format: .i420, range: from))
                frame.fill(y: value, u: 128, v: 128)
                var result = Frame(FrameLayout(width: 8, height: 4, format: .yuyv, range: to))
                convert(frame.view, into: &result)
                let white: UInt8 = to == .full ? 255 : 235
                let black: UInt8 = to == .full ? 0 : 16
                #expect(
                    Array(result.array.prefix(4)) == [
                        value > 128 ? white : black, 128, value > 128 ? white : black, 128,
                    ])
            }
        }
    }

    @Test func `the range formulas are exact to the nearest value for all samples`() {
        for value in UInt8.min...UInt8.max {
            let sample = Double(value)
            #expect(abs(Double(FullToLimited.luma(value)) - ranged(sample, 0, .full, .limited)) <= 0.51)
            #expect(abs(Double(FullToLimited.chroma(value)) - ranged(sample, 1, .full, .limited)) <= 0.51)
            #expect(abs(Double(LimitedToFull.luma(value)) - ranged(sample, 0, .limited, .full)) <= 0.51)
            #expect(abs(Double(LimitedToFull.chroma(value)) - ranged(sample, 1, .limited, .full)) <= 0.51)
        }
    }
}

/// Pseudorandom numbers, the same in every run (Marsaglia's xorshift64).
struct Numbers: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
