/// Pixels that are sampled and blended at once. Even, since most formats share chroma between two.
let runLength = 16

/// Art under neighbouring pixels of a row: premultiplied YUVA words, as in a `Stamp`.
typealias Run = SIMD16<UInt32>

/// All four channels times `gain` / 256, rounded.
@inline(__always)
func faded(_ run: Run, _ gain: UInt32) -> Run {
    guard gain < 256 else { return run }
    let mask = Run(repeating: 0x00ff_00ff)
    // Two channels of each word at a time.
    let half = Run(repeating: 0x0080_0080)
    let (even, odd) = ((run & mask) &* gain &+ half, ((run &>> 8) & mask) &* gain &+ half)
    return ((even &>> 8) & mask) | (odd & ~mask)
}

/// The same of one word, for code that works pixel by pixel; cut off instead of rounded.
/// - Parameter gain: at most 256.
@inline(__always)
public func faded(_ word: UInt32, _ gain: UInt32) -> UInt32 {
    let mask: UInt32 = 0x00ff_00ff
    return (((word & mask) &* gain) >> 8 & mask) | (((word >> 8) & mask) &* gain & ~mask)
}

/// Where a run lies in a frame. `x` is even; `count` of its pixels are in the frame.
struct RunPlace {
    let x: Int
    let y: Int
    let count: Int
}

/// Lays a run over a row of the frame, and where chroma is shared between two rows, the run below over the next one.
/// - Parameters:
///   - lower: nil where there is no next row, or chroma is not shared with it.
///   - light: nil for art as it was drawn; only for whole runs, where chroma is shared.
@inline(__always)
func blend(
    _ upper: Run, _ lower: Run?, _ light: RunLight? = nil, onto base: UnsafeMutablePointer<UInt8>,
    _ layout: FrameLayout, at place: RunPlace
) {
    guard place.count == runLength else {
        unsafe blendEnd(upper, lower, onto: base, layout, at: place)
        return
    }
    let plane = layout.planes[0]
    let line = unsafe UnsafeMutableRawPointer(base + plane.offset + place.y * plane.stride)
    switch layout.format {
    case .yuyv, .uyvy:
        unsafe blendPacked(upper, light, onto: line + place.x * 2, lumaFirst: layout.format == .yuyv)
        return
    default:
        unsafe blend(luma(upper, light), alpha(upper), onto: line + place.x)
        if let lower { unsafe blend(luma(lower, light), alpha(lower), onto: line + place.x + plane.stride) }
    }
    let (u, v, step) = unsafe chromaRow(base, layout, layout.format.chromaShift.y == 1 ? place.y / 2 : place.y)
    switch layout.format {
    case .i444:
        unsafe blend(lowest(upper &>> 8), alpha(upper), onto: UnsafeMutableRawPointer(u + place.x))
        unsafe blend(lowest(upper &>> 16), alpha(upper), onto: UnsafeMutableRawPointer(v + place.x))
    case .nv12:
        let (art, alpha) = chroma(upper, lower ?? upper, light)
        unsafe blend(art, alpha, onto: UnsafeMutableRawPointer(u + place.x / 2 * step))
    case .i420, .i422:
        let (art, alpha) = chroma(upper, lower ?? upper, light)
        let (u, v) = unsafe (UnsafeMutableRawPointer(u + place.x / 2), UnsafeMutableRawPointer(v + place.x / 2))
        var under = SIMD16<UInt16>()
        under.evenHalf = SIMD8(truncatingIfNeeded: unsafe u.loadUnaligned(as: SIMD8<UInt8>.self))
        under.oddHalf = SIMD8(truncatingIfNeeded: unsafe v.loadUnaligned(as: SIMD8<UInt8>.self))
        let blended = over(art, alpha, under)
        unsafe u.storeBytes(of: SIMD8(truncatingIfNeeded: blended.evenHalf), as: SIMD8<UInt8>.self)
        unsafe v.storeBytes(of: SIMD8(truncatingIfNeeded: blended.oddHalf), as: SIMD8<UInt8>.self)
    case .gray, .yuyv, .uyvy: break
    }
}

@inline(__always)
private func lowest(_ run: Run) -> SIMD16<UInt16> { SIMD16(truncatingIfNeeded: run & 255) }

@inline(__always)
private func alpha(_ run: Run) -> SIMD16<UInt16> { SIMD16(truncatingIfNeeded: run &>> 24) }

/// U and V in turn, each the mean over two columns and two rows, and the mean alpha beside each.
@inline(__always)
private func chroma(
    _ upper: Run, _ lower: Run, _ light: RunLight? = nil
) -> (art: SIMD16<UInt16>, alpha: SIMD16<UInt16>) {
    let mask = Run(repeating: 0x00ff_00ff)
    // Each 32-bit word holds two channels' sums: at most four times 255.
    let even = (upper & mask) &+ (lower & mask)
    let odd = (upper &>> 8 & mask) &+ (lower &>> 8 & mask)
    let luma = even.evenHalf &+ even.oddHalf
    let other = odd.evenHalf &+ odd.oddHalf
    // V is above Y, alpha above U.
    let art = (other & 0xffff) &>> 2 | (luma &>> 18) &<< 16
    let alpha = other &>> 18
    let lanes = unsafe (
        art: unsafeBitCast(art, to: SIMD16<UInt16>.self),
        alpha: unsafeBitCast(alpha | alpha &<< 16, to: SIMD16<UInt16>.self)
    )
    guard let light else { return lanes }
    let mean = (luma & 0xffff) &>> 2
    return (
        light.chroma(lanes.art, lanes.alpha, unsafe unsafeBitCast(mean | mean &<< 16, to: SIMD16<UInt16>.self)),
        lanes.alpha
    )
}

@inline(__always)
private func luma(_ run: Run, _ light: RunLight?) -> SIMD16<UInt16> {
    guard let light else { return lowest(run) }
    return light.luma(lowest(run), alpha(run))
}

/// `under` seen through art of `alpha`, plus the art's own premultiplied value; division by 255 exact to rounding.
@inline(__always)
private func over(_ art: SIMD16<UInt16>, _ alpha: SIMD16<UInt16>, _ under: SIMD16<UInt16>) -> SIMD16<UInt16> {
    let t = under &* (255 &- alpha) &+ 128
    return pointwiseMin(art &+ ((t &+ (t &>> 8)) &>> 8), SIMD16(repeating: 255))
}

/// Over 16 bytes of a plane.
@inline(__always)
private func blend(_ art: SIMD16<UInt16>, _ alpha: SIMD16<UInt16>, onto bytes: UnsafeMutableRawPointer) {
    let under = SIMD16<UInt16>(truncatingIfNeeded: unsafe bytes.loadUnaligned(as: SIMD16<UInt8>.self))
    unsafe bytes.storeBytes(of: SIMD16(truncatingIfNeeded: over(art, alpha, under)), as: SIMD16<UInt8>.self)
}

/// Over 16 pixels of packed 4:2:2, a word each: luma, and U and V in turn.
@inline(__always)
private func blendPacked(
    _ run: Run, _ light: RunLight?, onto bytes: UnsafeMutableRawPointer, lumaFirst: Bool
) {
    let words = unsafe bytes.loadUnaligned(as: SIMD16<UInt16>.self)
    let (low, high) = (words & 255, words &>> 8)
    let (art, mean) = chroma(run, run, light)
    let newLuma = over(luma(run, light), alpha(run), lumaFirst ? low : high)
    let newChroma = over(art, mean, lumaFirst ? high : low)
    let blended = lumaFirst ? newLuma | newChroma &<< 8 : newChroma | newLuma &<< 8
    unsafe bytes.storeBytes(of: blended, as: SIMD16<UInt16>.self)
}

/// The first U and V sample of a row of chroma, and the bytes from one to the next.
@unsafe func chromaRow(
    _ base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout, _ row: Int
) -> (u: UnsafeMutablePointer<UInt8>, v: UnsafeMutablePointer<UInt8>, step: Int) {
    switch layout.format {
    case .yuyv, .uyvy, .gray:
        let line = unsafe base + layout.planes[0].offset + row * layout.planes[0].stride
        let first = layout.format == .yuyv ? 1 : 0
        return unsafe (line + first, line + first + 2, 4)
    case .nv12:
        let line = unsafe base + layout.planes[1].offset + row * layout.planes[1].stride
        return unsafe (line, line + 1, 2)
    case .i420, .i422, .i444:
        let u = unsafe base + layout.planes[1].offset + row * layout.planes[1].stride
        let v = unsafe base + layout.planes[2].offset + row * layout.planes[2].stride
        return unsafe (u, v, 1)
    }
}

/// The same sample by sample, for the last pixels of a row.
private func blendEnd(
    _ upper: Run, _ lower: Run?, onto base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout, at place: RunPlace
) {
    let (offset, step) = layout.luma
    let line = unsafe base + offset + place.y * layout.planes[0].stride + place.x * step
    for i in 0..<place.count {
        unsafe lay(upper[i], &line[i * step])
        if let lower { unsafe lay(lower[i], &line[layout.planes[0].stride + i * step]) }
    }
    let shift = layout.format.chromaShift
    guard layout.format != .gray else { return }
    let row = unsafe chromaRow(base, layout, place.y >> shift.y)
    // The last column of an odd width has its chroma for itself.
    var (upper, lower) = (upper, lower ?? upper)
    if place.count < runLength && place.count % 2 == 1 && shift.x == 1 {
        (upper[place.count], lower[place.count]) = (upper[place.count - 1], lower[place.count - 1])
    }
    let (art, alpha) = chroma(upper, lower)
    for i in stride(from: 0, to: place.count, by: 1 + shift.x) {
        let at = unsafe ((place.x + i) >> shift.x) * row.step
        if shift.x == 1 {
            unsafe row.u[at] = over(UInt32(art[i]), UInt32(alpha[i]), row.u[at])
            unsafe row.v[at] = over(UInt32(art[i + 1]), UInt32(alpha[i]), row.v[at])
        } else {
            unsafe row.u[at] = over(upper[i] >> 8 & 255, upper[i] >> 24, row.u[at])
            unsafe row.v[at] = over(upper[i] >> 16 & 255, upper[i] >> 24, row.v[at])
        }
    }
}

private func lay(_ pixel: UInt32, _ sample: inout UInt8) { sample = over(pixel & 255, pixel >> 24, sample) }

private func over(_ art: UInt32, _ alpha: UInt32, _ under: UInt8) -> UInt8 {
    let t = UInt32(under) &* (255 &- alpha) &+ 128
    return UInt8(truncatingIfNeeded: min(255, art &+ ((t &+ (t >> 8)) >> 8)))
}
