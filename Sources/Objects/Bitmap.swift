/// A grid of cells that are marked or not, with the operations of mathematical morphology. Cells outside are unmarked
/// for `dilate`, and don't count for `erode`.
struct Bitmap {
    let columns: Int
    let rows: Int
    /// 1 or 0, row by row.
    var cells: [UInt8]
    private var scratch: [UInt8]
    private var stack: [Int32] = []

    init(columns: Int, rows: Int) {
        (self.columns, self.rows) = (columns, rows)
        cells = Array(repeating: 0, count: columns * rows)
        scratch = cells
        stack.reserveCapacity(columns * rows)
    }

    mutating func clear() {
        for i in cells.indices { cells[i] = 0 }
    }

    /// Marks the neighbours of marked cells, in all eight directions.
    mutating func dilate() { spread(of: 1) }

    /// Unmarks marked cells that have an unmarked neighbour, in all eight directions.
    mutating func erode() { spread(of: 0) }

    private mutating func spread(of value: UInt8) {
        let other = 1 - value
        for row in 0..<rows {
            let start = row * columns
            for i in start..<start + columns {
                let left = i > start ? cells[i - 1] : other
                let right = i + 1 < start + columns ? cells[i + 1] : other
                scratch[i] = cells[i] == value || left == value || right == value ? value : other
            }
        }
        for row in 0..<rows {
            let start = row * columns
            for i in start..<start + columns {
                let above = row > 0 ? scratch[i - columns] : other
                let below = row + 1 < rows ? scratch[i + columns] : other
                cells[i] = scratch[i] == value || above == value || below == value ? value : other
            }
        }
    }

    /// Marks unmarked cells that are enclosed by marked ones.
    mutating func fillHoles() {
        for i in scratch.indices { scratch[i] = 0 }
        stack.removeAll(keepingCapacity: true)
        for column in 0..<columns {
            reach(column)
            reach((rows - 1) * columns + column)
        }
        for row in 0..<rows {
            reach(row * columns)
            reach(row * columns + columns - 1)
        }
        while let last = stack.popLast() {
            let i = Int(last)
            let column = i % columns
            if column > 0 { reach(i - 1) }
            if column + 1 < columns { reach(i + 1) }
            if i >= columns { reach(i - columns) }
            if i + columns < cells.count { reach(i + columns) }
        }
        for i in cells.indices where scratch[i] == 0 { cells[i] = 1 }
    }

    /// Notes an unmarked cell that is connected with the grid's edge.
    private mutating func reach(_ i: Int) {
        guard cells[i] == 0, scratch[i] == 0 else { return }
        scratch[i] = 1
        stack.append(Int32(i))
    }

    /// Calls `body` with each cell that is connected with one, in all eight directions, and has its mark; and changes
    /// the marks to `new`.
    mutating func visit(from first: Int, changingTo new: UInt8, _ body: (_ column: Int, _ row: Int) -> Void) {
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
