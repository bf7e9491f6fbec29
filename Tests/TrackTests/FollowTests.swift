import Foundation
import Frames
import TestSupport
import Testing

@testable import Track

private func makeTracker() throws -> Tracker {
    Tracker(
        try FaceDetector(
            catalog: try CascadeCatalog(folder: Fixtures.inPackage("Cascades")),
            cache: landmarkCache))
}

extension Gray {
    /// Shows a part of the picture as the frame: a camera that pans by whole pixels, without copying.
    fileprivate func window(x: Int, y: Int, width w: Int, height h: Int, _ body: (borrowing LumaView) -> Void) {
        let first = y * width + x
        body(
            LumaView(
                samples: pixels.span.extracting(first..<first + (h - 1) * width + w), width: w, height: h,
                rowStride: width))
    }

    /// The picture with its edge extended by a number of pixels on each side.
    fileprivate func padded(_ x: Int, _ y: Int) -> Gray {
        var out = Gray(width: width + 2 * x, height: height + 2 * y, pixels: [])
        for row in -y..<height + y {
            let first = max(0, min(row, height - 1)) * width
            out.pixels += Array(repeating: pixels[first], count: x)
            out.pixels += pixels[first..<first + width]
            out.pixels += Array(repeating: pixels[first + width - 1], count: x)
        }
        return out
    }

    /// The means of squares of `2 * radius + 1` pixels; the edge is extended.
    fileprivate func blurred(_ radius: Int) -> Gray {
        var (across, out) = (self, self)
        for y in 0..<height {
            for x in 0..<width {
                var sum = 0
                for k in -radius...radius { sum += Int(pixels[y * width + max(0, min(x + k, width - 1))]) }
                across.pixels[y * width + x] = UInt8(sum / (2 * radius + 1))
            }
        }
        for y in 0..<height {
            for x in 0..<width {
                var sum = 0
                for k in -radius...radius { sum += Int(across.pixels[max(0, min(y + k, height - 1)) * width + x]) }
                out.pixels[y * width + x] = UInt8(sum / (2 * radius + 1))
            }
        }
        return out
    }

    /// With a camera's noise: the sum of three random numbers, at most `3 * step`.
    fileprivate func noisy(step: Int, seed: Int) -> Gray {
        var (out, random) = (self, RepeatableGenerator(state: UInt64(seed) &* 77_777_777 &+ 5))
        for i in out.pixels.indices {
            let bits = random.next()
            let draws = Int(bits >> 60) % (2 * step + 1) + Int(bits >> 50 & 15) % (2 * step + 1)
            out.pixels[i] = UInt8(max(0, min(255, Int(pixels[i]) + draws - 2 * step)))
        }
        return out
    }
}

/// The mean distance of two faces' points, the second shifted, in the first's eye distances.
private func distance(_ first: Face, _ second: Face, shift: Point = .zero) -> Float {
    var sum: Float = 0
    for i in 0..<68 { sum += (first.landmarks[i] - second.landmarks[i] - shift).length }
    return sum / 68 / first.head.scale
}

@Suite(.needsSample, .needsLandmarks) struct FollowTests {
    private static let (width, height) = (320, 240)
    /// The sample, 512 pixels high, with room to pan.
    private static let margin = 320
    /// The frame's corner in it at first: eyes at about (160, 100), 43 pixels apart.
    private static let corner = (x: 65, y: 0)

    private func scene() throws -> Gray {
        try #require(LabelledPhotos.decode(Fixtures.sample, height: nil)).padded(Self.margin, Self.margin)
    }

    /// Shows a frame that is panned by an offset since the first.
    private func show(
        _ tracker: inout Tracker, _ scene: Gray, frame: Int, panned: (x: Int, y: Int) = (0, 0)
    ) -> [Face] {
        scene.window(
            x: Self.margin + Self.corner.x + panned.x, y: Self.margin + Self.corner.y + panned.y, width: Self.width,
            height: Self.height
        ) { tracker.update($0, at: Double(frame) / 30) }
        return tracker.faces
    }

    /// The share of a face's landmarks outside the frame.
    private func gone(_ face: Face) -> Float {
        var outside = 0
        for i in 0..<68 {
            let p = face.landmarks[i]
            if p.x < 0 || p.y < 0 || p.x >= Float(Self.width) || p.y >= Float(Self.height) { outside += 1 }
        }
        return Float(outside) / 68
    }

    @Test(arguments: [(6, 0), (-8, 0), (0, 5)])
    func `a face that moves out of the frame is tracked until more than half of it is gone`(stepX: Int, stepY: Int)
        throws
    {
        let scene = try scene()
        var tracker = try makeTracker()
        let still = 15
        for frame in 0..<still { _ = show(&tracker, scene, frame: frame) }
        let start = try #require(tracker.faces.first)
        var (worst, furthest): (Float, Float) = (0, 0)
        for step in 1...100 {
            let panned = (x: step * stepX, y: step * stepY)
            let faces = show(&tracker, scene, frame: still + step, panned: panned)
            // The face's position, because the picture does not change.
            var moved = start
            let shift = Point(Float(-panned.x), Float(-panned.y))
            for i in 0..<68 { moved.landmarks[i] += shift }
            let hidden = gone(moved)
            if hidden > 0.5 { break }
            furthest = hidden
            let face = try #require(faces.first, "step \(step), \(hidden) gone")
            #expect(faces.count == 1 && face.id == start.id && face.state == .tracked, "step \(step), \(hidden) gone")
            worst = max(worst, distance(start, face, shift: -shift))
        }
        print("(\(stepX), \(stepY)) a frame: followed until \(furthest) gone, \(worst) eye distances off at most")
        #expect(furthest > 0.35)
        #expect(worst < 0.05)
    }

    @Test func `a still face's points hardly move in a noisy picture`() throws {
        let picture = try scene().crop(
            Self.margin + Self.corner.x, Self.margin + Self.corner.y, width: Self.width, height: Self.height)
        var tracker = try makeTracker()
        var (last, ways): (Face?, [Float]) = (nil, [])
        for frame in 0..<40 {
            picture.noisy(step: 4, seed: frame).view { tracker.update($0, at: Double(frame) / 30) }
            let face = tracker.faces.first
            if frame >= 20 {
                let (last, face) = (try #require(last), try #require(face))
                ways.append(distance(last, face))
            }
            last = face
        }
        let mean = ways.reduce(0, +) / Float(ways.count)
        print("from frame to frame the points move \(mean) eye distances in the mean, \(ways.max() ?? 0) at most")
        #expect(mean < 0.003)
        #expect(ways.max() ?? 1 < 0.01)
    }

    @Test(arguments: ["wall", "blobs"], [false, true])
    func `a face that disappears is predicted for the hold time, and then dropped`(
        instead: String, isThorough: Bool
    ) throws {
        let scene = try scene()
        let blobs = Gray.synthetic(width: Self.width, height: Self.height, seed: 5)
        // The background stays: another one would be a cut.
        var empty = Gray(width: Self.width, height: Self.height, pixels: [])
        for y in 0..<Self.height {
            let first = (Self.margin + Self.corner.y + y) * scene.width + Self.margin + Self.corner.x
            empty.pixels += scene.pixels[first..<first + Self.width]
            guard (10..<200).contains(y) else { continue }
            for x in 95..<225 {
                empty.pixels[y * Self.width + x] = instead == "wall" ? 120 : blobs.pixels[y * Self.width + x]
            }
        }
        var tracker = try makeTracker()
        // A mask that hides the face does not rely on a prediction for longer, whatever the setting says.
        let hold = tracker.settings.hold
        if isThorough {
            tracker.isThorough = true
            var settings = tracker.settings
            settings.hold = 5
            tracker.apply(settings)
        }
        let still = 15
        for frame in 0..<still { _ = show(&tracker, scene, frame: frame) }
        let face = try #require(tracker.faces.first)
        #expect(face.state == .tracked)
        for frame in still..<still + 15 {
            empty.view { tracker.update($0, at: Double(frame) / 30) }
            let since = Double(frame - still + 1) / 30
            if since < hold - 0.01 {
                let carried = try #require(tracker.faces.first, "frame \(frame)")
                #expect(carried.state == .predicted && carried.id == face.id, "frame \(frame)")
                #expect(carried.confidence == 0)
                #expect(distance(face, carried) < 0.02, "frame \(frame)")
            } else if since > hold + 0.01 {
                #expect(tracker.faces.isEmpty, "frame \(frame): \(tracker.faces.map(\.state))")
            }
        }
        // It comes back with its id.
        for frame in still + 15..<still + 35 where instead == "wall" { _ = show(&tracker, scene, frame: frame) }
        guard instead == "wall" else { return }
        #expect(tracker.faces.map(\.id) == [face.id] && tracker.faces.first?.state == .tracked)
    }

    @Test(arguments: [5, 6], [2, 4])
    func `a lost face that is first seen again only now and then keeps its id`(radius: Int, period: Int) throws {
        let whole = try scene().crop(
            Self.margin + Self.corner.x, Self.margin + Self.corner.y, width: Self.width, height: Self.height)
        let blurred = whole.blurred(radius).blurred(radius).blurred(radius)
        // Blurred so much that it may become a track that is dropped again before it is confirmed.
        var (empty, weak) = (whole, whole)
        for y in 10..<200 {
            for i in y * Self.width + 95..<y * Self.width + 225 {
                (empty.pixels[i], weak.pixels[i]) = (120, blurred.pixels[i])
            }
        }
        var tracker = try makeTracker()
        var id: Int?
        for frame in 0..<86 {
            let picture =
                switch frame {
                case ..<15, 66...: whole
                case ..<30: empty
                default: (frame - 30) % period < period / 2 ? weak : empty
                }
            picture.view { tracker.update($0, at: Double(frame) / 30) }
            if frame == 14 { id = tracker.faces.first?.id }
        }
        let first = try #require(id)
        #expect(tracker.faces.map(\.id) == [first])
    }

    @Test func `after a cut no face is predicted, and new faces are detected`() throws {
        let scene = try scene()
        let other = Gray.synthetic(width: Self.width, height: Self.height, seed: 5)
        var tracker = try makeTracker()
        for frame in 0..<15 { _ = show(&tracker, scene, frame: frame) }
        let face = try #require(tracker.faces.first)
        other.view { tracker.update($0, at: 15.0 / 30) }
        #expect(tracker.isCut && tracker.faces.isEmpty)
        for frame in 16..<40 { _ = show(&tracker, scene, frame: frame) }
        #expect(!tracker.isCut && tracker.faces.count == 1 && tracker.faces.first?.id != face.id)
    }

    @Test func `frames of another size, or with time that stands still or goes back, are handled`() throws {
        let scene = try scene()
        var tracker = try makeTracker()
        for frame in 0..<12 { _ = show(&tracker, scene, frame: frame) }
        #expect(tracker.faces.count == 1)
        // The same time again, and an older one.
        for frame in [11, 11, 5, 6, 12] { _ = show(&tracker, scene, frame: frame) }
        let face = try #require(tracker.faces.first)
        for i in 0..<68 { #expect(face.landmarks[i].x.isFinite && face.landmarks[i].y.isFinite) }
        for (step, size) in [(400, 300), (64, 48), (9, 7), (1, 1), (400, 300)].enumerated() {
            scene.window(x: Self.margin, y: Self.margin, width: size.0, height: size.1) {
                tracker.update($0, at: 1 + Double(step) / 30)
            }
            // A face of another frame is not predicted; a certain one may be detected again in the same frame.
            #expect(tracker.faces.allSatisfy { $0.state == .tracked } || step > 0, "a face of another frame")
        }
        for frame in 0..<15 {
            scene.window(x: Self.margin, y: Self.margin, width: 400, height: 300) {
                tracker.update($0, at: 2 + Double(frame) / 30)
            }
        }
        #expect(tracker.faces.count == 1)
    }

    @Test func `a photo may follow a clip`() throws {
        let scene = try scene()
        var tracker = try makeTracker()
        for frame in 0..<12 { _ = show(&tracker, scene, frame: frame) }
        let face = try #require(tracker.faces.first)
        scene.window(x: Self.margin, y: Self.margin, width: 400, height: 300) { tracker.searchWhole($0) }
        #expect(tracker.faces.count == 1)
        let corner = Point(Float(Self.corner.x), Float(Self.corner.y))
        #expect(try distance(face, #require(tracker.faces.first), shift: -corner) < 0.15)
    }

    /// Two copies of the sample, side by side.
    private func twoPeople() throws -> Gray {
        let one = try scene()
        var two = Gray(width: 640, height: 240, pixels: [])
        for row in 0..<240 {
            let first = row * one.width + Self.margin + Self.corner.x + Self.margin * one.width
            let half = Array(one.pixels[first..<first + 320])
            two.pixels += half + half
        }
        return two
    }

    @Test func `if fewer faces are allowed, the one that is there goes on, whichever it is`() throws {
        let two = try twoPeople()
        var tracker = try makeTracker()
        for frame in 0..<20 { two.view { tracker.update($0, at: Double(frame) / 30) } }
        let areBothFound = tracker.faces.count == 2
        try #require(areBothFound)
        let (first, second) = (tracker.faces[0], tracker.faces[1])
        // The one who came first leaves.
        var one = two
        let left = first.box.center.x < 320 ? 95 : 415
        for y in 10..<200 { for x in left..<left + 130 { one.pixels[y * 640 + x] = 120 } }
        for frame in 20..<40 { one.view { tracker.update($0, at: Double(frame) / 30) } }
        #expect(tracker.faces.map(\.id) == [second.id])
        var settings = Tracker.Settings()
        settings.max = 1
        tracker.apply(settings)
        one.view { tracker.update($0, at: 40.0 / 30) }
        #expect(tracker.faces.map(\.id) == [second.id])
    }

    @Test func `the maximum number of faces can be lowered and raised while tracking`() throws {
        let two = try twoPeople()
        var tracker = try makeTracker()
        var number = 0
        func faces(after frames: Int) -> Int {
            for _ in 0..<frames {
                two.window(x: 0, y: 0, width: 640, height: 240) { tracker.update($0, at: Double(number) / 30) }
                number += 1
            }
            return tracker.faces.count
        }
        #expect(faces(after: 20) == 2)
        let first = tracker.faces.map(\.id)
        var settings = Tracker.Settings()
        for most in [1, 8, 1] {
            settings.max = most
            tracker.apply(settings)
            // Beside a known face few tiles are searched: two seconds until the other one is found again.
            #expect(faces(after: 60) == min(most, 2))
            #expect(tracker.faces.contains { first.contains($0.id) }, "one of them goes on")
        }
    }
}
