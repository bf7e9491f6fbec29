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

/// Art over neighbouring samples of one kind: premultiplied, and its alpha.
struct RunSamples {
    var art: SIMD16<UInt16>
    var alpha: SIMD16<UInt16>
}

/// Lays a run over a row of the frame, and where chroma is shared between two rows, the run below over the next one.
/// - Parameters:
///   - lower: nil where there is no next row, or chroma is not shared with it.
///   - light: nil for art as it was drawn; only where chroma is shared.
@inline(__always)
func blend(
    _ upper: Run, _ lower: Run?, _ light: RunLight? = nil, onto base: UnsafeMutablePointer<UInt8>,
    _ layout: FrameLayout, at place: RunPlace
) {
    var (first, second) = (upper, lower ?? upper)
    guard layout.format != .i444 else {
        let alpha = alpha(upper)
        let (u, v, step) = unsafe chromaRow(base, layout, place.y)
        unsafe blend(luma(upper, nil), nil, onto: base, layout, at: place)
        unsafe blend(RunSamples(art: lowest(upper &>> 8), alpha: alpha), place.count, onto: u + place.x, step)
        unsafe blend(RunSamples(art: lowest(upper &>> 16), alpha: alpha), place.count, onto: v + place.x, step)
        return
    }
    // The last column of an odd width has its chroma for itself.
    if place.count < runLength && place.count % 2 == 1 {
        (first[place.count], second[place.count]) = (first[place.count - 1], second[place.count - 1])
    }
    unsafe blend(luma(upper, light), chroma(first, second, light), onto: base, layout, at: place)
    guard let lower else { return }
    let below = RunPlace(x: place.x, y: place.y + 1, count: place.count)
    unsafe blend(luma(lower, light), nil, onto: base, layout, at: below)
}

/// Lays samples over a row of the frame.
/// - Parameter chroma: U and V in turn, for each two pixels; nil where no chroma is laid, which packed formats cannot have.
@inline(__always)
func blend(
    _ luma: RunSamples, _ chroma: RunSamples?, onto base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout,
    at place: RunPlace
) {
    let plane = layout.planes[0]
    let line = unsafe base + plane.offset + place.y * plane.stride
    // Of chroma that a part of a run holds, U and V.
    let samples = (place.count + 1) & ~1
    if layout.format == .yuyv || layout.format == .uyvy {
        guard let chroma else { return }
        let first = unsafe line + place.x * 2
        guard place.count < runLength else {
            unsafe blendPacked(luma, chroma, onto: first, lumaFirst: layout.format == .yuyv)
            return
        }
        let isSecond = layout.format == .uyvy ? 1 : 0
        unsafe blend(luma, place.count, onto: first + isSecond, 2)
        unsafe blend(chroma, samples, onto: first + (1 - isSecond), 2)
        return
    }
    unsafe blend(luma, place.count, onto: line + place.x, 1)
    guard let chroma, layout.format != .gray else { return }
    let (u, v, _) = unsafe chromaRow(base, layout, place.y >> layout.format.chromaShift.y)
    if layout.format == .nv12 {
        unsafe blend(chroma, samples, onto: u + place.x, 1)
    } else if layout.format == .i444 {
        unsafe blend(each(chroma, chroma.art.evenHalf), place.count, onto: u + place.x, 1)
        unsafe blend(each(chroma, chroma.art.oddHalf), place.count, onto: v + place.x, 1)
    } else {
        unsafe blendHalves(chroma, samples / 2, onto: u + place.x / 2, v + place.x / 2)
    }
}

/// What two pixels share, for each.
@inline(__always)
private func each(_ chroma: RunSamples, _ half: SIMD8<UInt16>) -> RunSamples {
    var samples = chroma
    (samples.art.evenHalf, samples.art.oddHalf, samples.alpha.oddHalf) = (half, half, chroma.alpha.evenHalf)
    return samples
}

@inline(__always)
private func lowest(_ run: Run) -> SIMD16<UInt16> { SIMD16(truncatingIfNeeded: run & 255) }

@inline(__always)
private func alpha(_ run: Run) -> SIMD16<UInt16> { SIMD16(truncatingIfNeeded: run &>> 24) }

/// U and V in turn, each the mean over two columns and two rows, and the mean alpha beside each.
@inline(__always)
private func chroma(_ upper: Run, _ lower: Run, _ light: RunLight?) -> RunSamples {
    let mask = Run(repeating: 0x00ff_00ff)
    // Each 32-bit word holds two channels' sums: at most four times 255.
    let even = (upper & mask) &+ (lower & mask)
    let odd = (upper &>> 8 & mask) &+ (lower &>> 8 & mask)
    let luma = even.evenHalf &+ even.oddHalf
    let other = odd.evenHalf &+ odd.oddHalf
    // V is above Y, alpha above U.
    let art = (other & 0xffff) &>> 2 | (luma &>> 18) &<< 16
    let alpha = other &>> 18
    var samples = unsafe RunSamples(
        art: unsafeBitCast(art, to: SIMD16<UInt16>.self),
        alpha: unsafeBitCast(alpha | alpha &<< 16, to: SIMD16<UInt16>.self))
    guard let light else { return samples }
    let mean = (luma & 0xffff) &>> 2
    samples.art = light.chroma(
        samples.art, samples.alpha, unsafe unsafeBitCast(mean | mean &<< 16, to: SIMD16<UInt16>.self))
    return samples
}

@inline(__always)
private func luma(_ run: Run, _ light: RunLight?) -> RunSamples {
    var samples = RunSamples(art: lowest(run), alpha: alpha(run))
    if let light { samples.art = light.luma(samples.art, samples.alpha) }
    return samples
}

/// `under` seen through art of `alpha`, plus the art's own premultiplied value; division by 255 exact to rounding.
@inline(__always)
private func over(_ samples: RunSamples, _ under: SIMD16<UInt16>) -> SIMD16<UInt16> {
    let t = under &* (255 &- samples.alpha) &+ 128
    return pointwiseMin(samples.art &+ ((t &+ (t &>> 8)) &>> 8), SIMD16(repeating: 255))
}

/// Over samples `step` bytes apart.
@inline(__always)
private func blend(_ samples: RunSamples, _ count: Int, onto bytes: UnsafeMutablePointer<UInt8>, _ step: Int) {
    guard count < runLength || step > 1 else {
        let row = UnsafeMutableRawPointer(bytes)
        let under = SIMD16<UInt16>(truncatingIfNeeded: unsafe row.loadUnaligned(as: SIMD16<UInt8>.self))
        unsafe row.storeBytes(of: SIMD16(truncatingIfNeeded: over(samples, under)), as: SIMD16<UInt8>.self)
        return
    }
    for i in 0..<count { unsafe blend(samples.art[i], samples.alpha[i], onto: &bytes[i * step]) }
}

/// Over a row of U and one of V.
@inline(__always)
private func blendHalves(
    _ chroma: RunSamples, _ count: Int, onto u: UnsafeMutablePointer<UInt8>, _ v: UnsafeMutablePointer<UInt8>
) {
    guard count < runLength / 2 else {
        let (rowU, rowV) = (UnsafeMutableRawPointer(u), UnsafeMutableRawPointer(v))
        var under = SIMD16<UInt16>()
        under.evenHalf = SIMD8(truncatingIfNeeded: unsafe rowU.loadUnaligned(as: SIMD8<UInt8>.self))
        under.oddHalf = SIMD8(truncatingIfNeeded: unsafe rowV.loadUnaligned(as: SIMD8<UInt8>.self))
        let blended = over(chroma, under)
        unsafe rowU.storeBytes(of: SIMD8(truncatingIfNeeded: blended.evenHalf), as: SIMD8<UInt8>.self)
        unsafe rowV.storeBytes(of: SIMD8(truncatingIfNeeded: blended.oddHalf), as: SIMD8<UInt8>.self)
        return
    }
    for i in 0..<count {
        unsafe blend(chroma.art[2 * i], chroma.alpha[2 * i], onto: &u[i])
        unsafe blend(chroma.art[2 * i + 1], chroma.alpha[2 * i], onto: &v[i])
    }
}

@inline(__always)
private func blend(_ art: UInt16, _ alpha: UInt16, onto sample: inout UInt8) {
    let t = UInt16(sample) &* (255 &- alpha) &+ 128
    sample = UInt8(truncatingIfNeeded: min(255, art &+ ((t &+ (t >> 8)) >> 8)))
}

/// Over 16 pixels of packed 4:2:2, a word each: luma, and U and V in turn.
@inline(__always)
private func blendPacked(
    _ luma: RunSamples, _ chroma: RunSamples, onto bytes: UnsafeMutablePointer<UInt8>, lumaFirst: Bool
) {
    let row = UnsafeMutableRawPointer(bytes)
    let words = unsafe row.loadUnaligned(as: SIMD16<UInt16>.self)
    let (low, high) = (words & 255, words &>> 8)
    let newLuma = over(luma, lumaFirst ? low : high)
    let newChroma = over(chroma, lumaFirst ? high : low)
    let blended = lumaFirst ? newLuma | newChroma &<< 8 : newChroma | newLuma &<< 8
    unsafe row.storeBytes(of: blended, as: SIMD16<UInt16>.self)
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
