import SystemKit

/// Where the pixels of a region come from: places at the corners of square cells, and between them in proportion. Its
/// memory grows to the largest region and is kept.
public struct DisplacementGrid: ~Copyable {
    /// The side of a cell, pixels: half a run.
    fileprivate static let side = 8
    /// The least displacement that is drawn, pixels.
    private static let least: Float = 0.3

    fileprivate private(set) var region = PixelRect(x: 0, y: 0, width: 0, height: 0)
    /// For each corner, the place in the region that is shown there, pixels from the region's own corner.
    private var sources: [Point] = []
    private var isDisplaced: [Bool] = []
    private var across: Int { (region.width + Self.side - 1) / Self.side + 1 }

    /// An empty grid.
    public init() {}

    /// Sets the grid.
    /// - Parameters:
    ///   - region: pixels of a picture.
    ///   - source: the place that is shown at another, both in pixels of the picture. Places outside of the region are
    ///     moved to its edge.
    public mutating func fill(_ region: PixelRect, _ source: (Point) -> Point) {
        self.region = region
        let down = (region.height + Self.side - 1) / Self.side + 1
        if sources.count < across * down {
            // Half as much again, so that an approaching face doesn't cause an allocation in every frame.
            sources = Array(repeating: .zero, count: across * down * 3 / 2)
            isDisplaced = Array(repeating: false, count: sources.count)
        }
        let corner = Point(Float(region.x), Float(region.y))
        // The last place that has neighbours to its right and below, with room for rounding.
        let last = pointwiseMax(.zero, Point(Float(region.width), Float(region.height)) - 1.1)
        for row in 0..<down {
            for column in 0..<across {
                let here = Point(Float(column * Self.side), Float(row * Self.side))
                let there = pointwiseMin(pointwiseMax(source(corner + here) - corner, .zero), last)
                sources[row * across + column] = there
                isDisplaced[row * across + column] = (there - pointwiseMin(here, last)).length > Self.least
            }
        }
    }

    /// The places that are shown at the corners of a cell; nil if none of them is displaced.
    @inline(__always)
    fileprivate func corners(_ column: Int, _ row: Int) -> (Point, Point, below: (Point, Point))? {
        let (i, j) = (row * across + column, (row + 1) * across + column)
        guard isDisplaced[i] || isDisplaced[i + 1] || isDisplaced[j] || isDisplaced[j + 1] else { return nil }
        return (sources[i], sources[i + 1], (sources[j], sources[j + 1]))
    }
}

extension LayerBuffer {
    /// Draws the displaced cells of another buffer of the same region into this one, bilinearly. Allocates nothing.
    /// - Precondition: both buffers and the grid have the same region.
    public mutating func draw(_ other: borrowing LayerBuffer, by grid: borrowing DisplacementGrid) {
        let (piece, rowStride) = (region, stride)
        precondition(other.region == piece && grid.region == piece, "all need the same region")
        guard piece.width > 2, piece.height > 2 else { return }
        let side = DisplacementGrid.side
        var target = pixels
        unsafe other.readPixels.withUnsafeBufferPointer { source in
            unsafe target.withUnsafeMutableBufferPointer { target in
                guard let source = source.baseAddress, let target = target.baseAddress else { return }
                let art = unsafe TextureView(
                    source, width: piece.width, height: piece.height, stride: rowStride, isNearArt: nil)
                for top in Swift.stride(from: 0, to: piece.height, by: side) {
                    for left in Swift.stride(from: 0, to: piece.width, by: side) {
                        guard let (a, b, (c, d)) = grid.corners(left / side, top / side) else { continue }
                        for y in 0..<min(side, piece.height - top) {
                            let part = Float(y) / Float(side)
                            let (first, end) = (a + (c - a) * part, b + (d - b) * part)
                            let step = (end - first) / Float(side)
                            var sampler = LineSampler(
                                u: fixed(first.x), v: fixed(first.y), du: fixed(step.x), dv: fixed(step.y))
                            unsafe sampler.sample(side, of: art, into: target + (top + y) * rowStride + left)
                        }
                    }
                }
            }
        }
    }
}

/// A position in pixels as `LineSampler` has it.
@inline(__always)
private func fixed(_ pixels: Float) -> Int { Int(pixels * Float(1 << LineSampler.fraction)) }
