/// Noise compiled for drawing.
@safe struct NoiseSampler {
    private let samples: UnsafePointer<Int8>
    /// The deviation, in eighths of a level.
    private let amplitude: PixelVector
    private let seed: UInt32

    init(_ noise: Noise) {
        unsafe samples = Self.samples
        let deviation = noise.deviation.isFinite ? max(0, min(noise.deviation, Noise.maxDeviation)) : 0
        amplitude = PixelVector(repeating: Int16((deviation * 8).rounded()))
        seed = noise.seed
    }

    /// Adds noise to a run's luma, in proportion to its alpha.
    @inline(never)
    func added(to run: Run, x: Int, y: Int) -> Run {
        // Each row begins elsewhere, so that no pattern is seen.
        let start = mixed(seed &+ UInt32(truncatingIfNeeded: y)) &+ UInt32(truncatingIfNeeded: x)
        let bytes = unsafe UnsafeRawPointer(samples) + Int(start & UInt32(Self.count - 1))
        let unit = PixelVector(truncatingIfNeeded: unsafe bytes.loadUnaligned(as: SIMD16<Int8>.self))
        let levels = (unit &* amplitude &+ 128) &>> 8
        let alpha = PixelVector(truncatingIfNeeded: run &>> 24)
        let luma = PixelVector(truncatingIfNeeded: run & 255) &+ (levels &* alpha &+ 128) &>> 8
        let bright = laneClamp(luma, .zero, PixelVector(repeating: 255))
        return run & ~255 | Run(truncatingIfNeeded: bright)
    }

    /// The number of samples: a power of two, larger than any row in which a repetition could be seen.
    private static let count = 4096
    /// Normally distributed numbers with a deviation of 32 (Box and Muller, "A note on the generation of random normal
    /// deviates", 1958), followed by the first ones again. They are never freed.
    nonisolated(unsafe) private static let samples: UnsafePointer<Int8> = {
        let samples = UnsafeMutablePointer<Int8>.allocate(capacity: count + runLength)
        for i in 0..<count + runLength {
            let (a, b) = (mixed(UInt32(i % count) * 2 + 1), mixed(UInt32(i % count) * 2 + 2))
            let radius = (-2 * log((Float(a >> 8) + 1) / Float(1 << 24))).squareRoot()
            let value = radius * cos(2 * .pi * Float(b >> 8) / Float(1 << 24)) * 32
            unsafe samples[i] = Int8(max(-127, min(127, value.rounded())))
        }
        return unsafe UnsafePointer(samples)
    }()
}

/// A number's bits, mixed so that they look random (the finalizer of MurmurHash3, by Austin Appleby).
private func mixed(_ number: UInt32) -> UInt32 {
    var bits = number &* 0x9e37_79b9
    bits = (bits ^ bits >> 16) &* 0x85eb_ca6b
    bits = (bits ^ bits >> 13) &* 0xc2b2_ae35
    return bits ^ bits >> 16
}
