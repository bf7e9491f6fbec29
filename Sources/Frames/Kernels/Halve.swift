/// Makes a planar picture half as wide and high, rounded up: each sample is the mean of four. Allocates nothing.
/// - Precondition: both are I420 of one range, and the frame is half as large.
public func halve(_ source: borrowing Frame, into frame: inout Frame) {
    let (from, to) = (source.layout, frame.layout)
    precondition(from.format == .i420 && to.format == .i420 && from.range == to.range, "both are I420 of one range")
    precondition(to.width == (from.width + 1) / 2 && to.height == (from.height + 1) / 2, "the frame is half as large")
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
                // Within the rows that were cut out above.
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

/// The same from a packed picture, without what would lie between: luma is the mean of four, chroma of the four that are
/// nearest to its place. Allocates nothing.
/// - Precondition: the picture is YUYV or UYVY, the frame I420 of the same range and half as large, rounded up.
public func halve(packed view: borrowing FrameView, into frame: inout Frame) {
    let (from, to) = (view.layout, frame.layout)
    precondition(from.format == .yuyv || from.format == .uyvy, "the picture is packed")
    precondition(to.format == .i420 && from.range == to.range, "the frame is I420 of the same range")
    precondition(to.width == (from.width + 1) / 2 && to.height == (from.height + 1) / 2, "the frame is half as large")
    let (plane, first) = (from.planes[0], from.format == .yuyv ? (y: 0, u: 1, v: 3) : (y: 1, u: 0, v: 2))
    var target = frame.mutableBytes
    // The one check of the whole: all that follows stays within the layouts' own bytes.
    precondition(view.bytes.count >= from.byteCount && target.count >= to.byteCount, "all bytes are there")
    unsafe view.bytes.withUnsafeBufferPointer { source in
        unsafe target.withUnsafeMutableBufferPointer { target in
            guard let source = source.baseAddress, let target = target.baseAddress else { return }
            for y in 0..<to.height {
                let top = unsafe source + plane.offset + 2 * y * plane.stride + first.y
                let bottom = unsafe source + plane.offset + min(2 * y + 1, from.height - 1) * plane.stride + first.y
                let out = unsafe target + to.planes[0].offset + y * to.planes[0].stride
                for x in 0..<from.width / 2 {
                    let left = unsafe UInt16(top[4 * x]) + UInt16(bottom[4 * x])
                    let right = unsafe UInt16(top[4 * x + 2]) + UInt16(bottom[4 * x + 2])
                    unsafe out[x] = UInt8(truncatingIfNeeded: (left + right + 2) >> 2)
                }
                if from.width & 1 == 1 {
                    let x = to.width - 1
                    unsafe out[x] = UInt8((UInt16(top[4 * x]) + UInt16(bottom[4 * x]) + 1) >> 1)
                }
            }
            // As many columns of chroma as the target has of luma.
            let (columns, chroma) = (to.width, to.planes[1])
            for y in 0..<chroma.rows {
                let top = unsafe source + plane.offset + min(4 * y + 1, from.height - 1) * plane.stride
                let bottom = unsafe source + plane.offset + min(4 * y + 2, from.height - 1) * plane.stride
                for (place, index) in [(first.u, 1), (first.v, 2)] {
                    let (a, b) = unsafe (top + place, bottom + place)
                    let out = unsafe target + to.planes[index].offset + y * to.planes[index].stride
                    for x in 0..<columns / 2 {
                        let left = unsafe UInt16(a[8 * x]) + UInt16(b[8 * x])
                        let right = unsafe UInt16(a[8 * x + 4]) + UInt16(b[8 * x + 4])
                        unsafe out[x] = UInt8(truncatingIfNeeded: (left + right + 2) >> 2)
                    }
                    if columns & 1 == 1 {
                        let x = columns / 2
                        unsafe out[x] = UInt8((UInt16(a[8 * x]) + UInt16(b[8 * x]) + 1) >> 1)
                    }
                }
            }
        }
    }
}
