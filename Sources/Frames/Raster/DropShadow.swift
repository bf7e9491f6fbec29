import CRaster

extension Rasterizer {
    /// The side of a shadow cell in pixels, as a power of two.
    private static let cellShift = 3
    private static let cell = 1 << cellShift
    /// The same, for those who make room for a shadow.
    public static var shadowCell: Float { Float(cell) }

    /// The offset and blur of the shadow's nearer part, relative to those of the farther one, and the strengths of both
    /// in 256ths. Together they are more than whole, so that a shadow is as dark right below a rim as it can be.
    private static let (near, nearStrength, farStrength): (Float, Int, Int) = (0.5, 190, 195)

    /// Casts a soft shadow of the drawn picture on the visible occluders around it, as a brim does on a forehead: the
    /// further away, the softer. Called after `resolve`.
    /// - Parameters:
    ///   - layer: the drawn picture; its shadow is added under it.
    ///   - offset: from the picture to its shadow where that is furthest away, pixels.
    ///   - blur: the radius of the blur there, pixels.
    ///   - strength: 0...1.
    ///   - color: luma above black, U and V relative to neutral, in samples of the range; none of them beyond it.
    ///   - range: the range of the frame that the layer is for.
    ///   - border: columns and rows at the layer's edges that stay unchanged.
    public mutating func castShadow(
        in layer: inout LayerBuffer, offset: SIMD2<Float>, blur: Float, strength: Float,
        color: SIMD3<Float> = .zero, range: ColorRange, border: Int = 0
    ) {
        let (width, height) = (region.width, region.height)
        // One more cell, so that each pixel has four around it.
        let (across, down) = (width / Self.cell + 2, height / Self.cell + 2)
        guard strength > 0 else { return }
        if shadow.count < across * down {
            // A quarter more, so that an approaching face doesn't cause an allocation in every frame.
            shadow = Array(repeating: 0, count: across * down * 5 / 4)
            scratch = Array(repeating: 0, count: across * down * 5 / 4)
            receivers = Array(repeating: 0, count: across * down * 5 / 4)
            nearShadow = Array(repeating: 0, count: across * down * 5 / 4)
        }
        let rowStride = layer.stride
        let radius = measureShadow(of: layer, offset: offset * Self.near, blur: blur * Self.near, across, down)
        swap(&shadow, &nearShadow)
        _ = measureShadow(of: layer, offset: offset, blur: blur, across, down)
        for i in 0..<across * down {
            shadow[i] = UInt8(
                truncatingIfNeeded:
                    min(255, (Int(nearShadow[i]) * Self.nearStrength + Int(shadow[i]) * Self.farStrength) >> 8))
        }
        fadeShadow(across, down, radius)
        let gain = UInt32(strength * 256)
        let neutral = SIMD3(Float(range.black), 128, 128)
        let shade = (color + neutral).clamped(lowerBound: .zero, upperBound: SIMD3(repeating: 250)).rounded(
            .toNearestOrEven)
        let samples = craster_shade(luma: UInt32(shade.x), u: UInt32(shade.y), v: UInt32(shade.z))
        var pixels = layer.pixels
        unsafe pixels.withUnsafeMutableBufferPointer { pixels in
            unsafe occluders.withUnsafeBufferPointer { occluders in
                guard let pixels = pixels.baseAddress, let occluders = occluders.baseAddress else { return }
                for j in 0..<down - 1 {
                    for i in 0..<across - 1 {
                        let at = j * across + i
                        // The centre of cell (i, j) is the pixel (8 i, 8 j).
                        let corners =
                            SIMD4(
                                UInt32(shadow[at]), UInt32(shadow[at + 1]), UInt32(shadow[at + across]),
                                UInt32(shadow[at + across + 1])) &* gain
                        let (x, y) = (i * Self.cell, j * Self.cell)
                        let rows = (first: max(0, border - y), end: min(Self.cell, height - border - y))
                        guard corners != .zero, x < width - border, rows.first < rows.end else { continue }
                        var cell = craster_cell(
                            top_left: corners.x, top_right: corners.y, bottom_left: corners.z, bottom_right: corners.w,
                            first_row: CInt(rows.first), end_row: CInt(rows.end))
                        // The layer's rows have room for whole cells.
                        unsafe kernels.pointee.darken(
                            &cell, CInt(border - x), CInt(width - border - x), samples,
                            occluders + ((y + 1) * (width + 2) + 1 + x), width + 2, pixels + (y * rowStride + x),
                            rowStride)
                    }
                }
            }
        }
    }

    /// One of the four pixels by which cell (i, j) is measured.
    @inline(__always)
    private static func sample(_ k: Int, inCell i: Int, _ j: Int) -> (x: Int, y: Int) {
        (i * cell - cell / 2 + (k & 1) * 4 + 2, j * cell - cell / 2 + (k >> 1) * 4 + 2)
    }

    /// Computes the shadow of one hardness.
    /// - Returns: the radius of its blur, cells.
    private mutating func measureShadow(
        of layer: borrowing LayerBuffer, offset: SIMD2<Float>, blur: Float, _ across: Int, _ down: Int
    ) -> Int {
        measureCoverage(of: layer, movedBy: offset, across, down)
        let radius = max(1, min(12, Int((blur / Float(Self.cell)).rounded())))
        for _ in 0..<2 {
            Self.blur(&shadow, into: &scratch, lines: down, length: across, step: 1, line: across, radius)
            Self.blur(&scratch, into: &shadow, lines: across, length: down, step: across, line: 1, radius)
        }
        return radius
    }

    /// Computes the coverage of each cell from four of its pixels, moved by the shadow's offset.
    private mutating func measureCoverage(
        of layer: borrowing LayerBuffer, movedBy offset: SIMD2<Float>, _ across: Int, _ down: Int
    ) {
        let (width, height) = (region.width, region.height)
        let shift = (x: Int(offset.x.rounded()), y: Int(offset.y.rounded()))
        let pixels = layer.readPixels
        let rowStride = layer.stride
        for j in 0..<down {
            for i in 0..<across {
                var sum: UInt32 = 0
                for k in 0..<4 {
                    let sample = Self.sample(k, inCell: i, j)
                    let (x, y) = (sample.x - shift.x, sample.y - shift.y)
                    guard x >= 0, y >= 0, x < width, y < height else { continue }
                    sum += pixels[y * rowStride + x] >> 24
                }
                shadow[j * across + i] = UInt8(truncatingIfNeeded: sum >> 2)
            }
        }
    }

    /// Fades the shadow towards the edges of the occluders: a head is not exactly like them, and a shadow that ended
    /// beside the temple's edge would show it.
    private mutating func fadeShadow(_ across: Int, _ down: Int, _ radius: Int) {
        let (width, height) = (region.width, region.height)
        for j in 0..<down {
            for i in 0..<across {
                var sum = 0
                for k in 0..<4 {
                    let sample = Self.sample(k, inCell: i, j)
                    let (x, y) = (max(0, min(width - 1, sample.x)), max(0, min(height - 1, sample.y)))
                    if occluders[(y + 1) * (width + 2) + 1 + x].isFinite { sum += 255 }
                }
                receivers[j * across + i] = UInt8(truncatingIfNeeded: sum >> 2)
            }
        }
        Self.blur(&receivers, into: &scratch, lines: down, length: across, step: 1, line: across, radius)
        Self.blur(&scratch, into: &receivers, lines: across, length: down, step: across, line: 1, radius)
        for i in 0..<across * down {
            // On a straight edge half of what is around belongs to the occluder.
            let inside = max(0, min(255, (Int(receivers[i]) - 128) * 5 / 2))
            shadow[i] = UInt8(truncatingIfNeeded: Int(shadow[i]) * inside / 255)
        }
    }

    /// Box blur along lines: the mean of 2 * radius + 1 neighbours. The end samples are repeated beyond the ends.
    private static func blur(
        _ from: inout [UInt8], into to: inout [UInt8], lines: Int, length: Int, step: Int, line: Int, _ radius: Int
    ) {
        let divisor = 65_536 / (2 * radius + 1)
        for l in 0..<lines {
            let start = l * line
            var sum = Int(from[start]) * (radius + 1)
            for k in 1...radius { sum += Int(from[start + min(k, length - 1) * step]) }
            for i in 0..<length {
                to[start + i * step] = UInt8(truncatingIfNeeded: (sum * divisor) >> 16)
                sum += Int(from[start + min(i + radius + 1, length - 1) * step])
                sum -= Int(from[start + max(i - radius, 0) * step])
            }
        }
    }
}
