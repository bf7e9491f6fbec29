import CScale

/// Where each sample of an output row lies in two input rows: between which two neighbours, and how close to each.
@unsafe package struct RowTaps {
    package let count: Int
    /// The left one of each output's two input samples, ascending; up to the next multiple of 8.
    package let starts: UnsafePointer<Int32>
    /// The weights of the left and right input sample in 256ths, 16 bits each, the left one's lowest; likewise. If the
    /// right one's is 0, there need be no such sample.
    package let weights: UnsafePointer<UInt32>

    package init(count: Int, starts: UnsafePointer<Int32>, weights: UnsafePointer<UInt32>) {
        unsafe (self.count, self.starts, self.weights) = (count, starts, weights)
    }

    /// The number of input samples from the first one that is needed to the last, and one more.
    package var span: Int { unsafe Int(starts[count - 1] - starts[0]) + 3 }
}

/// Both weights of an output sample, as `RowTaps.weights`, from that of its right input sample in 256ths.
package func rowWeights(right: Int32) -> UInt32 { UInt32(256 - right) | UInt32(right) << 16 }

/// Two input rows, and the weight of the lower one in 256ths.
@unsafe package struct RowPair {
    package let upper: UnsafePointer<UInt8>
    package let lower: UnsafePointer<UInt8>
    package let pixelStride: Int
    package let lowerWeight: Int32

    package init(
        _ upper: UnsafePointer<UInt8>, _ lower: UnsafePointer<UInt8>, pixelStride: Int = 1, lowerWeight: Int32
    ) {
        unsafe (self.upper, self.lower) = (upper, lower)
        unsafe (self.pixelStride, self.lowerWeight) = (pixelStride, lowerWeight)
    }
}

/// Interpolates a row bilinearly; exact but for the last rounding, so the order of the two axes makes no difference.
/// - Parameters:
///   - mixed: room for `RowTaps.span` samples; nil: no AVX2, with the same result.
@unsafe package func interpolateRow(
    _ rows: RowPair, _ taps: RowTaps, mixed: UnsafeMutableBufferPointer<Int16>?, into out: UnsafeMutablePointer<UInt8>
) {
    guard unsafe taps.count > 0 else { return }
    if let mixed = unsafe mixed, let scratch = mixed.baseAddress, unsafe taps.span <= mixed.count,
        unsafe rows.pixelStride == 1, let kernels = unsafe cscale_kernels()
    {
        var places = unsafe cscale_taps(count: Int32(taps.count), starts: taps.starts, weights: taps.weights)
        unsafe kernels.pointee.interpolate_row(rows.upper, rows.lower, rows.lowerWeight, &places, scratch, out)
        return
    }
    let (stride, lower) = unsafe (rows.pixelStride, UInt32(rows.lowerWeight))
    for x in 0..<(unsafe taps.count) {
        let weights = unsafe taps.weights[x]
        let left = unsafe Int(taps.starts[x]) &* stride
        let right = weights >> 16 == 0 ? left : left &+ stride
        let leftColumn = unsafe UInt32(rows.upper[left]) &* (256 &- lower) &+ UInt32(rows.lower[left]) &* lower
        let rightColumn = unsafe UInt32(rows.upper[right]) &* (256 &- lower) &+ UInt32(rows.lower[right]) &* lower
        let sum = leftColumn &* (weights & 0xffff) &+ rightColumn &* (weights &>> 16)
        unsafe out[x] = UInt8(truncatingIfNeeded: (sum &+ 32768) &>> 16)
    }
}
