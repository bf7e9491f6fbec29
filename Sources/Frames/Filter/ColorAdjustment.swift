/// A linear change of all samples of a channel: `128 + gain * (sample - 128) + offset`. Grey, sepia, tint, white
/// balance, brightness, contrast and warmth are all of this form.
public struct ColorAdjustment: Equatable, Sendable {
    /// The factors of Y, U and V; limited to -2...2 when applied.
    public var gain: SIMD3<Float>
    /// The offsets of Y, U and V, in samples; limited to -255...255 when applied.
    public var offset: SIMD3<Float>

    /// The adjustment that changes nothing.
    public static let identity = ColorAdjustment(gain: [1, 1, 1], offset: .zero)

    /// An adjustment by its gain and offset.
    public init(gain: SIMD3<Float>, offset: SIMD3<Float>) { (self.gain, self.offset) = (gain, offset) }

    /// This adjustment at part of its strength: 0 changes nothing, 1 is the whole.
    public func faded(_ part: Float) -> ColorAdjustment {
        ColorAdjustment(gain: 1 + (gain - 1) * part, offset: offset * part)
    }

    /// The composition of two adjustments: first `other`, then this one.
    public func after(_ other: ColorAdjustment) -> ColorAdjustment {
        ColorAdjustment(gain: gain * other.gain, offset: gain * other.offset + offset)
    }
}

/// Adjusts the colours of a whole frame in place, within the limits of its range. Allocates nothing.
public func apply(_ tone: ColorAdjustment, to frame: inout Frame) {
    let layout = frame.layout
    let lowest = Int16(layout.range.black)
    let highest =
        lowest
        &+ SIMD3(
            Int16(layout.range.lumaSpan), Int16(layout.range.chromaSpan), Int16(layout.range.chromaSpan))
    // 6 fraction bits: 127 * 2 * 64 stays within 16 bits.
    let gain = pointwiseMin(pointwiseMax(tone.gain, SIMD3(repeating: -2)), SIMD3(repeating: 2)) * 64
    let offset = pointwiseMin(pointwiseMax(tone.offset, SIMD3(repeating: -255)), SIMD3(repeating: 255))
    for index in layout.planes.indices {
        let pattern = PlanePattern(layout, plane: index)
        var steps = ColorAdjustmentSteps()
        var isIdle = true
        for i in 0..<16 {
            let channel = Int(pattern.channels[i & 3 & (pattern.bytesPerPair - 1)])
            let (g, o) = (Int16(gain[channel].rounded()), Int16(offset[channel].rounded()) + 128)
            let lane = i / 2
            if i % 2 == 0 {
                (steps.even.gain[lane], steps.even.offset[lane]) = (g, o)
                (steps.even.lowest[lane], steps.even.highest[lane]) = (lowest, highest[channel])
            } else {
                (steps.odd.gain[lane], steps.odd.offset[lane]) = (g, o)
                (steps.odd.lowest[lane], steps.odd.highest[lane]) = (lowest, highest[channel])
            }
            isIdle = isIdle && g == 64 && o == 128
        }
        guard !isIdle else { continue }
        var bytes = frame.mutableBytes
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            let plane = pattern.plane
            for y in 0..<plane.rows {
                let row = unsafe UnsafeMutableRawPointer(base + plane.offset + y * plane.stride)
                unsafe apply(steps, to: row, count: plane.rowBytes)
            }
        }
    }
}

/// An adjustment for 16 consecutive bytes of a plane: for the even and the odd bytes, each in a 16-bit lane.
private struct ColorAdjustmentSteps {
    struct Half {
        var gain = SIMD8<Int16>()
        var offset = SIMD8<Int16>()
        var lowest = SIMD8<Int16>()
        var highest = SIMD8<Int16>()

        @inline(__always)
        func callAsFunction(_ bytes: SIMD8<UInt16>) -> SIMD8<Int16> {
            let bytes = unsafe unsafeBitCast(bytes, to: SIMD8<Int16>.self)
            return laneClamp(((bytes &- 128) &* gain &+ 32) &>> 6 &+ offset, lowest, highest)
        }
    }

    var even = Half()
    var odd = Half()

    @inline(__always)
    func callAsFunction(_ pairs: SIMD8<UInt16>) -> SIMD8<Int16> { even(pairs & 255) | odd(pairs &>> 8) &<< 8 }
}

private func apply(_ steps: ColorAdjustmentSteps, to row: UnsafeMutableRawPointer, count: Int) {
    let steps = steps
    var x = 0
    while x &+ 16 <= count {
        let pairs = unsafe row.loadUnaligned(fromByteOffset: x, as: SIMD8<UInt16>.self)
        unsafe row.storeBytes(of: steps(pairs), toByteOffset: x, as: SIMD8<Int16>.self)
        x &+= 16
    }
    guard x < count else { return }
    var pairs = SIMD8<UInt16>()
    for i in 0..<count - x {
        pairs[i / 2] |= unsafe UInt16(row.load(fromByteOffset: x + i, as: UInt8.self)) << (i % 2 * 8)
    }
    let changed = steps(pairs)
    for i in 0..<count - x {
        let byte = UInt8(truncatingIfNeeded: UInt16(bitPattern: changed[i / 2]) >> (i % 2 * 8))
        unsafe row.storeBytes(of: byte, toByteOffset: x + i, as: UInt8.self)
    }
}

/// The mean U and V of a frame minus 128, in samples, from every 8th row; zero for gray.
public func meanChroma(_ frame: borrowing Frame) -> SIMD2<Float> {
    let layout = frame.layout
    var totals = SIMD4<UInt64>.zero
    var counts = SIMD4<UInt64>.zero
    for index in layout.planes.indices {
        let pattern = PlanePattern(layout, plane: index)
        let plane = pattern.plane
        let bytes = frame.bytes
        unsafe bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            for y in stride(from: plane.rows / 2 % 8, to: plane.rows, by: 8) {
                let row = unsafe UnsafeRawPointer(base + plane.offset + y * plane.stride)
                // The 16-bit sums hold up to 256 chunks of 16 bytes.
                var x = 0
                while x + 16 <= plane.rowBytes {
                    var sums = SIMD16<UInt16>.zero
                    var chunks: UInt64 = 0
                    while x + 16 <= plane.rowBytes && chunks < 256 {
                        let more = unsafe row.loadUnaligned(fromByteOffset: x, as: SIMD16<UInt8>.self)
                        sums &+= SIMD16(truncatingIfNeeded: more)
                        x += 16
                        chunks += 1
                    }
                    for i in 0..<16 {
                        let channel = Int(pattern.channels[i & 3 & (pattern.bytesPerPair - 1)])
                        totals[channel] += UInt64(sums[i])
                        counts[channel] += chunks
                    }
                }
            }
        }
    }
    guard counts.y > 0, counts.z > 0 else { return .zero }
    return [Float(totals.y) / Float(counts.y) - 128, Float(totals.z) / Float(counts.z) - 128]
}
