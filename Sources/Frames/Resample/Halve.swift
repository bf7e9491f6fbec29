/// Scales a planar picture to half its width and height, rounded up: each sample is the mean of four. Allocates
/// nothing.
/// - Precondition: both frames must be I420 with the same range, and the target must have half the size.
public func halve(_ source: borrowing Frame, into frame: inout Frame) {
    let (from, to) = (source.layout, frame.layout)
    precondition(
        from.format == .i420 && to.format == .i420 && from.range == to.range,
        "both frames must be I420 with the same range")
    precondition(
        to.width == (from.width + 1) / 2 && to.height == (from.height + 1) / 2, "the target must have half the size")
    let input = source.bytes
    var output = frame.mutableBytes
    for (a, b) in zip(from.planes, to.planes) {
        for row in 0..<b.rows {
            let first = a.offset + 2 * row * a.stride
            let top = input.extracting(first..<first + a.rowBytes)
            let second = a.offset + min(2 * row + 1, a.rows - 1) * a.stride
            let bottom = input.extracting(second..<second + a.rowBytes)
            let start = b.offset + row * b.stride
            for x in 0..<a.rowBytes / 2 {
                // Unchecked: 2 x + 1 is within the rows extracted above.
                let left = unsafe UInt16(top[unchecked: 2 * x]) + UInt16(bottom[unchecked: 2 * x])
                let right = unsafe UInt16(top[unchecked: 2 * x + 1]) + UInt16(bottom[unchecked: 2 * x + 1])
                output[start + x] = UInt8(truncatingIfNeeded: (left + right + 2) >> 2)
            }
            if a.rowBytes & 1 == 1 {
                let last = a.rowBytes - 1
                output[start + b.rowBytes - 1] = UInt8((UInt16(top[last]) + UInt16(bottom[last]) + 1) >> 1)
            }
        }
    }
}

/// Scales a packed picture to an I420 frame of half its width and height in one pass. Luma is the mean of four samples,
/// chroma the mean of the four nearest to its position. Allocates nothing.
/// - Precondition: the picture is YUYV or UYVY, the frame I420 of the same range and half as large, rounded up.
public func halve(packed view: borrowing FrameView, into frame: inout Frame) {
    let (from, to) = (view.layout, frame.layout)
    precondition(from.format.isPacked, "the source must be packed")
    precondition(to.format == .i420 && from.range == to.range, "the target must be I420 with the same range")
    precondition(
        to.width == (from.width + 1) / 2 && to.height == (from.height + 1) / 2, "the target must have half the size")
    let plane = from.planes[0]
    let isLumaFirst = from.format == .yuyv
    var target = frame.mutableBytes
    // The only bounds check: everything below stays within the bytes of the layouts.
    precondition(view.bytes.count >= from.byteCount && target.count >= to.byteCount, "too few bytes for the layouts")
    unsafe view.bytes.withUnsafeBufferPointer { source in
        unsafe target.withUnsafeMutableBufferPointer { target in
            guard let source = source.baseAddress, let target = target.baseAddress else { return }
            let first = unsafe source + plane.offset
            for y in 0..<to.height {
                let top = unsafe first + 2 * y * plane.stride
                let bottom = unsafe first + min(2 * y + 1, from.height - 1) * plane.stride
                let out = unsafe target + to.planes[0].offset + y * to.planes[0].stride
                // Separate calls, so that the shift is a constant in each loop.
                if isLumaFirst {
                    unsafe halveLuma(top, bottom, from.width, dropping: 0, into: out)
                } else {
                    unsafe halveLuma(top, bottom, from.width, dropping: 8, into: out)
                }
            }
            let chroma = to.planes[1]
            for y in 0..<chroma.rows {
                let top = unsafe first + min(4 * y + 1, from.height - 1) * plane.stride
                let bottom = unsafe first + min(4 * y + 2, from.height - 1) * plane.stride
                let u = unsafe target + chroma.offset + y * chroma.stride
                let v = unsafe target + to.planes[2].offset + y * to.planes[2].stride
                if isLumaFirst {
                    unsafe halveChroma(top, bottom, to.width, dropping: 8, into: u, v)
                } else {
                    unsafe halveChroma(top, bottom, to.width, dropping: 0, into: u, v)
                }
            }
        }
    }
}

// Both functions work on whole words, which the compiler vectorizes; x86-64 and ARM64 are both little-endian. A pair of
// pixels is a 32-bit word, of which every other byte is needed: a shift by 0 or 8 bits and a mask select them.

@unsafe @inline(__always) private func pair(_ row: UnsafeRawPointer, _ x: Int, dropping bits: UInt32) -> UInt32 {
    unsafe row.loadUnaligned(fromByteOffset: 4 * x, as: UInt32.self) &>> bits & 0x00ff_00ff
}

/// - Parameter width: the width of the rows, pixels.
@unsafe @inline(__always) private func halveLuma(
    _ top: UnsafePointer<UInt8>, _ bottom: UnsafePointer<UInt8>, _ width: Int, dropping bits: UInt32,
    into out: UnsafeMutablePointer<UInt8>
) {
    for x in 0..<width / 2 {
        let sums = unsafe pair(top, x, dropping: bits) &+ pair(bottom, x, dropping: bits)
        unsafe out[x] = UInt8(truncatingIfNeeded: (sums &+ sums >> 16 &+ 2) >> 2)
    }
    guard width & 1 == 1 else { return }
    let x = width / 2
    unsafe out[x] = UInt8(
        truncatingIfNeeded: (pair(top, x, dropping: bits) &+ pair(bottom, x, dropping: bits) &+ 1) >> 1)
}

/// - Parameter columns: the width of the halved luma; two columns share a chroma sample.
@unsafe @inline(__always) private func halveChroma(
    _ top: UnsafePointer<UInt8>, _ bottom: UnsafePointer<UInt8>, _ columns: Int, dropping bits: UInt32,
    into u: UnsafeMutablePointer<UInt8>, _ v: UnsafeMutablePointer<UInt8>
) {
    let (top, bottom) = unsafe (UnsafeRawPointer(top), UnsafeRawPointer(bottom))
    let (u, v) = (UnsafeMutableRawPointer(u), UnsafeMutableRawPointer(v))
    var x = 0
    // Eight samples each of U and V from 64 bytes of both rows.
    let (shift, mask) = (SIMD8<UInt64>(repeating: UInt64(bits)), SIMD8<UInt64>(repeating: 0x00ff_00ff_00ff_00ff))
    while x + 8 <= columns / 2 {
        let above = unsafe top.loadUnaligned(fromByteOffset: 8 * x, as: SIMD8<UInt64>.self) &>> shift & mask
        let below = unsafe bottom.loadUnaligned(fromByteOffset: 8 * x, as: SIMD8<UInt64>.self) &>> shift & mask
        let sums = above &+ below
        let both = SIMD8<UInt32>(truncatingIfNeeded: sums &+ sums &>> SIMD8<UInt64>(repeating: 32))
        let means = (both &+ 0x0002_0002) &>> SIMD8<UInt32>(repeating: 2)
        let second = means &>> SIMD8<UInt32>(repeating: 16)
        unsafe u.storeBytes(of: SIMD8<UInt8>(truncatingIfNeeded: means), toByteOffset: x, as: SIMD8<UInt8>.self)
        unsafe v.storeBytes(of: SIMD8<UInt8>(truncatingIfNeeded: second), toByteOffset: x, as: SIMD8<UInt8>.self)
        x += 8
    }
    while x < (columns + 1) / 2 {
        let left = unsafe pair(top, 2 * x, dropping: bits) &+ pair(bottom, 2 * x, dropping: bits)
        // The last of an odd number of columns has no second pair.
        let right =
            unsafe 2 * x + 1 < columns
            ? pair(top, 2 * x + 1, dropping: bits) &+ pair(bottom, 2 * x + 1, dropping: bits) : left
        let means = (left &+ right &+ 0x0002_0002) >> 2
        unsafe u.storeBytes(of: UInt8(truncatingIfNeeded: means), toByteOffset: x, as: UInt8.self)
        unsafe v.storeBytes(of: UInt8(truncatingIfNeeded: means >> 16), toByteOffset: x, as: UInt8.self)
        x += 1
    }
}
