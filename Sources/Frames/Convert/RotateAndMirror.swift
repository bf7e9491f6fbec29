/// Rotates a picture clockwise by quarter turns, then mirrors it horizontally. Allocates nothing.
/// - Parameter quarters: 0 to 3.
/// - Precondition: both are gray or planar, with planes of the same size once they are rotated.
public func rotateAndMirror(_ view: borrowing FrameView, into frame: inout Frame, quarters: Int, isMirrored: Bool) {
    let (from, to) = (view.layout, frame.layout)
    let isAcross = quarters & 1 == 1
    let rotation = PlaneRotation(
        isAcross: isAcross, isUpsideDown: quarters >= 2, isReversed: (quarters == 1 || quarters == 2) != isMirrored)
    var target = frame.mutableBytes
    precondition(view.bytes.count >= from.byteCount && target.count >= to.byteCount, "too few bytes for the layouts")
    precondition(from.planes.count == to.planes.count, "both must have the same planes")
    unsafe view.bytes.withUnsafeBufferPointer { source in
        unsafe target.withUnsafeMutableBufferPointer { target in
            guard let source = source.baseAddress, let target = target.baseAddress else { return }
            for (a, b) in zip(from.planes, to.planes) {
                precondition(
                    isAcross
                        ? a.rowBytes == b.rows && a.rows == b.rowBytes : a.rowBytes == b.rowBytes && a.rows == b.rows,
                    "the planes must have the same size")
                unsafe rotation.apply(source + a.offset, a.stride, into: target + b.offset, b)
            }
        }
    }
}

/// Rotates and mirrors an owned frame. Allocates nothing.
public func rotateAndMirror(_ source: borrowing Frame, into frame: inout Frame, quarters: Int, isMirrored: Bool) {
    rotateAndMirror(source.view, into: &frame, quarters: quarters, isMirrored: isMirrored)
}

/// A transposition if needed, then a horizontal flip, a vertical one, both or none.
private struct PlaneRotation {
    let isAcross: Bool
    let isUpsideDown: Bool
    let isReversed: Bool

    /// The side of a block: a vector of samples.
    private static let side = 16

    func apply(
        _ source: UnsafePointer<UInt8>, _ stride: Int, into target: UnsafeMutablePointer<UInt8>,
        _ plane: FrameLayout.Plane
    ) {
        let (width, height, side) = (plane.rowBytes, plane.rows, Self.side)
        for y in Swift.stride(from: 0, to: height, by: isAcross ? side : 1) {
            for x in Swift.stride(from: 0, to: width, by: side) {
                // Blocks at the end overlap those before.
                let (left, top) = (max(0, min(x, width - side)), max(0, min(y, height - (isAcross ? side : 1))))
                let out = unsafe target + top * plane.stride + left
                // The source's row and column for the first row and column of the block, and the steps from there.
                let (column, row) = (isReversed ? width - 1 - left : left, isUpsideDown ? height - 1 - top : top)
                if width < side || isAcross && height < side {
                    let down = (isUpsideDown ? -1 : 1) * (isAcross ? 1 : stride)
                    let right = (isReversed ? -1 : 1) * (isAcross ? stride : 1)
                    let first = unsafe source + (isAcross ? column * stride + row : row * stride + column)
                    for j in 0..<(isAcross ? min(side, height) : 1) {
                        for i in 0..<min(side, width) { unsafe out[j * plane.stride + i] = first[j * down + i * right] }
                    }
                } else if isAcross {
                    let first = unsafe source + (column * stride + (isUpsideDown ? row - side + 1 : row))
                    let last = unsafe isUpsideDown ? out + (side - 1) * plane.stride : out
                    unsafe transpose(
                        first, isReversed ? -stride : stride, into: last, isUpsideDown ? -plane.stride : plane.stride)
                } else {
                    let first = unsafe UnsafeRawPointer(
                        source + (row * stride + (isReversed ? column - side + 1 : column)))
                    let samples = unsafe first.loadUnaligned(as: SIMD16<UInt8>.self)
                    unsafe UnsafeMutableRawPointer(out).storeBytes(
                        of: isReversed ? reversed(samples) : samples, as: SIMD16<UInt8>.self)
                }
            }
        }
    }

    @inline(__always)
    private func reversed(_ a: SIMD16<UInt8>) -> SIMD16<UInt8> {
        SIMD16(
            a[15], a[14], a[13], a[12], a[11], a[10], a[9], a[8], a[7], a[6], a[5], a[4], a[3], a[2], a[1], a[0])
    }
}

/// Transposes a block of 16 x 16 samples: interleaves pairs of rows by samples, then fours of them by two samples, and
/// so on.
/// - Parameters:
///   - sourceStep: bytes from one row of the source to the next; may be negative.
@inline(never)
private func transpose(
    _ source: UnsafePointer<UInt8>, _ sourceStep: Int, into target: UnsafeMutablePointer<UInt8>, _ targetStep: Int
) {
    var (one, two) = ([16 of SIMD8<UInt16>](repeating: .zero), [16 of SIMD8<UInt16>](repeating: .zero))
    for i in 0..<8 {
        let row = unsafe UnsafeRawPointer(source + 2 &* i &* sourceStep)
        let (a, b) = unsafe zipped(
            row.loadUnaligned(as: SIMD16<UInt8>.self),
            row.loadUnaligned(fromByteOffset: sourceStep, as: SIMD16<UInt8>.self))
        unsafe (one[2 * i], one[2 * i + 1]) = (
            unsafeBitCast(a, to: SIMD8<UInt16>.self), unsafeBitCast(b, to: SIMD8<UInt16>.self)
        )
    }
    // Rows 4 i to 4 i + 3: columns 0 to 3, 4 to 7, 8 to 11 and 12 to 15.
    for i in 0..<4 {
        for half in 0..<2 {
            (two[4 * i + 2 * half], two[4 * i + 2 * half + 1]) = zipped(one[4 * i + half], one[4 * i + 2 + half])
        }
    }
    // Rows 8 i to 8 i + 7: two columns each.
    for i in 0..<2 {
        for k in 0..<4 {
            (one[8 * i + 2 * k], one[8 * i + 2 * k + 1]) = zippedPairs(two[8 * i + k], two[8 * i + 4 + k])
        }
    }
    for k in 0..<8 {
        let (a, b) = zippedHalves(one[k], one[8 + k])
        let row = unsafe UnsafeMutableRawPointer(target + 2 &* k &* targetStep)
        unsafe row.storeBytes(of: a, as: SIMD8<UInt16>.self)
        unsafe row.storeBytes(of: b, toByteOffset: targetStep, as: SIMD8<UInt16>.self)
    }
}
