/// Lays a tile a little beside the place that it was drawn for, turned and sized by next to nothing. Cubic, so that it
/// stays as sharp as it was drawn: bilinear sampling takes a quarter of a fur's contrast, and as the place moves through
/// pixels it comes and goes. Allocates nothing.
///
/// Eight pixels of a row share one place between the source's pixels, and its weights, which puts them beside their own by
/// as much as `warpError` says.
/// - Parameters:
///   - layer: whose outer `warpBorder` columns and rows are transparent, or lie outside of the frame after the move.
///   - map: from the frame's pixels that the tile was drawn for to those of this one; `canComposite` it.
///   - paint: how it is laid.
///   - error: pixels by which none may lie further from its own place; with more than a sixteenth eight pixels are seen to
///     belong together, unless what they show moves fast.
public func compositeLayer(
    _ layer: borrowing LayerBuffer, moved map: Affine, _ paint: Paint, within error: Float = 1 / 16,
    onto frame: inout Frame
) {
    let (region, layout, rowWords) = (layer.region, frame.layout, layer.stride)
    guard let back = map.inverse, canComposite(map, within: error), !region.isEmpty, paint.opacity > 0 else { return }
    let (words, isNear) = (layer.readPixels, layer.nearArt)
    // The rows and columns that the corners span.
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
        unsafe words.withUnsafeBufferPointer { words in
            unsafe isNear.withUnsafeBufferPointer { isNear in
                guard let target = target.baseAddress, let words = words.baseAddress, let isNear = isNear.baseAddress
                else { return }
                let art = unsafe SampledArt(
                    words, width: region.width, height: region.height, stride: rowWords, isNearArt: isNear, .moved)
                let sampler = BicubicSampler(
                    art: art, stepU: BicubicSampler.fixed(back.a * 8), stepV: BicubicSampler.fixed(back.c * 8),
                    gain: UInt32((min(paint.opacity, 1) * 256).rounded()))
                // In the middle of eight pixels from the left on, and from there back to the first.
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
                        let place = RunPlace(x: x, y: y, count: min(runLength, layout.width - x))
                        unsafe blender.blend(
                            upper, rows == 2 && y + 1 < layout.height ? lower : nil, onto: target, layout, at: place)
                    }
                }
            }
        }
    }
}

/// Columns and rows at a tile's edges that `compositeLayer` with a map takes nothing from.
public let warpBorder = 12

/// Whether a map turns and sizes by little enough for `compositeLayer`.
public func canComposite(_ map: Affine, within error: Float = 1 / 16) -> Bool { warpError(map) <= error }

/// Pixels by which `compositeLayer` puts none further from its own place.
public func warpError(_ map: Affine) -> Float {
    // Half of eight pixels.
    4 * max(max(abs(map.a - 1), abs(map.b)), max(abs(map.c), abs(map.d - 1)))
}

extension ArtBlocks {
    /// Eight pixels and their neighbours reach no further than from the middle's block to the next.
    static let moved = ArtBlocks(shift: 3)
}

/// Takes runs of the frame's pixels from a tile's.
@safe private struct BicubicSampler {
    let art: SampledArt
    /// From eight pixels to the next ones.
    let stepU: Int
    let stepV: Int
    let gain: UInt32

    /// Fixed point with so many bits behind the point, of which six weigh.
    private static let fraction = 22
    private static let weightShift = fraction - 6

    static func fixed(_ pixels: Float) -> Int { Int(pixels * Float(1 << fraction)) }

    /// - Parameters:
    ///   - u: the first pixel's place in the tile.
    /// - Returns: false where all of the run is transparent.
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
        // To the nearest weight.
        let (u, v) = (
            (u &+ 1 << (Self.weightShift - 1)) >> Self.weightShift,
            (v &+ 1 << (Self.weightShift - 1)) >> Self.weightShift
        )
        let (column, row) = (u >> 6, v >> 6)
        // One tap before the first pixel and two after the last; above and below likewise. What is left out lies on the
        // border.
        guard column >= 1, row >= 1, column &+ 11 <= art.stride, row &+ 2 < art.height, column &+ 4 < art.width
        else { return false }
        let shift = ArtBlocks.moved.shift
        guard art.isNearArt(column: (column &+ 4) >> shift, row: row >> shift) else { return false }
        let place = unsafe UnsafeRawPointer(art.pixels + (row &* art.stride &+ column))
        let (fu, fv) = (u & 63, v & 63)
        unsafe withUnsafeMutableBytes(of: &run) { bytes in
            guard let base = bytes.baseAddress else { return }
            let target = unsafe base + half * 32
            if fu | fv == 0 {
                unsafe target.copyMemory(from: place, byteCount: 32)
            } else {
                unsafe mix(place, art.stride &* 4, Taps(fu), Taps(fv), target)
            }
        }
        return true
    }
}

/// The weights of four neighbours, in 64ths: Catmull and Rom's cubic.
private struct Taps {
    let (first, second, third, fourth): (Int16, Int16, Int16, Int16)

    /// - Parameter place: behind the second, 0..<64.
    @inline(__always)
    init(_ place: Int) {
        let taps = Taps.table[place]
        (first, second, third, fourth) = (taps.x, taps.y, taps.z, taps.w)
    }

    private static let table: [64 of SIMD4<Int16>] = InlineArray { i in
        let t = Float(i) / 64
        let first = (((0 - t) + 2) * t - 1) * t * 32
        let third = ((-3 * t + 4) * t + 1) * t * 32
        let fourth = (t - 1) * t * t * 32
        let (a, c, d) = (Int16(first.rounded()), Int16(third.rounded()), Int16(fourth.rounded()))
        return SIMD4(a, 64 - a - c - d, c, d)
    }
}

/// Mixes eight pixels from their neighbours: from above to below, then from left to right.
/// - Parameters:
///   - source: the first pixel's, or where it would be; rows are `stride` bytes apart.
///   - target: 32 bytes.
@inline(never)
private func mix(
    _ source: UnsafeRawPointer, _ stride: Int, _ across: Taps, _ down: Taps, _ target: UnsafeMutableRawPointer
) {
    // Twelve pixels, the first one before the source's.
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
            // What a cubic throws over is cut off: no channel is less than none, or more than its alpha.
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

/// By the sign of the difference, which takes two thirds of the instructions that lanes one by one do here.
@inline(__always)
private func laneMin(_ a: SIMD8<Int16>, _ b: SIMD8<Int16>) -> SIMD8<Int16> {
    let difference = b &- a
    return a &+ (difference & (difference &>> 15))
}

/// Two pixels' channels.
@inline(__always)
private func pair(_ at: UnsafeRawPointer) -> SIMD8<Int16> {
    SIMD8<Int16>(truncatingIfNeeded: unsafe at.loadUnaligned(as: SIMD8<UInt8>.self))
}
