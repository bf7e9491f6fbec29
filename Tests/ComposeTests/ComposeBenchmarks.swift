import CAllocations
import Frames
import Glibc
import JSON
import Objects
import TestSupport
import Testing
import Track

@testable import Compose
@testable import SystemKit

/// CPU time of drawing. Run by `make bench`.
@Suite(.serialized) struct ComposeBenchmarks {
    private static let layout = FrameLayout(width: 1280, height: 720, format: .yuyv, range: .limited)

    /// CPU milliseconds of this thread: the minimum of many runs, because other load on the machine slows some.
    private func least(_ runs: Int = 40, _ body: () throws -> Void) rethrows -> Double {
        var least = Double.infinity
        for _ in 0..<runs {
            let start = threadTime()
            try body()
            least = min(least, Double(threadTime() - start) / 1e6)
        }
        return least
    }

    @Test(
        arguments: [
            "pixelate", "blur", "polaroid", "snow", "name-tag", "tint", "hud", "bust", "tiger", "makeup-evening",
            "domino", "santa",
        ])
    func `a layer`(name: String) throws {
        let faces = [face(at: Point(640, 300), scale: 72)]
        var canvas = Canvas(Self.layout)
        let picture = Samples(noise: Self.layout).frame
        var compositor = Compositor(masks: [
            try MaskLibrary(searchPaths: [masksFolder]).load(name, for: ArtTarget(Self.layout))
        ])
        var time = 0.0
        let copy = least { convert(picture.view, into: &canvas.frame) }
        let both = least {
            convert(picture.view, into: &canvas.frame)
            time += 1 / 30.0
            compositor.compose(&canvas, faces, placement: .identity, at: time)
        }
        figure("mask \(name), 1280x720", (both - copy) / copy, "copies of the frame")
    }

    /// CPU milliseconds of this process and of its children that have ended.
    private func wholeTime() -> Double {
        [RUSAGE_SELF, RUSAGE_CHILDREN].reduce(0) { (sum: Double, whose) -> Double in
            var used = rusage()
            _ = unsafe getrusage(CInt(truncatingIfNeeded: whose.rawValue), &used)
            let seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec
            let microseconds = used.ru_utime.tv_usec + used.ru_stime.tv_usec
            return sum + Double(seconds) * 1000 + Double(microseconds) / 1000
        }
    }

    @Test func `naming things`() throws {
        let scratch = try ScratchFolder()
        let library = ThingLibrary(folder: scratch.path("Things"))
        var picture = DrawnPicture.scene(Array(DrawnThing.allTaught.prefix(5)), seed: 3)
        (picture.light.gain, picture.light.slope) = (0.9, .zero)
        for thing in DrawnThing.allTaught {
            _ = try library.teach(
                thing.name,
                (0..<3).flatMap {
                    ThingFinder.cutouts(of: DrawnPicture.lesson(thing, $0, seed: 1).frame().view)
                })
        }
        var target = ArtTarget(Self.layout)
        target.things = library
        let frame = picture.frame(.yuyv)
        var canvas = Canvas(Self.layout)
        var compositor = Compositor(masks: [
            try MaskLibrary(searchPaths: [masksFolder]).load("objects", for: target)
        ])
        library.recognizer.shutDown()
        // Ten seconds of a video, at its own pace, so that looks take their usual share.
        let (frames, rate, whole) = (300, 30.0, wholeTime())
        var (own, largest) = (0.0, 0.0)
        for number in 0..<frames {
            convert(frame.view, into: &canvas.frame)
            let start = threadTime()
            compositor.compose(&canvas, [], placement: .identity, at: Double(number) / rate)
            let took = Double(threadTime() - start) / 1e6
            (own, largest) = (own + took, number > 2 ? max(largest, took) : 0)
            usleep(UInt32(1e6 / rate - took * 1000))
        }
        library.recognizer.shutDown()
        figure("naming five of eleven things, a frame of the loop", own / Double(frames), "ms")
        figure("naming five of eleven things, its longest frame", largest, "ms")
        figure("naming five of eleven things, a frame in all processes", (wholeTime() - whole) / Double(frames), "ms")
    }

    @Test func `estimating the light`() {
        var frame = Frame(FrameLayout(width: 320, height: 240, format: .i420, range: .full))
        frame.fill(y: 120, u: 120, v: 140)
        let pixels = PixelReader(frame.view)
        let trackedFaces = [TrackedFace(face: middleFace)]
        var sum: Float = 0
        let room = least { sum += AmbientEstimate(pixels, leavingOut: trackedFaces).highlight }
        let known = AmbientEstimate(pixels, leavingOut: trackedFaces)
        let face = least { sum += FaceIllumination(pixels, middleFace, known).light.gain }
        figure("light of the room", room * 1000, "us")
        figure("light of a face", face * 1000, "us")
        #expect(sum.isFinite)
    }

    @Test func `scaling, zooming and mirroring`() {
        let input = Self.layout
        let source = Samples(noise: input).frame
        let small = FrameLayout(width: 960, height: 540, format: .yuyv)
        var frame = Frame(input)
        var smaller = Frame(small)
        var whole = Scaler(from: input, to: input)
        var scaled = Scaler(from: input, to: small)
        var zoomed = Scaler(from: input, to: input, canMove: true)
        var aligned = Scaler(from: input, to: input, canMove: true)
        zoomed.setVisibleRect(Rect(x: 300.3, y: 100.7, width: 640, height: 360))
        aligned.setVisibleRect(Rect(x: 300, y: 100, width: 640, height: 360))
        var rotator = Rotator(from: input, rotation: .none, isMirrored: true)
        let copy = least { whole.scale(source.view, into: &frame) }
        figure("scaling, as it is", copy, "ms")
        figure("scaling, scaled to 960x540", least { scaled.scale(source.view, into: &smaller) } / copy, "copies")
        figure("scaling, zoomed", least { zoomed.scale(source.view, into: &frame) } / copy, "copies")
        figure("scaling, zoomed to whole pixels", least { aligned.scale(source.view, into: &frame) } / copy, "copies")
        figure("mirroring", least { rotator.rotate(source.view) } / copy, "copies")
    }

    @Test(arguments: [(512, 512), (700, 700), (1920, 1080)], [PixelFormat.i420, .nv12, .yuyv])
    func `scaling to 1280x720`(size: (width: Int, height: Int), format: PixelFormat) {
        let source = Samples(noise: FrameLayout(width: size.width, height: size.height, format: format)).frame
        let picture = Samples(noise: Self.layout).frame
        var frame = Frame(Self.layout)
        var scaler = Scaler(from: source.layout, to: Self.layout)
        let copy = least { convert(picture.view, into: &frame) }
        let scaled = least { scaler.scale(source.view, into: &frame) }
        figure("scaling \(source.layout) to 1280x720", scaled / copy, "copies of the frame")
    }
}
