/// The frame's samples under 16 neighbouring pixels of a row, one per pixel; shared chroma is repeated.
struct Backdrop {
    var y: SIMD16<UInt16>
    var u: SIMD16<UInt16>
    var v: SIMD16<UInt16>
}

/// Reads rows of a frame, in any layout, for kernels that depend on the pixels they draw over.
@unsafe struct BackdropReader {
    fileprivate let base: UnsafePointer<UInt8>
    fileprivate let layout: FrameLayout
    fileprivate let luma: SampleSite
    /// The places of chroma, which are not read for gray.
    fileprivate let chroma: (u: SampleSite, v: SampleSite)
    fileprivate let shift: (x: Int, y: Int)

    init(_ base: UnsafePointer<UInt8>, _ layout: FrameLayout) {
        unsafe (self.base, self.layout) = (base, layout)
        unsafe luma = layout.luma
        unsafe chroma = layout.chroma ?? (luma, luma)
        unsafe shift = layout.format.chromaShift
    }

    /// The luma of the 16 pixels from `x` on; 0 beyond the frame's edge.
    @inline(__always)
    func luma(_ x: Int, _ y: Int) -> SIMD16<UInt16> {
        let line = unsafe base + (luma.offset + y * luma.stride + x * luma.step)
        guard unsafe x + runLength <= layout.width else {
            var samples = SIMD16<UInt16>()
            for i in 0..<max(0, unsafe layout.width - x) { samples[i] = unsafe UInt16(line[i * luma.step]) }
            return samples
        }
        guard unsafe luma.step == 2 else {
            return SIMD16(truncatingIfNeeded: unsafe UnsafeRawPointer(line).loadUnaligned(as: SIMD16<UInt8>.self))
        }
        // Loads from the even byte, so that the last load ends with the row.
        let isHigh = unsafe luma.offset & 1
        let words = unsafe UnsafeRawPointer(line - isHigh).loadUnaligned(as: SIMD16<UInt16>.self)
        return isHigh == 1 ? words &>> 8 : words & 255
    }

    /// Luma and chroma of the 16 pixels from `x` on, which is even.
    @inline(__always)
    func all(_ x: Int, _ y: Int) -> Backdrop {
        var under = unsafe Backdrop(y: luma(x, y), u: SIMD16(repeating: 128), v: SIMD16(repeating: 128))
        guard unsafe layout.format != .gray else { return under }
        let row = unsafe base + ((y >> shift.y) * chroma.u.stride + (x >> shift.x) * chroma.u.step)
        if unsafe x + runLength <= layout.width && shift.x == 1 {
            let (u, v): (SIMD8<UInt16>, SIMD8<UInt16>)
            if unsafe chroma.u.step == 1 {
                u = SIMD8(
                    truncatingIfNeeded: unsafe UnsafeRawPointer(row + chroma.u.offset).loadUnaligned(
                        as: SIMD8<UInt8>.self))
                v = SIMD8(
                    truncatingIfNeeded: unsafe UnsafeRawPointer(row + chroma.v.offset).loadUnaligned(
                        as: SIMD8<UInt8>.self))
            } else if unsafe chroma.u.step == 2 {
                let words = unsafe UnsafeRawPointer(row + chroma.u.offset).loadUnaligned(as: SIMD8<UInt16>.self)
                (u, v) = (words & 255, words &>> 8)
            } else {
                // U and V are two bytes apart in each 32-bit word; the row's first byte is luma or U.
                let isHigh = unsafe chroma.u.offset & 1
                let words = unsafe UnsafeRawPointer(row + chroma.u.offset - isHigh).loadUnaligned(
                    as: SIMD8<UInt32>.self)
                let moved = isHigh == 1 ? words &>> 8 : words
                u = SIMD8(truncatingIfNeeded: moved & 255)
                v = SIMD8(truncatingIfNeeded: moved &>> 16 & 255)
            }
            (under.u.evenHalf, under.u.oddHalf, under.v.evenHalf, under.v.oddHalf) = (u, u, v, v)
            return under
        }
        for i in 0..<min(runLength, max(0, unsafe layout.width - x)) {
            let at = unsafe (i >> shift.x) * chroma.u.step
            unsafe (under.u[i], under.v[i]) = (UInt16(row[chroma.u.offset + at]), UInt16(row[chroma.v.offset + at]))
        }
        return under
    }
}

/// Mean samples of a frame at some positions.
public struct BackdropSamples: Sendable {
    /// Mean luma above black level.
    public var luma: Float = 0
    /// Mean luma as in the frame, black level included.
    public var sample: Float = 0
    /// Mean U and V.
    public var chroma = SIMD2<Float>(128, 128)
}

extension Frame {
    /// Averages the frame's samples at the positions that are inside it; nil if none is. Allocates nothing.
    public func meanSamples(at places: Span<Point>) -> BackdropSamples? {
        let layout = self.layout
        var (sum, count) = (SIMD3<Float>(), Float(0))
        unsafe bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            let reader = unsafe BackdropReader(base, layout)
            for i in places.indices {
                let p = places[i]
                guard p.x >= 0, p.y >= 0, p.x < Float(layout.width), p.y < Float(layout.height) else { continue }
                let here = unsafe reader.one(Int(p.x), Int(p.y))
                sum += here
                count += 1
            }
        }
        guard count > 0 else { return nil }
        sum /= count
        return BackdropSamples(
            luma: max(0, sum.x - Float(layout.range.black)), sample: sum.x, chroma: SIMD2(sum.y, sum.z))
    }
}

extension BackdropReader {
    /// Y, U and V of one pixel.
    fileprivate func one(_ x: Int, _ y: Int) -> SIMD3<Float> {
        let level = unsafe Float(base[luma.offset + y * luma.stride + x * luma.step])
        guard unsafe layout.format != .gray else { return SIMD3(level, 128, 128) }
        let row = unsafe base + ((y >> shift.y) * chroma.u.stride + (x >> shift.x) * chroma.u.step)
        return unsafe SIMD3(level, Float(row[chroma.u.offset]), Float(row[chroma.v.offset]))
    }
}
