import Testing

@testable import Objects

/// Operations on all cells, over the borders of words and at the grid's edge.
@Suite struct BitmapTests {
    private func bitmap(_ columns: Int, _ rows: Int, _ isMarked: (Int, Int) -> Bool) -> Bitmap {
        var bitmap = Bitmap(columns: columns, rows: rows)
        for row in 0..<rows {
            for column in 0..<columns where isMarked(column, row) { bitmap.cells[row * columns + column] = 1 }
        }
        return bitmap
    }

    private func isIn(_ rect: (left: Int, top: Int, right: Int, bottom: Int), _ column: Int, _ row: Int) -> Bool {
        (rect.left...rect.right).contains(column) && (rect.top...rect.bottom).contains(row)
    }

    @Test(arguments: [64, 70, 128, 130])
    func `An outline with a gap is filled, and what is open stays empty`(columns: Int) {
        let (outer, inner) = ((left: 3, top: 4, right: 60, bottom: 30), (left: 5, top: 6, right: 58, bottom: 28))
        var outline = bitmap(columns, 40) { x, y in
            isIn(outer, x, y) && !isIn(inner, x, y) && !(x <= 4 && (10...11).contains(y))
        }
        outline.fillOutlines()
        #expect(outline.cells == bitmap(columns, 40) { isIn(outer, $0, $1) }.cells)
        // The same without a lower side.
        var open = bitmap(columns, 40) { x, y in isIn(outer, x, y) && !isIn(inner, x, y) && y <= inner.bottom }
        open.fillOutlines()
        #expect(open.cells[20 * columns + 30] == 0)
    }

    @Test func `A hole that winds between walls is no hole if it leads outside`() {
        // Walls from above and from below in turns: the way out leads up and down between them.
        var maze = bitmap(200, 60) { x, y in
            y < 3 || y > 56 || x > 196 || x % 16 < 3 && (x / 16 % 2 == 0 ? y < 48 : y > 12)
        }
        maze.fillOutlines()
        #expect(maze.cells[30 * 200 + 184] == 0)
    }

    @Test func `What is thin is removed, even over the border of words, and what reaches the edge stays`() {
        let (block, edge) = ((left: 61, top: 5, right: 66, bottom: 9), (left: 90, top: 0, right: 99, bottom: 3))
        var lines = bitmap(100, 20) { x, y in isIn(block, x, y) || isIn(edge, x, y) || y == 15 || x == 70 }
        lines.removeThin()
        #expect(lines.cells == bitmap(100, 20) { isIn(block, $0, $1) || isIn(edge, $0, $1) }.cells)
    }
}
