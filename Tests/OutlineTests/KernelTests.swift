import COutline
import Testing

/// The kernels that have more than one path, with and without AVX2.
@Suite struct KernelTests {
    /// Whether the kernels for AVX2 are used: never, or both if this processor has it.
    static let widths: [CInt] = coutline_is_wide() != 0 ? [0, 1] : [0]

    @Test(arguments: widths, [1, 7, 8, 16, 21, 40])
    func `packed backgrounds are mixed and laid behind people as sample by sample`(isWide: CInt, pairs: Int) {
        var generator = SeededGenerator(UInt32(pairs))
        func random(_ count: Int, upTo limit: UInt32) -> [Int] {
            (0..<count).map { _ in Int(generator.next() % (limit + 1)) }
        }
        let rows = (0..<6).map { _ in random(2 * pairs + 64, upTo: 255 << coutline_fraction) }
        let (matte, before) = (random(2 * pairs + 64, upTo: 255), random(4 * pairs + 64, upTo: 255))
        let weight = Int(Float(0.3) * 32767)
        func mixed(_ plane: Int, _ i: Int) -> Int {
            let (a, b) = (rows[2 * plane][i], rows[2 * plane + 1][i])
            return (a + (2 * (b - a) * weight) >> 16 + 1 << (coutline_fraction - 1)) >> coutline_fraction
        }
        for isLumaFirst in [true, false] {
            for isLaid in [true, false] {
                var wanted = before
                func lay(_ i: Int, _ back: Int, _ matte: Int) {
                    let sum = wanted[i] * matte + back * (255 - matte) + 128
                    wanted[i] = isLaid ? (sum + sum >> 8) >> 8 : back
                }
                for i in 0..<pairs {
                    let (luma, chroma) = (4 * i + (isLumaFirst ? 0 : 1), 4 * i + (isLumaFirst ? 1 : 0))
                    lay(luma, mixed(0, 2 * i), matte[2 * i])
                    lay(luma + 2, mixed(0, 2 * i + 1), matte[2 * i + 1])
                    let shared = (matte[2 * i] + matte[2 * i + 1] + 1) / 2
                    lay(chroma, mixed(1, i), shared)
                    lay(chroma + 2, mixed(2, i), shared)
                }
                let made = mixPacked(
                    isWide, rows.map { $0.map(Int16.init) }, isLaid ? matte.map(UInt8.init) : nil, pairs, isLumaFirst,
                    onto: before.map(UInt8.init))
                #expect(made.map(Int.init) == wanted, "luma first: \(isLumaFirst), laid: \(isLaid)")
            }
        }
    }

    @Test(arguments: widths) func `cells are summed by squares, and by discs with parts of cells at their ends`(
        isWide: CInt
    ) {
        var generator = SeededGenerator(4)
        let (width, height, reach) = (64, 10, 3)
        let (cells, factors) = (generator.numbers(width * height), generator.numbers(width * height))
        let (spans, parts): ([Int32], [Float]) = ([0, 1, 2, 1, 0], [0.25, 0.5, 0, 0.75, 0])
        var (pooled, plain) = ([Float](repeating: 0, count: width * height / 4), [Float]())
        var (sums, wholeSums) = ([Float](repeating: 0, count: width * height), [Float]())
        var scratch = [Float](repeating: 0, count: (height + 2 * reach + 1) * (width + spans.count - 1))
        let kernels = unsafe coutline_kernels(isWide)
        unsafe kernels.pointee.pool(cells, factors, CInt(width), CInt(height), &pooled)
        plain = pooled
        unsafe kernels.pointee.pool(cells, nil, CInt(width), CInt(height), &plain)
        unsafe kernels.pointee.disc(
            cells, CInt(width), CInt(height), CInt(spans.count / 2), spans, parts, CInt(reach), &sums, &scratch)
        wholeSums = sums
        unsafe kernels.pointee.disc(
            cells, CInt(width), CInt(height), CInt(spans.count / 2), spans, nil, CInt(reach), &wholeSums, &scratch)
        func cell(_ x: Int, _ y: Int) -> Float {
            cells[min(max(y, 0), height - 1) * width + min(max(x, 0), width - 1)]
        }
        var worst: Float = 0
        for y in 0..<height {
            for x in 0..<width {
                var (sum, wholeSum): (Float, Float) = (0, 0)
                for i in spans.indices {
                    let (column, span) = (x + i - spans.count / 2, Int(spans[i]))
                    for dy in -span...span { wholeSum += cell(column, y + dy) }
                    sum += parts[i] * (cell(column, y - span - 1) + cell(column, y + span + 1))
                }
                worst = max(worst, abs(sums[y * width + x] - (sum + wholeSum)))
                worst = max(worst, abs(wholeSums[y * width + x] - wholeSum))
            }
        }
        for y in 0..<height / 2 {
            for x in 0..<width / 2 {
                let places = [0, 1, width, width + 1].map { 2 * y * width + 2 * x + $0 }
                let i = y * (width / 2) + x
                worst = max(worst, abs(plain[i] - places.map { cells[$0] }.reduce(0, +)))
                worst = max(worst, abs(pooled[i] - places.map { cells[$0] * factors[$0] }.reduce(0, +)))
            }
        }
        #expect(worst < 1e-4)
    }

    private func mixPacked(
        _ isWide: CInt, _ rows: [[Int16]], _ matte: [UInt8]?, _ pairs: Int, _ isLumaFirst: Bool, onto before: [UInt8]
    ) -> [UInt8] {
        var out = before
        let length = rows[0].count
        unsafe rows.flatMap { $0 }.withUnsafeBufferPointer { rows in
            unsafe (matte ?? []).withUnsafeBufferPointer { coverage in
                unsafe out.withUnsafeMutableBufferPointer { out in
                    guard let base = rows.baseAddress, let to = out.baseAddress else { return }
                    func pair(_ plane: Int) -> coutline_rows {
                        unsafe coutline_rows(
                            upper: base + 2 * plane * length, lower: base + (2 * plane + 1) * length)
                    }
                    var (y, u, v) = unsafe (pair(0), pair(1), pair(2))
                    unsafe coutline_kernels(isWide).pointee.mix_packed(
                        &y, &u, &v, 0.3, matte == nil ? nil : coverage.baseAddress, CInt(pairs), isLumaFirst ? 1 : 0,
                        to)
                }
            }
        }
        return out
    }
}
