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
