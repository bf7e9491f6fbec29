import CAllocations
import Foundation
import Frames
import JPEG
import SystemKit
import TestSupport
import Testing

@testable import Compose

/// Clips of the user's own as backgrounds.
@Suite struct FilmTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
        _ = try scratch.write(
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'><path fill='#fff' d='M0 0h8v8H0z'/></svg>",
            "room/wall.svg")
    }

    private func mask(
        _ film: [UInt8], _ more: String = "", layout: FrameLayout
    ) throws -> Mask {
        _ = try scratch.write(Data(film), "own/film.mjpeg")
        _ = try scratch.write(
            #"{"version": 1, "layers": [{"kind": "background", "mode": "picture", "pictures": {"wall": "wall.svg"}"#
                + "\(more)}]}", "room/mask.json")
        var target = ArtTarget(layout)
        (target.ownPictures, target.choices["picture"]) = (scratch.path("own"), "film.mjpeg")
        return try MaskLibrary(searchPaths: [scratch.url.path]).load("room", for: target)
    }

    /// The luma of a frame's middle at each time, in seconds.
    private func levels(_ mask: Mask, at times: [Double], _ layout: FrameLayout) -> [Int] {
        var compositor = Compositor(masks: [mask])
        var canvas = Canvas(layout)
        return times.map { time in
            canvas.frame.fill(y: 200, u: 128, v: 128)
            compositor.compose(&canvas, [], placement: .identity, at: time)
            let luma = canvas.frame.view.luma
            return Int(luma.samples[layout.height / 2 * luma.rowStride + layout.width / 2 * luma.pixelStride])
        }
    }

    private static let limited = FrameLayout(width: 320, height: 180, format: .yuyv)

    @Test(arguments: [PixelFormat.yuyv, .uyvy, .nv12, .i420, .i422, .i444])
    func `a clip moves, and begins again after its end, in every format`(format: PixelFormat) throws {
        let layout = FrameLayout(width: 322, height: 181, format: format, range: .full)
        let mask = try mask(try Films.plain([40, 80, 120, 160]), layout: layout)
        #expect(mask.warnings == [])
        let seen = levels(mask, at: (0..<20).map { Double($0) / 30 }, layout)
        let wanted = (0..<20).map { 40 + 40 * ($0 / 2 % 4) }
        #expect(zip(seen, wanted).allSatisfy { abs($0 - $1) <= 2 }, "\(seen)")
    }

    @Test func `a clip that plays once stays at its last picture`() throws {
        let mask = try mask(
            try Films.plain([40, 80, 120]), #", "motion": {"repeat": "once"}"#, layout: Self.limited)
        let seen = levels(mask, at: [0.001, 0.1, 0.15, 5, 6], Self.limited)
        #expect(seen[4] == seen[3] && seen[3] == seen[2] && seen[2] > seen[0] + 40, "\(seen)")
    }

    @Test func `a damaged picture leaves the one before, and without any the room is hidden all the same`() throws {
        let film = try Films.plain([40, 80, 120, 160])
        var seen = levels(
            try mask(Films.damaging(2, of: film), layout: Self.limited), at: [0.001, 0.1, 0.15, 0.22], Self.limited)
        #expect(seen[1] > seen[0] && seen[2] == seen[1] && seen[3] > seen[2], "\(seen)")
        let broken = (0..<4).reduce(film) { Films.damaging($1, of: $0) }
        #expect(broken.count == film.count)
        seen = levels(try mask(broken, layout: Self.limited), at: [0.001, 0.1, 0.15, 0.22], Self.limited)
        #expect(seen.allSatisfy { $0 < 60 }, "\(seen)")
    }

    @Test func `a damaged file shows the mask's own picture, with a warning`() throws {
        let film = try Films.plain([40, 80])
        for bytes in [Array(film.dropLast(4)), Array("no film".utf8), film + [0xFF]] {
            let mask = try mask(bytes, layout: Self.limited)
            let warning = mask.warnings.first ?? ""
            #expect(mask.warnings.count == 1 && warning.contains("film.mjpeg is not a moving picture"), "\(warning)")
            #expect(levels(mask, at: [0.001, 0.1], Self.limited) == [235, 235])
        }
    }

    @Test func `a film in a mask's folder is none, since strangers make masks`() throws {
        _ = try scratch.write(Data(try Films.plain([40, 160])), "room/wall.mjpeg")
        _ = try mask(try Films.plain([40]), layout: Self.limited)
        for layer in [#""art": "wall.mjpeg""#, #""pictures": {"wall.mjpeg": "wall.mjpeg"}"#] {
            _ = try scratch.write(
                #"{"version": 1, "layers": [{"kind": "background", "mode": "picture", \#(layer)}]}"#, "room/mask.json")
            var target = ArtTarget(Self.limited)
            (target.ownPictures, target.choices["picture"]) = (scratch.path("own"), "wall.mjpeg")
            // Its first picture, as the process without rights decodes it.
            let mask = try MaskLibrary(searchPaths: [scratch.url.path]).load("room", for: target)
            let seen = levels(mask, at: [0.001, 0.1], Self.limited)
            #expect(seen[0] == seen[1] && abs(seen[0] - 50) < 4, "\(seen)")
        }
    }

    @Test func `a clip covers the frame, or is fitted or stretched to it`() throws {
        /// Where the luma of a frame's rows and columns through its middle is not black.
        func shown(_ fit: String) throws -> (columns: Int, rows: Int) {
            let layout = FrameLayout(width: 320, height: 180, format: .i420, range: .full)
            let film = try Films.plain([200], width: 100, height: 100)
            var compositor = Compositor(masks: [try mask(film, #", "fit": "\#(fit)""#, layout: layout)])
            var canvas = Canvas(layout)
            compositor.compose(&canvas, [], placement: .identity, at: 0)
            let luma = canvas.frame.view.luma.samples
            return (
                (0..<320).count { luma[90 * 320 + $0] > 190 }, (0..<180).count { luma[$0 * 320 + 160] > 190 }
            )
        }
        #expect(try shown("cover") == (320, 180))
        #expect(try shown("stretch") == (320, 180))
        #expect(try shown("contain") == (180, 180))
        let places = PictureFit.cover.fittedRects(
            of: FrameSize(width: 960, height: 540), on: FrameSize(width: 720, height: 720))
        #expect(places.part == PixelRect(x: 210, y: 0, width: 540, height: 540))
        #expect(places.region == PixelRect(x: 0, y: 0, width: 720, height: 720))
    }

    @Test(.enabled(if: callocations_is_enabled() != 0, "needs a build without sanitizers"))
    func `a clip allocates nothing once warm`() throws {
        let mask = try mask(try Films.plain([40, 80, 120, 160]), layout: Self.limited)
        var compositor = Compositor(masks: [mask])
        var canvas = Canvas(Self.limited)
        // libjpeg-turbo itself asks for memory for each picture, and gives it back.
        let film = try MotionJPEG(path: scratch.path("own/film.mjpeg"))
        let decoder = try JPEGDecoder()
        var frame = Frame(film.layout)
        for number in 0..<2 { _ = try decoder.decode(film[number], into: &frame) }
        let before = callocations_count()
        _ = try decoder.decode(film[2], into: &frame)
        let decoding = callocations_count() - before
        var counts: [UInt64] = []
        for number in 0..<60 {
            let before = callocations_count()
            compositor.compose(&canvas, [], placement: .identity, at: Double(number) / 30)
            let count = callocations_count() - before
            if number > 2 { counts.append(count) }
        }
        #expect(Set(counts) == [0, decoding] && decoding < 20, "\(counts)")
    }
}
