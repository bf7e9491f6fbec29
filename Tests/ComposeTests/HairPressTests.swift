import CAllocations
import Frames
import TestSupport
import Testing
import Track

@testable import Compose

/// Hair that a hat presses to the head.
struct HairPressTests {
    private static let scale: Float = 40
    private static let head = face(at: Point(160, 150), scale: scale).head
    private static let hair = HeadFit(width: 1.4, height: 1.4)
    /// The centre of the rim, and where the head that hats are made for ends across it and above it, pixels.
    private static let rim = head([0, -0.8, 1.25])
    private static let edge =
        Point(
            AverageHead.section(at: 1.1).half * HeadFit.usualWidth, HeadFit.usualHeight - HeadFit.rim) * scale

    /// Dark hair before a light wall.
    private static func picture(_ layout: FrameLayout) -> Samples {
        var picture = Samples(noise: layout)
        for y in 0..<layout.height {
            for x in 0..<layout.width {
                let place = (Point(Float(x), Float(y)) - rim) / (edge * Point(hair.width, hair.height))
                picture.bytes[picture.places(x, y).y] = place.length < 1 ? 40 : 200
            }
        }
        return picture
    }

    private static func pressed(_ picture: Samples, hair: HeadFit = hair, _ head: HeadPlacement = head) throws
        -> Samples
    {
        var canvas = Canvas(picture.layout)
        canvas.frame = picture.frame
        canvas.draw(try #require(HairPress(head, hair: hair, fit: HeadFit())))
        return Samples(canvas.frame)
    }

    @Test func `hair beside and above a hat is gone, and nothing else changes`() throws {
        let before = Self.picture(FrameLayout(width: 320, height: 240, format: .i420))
        let after = try Self.pressed(before)
        for degrees in stride(from: Float(15), through: 165, by: 15) {
            let way = Self.edge * Point(cos(radians(degrees)), -sin(radians(degrees)))
            let (inside, outside) = (Self.rim + way * 0.8, Self.rim + way * 1.06)
            #expect(after[Int(inside.x), Int(inside.y)].x < 60, "\(degrees)")
            #expect(before[Int(outside.x), Int(outside.y)].x < 60, "\(degrees)")
            #expect(after[Int(outside.x), Int(outside.y)].x > 180, "\(degrees)")
        }
        // The face, the hair below the hat, and what is far away, but for the cells at the edge.
        for y in 0..<240 {
            for x in 0..<320
            where Float(y) > Self.rim.y + 0.56 * Self.scale + 8 || abs(Float(x) - Self.rim.x) > 3.6 * Self.scale + 8 {
                #expect(after[x, y] == before[x, y], "\(x), \(y)")
            }
        }
        #expect(HairPress(Self.head, hair: HeadFit(width: 1.1, height: 1), fit: HeadFit(width: 1.1, height: 1)) == nil)
    }

    @Test(arguments: PixelFormat.allCases)
    func `a head may be anywhere, in any format`(format: PixelFormat) throws {
        let before = Samples(noise: FrameLayout(width: 97, height: 63, format: format))
        for place in [Point(0, 0), Point(96, 62), Point(50, 20), Point(-400, 30)] {
            for scale: Float in [3, 40, 900] {
                _ = try Self.pressed(before, face(at: place, scale: scale, roll: 30, yaw: 40).head)
            }
        }
    }

    @Test func `hair is pressed without allocations once warm`() throws {
        var canvas = Canvas(FrameLayout(width: 320, height: 240, format: .i420))
        let press = try #require(HairPress(Self.head, hair: Self.hair, fit: HeadFit()))
        canvas.draw(press)
        let before = callocations_count()
        canvas.draw(press)
        #expect(callocations_count() - before == 0)
    }
}
