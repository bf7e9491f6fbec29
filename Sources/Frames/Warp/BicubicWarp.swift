import CScale
import SystemKit

/// Composites a layer through an affine map that is nearly a translation, with bicubic sampling. Allocates nothing.
///
/// Bicubic sampling keeps the layer as sharp as it was drawn: bilinear sampling takes a quarter of the contrast of fur,
/// and the loss comes and goes as the layer moves by fractions of a pixel.
///
/// Eight pixels of a row share one subpixel position and its weights, which displaces them by up to `warpError`.
/// - Parameters:
///   - layer: its outer `warpBorder` columns and rows are transparent, or outside of the frame after the move.
///   - map: from the frame's pixels for which the layer was drawn to those of this frame; see `canComposite`.
///   - paint: blend mode, opacity and light.
///   - error: the largest allowed displacement, pixels. Above 1/16 the groups of eight pixels become visible, unless
///     what they show moves fast.
///   - mayBeWide: whether AVX2 may be used, with the same result.
public func compositeLayer(
    _ layer: borrowing LayerBuffer, moved map: Affine, _ paint: Paint, within error: Float = 1 / 16,
    mayBeWide: Bool = true, onto frame: inout Frame
) {
    let (region, layout, rowStride) = (layer.region, frame.layout, layer.stride)
    guard let back = map.inverse, canComposite(map, within: error), !region.isEmpty, paint.opacity > 0 else { return }
    let (pixels, isNear) = (layer.readPixels, layer.nearArt)
    // The rows and columns that the mapped corners span.
    let size = Point(Float(region.width), Float(region.height))
    let corner = Point(Float(region.x), Float(region.y))
    guard let (low, high) = map.span(from: corner, to: corner + size) else { return }
    let (left, right) = (max(0, Int(low.x)) & ~1, min(layout.width, Int(high.x) + 2))
    let (top, bottom) = (max(0, Int(low.y)) & ~1, min(layout.height, Int(high.y) + 2))
    guard left < right, top < bottom else { return }
    let blender = PixelBlender(paint, layout.range)
    let rows = layout.format.chromaShift.y == 1 ? 2 : 1
    var bytes = frame.mutableBytes
    unsafe bytes.withUnsafeMutableBufferPointer { target in
        unsafe pixels.withUnsafeBufferPointer { pixels in
            unsafe isNear.withUnsafeBufferPointer { isNear in
                guard let target = target.baseAddress, let pixels = pixels.baseAddress, let isNear = isNear.baseAddress
                else { return }
                let art = unsafe TextureView(
                    pixels, width: region.width, height: region.height, stride: rowStride, isNearArt: isNear, .moved)
                let sampler = unsafe BicubicSampler(
                    art: art, stepU: BicubicSampler.fixed(back.a * 8), stepV: BicubicSampler.fixed(back.c * 8),
                    gain: UInt32((min(paint.opacity, 1) * 256).rounded()),
                    kernels: mayBeWide ? cscale_kernels() : nil)
                // Mapped at the centre of the eight pixels, then shifted back to the first of them.
                let middle: Float = 3.5
                for y in stride(from: top, to: bottom, by: rows) {
                    let at = back(Point(Float(left) + middle, Float(y))) - corner
                    var (u, v) = (BicubicSampler.fixed(at.x - middle), BicubicSampler.fixed(at.y))
                    let (downU, downV) = (BicubicSampler.fixed(back.b), BicubicSampler.fixed(back.d))
                    for x in stride(from: left, to: right, by: runLength) {
                        var (upper, lower) = (Run(), Run())
                        let one = sampler.sample(u, v, into: &upper)
                        let two = rows == 2 && sampler.sample(u &+ downU, v &+ downV, into: &lower)
                        u &+= 2 &* sampler.stepU
                        v &+= 2 &* sampler.stepV
                        guard one || two else { continue }
                        let position = RunPosition(x: x, y: y, count: min(runLength, layout.width - x))
                        unsafe blender.blend(
                            upper, rows == 2 && y + 1 < layout.height ? lower : nil, onto: target, layout, at: position)
                    }
                }
            }
        }
    }
}

/// The outer columns and rows of a layer that `compositeLayer` with a map does not draw.
public let warpBorder = 12

/// Whether a map rotates and scales little enough for `compositeLayer`.
public func canComposite(_ map: Affine, within error: Float = 1 / 16) -> Bool { warpError(map) <= error }

/// The largest displacement of a pixel by `compositeLayer` with this map, pixels.
public func warpError(_ map: Affine) -> Float {
    // The distance from the centre of eight pixels to their ends.
    4 * max(max(abs(map.a - 1), abs(map.b)), max(abs(map.c), abs(map.d - 1)))
}

extension OccupancyGrid {
    /// Blocks for the bicubic warp: eight pixels and their neighbours reach no further than the next block.
    static let moved = OccupancyGrid(shift: 3)
}

/// Samples a layer for runs of the frame's pixels.
@safe private struct BicubicSampler {
    let art: TextureView
    /// The step in the layer from eight pixels to the next eight, fixed point.
    let stepU: Int
    let stepV: Int
    let gain: UInt32
    /// The kernels for AVX2, if they may be used.
    let kernels: UnsafePointer<cscale_kernels>?

    /// Fraction bits of a fixed-point position, of which the highest six select the weights.
    private static let fraction = 22
    private static let weightShift = fraction - 6

    static func fixed(_ pixels: Float) -> Int { Int(pixels * Float(1 << fraction)) }

    /// Samples a run of 16 pixels.
    /// - Parameters:
    ///   - u: the first pixel's position in the layer, fixed point.
    /// - Returns: false if the whole run is transparent.
    @inline(__always)
    func sample(_ u: Int, _ v: Int, into run: inout Run) -> Bool {
        let first = sample(u, v, half: 0, into: &run)
        let second = sample(u &+ stepU, v &+ stepV, half: 1, into: &run)
        guard first || second else { return false }
        run = faded(run, gain)
        return true
    }

    @inline(__always)
    private func sample(_ u: Int, _ v: Int, half: Int, into run: inout Run) -> Bool {
        // Rounded to the nearest of 64 weights.
        let (u, v) = (
            (u &+ 1 << (Self.weightShift - 1)) >> Self.weightShift,
            (v &+ 1 << (Self.weightShift - 1)) >> Self.weightShift
        )
        let (column, row) = (u >> 6, v >> 6)
        // One tap before the first pixel and two after the last, also above and below. What is left out is within the
        // border.
        guard column >= 1, row >= 1, column &+ 11 <= art.stride, row &+ 2 < art.height, column &+ 4 < art.width
        else { return false }
        let shift = OccupancyGrid.moved.shift
        guard art.isNearArt(column: (column &+ 4) >> shift, row: row >> shift) else { return false }
        let address = unsafe UnsafeRawPointer(art.pixels + (row &* art.stride &+ column))
        let (fu, fv) = (u & 63, v & 63)
        unsafe withUnsafeMutableBytes(of: &run) { bytes in
            guard let base = bytes.baseAddress else { return }
            let target = unsafe base + half * 32
            if fu | fv == 0 {
                unsafe target.copyMemory(from: address, byteCount: 32)
            } else if let kernels = unsafe kernels {
                unsafe kernels.pointee.interpolate(
                    address.assumingMemoryBound(to: UInt8.self), art.stride &* 4, Taps(fu).bits, Taps(fv).bits,
                    target.assumingMemoryBound(to: UInt8.self))
            } else {
                unsafe mix(address, art.stride &* 4, Taps(fu), Taps(fv), target)
            }
        }
        return true
    }
}

/// The weights of four neighbours in 64ths: the Catmull-Rom cubic.
private struct Taps {
    let (first, second, third, fourth): (Int16, Int16, Int16, Int16)

    /// - Parameter index: the position after the second neighbour in 64ths, 0..<64.
    @inline(__always)
    init(_ index: Int) {
        let taps = Taps.table[index]
        (first, second, third, fourth) = (taps.x, taps.y, taps.z, taps.w)
    }

    /// The bits of all four weights, the first one's lowest.
    var bits: UInt64 { unsafe unsafeBitCast(SIMD4(first, second, third, fourth), to: UInt64.self) }

    private static let table: [64 of SIMD4<Int16>] = InlineArray { i in
        let t = Float(i) / 64
        let first = (((0 - t) + 2) * t - 1) * t * 32
        let third = ((-3 * t + 4) * t + 1) * t * 32
        let fourth = (t - 1) * t * t * 32
        let (a, c, d) = (Int16(first.rounded()), Int16(third.rounded()), Int16(fourth.rounded()))
        return SIMD4(a, 64 - a - c - d, c, d)
    }
}

/// Interpolates eight pixels from their neighbours, first vertically, then horizontally.
/// - Parameters:
///   - source: the address of the first pixel; rows are `stride` bytes apart.
///   - target: 32 bytes.
@inline(never)
private func mix(
    _ source: UnsafeRawPointer, _ stride: Int, _ across: Taps, _ down: Taps, _ target: UnsafeMutableRawPointer
) {
    // Twelve pixels, beginning one before the first.
    var columns = [6 of SIMD8<Int16>](repeating: .zero)
    for i in 0..<6 {
        let at = unsafe source + (i &* 8 &- 4)
        columns[i] =
            (unsafe pair(at - stride) &* down.first &+ pair(at) &* down.second
                &+ pair(at + stride) &* down.third &+ pair(at + 2 * stride) &* down.fourth &+ 32) &>> 6
    }
    unsafe withUnsafeBytes(of: &columns) { columns in
        guard let columns = columns.baseAddress else { return }
        for i in 0..<4 {
            let at = unsafe columns + i &* 16
            var sum = unsafe at.loadUnaligned(as: SIMD8<Int16>.self) &* across.first
            sum &+= unsafe at.loadUnaligned(fromByteOffset: 8, as: SIMD8<Int16>.self) &* across.second
            sum &+= unsafe at.loadUnaligned(fromByteOffset: 16, as: SIMD8<Int16>.self) &* across.third
            sum &+= unsafe at.loadUnaligned(fromByteOffset: 24, as: SIMD8<Int16>.self) &* across.fourth
            let mixed = (sum &+ 32) &>> 6
            // Clamp the cubic's overshoot: no channel is below 0 or above its alpha.
            let alpha = laneMin(
                SIMD8(lowHalf: SIMD4(repeating: mixed[3]), highHalf: SIMD4(repeating: mixed[7])),
                SIMD8(repeating: 255))
            let below = laneMin(mixed, alpha)
            let bounded = below & ~(below &>> 15)
            unsafe target.storeBytes(
                of: unsafeBitCast(bounded, to: SIMD16<UInt8>.self).evenHalf, toByteOffset: i &* 8, as: SIMD8<UInt8>.self
            )
        }
    }
}

/// The lane-wise minimum by the sign of the difference: two thirds of the instructions of a lane-by-lane comparison.
@inline(__always)
private func laneMin(_ a: SIMD8<Int16>, _ b: SIMD8<Int16>) -> SIMD8<Int16> {
    let difference = b &- a
    return a &+ (difference & (difference &>> 15))
}

/// The channels of two neighbouring pixels.
@inline(__always)
private func pair(_ at: UnsafeRawPointer) -> SIMD8<Int16> {
    SIMD8<Int16>(truncatingIfNeeded: unsafe at.loadUnaligned(as: SIMD8<UInt8>.self))
}
