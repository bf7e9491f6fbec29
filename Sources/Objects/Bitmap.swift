/// A grid of cells that are marked or not, with the operations of mathematical morphology. Cells outside are unmarked
/// for a dilation, and don't count for an erosion.
struct Bitmap {
    let columns: Int
    let rows: Int
    /// 1 or 0, row by row.
    var cells: [UInt8]
    private var stack: [Int32] = []
    /// The cells as bits, 64 to a word, for the operations on all of them; and two more grids for their results.
    private var (bits, other, free): ([UInt64], [UInt64], [UInt64])
    /// Words of a row, and those bits of its last one that are cells.
    private let (words, lastBits): (Int, UInt64)

    init(columns: Int, rows: Int) {
        (self.columns, self.rows) = (columns, rows)
        cells = Array(repeating: 0, count: columns * rows)
        words = (columns + 63) / 64
        lastBits = .max >> UInt64(64 * words - columns)
        bits = Array(repeating: 0, count: words * rows)
        (other, free) = (bits, bits)
        stack.reserveCapacity(columns * rows)
    }

    mutating func clear() {
        for i in cells.indices { cells[i] = 0 }
    }

    /// Closes gaps in outlines, and fills them; then removes what is thin.
    mutating func fillOutlines() {
        pack()
        dilate()
        fillHoles()
        erode()
        erode()
        dilate()
        unpack()
    }

    /// Removes what is thin.
    mutating func removeThin() {
        pack()
        erode()
        dilate()
        unpack()
    }

    private mutating func pack() {
        for row in 0..<rows {
            for word in 0..<words {
                let first = row * columns + 64 * word
                var sum: UInt64 = 0
                for i in 0..<min(64, columns - 64 * word) { sum |= UInt64(cells[first + i] & 1) << UInt64(i) }
                bits[row * words + word] = sum
            }
        }
    }

    private mutating func unpack() {
        for row in 0..<rows {
            for word in 0..<words {
                let (first, sum) = (row * columns + 64 * word, bits[row * words + word])
                for i in 0..<min(64, columns - 64 * word) { cells[first + i] = UInt8(sum >> UInt64(i) & 1) }
            }
        }
    }

    /// Marks the neighbours of marked cells, in all eight directions.
    private mutating func dilate() {
        for row in 0..<rows {
            for word in 0..<words {
                let i = row * words + word
                let (before, after) = (word > 0 ? bits[i - 1] >> 63 : 0, word + 1 < words ? bits[i + 1] << 63 : 0)
                other[i] = bits[i] | bits[i] << 1 | bits[i] >> 1 | before | after
            }
            other[row * words + words - 1] &= lastBits
        }
        for i in bits.indices {
            bits[i] = other[i] | (i >= words ? other[i - words] : 0) | (i + words < bits.count ? other[i + words] : 0)
        }
    }

    /// Unmarks marked cells that have an unmarked neighbour, in all eight directions.
    private mutating func erode() {
        invert()
        dilate()
        invert()
    }

    private mutating func invert() {
        for row in 0..<rows {
            for i in row * words..<(row + 1) * words { bits[i] = ~bits[i] }
            bits[(row + 1) * words - 1] &= lastBits
        }
    }

    /// Marks unmarked cells that are enclosed by marked ones: all but those that are connected with the grid's edge.
    private mutating func fillHoles() {
        invert()
        swap(&bits, &free)
        for row in 0..<rows {
            for word in 0..<words {
                let ends = (word == 0 ? 1 : 0) | (word == words - 1 ? lastBits ^ lastBits >> 1 : 0)
                bits[row * words + word] = free[row * words + word] & (row == 0 || row == rows - 1 ? .max : ends)
            }
        }
        var changes = true
        while changes {
            changes = false
            for row in 1..<rows { changes = spread(into: row, from: row - 1) || changes }
            for row in (0..<rows - 1).reversed() { changes = spread(into: row, from: row + 1) || changes }
        }
        invert()
    }

    /// Marks the free cells of a row that are connected with its own marks, or with those of another row beside it.
    /// - Returns: whether there are any.
    private mutating func spread(into row: Int, from neighbour: Int) -> Bool {
        var changes = false
        var carry: UInt64 = 0
        for word in 0..<words {
            let (i, k) = (row * words + word, neighbour * words + word)
            // Doubles the distance in each step (Kogge and Stone, 1973).
            var (marks, path) = (bits[i] | (bits[k] | carry) & free[i], free[i])
            if marks != path, marks != 0 {
                var shift: UInt64 = 1
                while shift < 64 {
                    marks |= path & marks &<< shift
                    path &= path &<< shift
                    shift *= 2
                }
            }
            changes = changes || marks != bits[i]
            bits[i] = marks
            carry = marks >> 63
        }
        carry = 0
        for word in (0..<words).reversed() {
            let i = row * words + word
            var (marks, path) = (bits[i] | carry & free[i], free[i])
            if marks != path, marks != 0 {
                var shift: UInt64 = 1
                while shift < 64 {
                    marks |= path & marks &>> shift
                    path &= path &>> shift
                    shift *= 2
                }
            }
            changes = changes || marks != bits[i]
            bits[i] = marks
            carry = marks << 63
        }
        return changes
    }

    /// Changes the marks of a cell and of those that are connected with it, in all eight directions, and have its mark.
    /// Calls `body` with each.
    mutating func floodFill(from first: Int, changingTo new: UInt8, _ body: (_ column: Int, _ row: Int) -> Void) {
        let mark = cells[first]
        guard mark != new else { return }
        stack.removeAll(keepingCapacity: true)
        stack.append(Int32(first))
        cells[first] = new
        while let last = stack.popLast() {
            let (column, row) = (Int(last) % columns, Int(last) / columns)
            body(column, row)
            for y in max(0, row - 1)...min(rows - 1, row + 1) {
                for x in max(0, column - 1)...min(columns - 1, column + 1) where cells[y * columns + x] == mark {
                    cells[y * columns + x] = new
                    stack.append(Int32(y * columns + x))
                }
            }
        }
    }
}
