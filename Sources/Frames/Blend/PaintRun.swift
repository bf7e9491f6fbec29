/// A paint compiled for frames of one range: fixed-point constants, computed once per drawing.
///
/// Colours are converted to RGB and back within a run. For u under premultiplied art s of alpha a, every mode's change
/// is written as a difference that is exactly zero where there is no art:
///
///     multiply u(s-a)   screen s(1-u)   overlay min(u, 1-u)(2s-a)   soft light u(1-u)(2s-a)   add min(s, 1-u)
///
/// Unlike colours, differences lose nothing in the conversion back to YUV; they are averaged over the pixels that share
/// chroma.
///
/// The arithmetic is split into functions that are not inlined: in larger ones the compiler calls the vectors' own
/// functions, half by half, and takes twice the time.
struct PixelBlender {
    /// The work to do: copy art, apply light, or everything.
    private enum Variant { case plain, lit, rich }

    private let mode: BlendMode
    private let variant: Variant
    private let changesArt: Bool
    private let scale: ColorScale
    /// The gain, and the part of the art's colour that is kept, in 2.14 fixed point.
    private let (gain, saturation): (PixelVector, PixelVector)
    private let (castU, castV): (PixelVector, PixelVector)
    private let shading: (limit: PixelVector, slope: PixelVector, base: PixelVector)?
    /// The light for art that only takes light, without other changes.
    private let light: RunLight
    private let noise: NoiseSampler?

    /// 1.0, which is white, in 2.14 fixed point.
    fileprivate static let one: Float = 16384

    init(_ paint: Paint, _ range: ColorRange) {
        mode = paint.mode
        scale = ColorScale(range)
        let lit = (
            gain: paint.gain.isFinite ? max(0, min(paint.gain, 1.99)) : 1,
            saturation: paint.saturation.isFinite ? max(0, min(paint.saturation, 1)) : 1, cast: paint.cast
        )
        gain = PixelVector(repeating: Int16(lit.gain * Self.one))
        saturation = PixelVector(repeating: Int16(lit.saturation * Self.one))
        (castU, castV) = (scale.cast(lit.cast.x), scale.cast(lit.cast.y))
        if let shading = paint.shading, shading.strength > 0, shading.reference.isFinite {
            let strength = min(shading.strength, 1)
            // A reference of less than 8 levels would amplify noise. 1.9 keeps the factor within 16 bits.
            let reference = max(8, min(shading.reference - scale.black, 255))
            self.shading = (
                PixelVector(repeating: Int16(min(255, (reference * 1.9).rounded()))),
                PixelVector(repeating: Int16((Self.one * strength / reference).rounded())),
                PixelVector(repeating: Int16(Self.one * (1 - strength)))
            )
        } else {
            shading = nil
        }
        changesArt = lit.gain != 1 || lit.saturation != 1 || lit.cast != .zero || shading != nil
        let isNormal = mode == .normal
        noise = isNormal ? paint.noise.map { NoiseSampler($0) } : nil
        if !isNormal || noise != nil {
            variant = .rich
        } else {
            variant = !changesArt ? .plain : shading == nil && lit.gain <= 1 ? .lit : .rich
        }
        light = scale.light(gain: min(lit.gain, 1), saturation: lit.saturation, cast: lit.cast)
    }

    /// Blends a run over a row of the frame, and if two rows share chroma, a second run over the row below.
    /// - Parameter lower: the second run; nil if there is no row below, or it doesn't share chroma.
    @inline(__always)
    func blend(
        _ upper: Run, _ lower: Run?, onto base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout,
        at position: RunPosition
    ) {
        switch variant {
        case .plain: unsafe blendPlain(upper, lower, onto: base, layout, at: position)
        case .lit where layout.format != .i444: unsafe blendLit(upper, lower, light, onto: base, layout, at: position)
        case .lit, .rich: unsafe blendRich(upper, lower, onto: base, layout, at: position)
        }
    }

    @inline(never)
    private func blendPlain(
        _ upper: Run, _ lower: Run?, onto base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout,
        at position: RunPosition
    ) { unsafe Frames.blend(upper, lower, onto: base, layout, at: position) }

    @inline(never)
    private func blendLit(
        _ upper: Run, _ lower: Run?, _ light: RunLight, onto base: UnsafeMutablePointer<UInt8>,
        _ layout: FrameLayout, at position: RunPosition
    ) { unsafe Frames.blend(upper, lower, light, onto: base, layout, at: position) }

    @inline(never)
    private func blendRich(
        _ upper: Run, _ lower: Run?, onto base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout,
        at position: RunPosition
    ) {
        var (upper, lower) = (upper, lower)
        let under = unsafe LumaRow(base, layout, position, row: position.y)
        let next = unsafe LumaRow(base, layout, position, row: lower == nil ? position.y : position.y + 1)
        var lumas = (under.load(), lower == nil ? PixelVector() : next.load())
        if changesArt {
            upper = changed(upper, over: lumas.0)
            if let run = lower { lower = changed(run, over: lumas.1) }
        }
        if let noise {
            upper = noise.added(to: upper, x: position.x, y: position.y)
            if let run = lower { lower = noise.added(to: run, x: position.x, y: position.y + 1) }
        }
        if mode == .normal {
            unsafe blendPlain(upper, lower, onto: base, layout, at: position)
            return
        }
        let chroma = unsafe ChromaRow(base, layout, position)
        // The last column of an odd width doesn't share its chroma: it is repeated.
        if position.count < runLength && position.count % 2 == 1 {
            upper[position.count] = upper[position.count - 1]
            lumas.0[position.count] = lumas.0[position.count - 1]
            if let run = lower { lower?[position.count] = run[position.count - 1] }
            lumas.1[position.count] = lumas.1[position.count - 1]
        }
        let (u, v) = chroma.load()
        let first = difference(upper, lumas.0, u, v)
        under.store(clamped(lumas.0 &+ first.y))
        if let lower {
            let second = difference(lower, lumas.1, u, v)
            next.store(clamped(lumas.1 &+ second.y))
            chroma.add(first.u &+ second.u, first.v &+ second.v, rows: 2)
        } else {
            chroma.add(first.u, first.v, rows: 1)
        }
    }

    /// Applies the light to the art.
    @inline(never)
    private func changed(_ run: Run, over luma: PixelVector) -> Run {
        let art = Art(run)
        var gain = gain
        if let shading {
            let above = laneClamp(luma &- scale.blackLanes, .zero, shading.limit)
            gain = high(gain, shading.base &+ above &* shading.slope) &<< 2
        }
        return scale.lit(art, gain, high(gain, saturation) &<< 2, castU, castV)
    }

    /// The change that the art makes: luma in levels, chroma in sixteenths of a level.
    @inline(__always)
    private func difference(_ run: Run, _ luma: PixelVector, _ u: PixelVector, _ v: PixelVector) -> (
        y: PixelVector, u: PixelVector, v: PixelVector
    ) {
        let art = Art(run)
        let alpha = art.a &<< 6 &+ art.a &>> 2
        let s = scale.rgb(art, limit: alpha)
        let under = scale.rgb(luma, u, v)
        let r = difference(s.r, alpha, under.r)
        let g = difference(s.g, alpha, under.g)
        let b = difference(s.b, alpha, under.b)
        let back = scale.yuv(r, g, b)
        return ((back.y &+ 8) &>> 4, back.u, back.v)
    }

    @inline(never)
    private func difference(_ s: PixelVector, _ a: PixelVector, _ u: PixelVector) -> PixelVector {
        let rest = Int16(Self.one) &- u
        switch mode {
        case .normal: return s &- high(u, a) &<< 2
        case .multiply: return high(u, s &- a) &<< 2
        case .screen: return high(rest, s) &<< 2
        case .overlay: return high(laneMin(u, rest), s &+ s &- a) &<< 2
        case .softLight: return high(high(u, rest) &<< 2, s &+ s &- a) &<< 2
        case .add: return laneMin(s, rest)
        }
    }
}

/// Light on art, as sums of its channels times constants: luma per pixel, chroma per group of pixels that share it.
/// 32768 represents 1.
struct RunLight {
    fileprivate let (gain, chromaGain): (PixelVector, PixelVector)
    fileprivate let lumaByAlpha: PixelVector
    /// The constants of U and V, alternating.
    fileprivate let (chromaByAlpha, chromaByLuma): (PixelVector, PixelVector)

    @inline(never)
    func luma(_ luma: SIMD16<UInt16>, _ alpha: SIMD16<UInt16>) -> SIMD16<UInt16> {
        let sum = high(signed(luma) &<< 7, gain) &+ high(signed(alpha) &<< 7, lumaByAlpha)
        return unsigned((sum &+ 32) &>> 6)
    }

    @inline(never)
    func chroma(
        _ chroma: SIMD16<UInt16>, _ alpha: SIMD16<UInt16>, _ luma: SIMD16<UInt16>
    ) -> SIMD16<UInt16> {
        let sum =
            high(signed(chroma) &<< 7, chromaGain) &+ high(signed(alpha) &<< 7, chromaByAlpha)
            &+ high(signed(luma) &<< 7, chromaByLuma)
        return unsigned(laneMax((sum &+ 32) &>> 6, .zero))
    }
}

/// The four channels of a run, premultiplied.
private struct Art {
    let (y, u, v, a): (PixelVector, PixelVector, PixelVector, PixelVector)

    @inline(__always)
    init(_ run: Run) {
        let words = unsafe unsafeBitCast(run, to: SIMD32<UInt16>.self)
        let (low, high) = (words.evenHalf, words.oddHalf)
        y = signed(low & 255)
        u = signed(low &>> 8)
        v = signed(high & 255)
        a = signed(high &>> 8)
    }
}

/// The conversions between YUV of one range and RGB (ITU-R BT.601) in fixed point. RGB is 2.14: 16384 is white.
private struct ColorScale {
    /// The luma of black.
    let black: Float
    let blackLanes: PixelVector
    /// The number of luma levels from black to white, and of chroma levels from one end to the other.
    private let (span, chromaSpan): (Float, Float)
    private let whiteLanes: PixelVector
    private let maxChroma: PixelVector
    /// The RGB increment for each level of luma beyond 64.
    private let rise: PixelVector
    private let (redV, greenU, greenV, blueU): (PixelVector, PixelVector, PixelVector, PixelVector)
    private let (lumaR, lumaG, lumaB): (PixelVector, PixelVector, PixelVector)
    private let (uR, uG, half, vG, vB): (PixelVector, PixelVector, PixelVector, PixelVector, PixelVector)
    /// The luma of black and the highest luma, as factors of 128 times the alpha.
    private let (blackPart, whitePart): (PixelVector, PixelVector)

    init(_ range: ColorRange) {
        (black, span, chromaSpan) = (Float(range.black), Float(range.lumaSpan), Float(range.chromaSpan))
        func lanes(_ value: Float) -> PixelVector { PixelVector(repeating: Int16(value.rounded())) }
        (blackLanes, whiteLanes, maxChroma) = (lanes(black), lanes(span), lanes(chromaSpan / 2))
        // `high` divides by 65536 and levels are in 128ths, so the factor is multiplied by 512.
        rise = lanes((16384 / span - 64) * 512)
        // A quarter of the factor, to stay within 16 bits.
        let chroma = 16384 / chromaSpan * 128
        (redV, blueU) = (lanes(1.402 * chroma), lanes(1.772 * chroma))
        (greenU, greenV) = (lanes(0.344136 * chroma), lanes(0.714136 * chroma))
        // From 16384 to sixteenths of a level.
        let (luma, back) = (span * 64, chromaSpan * 64)
        (lumaR, lumaG, lumaB) = (lanes(0.299 * luma), lanes(0.587 * luma), lanes(0.114 * luma))
        (uR, uG, half) = (lanes(-0.168736 * back), lanes(-0.331264 * back), lanes(0.5 * back))
        (vG, vB) = (lanes(-0.418688 * back), lanes(-0.081312 * back))
        (blackPart, whitePart) = (lanes(black * 65536 / 255), lanes(span * 16384 / 255))
    }

    /// Compiles light: the formula (luma y - b a above black, times the gain, and so on) multiplied out.
    /// - Parameter gain: at most 1.
    func light(gain: Float, saturation: Float, cast: SIMD2<Float>) -> RunLight {
        func bounded(_ cast: Float) -> Float { cast.isFinite ? max(-60, min(cast, 60)) : 0 }
        // The chroma for each level of lit luma above black.
        let slope = SIMD2(bounded(cast.x), bounded(cast.y)) * (chromaSpan / 255 / span) * gain
        let byAlpha = (SIMD2(repeating: 128 * (1 - gain * saturation)) - slope * black) / 255
        func turns(_ u: Float, _ v: Float) -> PixelVector {
            var lanes = PixelVector()
            (lanes.evenHalf, lanes.oddHalf) = (.init(repeating: fixed(u)), .init(repeating: fixed(v)))
            return lanes
        }
        func fixed(_ value: Float) -> Int16 { Int16(max(-32767, min(32767, (value * 32768).rounded()))) }
        return RunLight(
            gain: PixelVector(repeating: fixed(gain)), chromaGain: PixelVector(repeating: fixed(gain * saturation)),
            lumaByAlpha: PixelVector(repeating: fixed(black * (1 - gain) / 255)),
            chromaByAlpha: turns(byAlpha.x, byAlpha.y), chromaByLuma: turns(slope.x, slope.y))
    }

    /// Compiles a cast for `lit`.
    func cast(_ samples: Float) -> PixelVector {
        let samples = samples.isFinite ? max(-60, min(samples, 60)) : 0
        return PixelVector(repeating: Int16((samples * chromaSpan / 255 * 65536 / span).rounded()))
    }

    /// Converts the frame's pixels under art.
    @inline(__always)
    func rgb(_ luma: PixelVector, _ u: PixelVector, _ v: PixelVector) -> (
        r: PixelVector, g: PixelVector, b: PixelVector
    ) {
        let level = laneClamp(luma &- blackLanes, .zero, whiteLanes) &<< 7
        let cu = laneClamp(u &- 128, .zero &- maxChroma, maxChroma) &<< 7
        let cv = laneClamp(v &- 128, .zero &- maxChroma, maxChroma) &<< 7
        return rgb(level, cu, cv, limit: PixelVector(repeating: Int16(PixelBlender.one)))
    }

    @inline(__always)
    func rgb(_ art: Art, limit: PixelVector) -> (r: PixelVector, g: PixelVector, b: PixelVector) {
        let level = art.y &<< 7 &- high(art.a &<< 7, blackPart)
        let middle = art.a &<< 6 &+ art.a &>> 2
        let bound = maxChroma &<< 7
        let cu = laneClamp(art.u &<< 7 &- middle, .zero &- bound, bound)
        let cv = laneClamp(art.v &<< 7 &- middle, .zero &- bound, bound)
        return rgb(laneMin(level, whiteLanes &<< 7), cu, cv, limit: limit)
    }

    /// Converts 128ths of a level, luma above black and chroma relative to 128.
    @inline(never)
    private func rgb(_ level: PixelVector, _ u: PixelVector, _ v: PixelVector, limit: PixelVector) -> (
        r: PixelVector, g: PixelVector, b: PixelVector
    ) {
        let grey = level &>> 1 &+ high(level, rise)
        let r = grey &+ high(v, redV) &<< 2
        let g = grey &- (high(u, greenU) &+ high(v, greenV)) &<< 2
        let b = grey &+ high(u, blueU) &<< 2
        return (
            laneClamp(r, .zero, limit), laneClamp(g, .zero, limit),
            laneClamp(b, .zero, limit)
        )
    }

    /// Converts differences, to sixteenths of a level.
    @inline(never)
    func yuv(_ r: PixelVector, _ g: PixelVector, _ b: PixelVector) -> (y: PixelVector, u: PixelVector, v: PixelVector) {
        (
            high(r, lumaR) &+ high(g, lumaG) &+ high(b, lumaB), high(r, uR) &+ high(g, uG) &+ high(b, half),
            high(r, half) &+ high(g, vG) &+ high(b, vB)
        )
    }

    /// Multiplies art's luma and chroma by gains in 2.14 fixed point and adds a cast in proportion to its brightness.
    @inline(never)
    func lit(
        _ art: Art, _ gain: PixelVector, _ chromaGain: PixelVector, _ castU: PixelVector, _ castV: PixelVector
    ) -> Run {
        let whole = art.a &<< 7
        let middle = art.a &<< 6 &+ art.a &>> 2
        // From here on in 32nds of a level.
        let level = high(art.y &<< 7 &- high(whole, blackPart), gain)
        let luma = laneClamp(level, .zero, high(whole, whitePart))
        let u = high(art.u &<< 7 &- middle, chromaGain) &+ high(luma, castU)
        let v = high(art.v &<< 7 &- middle, chromaGain) &+ high(luma, castV)
        let y = (luma &+ high(whole, blackPart) &>> 2 &+ 16) &>> 5
        let low = y | clamped((u &+ middle &>> 2 &+ 16) &>> 5) &<< 8
        let upper = clamped((v &+ middle &>> 2 &+ 16) &>> 5) | art.a &<< 8
        return joined(low, upper)
    }
}

/// The luma of the frame's pixels under a run.
@safe private struct LumaRow {
    private let line: UnsafeMutablePointer<UInt8>
    private let step: Int
    private let isSecond: Bool
    private let count: Int

    init(_ base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout, _ position: RunPosition, row: Int) {
        let step = layout.luma.step
        let plane = layout.planes[0]
        unsafe line = base + plane.offset + row * plane.stride + position.x * step
        (self.step, count, isSecond) = (step, position.count, layout.format == .uyvy)
    }

    @inline(__always)
    func load() -> PixelVector {
        guard count == runLength else {
            var lanes = PixelVector()
            for i in 0..<count { lanes[i] = unsafe Int16(line[i * step + (isSecond ? 1 : 0)]) }
            return lanes
        }
        guard step == 2 else { return unsafe widened(UnsafeRawPointer(line)) }
        let words = unsafe UnsafeRawPointer(line).loadUnaligned(as: SIMD16<UInt16>.self)
        return signed(isSecond ? words &>> 8 : words & 255)
    }

    /// Stores luma.
    /// - Parameter lanes: 0...255.
    @inline(__always)
    func store(_ lanes: PixelVector) {
        guard count == runLength else {
            for i in 0..<count { unsafe line[i * step + (isSecond ? 1 : 0)] = UInt8(truncatingIfNeeded: lanes[i]) }
            return
        }
        guard step == 2 else {
            unsafe UnsafeMutableRawPointer(line).storeBytes(
                of: SIMD16<UInt8>(truncatingIfNeeded: lanes), as: SIMD16<UInt8>.self)
            return
        }
        let words = unsafe UnsafeRawPointer(line).loadUnaligned(as: PixelVector.self)
        let changed = isSecond ? words & 255 | lanes &<< 8 : words & ~255 | lanes
        unsafe UnsafeMutableRawPointer(line).storeBytes(of: changed, as: PixelVector.self)
    }
}

/// The chroma of the frame's pixels under a run, shared or not.
@safe private struct ChromaRow {
    private let u: UnsafeMutablePointer<UInt8>
    private let v: UnsafeMutablePointer<UInt8>
    private let step: Int
    private let isShared: Bool
    private let isGray: Bool
    /// The number of samples.
    private let count: Int

    init(_ base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout, _ position: RunPosition) {
        let shift = layout.format.chromaShift
        let row = unsafe chromaRow(base, layout, position.y >> shift.y)
        let start = unsafe (position.x >> shift.x) * row.step
        unsafe (u, v, step) = (row.u + start, row.v + start, row.step)
        isShared = shift.x == 1
        isGray = layout.format == .gray
        count = (position.count + shift.x) >> shift.x
    }

    /// Loads the chroma, repeated for each pixel.
    @inline(__always)
    func load() -> (u: PixelVector, v: PixelVector) {
        guard !isGray else { return (PixelVector(repeating: 128), PixelVector(repeating: 128)) }
        guard isShared else {
            if count == runLength { return unsafe (widened(UnsafeRawPointer(u)), widened(UnsafeRawPointer(v))) }
            var lanes = (PixelVector(), PixelVector())
            for i in 0..<count { unsafe (lanes.0[i], lanes.1[i]) = (Int16(u[i]), Int16(v[i])) }
            return lanes
        }
        var samples = (SIMD8<Int16>(), SIMD8<Int16>())
        for i in 0..<count { unsafe (samples.0[i], samples.1[i]) = (Int16(u[i * step]), Int16(v[i * step])) }
        var lanes = (PixelVector(), PixelVector())
        (lanes.0.evenHalf, lanes.0.oddHalf) = (samples.0, samples.0)
        (lanes.1.evenHalf, lanes.1.oddHalf) = (samples.1, samples.1)
        return lanes
    }

    /// Adds differences to the chroma, averaged over the pixels that share it.
    /// - Parameters:
    ///   - du: sixteenths of a level for each pixel, summed over `rows`.
    ///   - rows: 1 or 2.
    @inline(__always)
    func add(_ du: PixelVector, _ dv: PixelVector, rows: Int) {
        guard !isGray else { return }
        guard isShared else {
            let (u, v) = ((du &+ 8) &>> 4, (dv &+ 8) &>> 4)
            for i in 0..<count {
                unsafe self.u[i] = sum(self.u[i], u[i])
                unsafe self.v[i] = sum(self.v[i], v[i])
            }
            return
        }
        let shift = Int16(rows == 2 ? 6 : 5)
        let half = Int16(rows == 2 ? 32 : 16)
        let mean = (
            (du.evenHalf &+ du.oddHalf &+ half) &>> SIMD8(repeating: shift),
            (dv.evenHalf &+ dv.oddHalf &+ half) &>> SIMD8(repeating: shift)
        )
        for i in 0..<count {
            unsafe u[i * step] = sum(u[i * step], mean.0[i])
            unsafe v[i * step] = sum(v[i * step], mean.1[i])
        }
    }

    @inline(__always)
    private func sum(_ sample: UInt8, _ difference: Int16) -> UInt8 {
        UInt8(truncatingIfNeeded: max(0, min(255, Int16(sample) &+ difference)))
    }
}

@inline(__always)
private func clamped(_ lanes: PixelVector) -> PixelVector { laneClamp(lanes, .zero, PixelVector(repeating: 255)) }

@inline(__always)
private func unsigned(_ lanes: PixelVector) -> SIMD16<UInt16> { unsafe unsafeBitCast(lanes, to: SIMD16<UInt16>.self) }

@inline(__always)
private func signed(_ lanes: SIMD16<UInt16>) -> PixelVector { unsafe unsafeBitCast(lanes, to: PixelVector.self) }

@inline(__always)
private func widened(_ bytes: UnsafeRawPointer) -> PixelVector {
    unsafe signed(SIMD16<UInt16>(truncatingIfNeeded: bytes.loadUnaligned(as: SIMD16<UInt8>.self)))
}

/// The upper halves of the products. Written lane by lane, which the compiler turns into one instruction (PMULHW); the
/// vector's own conversions become calls.
@inline(__always)
private func high(_ a: PixelVector, _ b: PixelVector) -> PixelVector {
    var lanes = PixelVector()
    for i in 0..<16 { lanes[i] = Int16(truncatingIfNeeded: (Int32(a[i]) &* Int32(b[i])) &>> 16) }
    return lanes
}

/// Words from their lower and upper halves.
@inline(__always)
private func joined(_ low: PixelVector, _ high: PixelVector) -> Run {
    var run = Run()
    for i in 0..<16 {
        run[i] = UInt32(UInt16(truncatingIfNeeded: low[i])) | UInt32(UInt16(truncatingIfNeeded: high[i])) &<< 16
    }
    return run
}
