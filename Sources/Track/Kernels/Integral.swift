import CCascade
import Frames
import SystemKit

/// The integral images of one level of an image pyramid, from which the features of a cascade are summed.
///
/// Memory is allocated once and refilled for every level. Entry (x, y) of the sum is the sum of all samples left of
/// column x and above row y, so each plane is one column and one row larger than the level. Entry (x, y) of the tilted
/// sum covers the triangle whose lowest corner is the sample (x - 1, y - 1) and whose sides rise at 45 degrees
/// (Lienhart and Maydt, 2002). All sums wrap at 32 bits; differences of them are still correct.
@safe package struct Integral: ~Copyable {
    /// The planes that a cascade needs.
    package enum Planes: Int, Sendable {
        /// LBP: the sum only.
        case sum = 1
        /// Haar: the sum, and the squares for the contrast of a window.
        case squares = 2
        /// Haar with features rotated by 45 degrees: the tilted sum too.
        case tilted = 3
    }

    package let planes: Planes
    /// The size of the largest level, in samples.
    package let maxWidth: Int
    package let maxHeight: Int
    /// Entries from one row to the next, the same for every level, so that a cascade's offsets are computed once.
    package let stride: Int
    /// Entries from one plane to the next.
    package let planeSize: Int
    /// Where a row's odd columns begin: they are stored after its even ones, so that eight windows two columns apart
    /// are contiguous. 0: columns are in their natural order.
    package let odd: Int
    /// The size of the level that was filled last, in samples.
    package private(set) var width = 0
    package private(set) var height = 0

    let entries: UnsafeMutablePointer<Int32>
    /// The columns of the picture from which each column of the level is interpolated.
    private let starts: UnsafeMutablePointer<Int32>
    private let weights: UnsafeMutablePointer<UInt32>
    private let mixed: UnsafeMutableBufferPointer<Int16>
    /// Two rows of the level.
    private let pixels: UnsafeMutablePointer<UInt8>
    /// Adds a row in groups on processors with AVX2; nil on others.
    private let addPairs: ccascade_add_pairs?
    private let mayBeWide: Bool

    /// Groups of windows are loaded together, so some entries beyond the last one are read and ignored.
    private static let overrun = 64

    /// The position of a level's column or row in its picture: two samples, and the second one's weight in 256ths.
    private struct LinearTap {
        var first: Int32
        var second: Int32
        var weight: Int32

        init(_ index: Int, scale: Double, limit: Int) {
            let at = scale * (Double(index) + 0.5) - 0.5
            let whole = at.rounded(.down)
            let inside = whole >= 0 && Int(whole) < limit - 1
            first = Int32(max(0, min(Int(whole), limit - 1)))
            second = inside ? first + 1 : first
            weight = inside ? Int32(((at - whole) * 256).rounded(.toNearestOrEven)) : 0
        }
    }

    /// Allocates memory for the largest level.
    /// - Parameters:
    ///   - maxWidth: the largest width of a level, samples, at least 1.
    ///   - maxHeight: the largest height of a level, samples, at least 1.
    ///   - isSplit: whether rows store their even columns first, for cascades that only evaluate windows at even
    ///     columns.
    ///   - mayBeWide: whether to use AVX2 if the processor has it; the results are the same.
    package init(maxWidth: Int, maxHeight: Int, planes: Planes, isSplit: Bool = false, mayBeWide: Bool = true) {
        precondition(!isSplit || planes != .tilted, "tilted sums cannot be split")
        precondition(
            maxWidth > 0 && maxHeight > 0 && maxWidth < 1 << 14 && maxHeight < 1 << 14,
            "the size must be positive and below 16384")
        (self.maxWidth, self.maxHeight, self.planes) = (maxWidth, maxHeight, planes)
        odd = isSplit ? maxWidth / 2 + 1 : 0
        stride = isSplit ? 2 * odd : maxWidth + 1
        planeSize = stride * (maxHeight + 1)
        let count = planeSize * planes.rawValue + Self.overrun
        unsafe entries = .allocate(capacity: count)
        unsafe entries.initialize(repeating: 0, count: count)
        let columns = (maxWidth + 7) / 8 * 8
        unsafe starts = .allocate(capacity: columns)
        unsafe starts.initialize(repeating: 0, count: columns)
        unsafe weights = .allocate(capacity: columns)
        unsafe weights.initialize(repeating: 0, count: columns)
        // Levels are seldom reduced to less than half: others are interpolated without it.
        unsafe mixed = .allocate(capacity: maxWidth * 2 + 2)
        unsafe mixed.initialize(repeating: 0)
        unsafe pixels = .allocate(capacity: maxWidth * 2)
        unsafe pixels.initialize(repeating: 0, count: maxWidth * 2)
        self.mayBeWide = mayBeWide
        unsafe addPairs = mayBeWide && isSplit ? ccascade_adder() : nil
    }

    deinit {
        unsafe entries.deallocate()
        unsafe starts.deallocate()
        unsafe weights.deallocate()
        unsafe mixed.deallocate()
        unsafe pixels.deallocate()
    }

    /// Fills the integrals from part of a picture that is scaled to a level of `levelWidth` x `levelHeight` samples.
    ///
    /// Scales bilinearly in fixed point with weights in 256ths, bit-exact with OpenCV's cascades (INTER_LINEAR_EXACT).
    /// - Parameter part: the part of the level to fill, in level samples; it becomes the whole of this integral.
    /// - Returns: false if the part is empty, exceeds the level or is larger than this integral can hold.
    package mutating func fill(
        from picture: borrowing LumaView, levelWidth: Int, levelHeight: Int, part: PixelRect
    ) -> Bool {
        guard part.width > 0, part.height > 0, part.width <= maxWidth, part.height <= maxHeight,
            part.x >= 0, part.y >= 0, part.x + part.width <= levelWidth, part.y + part.height <= levelHeight
        else { return false }
        (width, height) = (part.width, part.height)
        clearEdges()
        let same = levelWidth == picture.width && levelHeight == picture.height
        if !same || picture.pixelStride != 1 { placeColumns(of: part, in: levelWidth, from: picture.width) }
        let scaleY = 1 / (Double(levelHeight) / Double(picture.height))
        let (rowStride, pixelStride) = (picture.rowStride, picture.pixelStride)
        unsafe picture.samples.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            let taps = unsafe RowTaps(count: part.width, starts: starts, weights: weights)
            var above = unsafe UnsafePointer(pixels)
            for y in 0..<part.height {
                var line = unsafe UnsafePointer(pixels + (y & 1) * maxWidth)
                if same && pixelStride == 1 {
                    unsafe line = base + (part.y + y) * rowStride + part.x
                } else {
                    let tap = LinearTap(part.y + y, scale: scaleY, limit: picture.height)
                    let rows = unsafe RowPair(
                        base + Int(tap.first) * rowStride, base + Int(tap.second) * rowStride,
                        pixelStride: pixelStride, lowerWeight: tap.weight)
                    unsafe interpolateRow(rows, taps, mixed: mayBeWide ? mixed : nil, into: pixels + (y & 1) * maxWidth)
                }
                unsafe add(row: y, line, above: above)
                unsafe above = line
            }
        }
        return true
    }

    /// One entry of a plane (0: sums, 1: squares, 2: tilted); nil outside the filled part.
    package func entry(plane: Int, x: Int, y: Int) -> Int? {
        guard plane >= 0, plane < planes.rawValue, x >= 0, y >= 0, x <= width, y <= height else { return nil }
        return unsafe Int(entries[plane * planeSize + y * stride + columnIndex(x)])
    }

    /// The index of a column in its row.
    @inline(__always)
    private func columnIndex(_ x: Int) -> Int { odd == 0 ? x : x >> 1 + (x & 1) * odd }

    /// Clears the first row and column of every plane, the empty sums; a level of another width overwrites them.
    private func clearEdges() {
        for plane in 0..<planes.rawValue {
            let first = unsafe entries + plane * planeSize
            for x in 0...width { unsafe first[columnIndex(x)] = 0 }
            for y in 1...height { unsafe first[y * stride] = 0 }
        }
    }

    private func placeColumns(of part: PixelRect, in levelWidth: Int, from pictureWidth: Int) {
        let scale = 1 / (Double(levelWidth) / Double(pictureWidth))
        for x in 0..<(part.width + 7) / 8 * 8 {
            // Beyond the part its last column is repeated.
            let tap = LinearTap(part.x + min(x, part.width - 1), scale: scale, limit: pictureWidth)
            unsafe starts[x] = tap.first
            unsafe weights[x] = rowWeights(right: tap.weight)
        }
    }

    /// Adds a row to an integral whose even columns are stored first.
    private func addSplit(row y: Int, _ line: UnsafePointer<UInt8>) {
        let even = unsafe entries + (y + 1) * stride
        let odd = unsafe even + self.odd
        let (above, planeSize, hasSquares) = (-stride, planeSize, planes == .squares)
        var (sum, square): (Int32, Int32) = (0, 0)
        @inline(__always) func setEntry(_ x: Int, at entry: UnsafeMutablePointer<Int32>) {
            let value = unsafe Int32(line[x])
            sum &+= value
            square &+= value &* value
            unsafe entry[0] = entry[above] &+ sum
            if hasSquares { unsafe entry[planeSize] = entry[planeSize &+ above] &+ square }
        }
        // A sample's column is one higher than its index: the first column is the empty sum.
        var first = 0
        if let addPairs = unsafe addPairs {
            let out = unsafe ccascade_rows(even: even + 1, odd: odd, above: above, squares: hasSquares ? planeSize : 0)
            var sums = ccascade_sums(sum: 0, square: 0)
            first = unsafe Int(addPairs(line, Int32(width / 2), out, &sums))
            (sum, square) = (sums.sum, sums.square)
        }
        for pair in first..<width / 2 {
            unsafe setEntry(2 &* pair, at: odd + pair)
            unsafe setEntry(2 &* pair &+ 1, at: even + pair + 1)
        }
        if width & 1 != 0 { unsafe setEntry(width - 1, at: odd + width / 2) }
    }

    private func add(row y: Int, _ line: UnsafePointer<UInt8>, above: UnsafePointer<UInt8>) {
        guard odd == 0 else { return unsafe addSplit(row: y, line) }
        let out = unsafe entries + (y + 1) * stride + 1
        let upper = unsafe out - stride
        var sum: Int32 = 0
        guard planes != .sum else {
            for x in 0..<width {
                unsafe sum &+= Int32(line[x])
                unsafe out[x] = upper[x] &+ sum
            }
            return
        }
        var square: Int32 = 0
        for x in 0..<width {
            let value = unsafe Int32(line[x])
            sum &+= value
            square &+= value &* value
            unsafe out[x] = upper[x] &+ sum
            unsafe out[x + planeSize] = upper[x + planeSize] &+ square
        }
        if planes == .tilted { unsafe tilt(row: y, line, above: above) }
    }

    /// Adds a row to the tilted sum: T(x, y) = T(x-1, y-1) + T(x+1, y-1) - T(x, y-2) + I(x-1, y-1) + I(x-1, y-2),
    /// reduced accordingly at the left and right edges.
    private func tilt(row y: Int, _ line: UnsafePointer<UInt8>, above: UnsafePointer<UInt8>) {
        let out = unsafe entries + 2 * planeSize + (y + 1) * stride
        let upper = unsafe out - stride
        guard y > 0 else {
            for x in 1...width { unsafe out[x] = Int32(line[x - 1]) }
            return
        }
        let second = unsafe upper - stride
        unsafe out[0] = upper[1]
        for x in 1..<width {
            let pair = unsafe Int32(line[x - 1]) &+ Int32(above[x - 1])
            unsafe out[x] = upper[x - 1] &+ upper[x + 1] &- second[x] &+ pair
        }
        unsafe out[width] = upper[width - 1] &+ Int32(line[width - 1]) &+ Int32(above[width - 1])
    }
}
