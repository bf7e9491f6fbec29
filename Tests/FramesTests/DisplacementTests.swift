import Testing

@testable import Frames

/// Samples of a frame that are moved by a grid.
struct DisplacementTests {
    private static func noise(_ format: PixelFormat) -> Frame {
        var frame = Frame(FrameLayout(width: 97, height: 63, format: format))
        var bytes = frame.mutableBytes
        var state: UInt32 = 1
        for i in bytes.indices {
            state = state &* 1_664_525 &+ 1_013_904_223
            bytes[i] = UInt8(state >> 24)
        }
        return frame
    }

    private static func bytes(_ frame: borrowing Frame) -> [UInt8] {
        let span = frame.bytes
        return span.indices.map { span[$0] }
    }

    /// Odd edges move outwards: from (12, 6) on, 71 x 51 pixels.
    private static let region = PixelRect(x: 13, y: 7, width: 70, height: 50)
    private static let (corner, last) = (Point(12, 6), Point(82, 56))

    /// Some pixels to all sides, by up to `size`.
    private static func source(_ point: Point, size: Float) -> Point {
        point + size * Point(sin(point.y / 9), cos(point.x / 7))
    }

    /// The place that is shown at a pixel: in proportion between the corners of cells of `side` pixels.
    private static func place(_ x: Float, _ y: Float, side: Float, size: Float) -> Point {
        let pixel = Point(x, y) - corner
        let cell = (pixel / side).rounded(.down)
        func at(_ column: Float, _ row: Float) -> Point {
            let there = source(corner + (cell + Point(column, row)) * side, size: size)
            return pointwiseMin(pointwiseMax(there, corner), last)
        }
        let part = pixel / side - cell
        let (above, below) = (at(0, 0) * (1 - part.x) + at(1, 0) * part.x, at(0, 1) * (1 - part.x) + at(1, 1) * part.x)
        return above * (1 - part.y) + below * part.y
    }

    @Test(arguments: PixelFormat.allCases)
    func `a moved sample is that of its place, between its neighbours`(format: PixelFormat) {
        let before = Self.noise(format)
        var after = Self.noise(format)
        var grid = DisplacementGrid()
        let isFilled = grid.fill(Self.region, in: after.layout) { Self.source($0, size: 5) }
        #expect(isFilled)
        after.displace(by: &grid)
        let (old, new, layout) = (Self.bytes(before), Self.bytes(after), before.layout)
        func check(_ site: SampleSite, _ shift: (x: Int, y: Int), side: Float) {
            let scale = Point(Float(1 << shift.x), Float(1 << shift.y))
            let (first, end) = (Self.corner / scale, (Self.last / scale).rounded(.down))
            func sample(_ samples: [UInt8], _ x: Int, _ y: Int) -> Float {
                Float(samples[site.offset + min(y, Int(end.y)) * site.stride + min(x, Int(end.x)) * site.step])
            }
            for y in 0...Int(end.y) {
                for x in 0...Int(end.x) {
                    guard x >= Int(first.x), y >= Int(first.y) else {
                        #expect(sample(new, x, y) == sample(old, x, y), "outside of the region")
                        continue
                    }
                    let pixel = Point(Float(x), Float(y)) * scale + (scale - 1) / 2
                    // In cells at the edge, some places are moved into the region.
                    let (near, far) = (pixel - Self.corner, Self.last - pixel)
                    guard min(near.min(), far.min()) >= side else { continue }
                    let place = (Self.place(pixel.x, pixel.y, side: side, size: 5) - (scale - 1) / 2) / scale
                    let (u, v) = (min(max(place.x, first.x), end.x), min(max(place.y, first.y), end.y))
                    let (i, j) = (Int(u), Int(v))
                    let (right, below) = (u - Float(i), v - Float(j))
                    let upper = sample(old, i, j) * (1 - right) + sample(old, i + 1, j) * right
                    let lower = sample(old, i, j + 1) * (1 - right) + sample(old, i + 1, j + 1) * right
                    let expected = upper * (1 - below) + lower * below
                    // Steps are rounded to 1/4096, which seven of them add up.
                    #expect(abs(sample(new, x, y) - expected) < 3, "\(x), \(y)")
                }
            }
        }
        check(layout.luma, (0, 0), side: 8)
        guard let (u, v) = layout.chroma else { return }
        for site in [u, v] { check(site, layout.format.chromaShift, side: Float(8 << layout.format.chromaShift.x)) }
    }

    @Test(arguments: PixelFormat.allCases, [Float(3), 20, 300])
    func `every processor moves samples to the same result`(format: PixelFormat, size: Float) {
        var wide = Self.noise(format)
        var narrow = Self.noise(format)
        var grid = DisplacementGrid()
        for region in [Self.region, PixelRect(x: -9, y: -9, width: 200, height: 30)] {
            _ = grid.fill(region, in: wide.layout) { Self.source($0, size: size) }
            wide.displace(by: &grid)
            narrow.displace(by: &grid, mayBeWide: false)
            #expect(Self.bytes(wide) == Self.bytes(narrow))
        }
    }

    @Test func `what is not displaced stays, and a region outside is none`() {
        var frame = Self.noise(.nv12)
        let before = Self.bytes(frame)
        var grid = DisplacementGrid()
        let (isFilled, isOutside) = (
            grid.fill(Self.region, in: frame.layout) { $0 + Point(0.2, 0) },
            !grid.fill(PixelRect(x: 200, y: 0, width: 9, height: 9), in: frame.layout) { $0 }
        )
        #expect(isFilled && isOutside)
        _ = grid.fill(Self.region, in: frame.layout) { $0 + Point(0.2, 0) }
        frame.displace(by: &grid)
        #expect(Self.bytes(frame) == before)
    }
}
