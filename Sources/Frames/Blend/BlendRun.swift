/// The number of pixels that are sampled and blended at once: even, since most formats share chroma between two pixels.
let runLength = 16

/// The art for neighbouring pixels of a row: premultiplied YUVA pixels, as in a `Sprite`.
typealias Run = SIMD16<UInt32>

/// One number per pixel of a run.
typealias PixelVector = SIMD16<Int16>

/// Multiplies all four channels by `gain` / 256, rounded.
@inline(__always)
func faded(_ run: Run, _ gain: UInt32) -> Run {
    guard gain < 256 else { return run }
    let mask = Run(repeating: 0x00ff_00ff)
    // Two channels of each pixel are multiplied at a time.
    let half = Run(repeating: 0x0080_0080)
    let (even, odd) = ((run & mask) &* gain &+ half, ((run &>> 8) & mask) &* gain &+ half)
    return ((even &>> 8) & mask) | (odd & ~mask)
}

/// Multiplies all four channels of one pixel by `gain` / 256, truncated.
/// - Parameter gain: at most 256.
@inline(__always)
public func faded(_ pixel: UInt32, _ gain: UInt32) -> UInt32 {
    let mask: UInt32 = 0x00ff_00ff
    return (((pixel & mask) &* gain) >> 8 & mask) | (((pixel >> 8) & mask) &* gain & ~mask)
}

/// The position of a run in a frame. `x` is even; `count` of its pixels are in the frame.
struct RunPosition {
    let x: Int
    let y: Int
    let count: Int

    var below: RunPosition { RunPosition(x: x, y: y + 1, count: count) }
}

/// Premultiplied art and its alpha for neighbouring samples of one kind.
struct RunSamples {
    var art: SIMD16<UInt16>
    var alpha: SIMD16<UInt16>
}

/// Blends a run over a row of the frame, and if two rows share chroma, a second run over the row below.
/// - Parameter lower: the second run; nil if there is no row below, or it doesn't share chroma.
@inline(__always)
func blend(
    _ upper: Run, _ lower: Run?, onto base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout, at position: RunPosition
) {
    if position.count == runLength, layout.format.isPacked {
        let plane = layout.planes[0]
        let first = unsafe base + plane.offset + position.y * plane.stride + position.x * 2
        unsafe blendPacked(
            luma(upper), averageChroma(upper, upper).samples, onto: first, lumaFirst: layout.format == .yuyv)
    } else if layout.format == .i444 {
        unsafe blendWhole(upper, onto: base, layout, at: position)
    } else {
        unsafe blendShared(upper, lower, onto: base, layout, at: position)
    }
}

/// Blends whole or partial runs if pixels share chroma. Not inlined: if it were, the compiler would no longer inline
/// the path for packed formats in the callers.
@inline(never)
private func blendShared(
    _ upper: Run, _ lower: Run?, onto base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout, at position: RunPosition
) {
    let whole = padOddWidth(upper, lower, position)
    unsafe blend(luma(upper), averageChroma(whole.upper, whole.lower).samples, onto: base, layout, at: position)
    if let lower { unsafe blend(luma(lower), onto: base, layout, at: position.below) }
}

/// Blends a run if each pixel has its own chroma.
@inline(never)
private func blendWhole(
    _ run: Run, onto base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout, at position: RunPosition
) {
    let (low, high) = halves(run)
    let (u, v, _) = unsafe chromaRow(base, layout, position.y)
    unsafe blend(luma(run), onto: base, layout, at: position)
    unsafe blend(RunSamples(art: low &>> 8, alpha: high &>> 8), position.count, onto: u + position.x)
    unsafe blend(RunSamples(art: high & 255, alpha: high &>> 8), position.count, onto: v + position.x)
}

/// Blends a run under light, if pixels share chroma.
@inline(__always)
func blend(
    _ upper: Run, _ lower: Run?, _ light: RunLight, onto base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout,
    at position: RunPosition
) {
    let whole = padOddWidth(upper, lower, position)
    let (color, bright) = averageChroma(whole.upper, whole.lower)
    let chroma = RunSamples(art: light.chroma(color.art, color.alpha, bright), alpha: color.alpha)
    unsafe blend(lit(luma(upper), light), chroma, onto: base, layout, at: position)
    if let lower { unsafe blend(lit(luma(lower), light), onto: base, layout, at: position.below) }
}

@inline(__always)
private func lit(_ luma: RunSamples, _ light: RunLight) -> RunSamples {
    RunSamples(art: light.luma(luma.art, luma.alpha), alpha: luma.alpha)
}

/// Repeats the last column of an odd width, which doesn't share its chroma.
@inline(__always)
private func padOddWidth(_ upper: Run, _ lower: Run?, _ position: RunPosition) -> (upper: Run, lower: Run) {
    var (first, second) = (upper, lower ?? upper)
    if position.count % 2 == 1 {
        (first[position.count], second[position.count]) = (first[position.count - 1], second[position.count - 1])
    }
    return (first, second)
}

/// Blends samples over a row of the frame.
/// - Parameter chroma: U and V alternating, for each two pixels.
@inline(__always)
func blend(
    _ luma: RunSamples, _ chroma: RunSamples, onto base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout,
    at position: RunPosition
) {
    guard position.count == runLength else {
        unsafe blendTail(luma, chroma, onto: base, layout, at: position)
        return
    }
    if layout.format.isPacked {
        let plane = layout.planes[0]
        let first = unsafe base + plane.offset + position.y * plane.stride + position.x * 2
        unsafe blendPacked(luma, chroma, onto: first, lumaFirst: layout.format == .yuyv)
        return
    }
    unsafe blend(luma, onto: base, layout, at: position)
    unsafe blendPlanes(chroma, onto: base, layout, at: position)
}

/// Blends luma alone, if it has a plane of its own.
@inline(__always)
func blend(
    _ luma: RunSamples, onto base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout, at position: RunPosition
) {
    let plane = layout.planes[0]
    unsafe blend(luma, position.count, onto: base + plane.offset + position.y * plane.stride + position.x)
}

/// Blends the chroma of a whole run.
@inline(never)
private func blendPlanes(
    _ chroma: RunSamples, onto base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout, at position: RunPosition
) {
    let (u, v, _) = unsafe chromaRow(base, layout, position.y >> layout.format.chromaShift.y)
    switch layout.format {
    case .nv12: unsafe blend(chroma, runLength, onto: u + position.x)
    case .i420, .i422: unsafe blendHalves(chroma, onto: u + position.x / 2, v + position.x / 2)
    case .i444:
        unsafe blend(duplicatedChroma(chroma, chroma.art.evenHalf), runLength, onto: u + position.x)
        unsafe blend(duplicatedChroma(chroma, chroma.art.oddHalf), runLength, onto: v + position.x)
    case .gray, .yuyv, .uyvy: break
    }
}

/// Blends part of a run, sample by sample.
@inline(never)
private func blendTail(
    _ luma: RunSamples, _ chroma: RunSamples, onto base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout,
    at position: RunPosition
) {
    let site = layout.luma
    let line = unsafe base + site.offset + position.y * site.stride + position.x * site.step
    for i in 0..<position.count { unsafe blend(luma.art[i], luma.alpha[i], onto: &line[i * site.step]) }
    guard layout.format != .gray else { return }
    let shift = layout.format.chromaShift
    let row = unsafe chromaRow(base, layout, position.y >> shift.y)
    for i in Swift.stride(from: 0, to: position.count, by: 1 + shift.x) {
        let (at, pair) = unsafe (((position.x + i) >> shift.x) * row.step, i & ~1)
        unsafe blend(chroma.art[pair], chroma.alpha[pair], onto: &row.u[at])
        unsafe blend(chroma.art[pair + 1], chroma.alpha[pair], onto: &row.v[at])
    }
}

/// Repeats chroma that two pixels share, for each of them.
@inline(__always)
private func duplicatedChroma(_ chroma: RunSamples, _ half: SIMD8<UInt16>) -> RunSamples {
    var samples = chroma
    (samples.art.evenHalf, samples.art.oddHalf, samples.alpha.oddHalf) = (half, half, chroma.alpha.evenHalf)
    return samples
}

/// U and V alternating, each the mean over two columns and two rows, with the mean alpha; and the mean luma for each.
@inline(__always)
private func averageChroma(_ upper: Run, _ lower: Run) -> (samples: RunSamples, luma: SIMD16<UInt16>) {
    let mask = Run(repeating: 0x00ff_00ff)
    // Each 32-bit number contains the sums of two channels: at most four times 255.
    let even = (upper & mask) &+ (lower & mask)
    let odd = (upper &>> 8 & mask) &+ (lower &>> 8 & mask)
    let evenSums = even.evenHalf &+ even.oddHalf
    let oddSums = odd.evenHalf &+ odd.oddHalf
    // V is in the half above Y, alpha in the half above U.
    let art = (oddSums & 0xffff) &>> 2 | (evenSums &>> 18) &<< 16
    let alpha = oddSums &>> 18
    let mean = (evenSums & 0xffff) &>> 2
    return unsafe (
        RunSamples(
            art: unsafeBitCast(art, to: SIMD16<UInt16>.self),
            alpha: unsafeBitCast(alpha | alpha &<< 16, to: SIMD16<UInt16>.self)),
        unsafeBitCast(mean | mean &<< 16, to: SIMD16<UInt16>.self)
    )
}

@inline(__always)
private func luma(_ run: Run) -> RunSamples {
    let (low, high) = halves(run)
    return RunSamples(art: low & 255, alpha: high &>> 8)
}

/// The lower halves of the words (Y and U), and the upper ones (V and alpha).
@inline(__always)
private func halves(_ run: Run) -> (SIMD16<UInt16>, SIMD16<UInt16>) {
    let words = unsafe unsafeBitCast(run, to: SIMD32<UInt16>.self)
    return (words.evenHalf, words.oddHalf)
}

/// `under` seen through art of `alpha`, plus the art's own premultiplied value; the division by 255 is correctly
/// rounded.
@inline(__always)
private func over(_ samples: RunSamples, _ under: SIMD16<UInt16>) -> SIMD16<UInt16> {
    let t = under &* (255 &- samples.alpha) &+ 128
    return laneMin(samples.art &+ ((t &+ (t &>> 8)) &>> 8), SIMD16(repeating: 255))
}

/// Blends over samples of a plane.
@inline(__always)
private func blend(_ samples: RunSamples, _ count: Int, onto bytes: UnsafeMutablePointer<UInt8>) {
    guard count < runLength else {
        let row = UnsafeMutableRawPointer(bytes)
        let under = SIMD16<UInt16>(truncatingIfNeeded: unsafe row.loadUnaligned(as: SIMD16<UInt8>.self))
        unsafe row.storeBytes(of: SIMD16(truncatingIfNeeded: over(samples, under)), as: SIMD16<UInt8>.self)
        return
    }
    for i in 0..<count { unsafe blend(samples.art[i], samples.alpha[i], onto: &bytes[i]) }
}

/// Blends over a row of U and one of V.
@inline(__always)
private func blendHalves(
    _ chroma: RunSamples, onto u: UnsafeMutablePointer<UInt8>, _ v: UnsafeMutablePointer<UInt8>
) {
    let (rowU, rowV) = (UnsafeMutableRawPointer(u), UnsafeMutableRawPointer(v))
    var under = SIMD16<UInt16>()
    under.evenHalf = SIMD8(truncatingIfNeeded: unsafe rowU.loadUnaligned(as: SIMD8<UInt8>.self))
    under.oddHalf = SIMD8(truncatingIfNeeded: unsafe rowV.loadUnaligned(as: SIMD8<UInt8>.self))
    let blended = over(chroma, under)
    unsafe rowU.storeBytes(of: SIMD8(truncatingIfNeeded: blended.evenHalf), as: SIMD8<UInt8>.self)
    unsafe rowV.storeBytes(of: SIMD8(truncatingIfNeeded: blended.oddHalf), as: SIMD8<UInt8>.self)
}

@inline(__always)
private func blend(_ art: UInt16, _ alpha: UInt16, onto sample: inout UInt8) {
    let t = UInt16(sample) &* (255 &- alpha) &+ 128
    sample = UInt8(truncatingIfNeeded: min(255, art &+ ((t &+ (t >> 8)) >> 8)))
}

/// Blends over 16 pixels of packed 4:2:2. Each is 16 bits of luma and chroma, the chroma U and V alternating.
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

/// The first U and V sample of a row of chroma, and the bytes from one sample to the next.
@unsafe func chromaRow(
    _ base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout, _ row: Int
) -> (u: UnsafeMutablePointer<UInt8>, v: UnsafeMutablePointer<UInt8>, step: Int) {
    guard let (u, v) = layout.chroma else { return unsafe (base, base, 0) }
    return unsafe (base + u.offset + row * u.stride, base + v.offset + row * v.stride, u.step)
}
