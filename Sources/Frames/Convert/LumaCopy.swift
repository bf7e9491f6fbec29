extension LumaView {
    /// Copies the luma row by row, without gaps. Allocates nothing.
    /// - Precondition: there is room for `width * height` samples.
    public func copy(into target: inout MutableSpan<UInt8>) {
        precondition(target.count >= width * height, "too little room for the luma")
        unsafe samples.withUnsafeBufferPointer { source in
            unsafe target.withUnsafeMutableBufferPointer { target in
                guard let source = source.baseAddress, let target = target.baseAddress else { return }
                for y in 0..<height {
                    let (from, to) = unsafe (source + y * rowStride, target + y * width)
                    if pixelStride == 1 {
                        unsafe to.update(from: from, count: width)
                    } else if pixelStride == 2 {
                        for x in 0..<width { unsafe to[x] = from[2 &* x] }
                    } else {
                        for x in 0..<width { unsafe to[x] = from[pixelStride &* x] }
                    }
                }
            }
        }
    }
}
