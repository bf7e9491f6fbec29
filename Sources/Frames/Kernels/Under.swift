/// What lies under 16 neighbouring pixels of a row, one value a pixel: chroma that pixels share is there for each.
struct Under {
    var y: SIMD16<UInt16>
    var u: SIMD16<UInt16>
    var v: SIMD16<UInt16>
}

/// Lends rows of a frame to kernels that look at what they draw on, whatever the layout.
@unsafe struct UnderReader {
    fileprivate let base: UnsafePointer<UInt8>
    fileprivate let layout: FrameLayout
    fileprivate let luma: (offset: Int, step: Int)
    /// First samples of U and V in the first row, bytes from row to row and from one U to the next.
    fileprivate let chroma: (u: Int, v: Int, stride: Int, step: Int)
    fileprivate let shift: (x: Int, y: Int)

    init(_ base: UnsafePointer<UInt8>, _ layout: FrameLayout) {
        unsafe (self.base, self.layout) = (base, layout)
        unsafe luma = (layout.luma.offset, layout.luma.pixelStride)
        unsafe shift = layout.format.chromaShift
        let planes = layout.planes
        switch layout.format {
        case .yuyv, .uyvy:
            let first = planes[0].offset + (layout.format == .yuyv ? 1 : 0)
            unsafe chroma = (first, first + 2, planes[0].stride, 4)
        case .nv12: unsafe chroma = (planes[1].offset, planes[1].offset + 1, planes[1].stride, 2)
        case .i420, .i422, .i444: unsafe chroma = (planes[1].offset, planes[2].offset, planes[1].stride, 1)
        case .gray: unsafe chroma = (0, 0, 0, 0)
        }
    }

    /// Luma alone of the 16 pixels from `x` on.
    @inline(__always)
    func luma(_ x: Int, _ y: Int) -> SIMD16<UInt16> {
        let line = unsafe base + (luma.offset + y * layout.planes[0].stride + x * luma.step)
        guard unsafe x + runLength <= layout.width else {
            var samples = SIMD16<UInt16>()
            for i in 0..<max(0, unsafe layout.width - x) { samples[i] = unsafe UInt16(line[i * luma.step]) }
            return samples
        }
        guard unsafe luma.step == 2 else {
            return SIMD16(truncatingIfNeeded: unsafe UnsafeRawPointer(line).loadUnaligned(as: SIMD16<UInt8>.self))
        }
        // From the even byte, so that the last pixel's words end with the row.
        let isHigh = unsafe luma.offset & 1
        let words = unsafe UnsafeRawPointer(line - isHigh).loadUnaligned(as: SIMD16<UInt16>.self)
        return isHigh == 1 ? words &>> 8 : words & 255
    }

    /// All of the 16 pixels from the even `x` on.
    @inline(__always)
    func all(_ x: Int, _ y: Int) -> Under {
        var under = unsafe Under(y: luma(x, y), u: SIMD16(repeating: 128), v: SIMD16(repeating: 128))
        guard unsafe layout.format != .gray else { return under }
        let row = unsafe base + ((y >> shift.y) * chroma.stride + (x >> shift.x) * chroma.step)
        if unsafe x + runLength <= layout.width && shift.x == 1 {
            let (u, v): (SIMD8<UInt16>, SIMD8<UInt16>)
            if unsafe chroma.step == 1 {
                u = SIMD8(
                    truncatingIfNeeded: unsafe UnsafeRawPointer(row + chroma.u).loadUnaligned(as: SIMD8<UInt8>.self))
                v = SIMD8(
                    truncatingIfNeeded: unsafe UnsafeRawPointer(row + chroma.v).loadUnaligned(as: SIMD8<UInt8>.self))
            } else if unsafe chroma.step == 2 {
                let words = unsafe UnsafeRawPointer(row + chroma.u).loadUnaligned(as: SIMD8<UInt16>.self)
                (u, v) = (words & 255, words &>> 8)
            } else {
                // U is one below V by half a word of 32 bits; the row's first byte is luma or U.
                let isHigh = unsafe chroma.u & 1
                let words = unsafe UnsafeRawPointer(row + chroma.u - isHigh).loadUnaligned(as: SIMD8<UInt32>.self)
                let moved = isHigh == 1 ? words &>> 8 : words
                u = SIMD8(truncatingIfNeeded: moved & 255)
                v = SIMD8(truncatingIfNeeded: moved &>> 16 & 255)
            }
            (under.u.evenHalf, under.u.oddHalf, under.v.evenHalf, under.v.oddHalf) = (u, u, v, v)
            return under
        }
        for i in 0..<min(runLength, max(0, unsafe layout.width - x)) {
            let at = unsafe (i >> shift.x) * chroma.step
            unsafe (under.u[i], under.v[i]) = (UInt16(row[chroma.u + at]), UInt16(row[chroma.v + at]))
        }
        return under
    }
}

/// How art takes up the light and shade of the skin that it is drawn on.
public struct Relief: Sendable {
    /// 0: the art as it is; 1: the art times the skin's luma over `ground`.
    public var strength: Float
    /// The skin's mean luma, above black.
    public var ground: Float
    /// Brightness of the art on skin of that luma.
    public var brightness: Float

    /// - Parameters:
    ///   - strength: 0...1.
    ///   - ground: the skin's mean luma above black, samples.
    ///   - brightness: of the art on skin of that luma.
    public init(strength: Float, ground: Float, brightness: Float) {
        (self.strength, self.ground, self.brightness) = (strength, ground, brightness)
    }
}

/// Multiplies what a tile holds by the light and shade of the frame under it: cheeks, wrinkles and the nose's shadow
/// remain to be seen. Chroma goes with luma, as it does in light and shade. Allocates nothing.
public func relieve(_ tile: inout Tile, _ relief: Relief, over frame: borrowing Frame) {
    let (region, rowWords, layout) = (tile.region, tile.stride, frame.layout)
    guard !region.isEmpty else { return }
    let black = blackLevel(layout.range)
    // Gains have 7 bits behind the point, so that 8 bits times a gain fit into 16.
    let ground = max(relief.ground, 8)
    let slope = UInt16(max(0, min(4000, relief.brightness * relief.strength / ground * 128 * 64)))
    let flat = UInt16(max(0, min(255, relief.brightness * (1 - relief.strength) * 128)))
    var words = tile.pixels
    unsafe words.withUnsafeMutableBufferPointer { words in
        unsafe frame.bytes.withUnsafeBufferPointer { bytes in
            guard let words = words.baseAddress, let bytes = bytes.baseAddress else { return }
            let reader = unsafe UnderReader(bytes, layout)
            for y in 0..<region.height {
                for x in Swift.stride(from: 0, to: region.width, by: runLength) {
                    let at = unsafe UnsafeMutableRawPointer(words + y * rowWords + x)
                    let run = unsafe at.loadUnaligned(as: Run.self)
                    guard run != Run() else { continue }
                    let luma = unsafe reader.luma(region.x + x, region.y + y)
                    let above = pointwiseMax(luma, SIMD16(repeating: black)) &- black
                    // 255 * slope may pass 16 bits: in two halves of the product.
                    let product = above &* (slope &>> 6) &+ (above &* (slope & 63)) &>> 6
                    let gain = pointwiseMin(product &+ flat, SIMD16(repeating: 224))
                    unsafe at.storeBytes(of: lit(run, gain, black), as: Run.self)
                }
            }
        }
    }
}

/// Samples of 8 bits that mean no light.
@inline(__always)
func blackLevel(_ range: ColorRange) -> UInt16 { range == .full ? 0 : 16 }

/// A run's colours times `gain` / 128; its alpha as it is.
@inline(__always)
private func lit(_ run: Run, _ gain: SIMD16<UInt16>, _ black: UInt16) -> Run {
    let alpha = SIMD16<UInt16>(truncatingIfNeeded: run &>> 24)
    // Premultiplied, black and grey lie at their share of alpha; 257 / 65536 for 1 / 255.
    let floor = (alpha &* black &+ 127) &>> 8
    let middle = (alpha &+ 1) &>> 1
    let luma = SIMD16<UInt16>(truncatingIfNeeded: run & 255)
    let newLuma = pointwiseMin(((pointwiseMax(luma, floor) &- floor) &* gain &+ 64) &>> 7 &+ floor, alpha)
    let signed = SIMD16<Int16>(truncatingIfNeeded: gain)
    let newU = scaled(SIMD16(truncatingIfNeeded: run &>> 8 & 255), signed, middle, alpha)
    let newV = scaled(SIMD16(truncatingIfNeeded: run &>> 16 & 255), signed, middle, alpha)
    return Run(truncatingIfNeeded: newLuma | newU &<< 8) | Run(truncatingIfNeeded: newV | alpha &<< 8) &<< 16
}

@inline(__always)
private func scaled(
    _ chroma: SIMD16<UInt16>, _ gain: SIMD16<Int16>, _ middle: SIMD16<UInt16>, _ alpha: SIMD16<UInt16>
) -> SIMD16<UInt16> {
    let mid = SIMD16<Int16>(truncatingIfNeeded: middle)
    let distance = SIMD16<Int16>(truncatingIfNeeded: chroma) &- mid
    let moved = (distance &* gain &+ 64) &>> 7 &+ mid
    let within = pointwiseMin(pointwiseMax(moved, .zero), SIMD16<Int16>(truncatingIfNeeded: alpha))
    return SIMD16(truncatingIfNeeded: within)
}

/// What a frame shows at some places of it.
public struct GroundSamples: Sendable {
    /// Mean luma above black.
    public var luma: Float = 0
    /// Mean U and V.
    public var chroma = SIMD2<Float>(128, 128)
}

extension Frame {
    /// The means at those places that lie in the frame; nil where none does. Allocates nothing.
    public func ground(at places: Span<Point>) -> GroundSamples? {
        let layout = self.layout
        var (sum, count) = (SIMD3<Float>(), Float(0))
        unsafe bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            let reader = unsafe UnderReader(base, layout)
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
        return GroundSamples(
            luma: max(0, sum.x - Float(blackLevel(layout.range))), chroma: SIMD2(sum.y, sum.z))
    }
}

extension UnderReader {
    /// Y, U, V of one pixel.
    fileprivate func one(_ x: Int, _ y: Int) -> SIMD3<Float> {
        let luma = unsafe Float(base[luma.offset + y * layout.planes[0].stride + x * luma.step])
        guard unsafe layout.format != .gray else { return SIMD3(luma, 128, 128) }
        let row = unsafe base + ((y >> shift.y) * chroma.stride + (x >> shift.x) * chroma.step)
        return unsafe SIMD3(luma, Float(row[chroma.u]), Float(row[chroma.v]))
    }
}
