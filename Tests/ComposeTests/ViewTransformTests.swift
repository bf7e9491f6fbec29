import Testing
import Track
import TestSupport

@testable import Compose
@testable import Frames

@Suite struct ViewTransformTests {
    /// A smooth picture without any symmetry, which shows where each point was moved.
    private func picture(_ layout: FrameLayout) -> Frame {
        var planes = Frame(FrameLayout(width: layout.width, height: layout.height, format: .i444, range: layout.range))
        let count = layout.width * layout.height
        var bytes = planes.mutableBytes
        for y in 0..<layout.height {
            for x in 0..<layout.width {
                let (across, down) = (Float(x) / Float(layout.width), Float(y) / Float(layout.height))
                bytes[y * layout.width + x] = UInt8(40 + 120 * across + 60 * down * down)
                bytes[count + y * layout.width + x] = UInt8(70 + 90 * down)
                bytes[2 * count + y * layout.width + x] = UInt8(180 - 90 * across)
            }
        }
        var frame = Frame(layout)
        convert(planes.view, into: &frame)
        return frame
    }

    /// Y, U and V of each pixel.
    private func pixels(_ view: borrowing FrameView) -> (Int, Int) -> [Int] {
        let (width, height) = (view.layout.width, view.layout.height)
        var all = Frame(FrameLayout(width: width, height: height, format: .i444, range: view.layout.range))
        convert(view, into: &all)
        let array = all.array
        return { x, y in (0..<3).map { Int(array[$0 * width * height + y * width + x]) } }
    }

    private func isNear(_ a: [Int], _ b: [Int], _ most: Int) -> Bool {
        zip(a, b).allSatisfy { abs($0 - $1) <= most }
    }

    @Test(arguments: PixelFormat.allCases, ViewTransform.Rotation.allCases)
    func `corners go where a rotation and a mirror take them`(format: PixelFormat, rotation: ViewTransform.Rotation)
        throws
    {
        for (width, height) in [(64, 36), (33, 21)] {
            let layout = FrameLayout(width: width, height: height, format: format, range: .full)
            let source = picture(layout)
            let before = pixels(source.view)
            for isMirrored in [false, true] {
                var rotator = Rotator(from: layout, rotation: rotation, isMirrored: isMirrored)
                rotator.rotate(source.view)
                let size = (rotator.frame.layout.width, rotator.frame.layout.height)
                let isAcross = rotation == .quarter || rotation == .threeQuarters
                #expect(size == (isAcross ? (height, width) : (width, height)))
                let after = pixels(rotator.frame.view)
                // 4:2:2 rotated by a quarter turn loses chroma: half a step of the ramp.
                var worst = 0
                for y in 0..<height {
                    for x in 0..<width {
                        let (right, bottom) = (width - 1 - x, height - 1 - y)
                        var (u, v) =
                            switch rotation {
                            case .none: (x, y)
                            case .quarter: (bottom, x)
                            case .half: (right, bottom)
                            case .threeQuarters: (y, right)
                            }
                        if isMirrored { u = size.0 - 1 - u }
                        var transform = ViewTransform()
                        (transform.rotation, transform.isMirrored) = (rotation, isMirrored)
                        let place = transform.map(of: layout.size)(Point(Float(x) + 0.5, Float(y) + 0.5))
                        #expect(place == Point(Float(u) + 0.5, Float(v) + 0.5))
                        let (a, b) = (before(x, y), after(u, v))
                        worst = max(worst, zip(a, b).map { abs($0 - $1) }.max() ?? 0)
                        if a[0] != b[0] { worst = 255 }
                    }
                }
                #expect(worst <= 6, "\(format) \(width)x\(height), \(rotation), mirrored \(isMirrored): \(worst)")
            }
        }
    }

    @Test(arguments: [PixelFormat.yuyv, .i420, .nv12, .i444])
    func `mirroring twice restores the picture`(format: PixelFormat) throws {
        let layout = FrameLayout(width: 64, height: 48, format: format)
        let source = picture(layout)
        var one = Rotator(from: layout, rotation: .none, isMirrored: true)
        one.rotate(source.view)
        var two = Rotator(from: one.frame.layout, rotation: .none, isMirrored: true)
        two.rotate(one.frame.view)
        var back = Frame(layout)
        convert(two.frame.view, into: &back)
        #expect(back.array == source.array)
    }

    @Test func `a crop has even sides, and is never empty`() {
        var viewTransform = ViewTransform()
        let layout = FrameLayout(width: 1280, height: 720, format: .i420)
        #expect(viewTransform.part(of: layout) == PixelRect(x: 0, y: 0, width: 1280, height: 720))
        viewTransform.crop = [0.1, 0.2, 0.25, 0]
        #expect(viewTransform.part(of: layout) == PixelRect(x: 128, y: 144, width: 832, height: 576))
        viewTransform.crop = SIMD4(repeating: ViewTransform.maxCrop)
        for side in [1, 2, 3, 5, 17] {
            let part = viewTransform.part(of: FrameLayout(width: side, height: side, format: .i420))
            #expect(!part.isEmpty && part.x + part.width <= side && part.x % 2 == 0, "\(side): \(part)")
        }
    }

    @Test(arguments: [PixelFormat.yuyv, .i420, .i444, .gray], [PixelFormat.yuyv, .i420])
    func `the map says where each point of a crop is shown`(from: PixelFormat, to: PixelFormat) throws {
        let input = FrameLayout(width: 320, height: 180, format: from)
        let source = picture(input)
        let before = pixels(source.view)
        let part = PixelRect(x: 40, y: 20, width: 240, height: 136)
        for size in [(320, 180), (640, 480), (200, 200), (240, 136)] {
            let output = FrameLayout(width: size.0, height: size.1, format: to)
            var scaler = Scaler(from: input, to: output, part: part, canMove: true)
            var frame = Frame(output)
            let zoomed = Rect(x: 100.3, y: 40.7, width: 120, height: 68)
            for place in [Rect(part), zoomed, Rect(part)] {
                scaler.setVisibleRect(place)
                scaler.scale(source.view, into: &frame)
                let after = pixels(frame.view)
                let region = scaler.region
                // The crop's edges are the region's.
                let corner = scaler.map(Point(place.x - 0.5, place.y - 0.5))
                #expect((corner - Point(Float(region.x) - 0.5, Float(region.y) - 0.5)).length < 0.01)
                var worst = 0
                for y in stride(from: 2, to: place.height - 2, by: 7) {
                    for x in stride(from: 2, to: place.width - 2, by: 7) {
                        let seen = Point((place.x + x).rounded(), (place.y + y).rounded())
                        let shown = scaler.map(seen)
                        let (a, b) = (
                            before(Int(seen.x), Int(seen.y)), after(Int(shown.x.rounded()), Int(shown.y.rounded()))
                        )
                        worst = max(worst, zip(a, b).map { abs($0 - $1) }.max() ?? 0)
                    }
                }
                #expect(worst <= 4, "\(from) to \(to) \(size), \(place): off by \(worst)")
                if region.y > 2 { #expect(isNear(after(size.0 / 2, 0), [16, 128, 128], 1), "the bar is black") }
            }
        }
    }

    @Test func `the whole picture in the same size is bit-identical, with or without zoom`() throws {
        let input = FrameLayout(width: 320, height: 180, format: .yuyv)
        let source = picture(input)
        for output in [input, FrameLayout(width: 256, height: 256, format: .i420)] {
            var plain = Scaler(from: input, to: output)
            var zooming = Scaler(from: input, to: output, canMove: true)
            zooming.setVisibleRect(Rect(x: 10, y: 10, width: 160, height: 90))
            zooming.setVisibleRect(Rect(x: 0, y: 0, width: 320, height: 180))
            var one = Frame(output)
            var two = Frame(output)
            plain.scale(source.view, into: &one)
            zooming.scale(source.view, into: &two)
            #expect(one.array == two.array && plain.map == zooming.map)
        }
    }
}

@Suite struct FaceZoomTests {
    /// A head that faces the camera, `height` pixels from crown to chin.
    private func face(_ middle: Point, height: Float = 160, id: Int = 1) -> Face {
        var face = Face.mean
        let scale = height / 4.12
        face.id = id
        face.head = HeadPlacement(x: [scale, 0, 0], y: [0, scale, 0], origin: middle)
        return face
    }

    private let all = PixelRect(x: 0, y: 0, width: 1280, height: 720)

    private func settled(_ zoom: inout FaceZoom, _ faces: [Face], from time: Double, seconds: Double = 5) -> [Rect] {
        (0..<Int(seconds * 30)).map { zoom.update(faces, at: time + Double($0) / 30) }
    }

    @Test func `the head fills a third of the height, in the middle, up to the maximum zoom`() throws {
        for (height, most, part) in [(160, 2, 1.5), (60, 2, 2), (60, 3, 3), (400, 3, 1)] as [(Float, Double, Float)] {
            var zoom = FaceZoom(in: all, maxZoom: most)
            let shown = try #require(settled(&zoom, [face(Point(600, 340), height: height)], from: 0).last)
            #expect(abs(shown.height - 720 / part) < 0.5 && abs(shown.width - 1280 / part) < 0.9, "\(shown)")
            let middle = (Point(600, 340) - Point(shown.x, shown.y)) / Point(shown.width, shown.height)
            if part > 1 { #expect(abs(middle.x - 0.5) < 0.01 && abs(middle.y - 0.45) < 0.01, "\(middle)") }
        }
    }

    @Test func `the zoom is exactly still while the head stays in the middle band`() throws {
        var zoom = FaceZoom(in: all, maxZoom: 2)
        let shown = try #require(settled(&zoom, [face(Point(600, 340))], from: 0).last)
        var different = 0
        for i in 0..<300 {
            // A nod, a sway, and the noise of tracking.
            let t = Float(i) / 30
            let place = Point(600 + 45 * sin(2 * t) + Float(i % 3), 340 + 22 * sin(3 * t) + Float(i % 2))
            let now = zoom.update([face(place, height: 160 * (1 + 0.08 * sin(t)))], at: 5 + Double(i) / 30)
            if now != shown { different += 1 }
        }
        print("zoom at rest: it moved in \(different) of 300 frames")
        #expect(different == 0)
    }

    @Test func `a step is followed within a second and a half, smoothly and without overshoot`() throws {
        var zoom = FaceZoom(in: all, maxZoom: 2)
        _ = settled(&zoom, [face(Point(500, 340))], from: 0)
        let step = settled(&zoom, [face(Point(760, 340))], from: 5, seconds: 4)
        let (from, to) = (step[0].center.x, try #require(step.last).center.x)
        let arrived = try #require(step.firstIndex { abs($0.center.x - to) < 0.02 * $0.width })
        let beyond = step.map { ($0.center.x - to) }.max() ?? 0
        // The largest change of speed from one frame to the next, in pixels per frame.
        let speeds = zip(step, step.dropFirst()).map { $1.center.x - $0.center.x }
        let jolt = zip(speeds, speeds.dropFirst()).map { abs($1 - $0) }.max() ?? 0
        let still = step.indices.dropFirst().last { step[$0] != step[$0 - 1] }
        print(
            """
            zoom, a step of 260 px: there after \(Float(arrived) / 30) s, over by \(beyond) px, at most \
            \(speeds.max() ?? 0) px a frame, which changed by \(jolt); still after \(Float(still ?? 0) / 30) s
            """)
        #expect(abs(to - 760) < 2 && abs(from - 500) < 10)
        #expect(Float(arrived) / 30 < 1.5 && beyond < 0.5)
        #expect((speeds.max() ?? 0) < 30 && jolt < 10)
    }

    @Test func `two seconds after a face is lost the whole picture is shown again`() throws {
        var zoom = FaceZoom(in: all, maxZoom: 2)
        let near = try #require(settled(&zoom, [face(Point(600, 340))], from: 0).last)
        let gone = settled(&zoom, [], from: 5, seconds: 6)
        let left = try #require(gone.firstIndex { $0 != near })
        #expect((1.9...2.1).contains(Float(left) / 30), "it left after \(Float(left) / 30) s")
        #expect(gone.last == Rect(all))
        let most = zip(gone, gone.dropFirst()).map { abs($1.width - $0.width) }.max() ?? 0
        #expect(most < 40, "a jump of \(most) px")
    }

    @Test func `the largest face is followed, and kept when another has the same size`() throws {
        var zoom = FaceZoom(in: all, maxZoom: 2)
        let (left, right) = (face(Point(400, 340), id: 1), face(Point(900, 340), height: 120, id: 2))
        let shown = try #require(settled(&zoom, [left, right], from: 0).last)
        #expect(abs(shown.center.x - 400) < 60)
        let nearer = face(Point(900, 340), height: 180, id: 2)
        #expect(try #require(settled(&zoom, [left, nearer], from: 5).last).center.x < 480)
        let near = face(Point(900, 340), height: 210, id: 2)
        #expect(try #require(settled(&zoom, [left, near], from: 10).last).center.x > 700)
    }

    @Test func `whatever faces do, the view keeps its aspect ratio, stays within the crop, and never jumps`() {
        // The same numbers in each run, so that failures can be reproduced.
        var lot = Seeded(state: 7)
        for round in 0..<50 {
            let part = PixelRect(x: 128, y: 36, width: 1024, height: 648)
            var zoom = FaceZoom(in: part, maxZoom: 3)
            var last = Rect(part)
            var (time, widest): (Double, Float) = (0, 0)
            for _ in 0..<400 {
                time += Double.random(in: 0.005...0.08, using: &lot)
                let place = Point(.random(in: -100...1400, using: &lot), .random(in: -100...900, using: &lot))
                let isThere = Int.random(in: 0...20, using: &lot) > 0
                let shown = zoom.update(
                    isThere ? [face(place, height: .random(in: 5...900, using: &lot))] : [], at: time)
                #expect(shown.x >= 128 && shown.y >= 36, "\(round): \(shown)")
                #expect(shown.x + shown.width <= 1152.01 && shown.y + shown.height <= 684.01, "\(round): \(shown)")
                // A quarter of a percent: the smallest part shown is a few hundred pixels wide.
                #expect(abs(shown.width / shown.height - 1024.0 / 648) < 0.004)
                widest = max(widest, (shown.center - last.center).length)
                last = shown
            }
            #expect(widest < 120, "\(widest) px in one frame")
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood: Fast Splittable Pseudorandom Number Generators, 2014).
private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
