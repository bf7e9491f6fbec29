/// Takes pixels from art along a straight line: bilinear, 8 bits of weight. Two at a time, since their four channels fill
/// a register, with the weights beside each other in it: they are what lies behind the positions' points, and go on and
/// wrap in their lanes as the positions do.
@safe struct ArtLine {
    /// Positions have 16 bits behind the point, as many as a lane.
    static let fraction = 16

    /// Where the next pixel lies in the art, to the right and down.
    var u: Int
    var v: Int
    /// From pixel to pixel.
    let du: Int
    let dv: Int

    /// How opaque pixels are: 1 << `fraction` leaves them as they are, less than nothing is nothing.
    struct Fade {
        /// Of the next pixel.
        var value: Int
        let step: Int

        @inline(__always)
        var weight: UInt16 { UInt16(truncatingIfNeeded: max(0, min(256, value >> (ArtLine.fraction - 8)))) }
    }

    /// Goes on without taking anything.
    @inline(__always)
    mutating func skip(_ count: Int) {
        u &+= count &* du
        v &+= count &* dv
    }

    /// Takes the next pixels, each of which lies on the art with the one to its right and the two below.
    @inline(__always)
    mutating func sample(_ count: Int, of art: SampledArt, into target: UnsafeMutablePointer<UInt32>) {
        var none: Fade?
        unsafe sample(count, of: art, fading: &none, into: target)
    }

    /// The same, faded.
    @inline(__always)
    mutating func sample(_ count: Int, of art: SampledArt, _ fade: Fade, into target: UnsafeMutablePointer<UInt32>) {
        var fade: Fade? = fade
        unsafe sample(count, of: art, fading: &fade, into: target)
    }

    @inline(__always)
    private mutating func sample(
        _ count: Int, of art: SampledArt, fading fade: inout Fade?, into target: UnsafeMutablePointer<UInt32>
    ) {
        var weightU = Self.beside(UInt16(truncatingIfNeeded: u), UInt16(truncatingIfNeeded: u &+ du))
        var weightV = SIMD8(repeating: UInt16(truncatingIfNeeded: v))
        let (nextU, nextV) = (UInt16(truncatingIfNeeded: 2 &* du), UInt16(truncatingIfNeeded: dv))
        var i = 0
        while i < count &- 1 {
            let first = column(art, weightV)
            skip(1)
            weightV &+= nextV
            let second = column(art, weightV)
            skip(1)
            weightV &+= nextV
            let mixed = Self.mix(first, second, weightU, &fade)
            weightU &+= nextU
            unsafe UnsafeMutableRawPointer(target + i).storeBytes(of: mixed, as: SIMD8<UInt8>.self)
            i &+= 2
        }
        guard i < count else { return }
        let last = column(art, weightV)
        let mixed = Self.mix(last, last, weightU, &fade)
        unsafe target[i] = unsafeBitCast(mixed.lowHalf, to: UInt32.self)
        skip(1)
    }

    /// Two pixels side by side, mixed from above to below.
    @inline(__always)
    private func column(_ art: SampledArt, _ weight: SIMD8<UInt16>) -> SIMD8<UInt16> {
        let p = unsafe art.pixels + ((v >> Self.fraction) &* art.stride &+ (u >> Self.fraction))
        let upper = unsafe UnsafeRawPointer(p).loadUnaligned(as: SIMD8<UInt8>.self)
        let lower = unsafe UnsafeRawPointer(p + art.stride).loadUnaligned(as: SIMD8<UInt8>.self)
        // 256 a + (b - a) w + 128 lies within 16 bits; that a step on the way may not does no harm.
        let difference = Self.words(lower, .zero) &- Self.words(upper, .zero)
        return (Self.words(Self.half, upper) &+ difference &* (weight &>> 8)) &>> 8
    }

    /// What rounds when the lower eight bits are cut off.
    @inline(__always)
    private static var half: SIMD8<UInt8> { SIMD8(repeating: 128) }

    /// By the lanes' bytes: the library's own conversions are called, not put in.
    @inline(__always)
    private static func words(_ low: SIMD8<UInt8>, _ high: SIMD8<UInt8>) -> SIMD8<UInt16> {
        var bytes = SIMD16<UInt8>()
        (bytes.evenHalf, bytes.oddHalf) = (low, high)
        return unsafe unsafeBitCast(bytes, to: SIMD8<UInt16>.self)
    }

    /// Two pixels, mixed from left to right.
    @inline(__always)
    private static func mix(
        _ first: SIMD8<UInt16>, _ second: SIMD8<UInt16>, _ weight: SIMD8<UInt16>, _ fade: inout Fade?
    ) -> SIMD8<UInt8> {
        let left = SIMD8(lowHalf: first.lowHalf, highHalf: second.lowHalf)
        let right = SIMD8(lowHalf: first.highHalf, highHalf: second.highHalf)
        var sum = left &<< 8 &+ (right &- left) &* (weight &>> 8) &+ 128
        if var going = fade {
            let one = going.weight
            going.value &+= going.step
            let other = going.weight
            going.value &+= going.step
            fade = going
            sum = (sum &>> 8) &* beside(one, other) &+ 128
        }
        return unsafe unsafeBitCast(sum, to: SIMD16<UInt8>.self).oddHalf
    }

    @inline(__always)
    private static func beside(_ first: UInt16, _ second: UInt16) -> SIMD8<UInt16> {
        SIMD8(lowHalf: SIMD4(repeating: first), highHalf: SIMD4(repeating: second))
    }
}
