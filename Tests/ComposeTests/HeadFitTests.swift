import Frames
import TestSupport
import Testing
import Track

@testable import Compose

/// How hats take the size of a head with its hair from the outline of the person.
struct HeadFitTests {
    /// A head with the eyes 60 pixels apart, at (320, 200).
    private static func head(yaw: Float = 0, roll: Float = 0, scale: Float = 60) -> HeadPlacement {
        face(at: Point(320, 200), scale: scale, roll: roll, yaw: yaw).head
    }

    /// The outline of a head in a frame of 640 x 480: an ellipse, as a lens shows it, and shoulders.
    /// - Parameters:
    ///   - half: half its width, in eye distances.
    ///   - top: the height of its top above the eyes, in eye distances.
    private static func outline(half: Float, top: Float, of head: HeadPlacement) -> (Point) -> Float? {
        let across = Point(head.x.x, head.y.x) / max(Point(head.x.x, head.y.x).length, 1e-3) * head.scale
        let up = Point(across.y, -across.x)
        let middle = head([0, 0, 1.25])
        return { point in
            guard point.x > 3, point.y > 3, point.x < 637, point.y < 477 else { return nil }
            let way = point - middle
            let unit = head.scale * head.scale
            let (x, y) = ((way * across).sum() / unit, (way * up).sum() / unit)
            // Straight sides up to where hats sit, and a round top.
            let reach = y < 1.3 ? half : half * max(0, 1 - (y - 1.3) / (top - 1.3)).squareRoot()
            return y < top && abs(x) < reach ? 1 : 0
        }
    }

    private static func size(half: Float, top: Float, of head: HeadPlacement) -> HeadSize? {
        HeadSize(head, cell: 2.5, coverage: outline(half: half, top: top, of: head))
    }

    @Test(arguments: [0, 25, -40])
    func `width and height are those of the hair, however the head leans`(roll: Float) throws {
        for (half, top) in [(Float(1.1), Float(1.9)), (1.4, 2.3)] {
            let size = try #require(Self.size(half: half, top: top, of: Self.head(roll: roll)))
            let (width, height) = (try #require(size.width), try #require(size.height))
            #expect(abs(width - half / 1.13) < 0.06, "\(width)")
            #expect(height > top - 0.3 && height < top + 0.1, "\(height)")
        }
    }

    @Test func `a head that is turned far, is tiny, or reaches beyond the picture is not measured`() throws {
        let far = Self.head(yaw: 45)
        #expect(Self.size(half: 1.2, top: 2, of: far) == nil)
        let nodding = HeadPlacement(x: [60, 0, 0], y: [0, 52, 30], origin: Point(320, 200))
        #expect(Self.size(half: 1.2, top: 2, of: nodding) == nil)
        let tiny = Self.head(scale: 10)
        #expect(Self.size(half: 1.2, top: 2, of: tiny) == nil)
        // The top is above the picture: only the width is known.
        let near = Self.head(scale: 120)
        let size = try #require(Self.size(half: 1.2, top: 2, of: near))
        #expect(size.height == nil && size.width != nil)
    }

    @Test(arguments: [Float(1.2), 1.6]) func `hair beside the eyes is measured by itself`(half: Float) throws {
        let head = Self.head()
        let (crown, middle) = (Self.outline(half: 1.2, top: 2, of: head), head([0, 0, 1.25]))
        let rim = head([0, -0.75, 1.25]).y
        let size = HeadSize(head, cell: 2.5) { point in
            point.y < rim ? crown(point) : abs(point.x - middle.x) < half * head.scale ? 1 : 0
        }
        let (width, sides) = (try #require(size?.width), try #require(size?.sides))
        #expect(abs(width - 1.2 / 1.13) < 0.06 && abs(sides - half / 1.18) < 0.06, "\(width), \(sides)")
        var estimator = HeadFitEstimator()
        let unknown = estimator.hairWidth.around(HeadFit()).beside
        #expect(unknown > 1 && unknown < 1.2)
        estimator.add(try #require(size))
        #expect(abs(estimator.hairWidth.around(HeadFit()).beside - max(1, sides / HeadFit.usualWidth)) < 0.01)
        #expect(estimator.hairWidth.around(HeadFit(width: 1.1, height: 1)).beside < max(1, sides / 1.1) + 0.01)
    }

    @Test func `somebody else beside the head does not make it wide`() throws {
        let head = Self.head()
        let own = Self.outline(half: 1.15, top: 2, of: head)
        let together = HeadSize(head, cell: 2.5) { point in point.x > 330 && point.y < 470 ? 1 : own(point) }
        #expect(together?.width == nil)
        // Alone, the same head has a width.
        #expect(HeadSize(head, cell: 2.5, coverage: own)?.width != nil)
    }

    @Test func `the first measurement applies at once, later ones slowly, and outliers not at all`() {
        var estimator = HeadFitEstimator()
        #expect(estimator.fit == HeadFit())
        estimator.add(HeadSize(width: 1.3, height: 2.3))
        let first = estimator.fit
        #expect(first.width > 1.1 && first.height > 1.1)
        for _ in 0..<4 { estimator.add(HeadSize(width: 1.3, height: 2.3)) }
        estimator.add(HeadSize(width: 3, height: 5))
        for _ in 0..<100 { estimator.update(elapsed: 0.1) }
        #expect(estimator.fit == first)
        for _ in 0..<8 { estimator.add(HeadSize(width: 1.2, height: nil)) }
        estimator.update(elapsed: 1 / 30)
        #expect(first.width - estimator.fit.width < 0.01, "it never jumps")
        for _ in 0..<100 { estimator.update(elapsed: 0.1) }
        #expect(abs(estimator.fit.width - 1.2 / 1.06) < 0.01 && estimator.fit.height == first.height)
    }

    @Test func `hats never become smaller than they are made, nor larger than people's hair`() {
        for (width, height, fit) in [
            (Float(0.8), Float(1.5), HeadFit(width: 1, height: 1)), (2, 4, HeadFit(width: 1.25, height: 1.2)),
        ] {
            var estimator = HeadFitEstimator()
            estimator.add(HeadSize(width: width, height: height))
            #expect(estimator.fit == fit)
        }
    }

    @Test(arguments: [(Float(-20), Float(0)), (-6, 0), (10, 0.4), (30, 0.9)])
    func `a hat leans forward on a head that looks up, and keeps its place at the forehead`(
        pitch: Float, least: Float
    ) {
        let (c, s) = (cos(radians(pitch)), sin(radians(pitch)))
        let head = HeadPlacement(x: [60, 0, 0], y: [0, 60 * c, 60 * s], origin: Point(320, 200))
        let hat = head.leaningHat
        #expect((hat([0, -0.9, 0.1]) - head([0, -0.9, 0.1])).length < 1e-2 && abs(hat.scale - head.scale) < 1e-2)
        // The rear of the brim hangs down less.
        let (rear, lifted) = (head([0, -0.9, 2.6]), hat([0, -0.9, 2.6]))
        #expect((rear.y - lifted.y) / head.scale >= least && (least > 0 || lifted == rear))
    }

    @Test func `a fit enlarges what is worn about its own place, and leaves the head alone`() {
        let (head, center) = (Self.head(yaw: 10), SIMD3<Float>(0, -0.8, 1.4))
        let plain = HeadProjection(head, width: 640)
        let fitted = HeadProjection(head, width: 640, fit: HeadFit(width: 1.2, height: 1.1), about: center)
        let (a, b) = (plain(center), fitted(center))
        #expect(abs(a.x - b.x) < 1e-3 && abs(a.y - b.y) < 1e-3)
        let (side, other) = (plain([1.2 * 1.2, -0.8, 1.4]), fitted([1.2, -0.8, 1.4]))
        #expect(abs(side.x - other.x) < 1e-2 && abs(side.y - other.y) < 1e-2)
        #expect(plain.turned([0, 0, -1]) == fitted.turned([0, 0, -1]))
    }
}
