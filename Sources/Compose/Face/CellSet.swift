/// A set of the cells of a `HeadGrid`: one bit each, so that whole rows are combined at once.
struct CellSet: Sendable {
    static let (columns, rows) = (44, 56)
    private var bits: [56 of UInt64] = .init(repeating: 0)
    private static let all = UInt64(1) << UInt64(columns) - 1

    init() {}

    /// The cells of a row: bit x is column x.
    subscript(row: Int) -> UInt64 {
        get { bits[row] }
        set { bits[row] = newValue & Self.all }
    }

    func contains(_ x: Int, _ y: Int) -> Bool { bits[y] >> UInt64(x) & 1 != 0 }

    mutating func insert(_ x: Int, _ y: Int) { bits[y] |= 1 << UInt64(x) }

    var isEmpty: Bool { !bits.indices.contains { bits[$0] != 0 } }

    var count: Int { bits.indices.reduce(0) { $0 + bits[$1].nonzeroBitCount } }

    /// Combines two sets row by row.
    func combined(_ other: CellSet, _ combine: (UInt64, UInt64) -> UInt64) -> CellSet {
        var result = CellSet()
        for y in bits.indices { result[y] = combine(bits[y], other.bits[y]) }
        return result
    }

    func union(_ other: CellSet) -> CellSet { combined(other, |) }

    func intersection(_ other: CellSet) -> CellSet { combined(other, &) }

    func subtracting(_ other: CellSet) -> CellSet { combined(other) { $0 & ~$1 } }

    /// The cells that are in the set or beside one of it, also diagonally.
    func dilated() -> CellSet {
        var result = CellSet()
        for y in bits.indices {
            let own = around(y)
            result[y] = own | (y > 0 ? around(y - 1) : 0) | (y + 1 < Self.rows ? around(y + 1) : 0)
        }
        return result
    }

    /// The cells whose neighbours are all in the set; the grid's edge counts as in it.
    func eroded() -> CellSet { inverted().dilated().inverted() }

    /// Without the parts that are narrower than three cells.
    func opened() -> CellSet { eroded().dilated() }

    /// With the gaps that are at most twice as wide as a reach, in cells.
    func closed(by reach: Int) -> CellSet {
        var result = self
        for _ in 0..<reach { result = result.dilated() }
        for _ in 0..<reach { result = result.eroded() }
        return result
    }

    /// The cells of another set that can be reached from this one, by sides alone, and this set.
    /// - Parameter steps: the most cells that are between.
    func grown(within other: CellSet, steps: Int = .max) -> CellSet {
        var reached = self
        var step = 0
        var isGrowing = true
        while isGrowing && step < steps {
            isGrowing = false
            let before = reached
            for y in bits.indices {
                let row = before.bits[y]
                let beside = row << 1 | row >> 1
                let rows = (y > 0 ? before.bits[y - 1] : 0) | (y + 1 < Self.rows ? before.bits[y + 1] : 0)
                let new = (beside | rows) & other.bits[y] & ~row
                if new != 0 {
                    reached[y] |= new
                    isGrowing = true
                }
            }
            step += 1
        }
        return reached
    }

    /// With the holes that nothing leads out of.
    func filled() -> CellSet {
        let free = inverted()
        var edge = CellSet()
        for y in bits.indices {
            let isEnd = y == 0 || y == Self.rows - 1
            edge[y] = free.bits[y] & (isEnd ? Self.all : 1 | 1 << UInt64(Self.columns - 1))
        }
        return edge.grown(within: free).inverted()
    }

    /// Calls a function with each connected part.
    func forEachPart(_ body: (CellSet) -> Void) {
        var rest = self
        for y in bits.indices {
            while rest.bits[y] != 0 {
                var part = CellSet()
                part.insert(rest.bits[y].trailingZeroBitCount, y)
                part = part.grown(within: rest)
                rest = rest.subtracting(part)
                body(part)
            }
        }
    }

    /// The connected parts that have at least a number of cells.
    func parts(of fewest: Int) -> CellSet {
        var result = CellSet()
        forEachPart { if $0.count >= fewest { result = result.union($0) } }
        return result
    }

    private func inverted() -> CellSet {
        var result = CellSet()
        for y in bits.indices { result[y] = ~bits[y] }
        return result
    }

    private func around(_ y: Int) -> UInt64 { bits[y] | bits[y] << 1 | bits[y] >> 1 }
}
