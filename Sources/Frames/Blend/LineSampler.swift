import SystemKit

/// Samples art along a straight line: bilinear, with 8 bits of weight.
///
/// Two pixels are sampled at a time, since their eight channels fill a register. Their weights are in a register too: a
/// weight is the fraction of a position, and wraps in its 16-bit lane as the position advances.
@safe struct LineSampler {
    /// Fraction bits of a position: 16, the width of a lane.
    static let fraction = 16

    /// The next pixel's position in the art, to the right and down, fixed point.
    var u: Int
    var v: Int
    /// The step from pixel to pixel, fixed point.
    let du: Int
    let dv: Int

    /// A linear fade of the pixels' opacity: 1 << `fraction` is opaque, and negative values count as 0.
    struct Fade {
        /// The opacity of the next pixel.
        var value: Int
        let step: Int

        @inline(__always)
        var weight: UInt16 { UInt16(truncatingIfNeeded: max(0, min(256, value >> (LineSampler.fraction - 8)))) }
    }

    /// Advances without sampling.
    @inline(__always)
    mutating func skip(_ count: Int) {
        u &+= count &* du
        v &+= count &* dv
    }

    /// Samples the next pixels. For each, the art must contain its position and the pixels to its right and below.
    @inline(__always)
    mutating func sample(_ count: Int, of art: TextureView, into target: UnsafeMutablePointer<UInt32>) {
        var none: Fade?
        unsafe sample(count, of: art, fading: &none, into: target)
    }

    /// Samples the next pixels and fades them.
    @inline(__always)
    mutating func sample(_ count: Int, of art: TextureView, _ fade: Fade, into target: UnsafeMutablePointer<UInt32>) {
        var fade: Fade? = fade
        unsafe sample(count, of: art, fading: &fade, into: target)
    }

    @inline(__always)
    private mutating func sample(
        _ count: Int, of art: TextureView, fading fade: inout Fade?, into target: UnsafeMutablePointer<UInt32>
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

    /// Two horizontal neighbours, each interpolated vertically.
    @inline(__always)
    private func column(_ art: TextureView, _ weight: SIMD8<UInt16>) -> SIMD8<UInt16> {
        let p = unsafe art.pixels + ((v >> Self.fraction) &* art.stride &+ (u >> Self.fraction))
        let upper = unsafe UnsafeRawPointer(p).loadUnaligned(as: SIMD8<UInt8>.self)
        let lower = unsafe UnsafeRawPointer(p + art.stride).loadUnaligned(as: SIMD8<UInt8>.self)
        // 256 a + (b - a) w + 128 fits in 16 bits; intermediate results may wrap.
        let difference = Self.joined(lower, .zero) &- Self.joined(upper, .zero)
        return (Self.joined(Self.half, upper) &+ difference &* (weight &>> 8)) &>> 8
    }

    /// Half a unit of the lower eight bits, which rounds when they are cut off.
    @inline(__always)
    private static var half: SIMD8<UInt8> { SIMD8(repeating: 128) }

    /// Joins bytes to 16-bit lanes. The library's own conversions are not inlined.
    @inline(__always)
    private static func joined(_ low: SIMD8<UInt8>, _ high: SIMD8<UInt8>) -> SIMD8<UInt16> {
        var bytes = SIMD16<UInt8>()
        (bytes.evenHalf, bytes.oddHalf) = (low, high)
        return unsafe unsafeBitCast(bytes, to: SIMD8<UInt16>.self)
    }

    /// Two pixels, interpolated horizontally.
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
