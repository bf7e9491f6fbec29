import Testing
import TestSupport

@testable import Compose
@testable import Frames

@Suite struct ScalerTests {
    /// A frame with a bright square of 20x20 at (40, 20) in 160x80, or in proportion.
    private func square(_ layout: FrameLayout) -> Frame {
        var planes = Frame(FrameLayout(width: layout.width, height: layout.height, format: .i444, range: layout.range))
        planes.fill(y: 60, u: 100, v: 150)
        let count = layout.width * layout.height
        var bytes = planes.mutableBytes
        for y in layout.height / 4..<layout.height / 2 {
            for x in layout.width / 4..<layout.width * 3 / 8 {
                bytes[y * layout.width + x] = 200
                bytes[count + y * layout.width + x] = 60
                bytes[2 * count + y * layout.width + x] = 200
            }
        }
        var frame = Frame(layout)
        convert(planes.view, into: &frame)
        return frame
    }

    @Test(arguments: PixelFormat.allCases, PixelFormat.allCases)
    func `a picture keeps its shape between black bars, and the map says where it is`(
        from: PixelFormat, to: PixelFormat
    ) throws {
        let input = FrameLayout(width: 160, height: 80, format: from)
        for (width, height) in [(320, 240), (81, 61), (64, 64)] {
            let output = FrameLayout(width: width, height: height, format: to)
            var scaler = Scaler(from: input, to: output)
            var frame = Frame(output)
            frame.fill(y: 255, u: 0, v: 0)
            scaler.scale(square(input).view, into: &frame)
            var pixels = Frame(FrameLayout(width: width, height: height, format: .i444))
            convert(frame.view, into: &pixels)
            let all = pixels.array
            func pixel(_ p: Point) -> [Int] {
                let at = Int(p.y.rounded()) * width + Int(p.x.rounded())
                return (0..<3).map { Int(all[at + $0 * width * height]) }
            }
            func near(_ a: [Int], _ b: [Int]) -> Bool { zip(a, b).allSatisfy { abs($0 - $1) <= 6 } }
            let gray = from == .gray || to == .gray
            #expect(near(pixel(scaler.map(Point(49.5, 29.5))), gray ? [200, 128, 128] : [200, 60, 200]))
            #expect(near(pixel(scaler.map(Point(120, 60))), gray ? [60, 128, 128] : [60, 100, 150]))
            #expect(near(pixel(Point(Float(width / 2), 2)), [16, 128, 128]), "the bar above is black")
            let place = scaler.region
            for y in 0..<height {
                for x in 0..<width
                where y < place.y || y >= place.y + place.height || x < place.x || x >= place.x + place.width {
                    let at = Point(Float(x), Float(y))
                    #expect(pixel(at) == [16, 128, 128], "\(at) of \(width)x\(height) beside \(place)")
                }
            }
            // The picture's centre is the output's centre.
            let center = scaler.map(Point(79.5, 39.5)) - Point(Float(width - 1) / 2, Float(height - 1) / 2)
            #expect(center.length <= 1.5)
            #expect(abs(scaler.map.a - Float(width) / 160) < 0.01)
        }
    }

    @Test func `the same size is only converted, in place`() throws {
        let input = FrameLayout(width: 33, height: 21, format: .yuyv)
        var scaler = Scaler(from: input, to: FrameLayout(width: 33, height: 21, format: .i420))
        #expect(scaler.map == .identity)
        var frame = Frame(scaler.output)
        var want = Frame(scaler.output)
        scaler.scale(square(input).view, into: &frame)
        convert(square(input).view, into: &want)
        #expect(frame.array == want.array)
    }

    @Test func `ranges are converted on the way and bars are black in the output's range`() throws {
        var white = Frame(FrameLayout(width: 40, height: 20, format: .i422, range: .full))
        white.fill(y: 255, u: 128, v: 128)
        var scaler = Scaler(from: white.layout, to: FrameLayout(width: 40, height: 40, format: .yuyv))
        var frame = Frame(scaler.output)
        scaler.scale(white.view, into: &frame)
        #expect(frame.array[20 * 80 + 40] == 235 && frame.array[0] == 16 && frame.array[1] == 128)
    }

    @Test(arguments: [(1, 1), (1, 900), (900, 1), (3000, 2000)])
    func `odd and extreme sizes are fitted`(width: Int, height: Int) throws {
        for (w, h) in [(64, 48), (2, 2), (1, 1)] {
            let input = FrameLayout(width: width, height: height, format: .i420)
            var scaler = Scaler(from: input, to: FrameLayout(width: w, height: h, format: .yuyv))
            var source = Frame(input)
            source.fill(y: 200, u: 128, v: 128)
            var frame = Frame(scaler.output)
            scaler.scale(source.view, into: &frame)
            #expect(
                frame.view.luma.samples[scaler.region.y * frame.layout.planes[0].stride + 2 * scaler.region.x] == 200)
        }
    }
}
