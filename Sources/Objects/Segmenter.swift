import Frames

/// A region of a picture that is not its background.
public struct Region: Sendable {
    /// The mark of its cells in `Segmenter.marks`.
    let mark: UInt8
    /// The number of its cells.
    public fileprivate(set) var area = 0
    /// The bounding box, in pixels of the picture.
    public fileprivate(set) var box = Rect(x: 0, y: 0, width: 0, height: 0)
    /// The centre of gravity, in pixels of the picture.
    public fileprivate(set) var center = Point.zero
    /// The largest distance of a cell from the centre, in pixels.
    public fileprivate(set) var radius: Float = 0
    /// Whether it is cut off by the picture's edge.
    public fileprivate(set) var isCutOff = false
}

/// Cuts out things that lie on, or are held before, a plain background.
///
/// The picture is reduced to a grid of about 37 000 cells. A quadratic surface is fitted to the background's luma and
/// chroma, so that uneven light doesn't matter. What differs from it in colour, is brighter, or has a sharp edge, is no
/// background; a shadow only darkens it, and its edges are soft. Gaps are closed, holes filled, and what is thin is
/// eroded. From what reaches the picture's edge, such as an arm, what has the colour of its skin is removed, and what
/// remains is a thing.
struct Segmenter: ~Copyable {
    /// The regions of the last picture, the largest first.
    private(set) var regions: [Region] = []
    /// The mark of the region to which each cell belongs, from 2 on; 0: to none.
    private(set) var marks: Bitmap
    /// The layout of the pictures.
    let layout: FrameLayout
    /// Pixels per cell, across and down: cells are nearly square, but both counts are even.
    let step: Point

    private var scaler: FrameScaler
    private var picture: Frame
    /// The planes of `picture`.
    private var samples: [UInt8]
    private var found: Bitmap
    private var equations = QuadraticFit.NormalEquations()
    /// Luma and chroma (relative to 128) of the background; nil before the first picture.
    private var background: (luma: QuadraticFit, u: QuadraticFit, v: QuadraticFit)?
    private var columnPlaces: [Float] = []
    private var rowPlaces: [Float] = []
    private var histogram = [Int32](repeating: 0, count: 256)
    /// Cells in the order in which they were reached, and those of them that may be skin.
    private var (queue, skin): ([Int32], [Int32]) = ([], [])

    /// The cells of the grid: as many as of a picture of 256 x 144.
    private static let cellCount: Float = 256 * 144
    /// The most regions of a picture.
    static let maxRegions = 16
    /// The least and the largest area of a thing: 0.15 % and 30 % of the picture.
    private static let areas: ClosedRange<Float> = 0.0015...0.3
    /// The share of the picture that must be background, for it to be plain.
    private static let plainShare: Float = 0.35
    /// The difference of U plus that of V, in samples, from which a cell's colour is not the background's.
    private static let colorDifference: Float = 10
    /// The luma relative to the background's above which a cell is brighter, and below which it is darker than in any
    /// shadow indoors.
    private static let (brighter, darker): (Float, Float) = (1.12, 0.38)
    /// The difference of neighbouring cells, relative to the background's luma, that makes an edge. That of a soft
    /// shadow is half of it.
    private static let edge: Float = 0.075
    /// Samples that belong to the background, in the first fit and in the following ones: differences in luma and
    /// chroma.
    private static let (firstTolerance, tolerance): (SIMD2<Float>, SIMD2<Float>) = ([70, 16], [14, 9])
    /// Fits until what is no background has no influence.
    private static let fits = 4
    /// Cells of skin that tell a hand's colour, and the least.
    private static let (skinCells, minSkinCells) = (160, 24)
    /// The difference of U and V relative to the luma up to which a cell has the hand's colour. That of gold is 0.15
    /// and more from skin, that of copper 0.1, and that of red 0.3.
    private static let skinTolerance: Float = 0.07
    /// U and V of skin relative to its luma, and how far those of any tone, in any usual light, are from it. Clothes in
    /// red or orange are farther.
    private static let (skinChroma, skinChromaRange): (SIMD2<Float>, Float) = ([-0.165, 0.205], 0.16)

    /// Prepares for pictures of a layout.
    init(_ layout: FrameLayout) {
        self.layout = layout
        let (width, height) = (Float(layout.width), Float(layout.height))
        let side = max(1, (width * height / Self.cellCount).squareRoot())
        let columns = max(16, Int(width / side) & ~1)
        let rows = max(16, Int(height / side) & ~1)
        step = Point(width, height) / Point(Float(columns), Float(rows))
        let small = FrameLayout(width: columns, height: rows, format: .i444, range: .full)
        scaler = FrameScaler(
            from: layout, PixelRect(x: 0, y: 0, width: layout.width, height: layout.height), to: small,
            PixelRect(x: 0, y: 0, width: columns, height: rows))
        picture = Frame(small)
        samples = Array(repeating: 0, count: 3 * columns * rows)
        found = Bitmap(columns: columns, rows: rows)
        marks = Bitmap(columns: columns, rows: rows)
        columnPlaces = (0..<columns).map { (Float($0) + 0.5) / Float(columns) * 2 - 1 }
        rowPlaces = (0..<rows).map { (Float($0) + 0.5) / Float(rows) * 2 - 1 }
        regions.reserveCapacity(4 * Self.maxRegions)
        queue.reserveCapacity(columns * rows)
        skin.reserveCapacity(Self.skinCells)
    }

    /// Finds the regions of a picture. Allocates nothing.
    /// - Precondition: the view has the layout that the segmenter was made for.
    mutating func update(_ view: borrowing FrameView) {
        scaler.scale(view, into: &picture)
        Self.copy(picture, into: &samples)
        regions.removeAll(keepingCapacity: true)
        marks.clear()
        guard fitBackground() else { return }
        markDifferences()
        found.fillOutlines()
        var next: UInt8 = 2
        collectRegions(&next, removingHands: false)
        if regions.contains(where: \.isCutOff) {
            removeHands()
            collectRegions(&next, removingHands: true)
        }
        let cellCount = marks.cells.count
        regions.removeAll { $0.isCutOff || !Self.isUsable($0, cellCount) }
        regions.sort { $0.area > $1.area }
        if regions.count > Self.maxRegions { regions.removeLast(regions.count - Self.maxRegions) }
    }

    private static func copy(_ picture: borrowing Frame, into samples: inout [UInt8]) {
        let bytes = picture.bytes
        for i in samples.indices { samples[i] = bytes[i] }
    }

    private static func isUsable(_ region: Region, _ cellCount: Int) -> Bool {
        areas.contains(Float(region.area) / Float(cellCount))
    }

    /// The background's luma along a row of the picture, relative to its mean over the picture.
    struct Light {
        fileprivate let coefficients: SIMD4<Float>
        fileprivate let scale: Float

        /// - Parameter x: in pixels of the picture.
        func value(_ x: Float) -> Float {
            let place = x * scale - 1
            return max(0.2, coefficients[0] + (coefficients[1] + coefficients[2] * place) * place)
        }
    }

    /// The light along a row.
    /// - Parameter y: in pixels of the picture.
    func light(alongRow y: Float) -> Light {
        let scale = 2 / Float(layout.width)
        guard let background else { return Light(coefficients: [1, 0, 0, 0], scale: scale) }
        let row = background.luma.row(y / Float(layout.height) * 2 - 1)
        return Light(coefficients: row / max(1, meanLuma), scale: scale)
    }

    /// The mean luma of the background.
    private(set) var meanLuma: Float = 128

    /// Fits the background's surfaces.
    /// - Returns: false if the picture has no plain background.
    private mutating func fitBackground() -> Bool {
        let (columns, rows) = (found.columns, found.rows)
        let count = columns * rows
        // Starts from the medians along the picture's edge, where things are rare.
        let ring = max(2, min(columns, rows) / 10)
        var start = SIMD4<Float>.zero
        for plane in 0..<3 {
            for i in histogram.indices { histogram[i] = 0 }
            var edgeCount: Int32 = 0
            for row in stride(from: 0, to: rows, by: 2) {
                let isInner = (ring..<rows - ring).contains(row)
                for column in stride(from: 0, to: columns, by: 2)
                where !isInner || !(ring..<columns - ring).contains(column) {
                    histogram[Int(samples[plane * count + row * columns + column])] += 1
                    edgeCount += 1
                }
            }
            var (sum, median) = (Int32(0), 0)
            while median < 255, sum + histogram[median] <= edgeCount / 2 {
                sum += histogram[median]
                median += 1
            }
            start[plane] = Float(median)
        }
        start -= [0, 128, 128, 0]
        var fitted: (luma: QuadraticFit, u: QuadraticFit, v: QuadraticFit)?
        var total = 0
        for fit in 0..<Self.fits {
            equations.reset()
            total = 0
            let limits = fit == 0 ? Self.firstTolerance : fit == 1 ? Self.tolerance * 2 : Self.tolerance
            for row in stride(from: 1, to: rows, by: 4) {
                for column in stride(from: 1, to: columns, by: 4) {
                    let i = row * columns + column
                    let basis = QuadraticFit.basis(columnPlaces[column], rowPlaces[row])
                    let sample = SIMD4(
                        Float(samples[i]), Float(samples[count + i]) - 128, Float(samples[2 * count + i]) - 128, 0)
                    total += 1
                    var expected = start
                    if let fitted {
                        expected = [fitted.luma.value(basis), fitted.u.value(basis), fitted.v.value(basis), 0]
                    }
                    let difference = sample - expected
                    if abs(difference.x) < limits.x, abs(difference.y) + abs(difference.z) < limits.y {
                        equations.add(basis, sample)
                    }
                }
            }
            guard Float(equations.count) > Self.plainShare * Float(total) * (fit == 0 ? 0.7 : 1) else { return false }
            fitted = equations.solve()
        }
        guard let fitted else { return false }
        background = fitted
        // The mean of x² and y² is a third, those of the others are 0.
        let c = fitted.luma.coefficients
        meanLuma = c[0] + (c[3] + c[5]) / 3
        return true
    }

    /// Marks the cells that are no background.
    private mutating func markDifferences() {
        guard let background else { return }
        found.clear()
        let (columns, rows) = (found.columns, found.rows)
        let count = columns * rows
        for row in 0..<rows {
            let (lumas, us, vs) = (
                background.luma.row(rowPlaces[row]), background.u.row(rowPlaces[row]), background.v.row(rowPlaces[row])
            )
            for column in 0..<columns {
                let i = row * columns + column
                let x = columnPlaces[column]
                let expected = max(8, lumas[0] + (lumas[1] + lumas[2] * x) * x)
                let luma = Float(samples[i])
                let ratio = luma / expected
                // A shadow takes as much of the colour as of the luma.
                let u = Float(samples[count + i]) - 128 - (us[0] + (us[1] + us[2] * x) * x) * min(1.2, ratio)
                let v = Float(samples[2 * count + i]) - 128 - (vs[0] + (vs[1] + vs[2] * x) * x) * min(1.2, ratio)
                if abs(u) + abs(v) > Self.colorDifference || ratio > Self.brighter || ratio < Self.darker {
                    found.cells[i] = 1
                }
                let limit = Self.edge * expected
                if column + 1 < columns, abs(luma - Float(samples[i + 1])) > limit {
                    found.cells[i] = 1
                    found.cells[i + 1] = 1
                }
                if row + 1 < rows, abs(luma - Float(samples[i + columns])) > limit {
                    found.cells[i] = 1
                    found.cells[i + columns] = 1
                }
            }
        }
    }

    /// Moves the connected cells of `found` to `marks`, region by region. Those that are cut off stay, for the skin to
    /// be removed from them.
    private mutating func collectRegions(_ next: inout UInt8, removingHands: Bool) {
        let (columns, rows) = (found.columns, found.rows)
        for first in 0..<columns * rows where found.cells[first] == 1 {
            // The marks of a byte are enough for all regions of a usable size.
            guard next < 255 else { return }
            var region = Region(mark: next)
            var (left, top, right, bottom) = (columns, rows, 0, 0)
            var sum = SIMD2<Int>.zero
            found.floodFill(from: first, changingTo: next) { column, row in
                (left, right) = (min(left, column), max(right, column))
                (top, bottom) = (min(top, row), max(bottom, row))
                sum &+= SIMD2(column, row)
                region.area += 1
            }
            region.isCutOff = left == 0 || top == 0 || right == columns - 1 || bottom == rows - 1
            if !region.isCutOff && !Self.isUsable(region, columns * rows) {
                // Dust, and the mark may be used again.
                found.floodFill(from: first, changingTo: 0) { _, _ in }
                continue
            }
            let middle = SIMD2(Float(sum.x), Float(sum.y)) / Float(region.area)
            region.center = (middle + 0.5) * step
            region.box = Rect(
                x: Float(left) * step.x, y: Float(top) * step.y, width: Float(right - left + 1) * step.x,
                height: Float(bottom - top + 1) * step.y)
            var largest: Float = 0
            for row in top...bottom {
                for column in left...right where found.cells[row * columns + column] == next {
                    let d = (SIMD2(Float(column), Float(row)) - middle) * step
                    largest = max(largest, (d * d).sum())
                    if !region.isCutOff { marks.cells[row * columns + column] = next }
                }
            }
            region.radius = largest.squareRoot() + step.max() / 2
            if !region.isCutOff || !removingHands { regions.append(region) }
            next += 1
        }
    }

    /// Leaves of the regions that are cut off what is no hand or arm.
    ///
    /// Much else has a chroma in the range of skin, such as print in red, orange and brown, gold and copper: only what
    /// is connected with the arm and has its very colour is removed.
    private mutating func removeHands() {
        for i in found.cells.indices where marks.cells[i] != 0 { found.cells[i] = 0 }
        for region in regions where region.isCutOff { removeHand(from: region.mark) }
        for i in found.cells.indices where found.cells[i] >= 2 { found.cells[i] = 1 }
        found.removeThin()
        for i in found.cells.indices where marks.cells[i] != 0 { found.cells[i] = 0 }
        regions.removeAll(where: \.isCutOff)
    }

    /// Removes the cells of a hand from those with a mark.
    private mutating func removeHand(from mark: UInt8) {
        let (columns, rows) = (found.columns, found.rows)
        // From the picture's edge inwards: the arm and the hand come before what it holds.
        queue.removeAll(keepingCapacity: true)
        for column in 0..<columns {
            reach(column, mark)
            reach((rows - 1) * columns + column, mark)
        }
        for row in 0..<rows {
            reach(row * columns, mark)
            reach(row * columns + columns - 1, mark)
        }
        skin.removeAll(keepingCapacity: true)
        var next = 0
        while next < queue.count, skin.count < Self.skinCells {
            let i = Int(queue[next])
            next += 1
            if isSkin(i), isInner(i) { skin.append(queue[next - 1]) }
            reachNeighbours(of: i, mark)
        }
        for i in queue { found.cells[Int(i)] = mark }
        guard skin.count >= Self.minSkinCells else { return }
        let color = skinColor
        // The hand's colour spreads from there.
        queue.removeAll(keepingCapacity: true)
        for i in skin where hasColor(Int(i), color) {
            found.cells[Int(i)] = 0
            queue.append(i)
        }
        next = 0
        while next < queue.count {
            let i = Int(queue[next])
            next += 1
            let (column, row) = (i % columns, i / columns)
            for y in max(0, row - 1)...min(rows - 1, row + 1) {
                for x in max(0, column - 1)...min(columns - 1, column + 1) {
                    let k = y * columns + x
                    guard found.cells[k] == mark, hasColor(k, color) else { continue }
                    found.cells[k] = 0
                    queue.append(Int32(k))
                }
            }
        }
    }

    /// The mean colour of the most cells of `skin` with nearly the same: some may be of a sleeve.
    private var skinColor: SIMD2<Float> {
        var (best, most) = (SIMD2<Float>.zero, Float(0))
        for candidate in stride(from: 0, to: skin.count, by: 4) {
            let color = chroma(Int(skin[candidate]))
            var (sum, count) = (SIMD2<Float>.zero, Float(0))
            for i in skin where hasColor(Int(i), color) {
                sum += chroma(Int(i))
                count += 1
            }
            if count > most { (best, most) = (sum / count, count) }
        }
        return best
    }

    /// Whether a cell is far enough from its region's rim to have no colour of the background.
    private func isInner(_ i: Int) -> Bool {
        let (columns, rows) = (found.columns, found.rows)
        let (column, row) = (i % columns, i / columns)
        let distance = 3
        return found.cells[row * columns + max(0, column - distance)] != 0
            && found.cells[row * columns + min(columns - 1, column + distance)] != 0
            && found.cells[max(0, row - distance) * columns + column] != 0
            && found.cells[min(rows - 1, row + distance) * columns + column] != 0
    }

    /// Notes a cell with a mark, which it takes away.
    private mutating func reach(_ i: Int, _ mark: UInt8) {
        guard found.cells[i] == mark else { return }
        found.cells[i] = 1
        queue.append(Int32(i))
    }

    private mutating func reachNeighbours(of i: Int, _ mark: UInt8) {
        let column = i % found.columns
        if column > 0 { reach(i - 1, mark) }
        if column + 1 < found.columns { reach(i + 1, mark) }
        if i >= found.columns { reach(i - found.columns, mark) }
        if i + found.columns < found.cells.count { reach(i + found.columns, mark) }
    }

    /// Whether a cell may be skin: that of all tones has nearly the same chroma (Chai and Ngan, "Face segmentation
    /// using skin-color map", 1999).
    private func isSkin(_ i: Int) -> Bool {
        let count = found.cells.count
        return (77...127).contains(samples[count + i]) && (133...173).contains(samples[2 * count + i])
            && isNear(i, Self.skinChroma, Self.skinChromaRange)
    }

    /// U and V of a cell relative to its luma, which are the same in light and in shade.
    private func chroma(_ i: Int) -> SIMD2<Float> {
        let count = found.cells.count
        return SIMD2(Float(samples[count + i]) - 128, Float(samples[2 * count + i]) - 128) / max(24, Float(samples[i]))
    }

    private func hasColor(_ i: Int, _ color: SIMD2<Float>) -> Bool { isNear(i, color, Self.skinTolerance) }

    private func isNear(_ i: Int, _ color: SIMD2<Float>, _ distance: Float) -> Bool {
        let d = chroma(i) - color
        return (d * d).sum() < distance * distance
    }
}
