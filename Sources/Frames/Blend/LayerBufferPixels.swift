import CScale

extension LayerBuffer {
    /// Copies the frame's own pixels into the buffer, opaque; shared chroma is repeated for each pixel.
    /// - Returns: false if the region is outside the frame.
    public mutating func copyPixels(_ region: PixelRect, of frame: borrowing Frame) -> Bool {
        guard begin(region, in: frame.layout) else { return false }
        let (piece, layout, rowStride) = (self.region, frame.layout, stride)
        let bytes = frame.bytes
        var target = pixels
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe target.withUnsafeMutableBufferPointer { target in
                guard let base = bytes.baseAddress, let target = target.baseAddress else { return }
                let width = min(piece.width, layout.width - piece.x)
                for y in 0..<min(piece.height, layout.height - piece.y) {
                    let row = unsafe PixelRow(base, layout, piece.y + y)
                    for x in Swift.stride(from: 0, to: width, by: runLength) {
                        let run = row.run(at: piece.x + x, count: min(runLength, width - x))
                        let at = unsafe UnsafeMutableRawPointer(target + y * rowStride + x)
                        unsafe at.storeBytes(of: run, as: Run.self)
                    }
                }
            }
        }
        return true
    }

    /// Draws a sprite into the buffer, bilinearly. The pixels there are replaced, not blended.
    /// - Parameter map: from the sprite's pixels to the frame's; nothing is drawn if it is singular or not finite.
    public mutating func draw(_ sprite: borrowing Sprite, by map: Affine) {
        sprite.withArt { art in
            art.prefetch()
            draw(art, by: map)
        }
    }

    /// Draws another buffer into this one, bilinearly. The pixels there are replaced, not blended.
    /// - Parameters:
    ///   - map: from the frame's pixels of the other buffer to those where they are drawn.
    ///   - mayBeWide: whether AVX2 may be used, with the same result.
    public mutating func draw(_ other: borrowing LayerBuffer, by map: Affine, mayBeWide: Bool = true) {
        let piece = other.region
        guard !piece.isEmpty else { return }
        let shift = Affine(a: 1, b: 0, c: 0, d: 1, tx: Float(piece.x), ty: Float(piece.y))
        unsafe other.readPixels.withUnsafeBufferPointer {
            guard let pixels = $0.baseAddress else { return }
            let art = unsafe TextureView(
                pixels, width: piece.width, height: piece.height, stride: other.stride, isNearArt: nil)
            draw(art, by: map.after(shift), mayBeWide: mayBeWide)
        }
    }

    private mutating func draw(_ art: TextureView, by map: Affine, mayBeWide: Bool = true) {
        let (piece, rowStride) = (region, stride)
        let toTile = Affine(a: 1, b: 0, c: 0, d: 1, tx: Float(0 - piece.x), ty: Float(0 - piece.y))
        guard let back = toTile.after(map).inverse, !piece.isEmpty else { return }
        guard max(max(abs(back.a), abs(back.b)), max(abs(back.c), abs(back.d))) < 4096 else { return }
        let sampler = Sampler(art, back, gain: 256)
        let kernels = unsafe mayBeWide && sampler.isEnlarging ? cscale_kernels() : nil
        // Taken out meanwhile: while a span of the pixels exists, nothing else can be modified.
        var mixed: [UInt32] = []
        swap(&mixed, &self.mixed)
        // A quarter more, so that an approaching face doesn't cause an allocation in every frame.
        let room = art.width + 32
        if unsafe kernels != nil, mixed.count < room { mixed = Array(repeating: 0, count: room + room / 4) }
        var target = pixels
        unsafe target.withUnsafeMutableBufferPointer { target in
            unsafe mixed.withUnsafeMutableBufferPointer { mixed in
                guard let target = target.baseAddress else { return }
                var run = Run()
                for y in 0..<piece.height {
                    let row = sampler.row(y, width: piece.width)
                    let line = unsafe target + y * rowStride
                    if let kernels = unsafe kernels, let mixed = mixed.baseAddress {
                        unsafe sampler.enlarge(row, kernels, mixed, into: line)
                        continue
                    }
                    for x in Swift.stride(from: row.begin / runLength * runLength, to: row.end, by: runLength)
                    where sampler.sample(row, from: x, into: &run) {
                        unsafe UnsafeMutableRawPointer(line + x).storeBytes(of: run, as: Run.self)
                    }
                }
            }
        }
        swap(&mixed, &self.mixed)
    }
}

/// A pixel's four channels, each in 16 bits of a 64-bit number, so that all are weighted at once.
enum Channels {
    private static let mask: UInt64 = 0x00ff_00ff_00ff_00ff
    private static let half: UInt64 = 0x0080_0080_0080_0080

    @inline(__always)
    static func separate(_ pixel: UInt32) -> UInt64 {
        let low = UInt64(pixel)
        let two = (low | low &<< 16) & 0x0000_ffff_0000_ffff
        return (two | two &<< 8) & mask
    }

    /// Interpolates: the first for a weight of 0, nearly the second for 255.
    @inline(__always)
    static func mix(_ a: UInt64, _ b: UInt64, _ weight: UInt64) -> UInt64 {
        (a &* (256 &- weight) &+ b &* weight &+ half) &>> 8 & mask
    }

    @inline(__always)
    static func join(_ channels: UInt64) -> UInt32 {
        let two = (channels | channels &>> 8) & 0x0000_ffff_0000_ffff
        return UInt32(truncatingIfNeeded: two | two &>> 16)
    }
}

/// One row of a frame, read as opaque pixels.
@safe struct PixelRow {
    private let layout: FrameLayout
    private let luma: UnsafeRawPointer
    private let u: UnsafeRawPointer
    private let v: UnsafeRawPointer
    /// Bytes from one chroma sample to the next.
    private let chromaStep: Int

    init(_ base: UnsafePointer<UInt8>, _ layout: FrameLayout, _ y: Int) {
        self.layout = layout
        let bytes = unsafe UnsafeRawPointer(base)
        let site = layout.luma
        unsafe luma = bytes + site.offset + y * site.stride
        // Gray has no chroma; what is set for it is not read.
        let chroma = layout.chroma ?? (site, site)
        let chromaRow = y >> layout.format.chromaShift.y
        unsafe u = bytes + chroma.u.offset + chromaRow * chroma.u.stride
        unsafe v = bytes + chroma.v.offset + chromaRow * chroma.v.stride
        chromaStep = chroma.u.step
    }

    /// The pixels from `x` on, which is even; those beyond `count` are transparent.
    @inline(__always)
    func run(at x: Int, count: Int) -> Run {
        guard count == runLength else { return end(at: x, count: count) }
        let middle = SIMD16<UInt16>(repeating: 128)
        switch layout.format {
        case .yuyv, .uyvy:
            let start = unsafe (layout.format == .yuyv ? luma : u) + x * 2
            let pairs = unsafe start.loadUnaligned(as: SIMD16<UInt16>.self)
            let chroma = layout.format == .yuyv ? pairs &>> 8 : pairs & 255
            let bright = layout.format == .yuyv ? pairs & 255 : pairs &>> 8
            return Self.join(bright, Self.twice(chroma.evenHalf), Self.twice(chroma.oddHalf))
        case .gray: return Self.join(unsafe load(luma + x), middle, middle)
        case .i444: return unsafe Self.join(load(luma + x), load(u + x), load(v + x))
        case .nv12:
            let pairs = unsafe load(u + x)
            return unsafe Self.join(load(luma + x), Self.twice(pairs.evenHalf), Self.twice(pairs.oddHalf))
        case .i420, .i422:
            let first = SIMD8<UInt16>(truncatingIfNeeded: unsafe (u + x / 2).loadUnaligned(as: SIMD8<UInt8>.self))
            let second = SIMD8<UInt16>(truncatingIfNeeded: unsafe (v + x / 2).loadUnaligned(as: SIMD8<UInt8>.self))
            return unsafe Self.join(load(luma + x), Self.twice(first), Self.twice(second))
        }
    }

    private func end(at x: Int, count: Int) -> Run {
        var run = Run()
        let shift = layout.format.chromaShift.x
        for i in 0..<count {
            let bright = unsafe luma.load(fromByteOffset: (x + i) * layout.luma.step, as: UInt8.self)
            var pixel = 0xff80_8000 | UInt32(bright)
            if layout.format != .gray {
                let at = ((x + i) >> shift) * chromaStep
                let first = unsafe UInt32(u.load(fromByteOffset: at, as: UInt8.self))
                let second = unsafe UInt32(v.load(fromByteOffset: at, as: UInt8.self))
                pixel = 0xff00_0000 | UInt32(bright) | first << 8 | second << 16
            }
            run[i] = pixel
        }
        return run
    }

    @inline(__always)
    private func load(_ at: UnsafeRawPointer) -> SIMD16<UInt16> {
        SIMD16(truncatingIfNeeded: unsafe at.loadUnaligned(as: SIMD16<UInt8>.self))
    }

    @inline(__always)
    private static func twice(_ half: SIMD8<UInt16>) -> SIMD16<UInt16> {
        var both = SIMD16<UInt16>()
        (both.evenHalf, both.oddHalf) = (half, half)
        return both
    }

    @inline(__always)
    private static func join(_ y: SIMD16<UInt16>, _ u: SIMD16<UInt16>, _ v: SIMD16<UInt16>) -> Run {
        let low = y | u &<< 8
        let high = v | 0xff00
        return Run(truncatingIfNeeded: low) | Run(truncatingIfNeeded: high) &<< 16
    }
}
