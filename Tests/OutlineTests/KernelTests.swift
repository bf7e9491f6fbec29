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
