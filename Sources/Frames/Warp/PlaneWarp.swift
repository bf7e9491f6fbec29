import SystemKit

/// Draws a picture over a frame, moved by an affine map, with bilinear sampling. Pixels outside the picture are left
/// unchanged. Allocates nothing.
/// - Parameter map: from the frame's pixels to the picture's. Nothing is drawn if it is not finite.
/// - Precondition: both are gray or planar, with as many planes and the same range.
public func warp(_ picture: borrowing Frame, by map: Affine, onto frame: inout Frame) {
    let (from, to) = (picture.layout, frame.layout)
    precondition(from.planes.count == to.planes.count && from.range == to.range, "both need the same planes and range")
    var target = frame.mutableBytes
    unsafe picture.bytes.withUnsafeBufferPointer { source in
        unsafe target.withUnsafeMutableBufferPointer { target in
            guard let source = source.baseAddress, let target = target.baseAddress else { return }
            for (i, (a, b)) in zip(from.planes, to.planes).enumerated() {
                let fine = i == 0 ? (x: 0, y: 0) : from.format.chromaShift
                let coarse = i == 0 ? (x: 0, y: 0) : to.format.chromaShift
                guard let back = pixels(ofSamples: fine).inverse else { continue }
                let map = back.after(map).after(pixels(ofSamples: coarse))
                unsafe warp(source + a.offset, a, by: map, into: target + b.offset, b)
            }
        }
    }
}

/// The map from samples to pixels. A chroma sample is at the centre of its pixels.
private func pixels(ofSamples shift: (x: Int, y: Int)) -> Affine {
    let (x, y) = (Float(1 << shift.x), Float(1 << shift.y))
    return Affine(a: x, b: 0, c: 0, d: y, tx: (x - 1) / 2, ty: (y - 1) / 2)
}

private func warp(
    _ source: UnsafePointer<UInt8>, _ from: FrameLayout.Plane, by map: Affine,
    into target: UnsafeMutablePointer<UInt8>, _ to: FrameLayout.Plane
) {
    let one: Float = 65536
    // Beyond this, positions could overflow; no picture is that large. False for NaN.
    func isSmall(_ value: Float) -> Bool { abs(value) < 4_000_000 }
    guard isSmall(map.a), isSmall(map.b), isSmall(map.c), isSmall(map.d), isSmall(map.tx), isSmall(map.ty) else {
        return
    }
    let right = (x: Int((map.a * one).rounded()), y: Int((map.c * one).rounded()))
    // The last position that has neighbours to its right and below.
    let last = (x: (from.rowBytes - 1) << 16 - 1, y: (from.rows - 1) << 16 - 1)
    for row in 0..<to.rows {
        let start = map(Point(0, Float(row)))
        var (x, y) = (Int((start.x * one).rounded()), Int((start.y * one).rounded()))
        let columns = steps(from: x, by: right.x, upTo: last.x).clamped(to: 0..<to.rowBytes)
            .clamped(to: steps(from: y, by: right.y, upTo: last.y))
        let out = unsafe target + row * to.stride
        x += columns.lowerBound * right.x
        y += columns.lowerBound * right.y
        var column = columns.lowerBound
        while column < columns.upperBound {
            // The positions of a last group of fewer than four are those of its first pixel.
            let isWhole = column + 4 <= columns.upperBound
            let four = unsafe FourSamples(source, from.stride, &x, &y, isWhole ? right : (0, 0))
            if isWhole {
                unsafe UnsafeMutableRawPointer(out + column).storeBytes(
                    of: SIMD4<UInt8>(truncatingIfNeeded: four.values), as: SIMD4<UInt8>.self)
                column += 4
            } else {
                unsafe out[column] = UInt8(truncatingIfNeeded: four.values[0])
                x += right.x
                y += right.y
                column += 1
            }
        }
    }
}

/// The steps after which a position is from 0 to `last`.
private func steps(from start: Int, by step: Int, upTo last: Int) -> Range<Int> {
    guard last >= 0 else { return 0..<0 }
    guard step != 0 else { return start >= 0 && start <= last ? 0..<Int.max : 0..<0 }
    // Mirrored if it moves to the left.
    let (start, step) = step > 0 ? (start, step) : (last - start, -step)
    guard start <= last else { return 0..<0 }
    let first = start >= 0 ? 0 : (step - 1 - start) / step
    return first..<max(first, (last - start) / step + 1)
}
