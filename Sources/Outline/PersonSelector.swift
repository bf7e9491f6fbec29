import Frames

/// Which part of a picture a matte shows.
public enum OutlineSubject: Equatable, Sendable {
    /// A matte of all people.
    case everybody
    /// The main person alone: the one whose head is marked, or who was kept in the frame before.
    case mainPerson
    /// A matte of the picture without the people beside the main one.
    case allButOthers
}

/// A head in the frame, by which people in an outline are distinguished.
public struct OutlineHead: Sendable {
    /// The midpoint of the eyes, pixels.
    let center: Point
    /// The distance between the eyes, pixels.
    let size: Float
    let isMain: Bool

    /// - Parameter isMain: whether it is the main person's. At most one head is.
    public init(center: Point, size: Float, isMain: Bool) {
        (self.center, self.size, self.isMain) = (center, max(size, 1), isMain)
    }
}

/// Tells the main person's cells in a mask from those of other people. People who do not touch are distinguished by
/// what is connected, people who do by whose head is nearest. Once made, nothing allocates.
struct PersonSelector: ~Copyable {
    /// The mask of the main person; of the frame before, until it is selected again.
    private(set) var kept = VectorBuffer<Float>(count: DownsampledFrame.count)
    /// Whether somebody was kept.
    private(set) var isKeeping = false
    /// How each cell was reached, or 255; and the cells whose neighbours have yet to be reached.
    private var reached = [UInt8](repeating: 255, count: DownsampledFrame.count)
    private var queue: [Int32] = []

    /// The mask from which on a cell certainly shows a person, and from which on it may, at the edge.
    private static let (certain, possible): (Float, Float) = (0.3, 0.01)
    /// The width of the edge in cells.
    private static let edge: UInt8 = 3
    /// The factor of vertical distances below a head, where its body is.
    private static let bodyWeight: Float = 0.25
    /// The distance, in eye distances, from the heads of others within which a cell is theirs, if the main person's
    /// head is not seen.
    private static let othersRadius: Float = 3
    /// The fewest cells that a person covers: 1/400 of the picture.
    private static let minCells = DownsampledFrame.count / 400

    init() { queue.reserveCapacity(DownsampledFrame.count) }

    /// Forgets the main person.
    mutating func reset() {
        isKeeping = false
        unsafe kept.base.update(repeating: 0, count: kept.count)
    }

    /// Selects the main person: by the head; else the one who overlaps most with the one before; else the largest.
    /// - Parameter cell: the size of a cell, pixels.
    mutating func select(_ mask: borrowing VectorBuffer<Float>, _ heads: borrowing [OutlineHead], cell: Point) {
        let main = heads.firstIndex { $0.isMain }
        for i in reached.indices { reached[i] = 255 }
        queue.removeAll(keepingCapacity: true)
        if let main { seed(mask, heads[main], cell) }
        if queue.isEmpty, isKeeping {
            for i in reached.indices {
                let wasKept = unsafe kept.base[i] > 0.5 && mask.base[i] > 0.5
                if wasKept { reach(i, 0) }
            }
        }
        if queue.isEmpty { seedLargest(mask) }
        grow(mask, heads, main, cell)
        var count = 0
        for i in reached.indices {
            let isKept = reached[i] <= Self.edge
            unsafe kept.base[i] = isKept ? mask.base[i] : 0
            if isKept { count += 1 }
        }
        isKeeping = count >= Self.minCells
    }

    private mutating func reach(_ i: Int, _ step: UInt8) {
        guard reached[i] == 255 else { return }
        reached[i] = step
        queue.append(Int32(i))
    }

    /// Starts from the cells of a head.
    private mutating func seed(_ mask: borrowing VectorBuffer<Float>, _ head: OutlineHead, _ cell: Point) {
        let (columns, rows) = (DownsampledFrame.columns, DownsampledFrame.rows)
        let (middle, half) = (head.center / cell, Point(repeating: head.size) / cell)
        guard middle.x.isFinite, middle.y.isFinite, half.x.isFinite, half.y.isFinite else { return }
        func clamped(_ value: Float, _ most: Int) -> Int { Int(max(0, min(Float(most - 1), value))) }
        for row in clamped(middle.y - half.y, rows)...clamped(middle.y + half.y, rows) {
            for column in clamped(middle.x - half.x, columns)...clamped(middle.x + half.x, columns) {
                let i = row * columns + column
                if unsafe mask.base[i] > 0.5 { reach(i, 0) }
            }
        }
    }

    /// Starts from the largest connected part of the mask.
    private mutating func seedLargest(_ mask: borrowing VectorBuffer<Float>) {
        var (best, area) = (0, 0)
        for i in reached.indices where reached[i] == 255 {
            guard unsafe mask.base[i] > 0.5 else { continue }
            queue.removeAll(keepingCapacity: true)
            reach(i, 0)
            grow(mask, [], nil, .zero)
            if queue.count > area { (best, area) = (i, queue.count) }
        }
        for i in reached.indices { reached[i] = 255 }
        queue.removeAll(keepingCapacity: true)
        if area > 0 { reach(best, 0) }
    }

    /// Reaches all cells that are connected with those reached so far, and the edge around them.
    private mutating func grow(
        _ mask: borrowing VectorBuffer<Float>, _ heads: borrowing [OutlineHead], _ main: Int?, _ cell: Point
    ) {
        let (columns, count) = (DownsampledFrame.columns, DownsampledFrame.count)
        var next = 0
        while next < queue.count {
            let i = Int(queue[next])
            next += 1
            let (step, column) = (reached[i], i % columns)
            for neighbor in 0..<4 {
                let j =
                    switch neighbor {
                    case 0: column > 0 ? i - 1 : -1
                    case 1: column + 1 < columns ? i + 1 : -1
                    case 2: i - columns
                    default: i + columns
                    }
                guard j >= 0, j < count, reached[j] == 255 else { continue }
                let coverage = unsafe mask.base[j]
                // From the edge, nothing but more of the edge is reached: not the next person.
                let isCertain = step == 0 && coverage > Self.certain
                guard isCertain || coverage > Self.possible && step < Self.edge, owns(j, heads, main, cell) else {
                    continue
                }
                reach(j, isCertain ? 0 : step + 1)
            }
        }
    }

    /// Whether a cell is nearer to the main person than to others.
    private func owns(_ i: Int, _ heads: borrowing [OutlineHead], _ main: Int?, _ cell: Point) -> Bool {
        guard heads.count > (main == nil ? 0 : 1) else { return true }
        let center = Point(Float(i % DownsampledFrame.columns) + 0.5, Float(i / DownsampledFrame.columns) + 0.5) * cell
        func distance(_ head: OutlineHead) -> Float {
            let away = center - head.center
            return Point(away.x, away.y > 0 ? away.y * Self.bodyWeight : away.y).length / head.size
        }
        let own = main.map { distance(heads[$0]) } ?? Self.othersRadius
        for other in heads.indices where other != main {
            if distance(heads[other]) < own { return false }
        }
        return true
    }
}
