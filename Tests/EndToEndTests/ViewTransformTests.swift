import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
    /// The effect of `view` in the configuration on the output.
    @Suite(.needsSample, .needsReleaseBuild)
    struct ViewTransformTests {
        let scratch: ScratchFolder
        init() throws { scratch = try ScratchFolder() }

        /// A second of a still portrait, after an ffmpeg filter.
        private func clip(_ name: String = "clip.mkv", _ filter: String = "null") throws -> String {
            try scratch.make(
                name, "-loop 1 -i \(Fixtures.sample) -t 1 -r 10 -vf \(filter) -pix_fmt yuv444p -c:v ffv1")
        }

        /// The last picture of a file.
        private func last(_ path: String, _ filter: String = "null") throws -> Picture {
            try scratch.picture(path, "-vf '\(filter)'", isLast: true)
        }

        /// The output for a clip with this view, and the pixels that a mask changes in it.
        private func dressed(
            _ clip: String, _ view: String, _ mask: String
        ) throws -> (bare: Picture, mask: (count: Int, left: Int, top: Int, right: Int, bottom: Int)) {
            let pictures = try ["", "\"\(mask)\""].map { masks in
                let config = try scratch.write("{\"masks\": [\(masks)], \"view\": \(view)}", "view.json")
                let outcome = try scratch.guise(
                    "run", "--source", clip, "--sink", "out.mkv", "--overwrite", "--config", config)
                try #require(outcome.code == 0, "\(outcome)")
                return try last(scratch.path("out.mkv"))
            }
            return (pictures[0], pictures[1].changes(from: pictures[0], stray: 0.01))
        }

        @Test(arguments: ["sunglasses", "santa-hat"])
        func `masks on a mirrored picture are mirrored with the person`(mask: String) throws {
            let plain = try dressed(clip(), "{}", mask).mask
            let (bare, mirrored) = try dressed(clip(), "{\"mirror\": true}", mask)
            let want = try last(clip(), "hflip")
            #expect(bare.changes(from: want).count < want.width * want.height / 100)
            let wide = bare.width - 1
            print(
                "\(mask): \(plain); mirrored \(mirrored), which is \(wide - mirrored.right) to \(wide - mirrored.left)")
            try #require(plain.count > 500)
            // A hat's tip hangs to the same side of the picture; its rim follows the head.
            let most = mask == "santa-hat" ? (plain.right - plain.left) / 4 : 4
            #expect(abs(wide - mirrored.right - plain.left) <= most && abs(wide - mirrored.left - plain.right) <= most)
            #expect(abs(mirrored.top - plain.top) <= 8 && abs(mirrored.bottom - plain.bottom) <= 8)
        }

        @Test func `a camera on its side is rotated upright, and its faces get masks`() throws {
            // A part of it that is not square, so that a missing rotation is noticed.
            let side = try clip("side.mkv", "crop=384:512:32:0,transpose=2")
            let (picture, changed) = try dressed(side, "{\"rotate\": 90}", "sunglasses")
            #expect((picture.width, picture.height) == (512, 384))
            // 288x384 in the middle of 512x384.
            let want = try last(clip(), "crop=384:512:32:0,scale=288:384:flags=bilinear,pad=512:384:112:0")
            #expect(picture.changes(from: want).count < want.width * want.height / 50)
            let whole = try dressed(clip(), "{}", "sunglasses").mask
            print("turned: \(changed), upright \(whole)")
            let (left, right) = ((whole.left - 32) * 3 / 4 + 112, (whole.right - 32) * 3 / 4 + 112)
            #expect(abs(changed.left - left) <= 4 && abs(changed.right - right) <= 4, "\(left) to \(right)")
            #expect(abs(changed.top - whole.top * 3 / 4) <= 4, "\(whole)")
        }

        @Test func `a mirror and a crop take effect with the next frames`() throws {
            let guise = try RunningGuise(
                ["--source", try clip(), "--loop", "--realtime", "--sink", "null", "--mask", "polaroid"],
                config: "{\"output\": {\"width\": 512, \"height\": 512}}", in: scratch)
            try guise.ask("clear")
            func comesTo(_ filter: String) throws -> Bool {
                let want = try last(clip(), filter)
                return guise.waits { _ in
                    try guise.snapshot().changes(from: want).count < want.width * want.height / 500
                }
            }
            #expect(try comesTo("null"))
            #expect(try guise.guise("set", "view.mirror", "true").code == 0)
            #expect(try comesTo("hflip"))
            #expect(try guise.guise("set", "view.crop", "[0.25, 0.25, 0.25, 0.25]").code == 0)
            #expect(try comesTo("hflip,crop=256:256:128:128,scale=512:512:flags=bilinear"))
            #expect(try guise.guise("set", "view.mirror", "false").code == 0)
            #expect(try comesTo("crop=256:256:128:128,scale=512:512:flags=bilinear"))
            for (key, value, words) in [
                ("view.rotate", "45", "0, 90, 180, 270"), ("view.crop", "[0.9, 0, 0, 0]", "4 numbers from 0 to 0.45"),
                ("view.zoom", "faces", "did you mean 'face'?"), ("view.miror", "true", "did you mean 'mirror'?"),
            ] {
                let outcome = try guise.guise("set", key, value)
                #expect(outcome.code == 1 && outcome.errors.contains(words), "\(outcome)")
            }
            #expect(try guise.end().code == 0)
        }

        @Test(arguments: [false, true])
        func `with a mirror and a zoom no face to hide is visible`(hidesFaces: Bool) throws {
            // The face appears after a second, the picture moves past it, and it is hidden from four to six. The head
            // alone, because patterns on a suit may be detected as a face.
            let clip = try scratch.make(
                "gone.mkv",
                """
                -loop 1 -i \(Fixtures.sample) -t 8 -r 10 -vf crop=512:210:0:0,scale=200:82,pad=640:360:150:100:gray,\
                crop=500:281:10*t:40,scale=640:360,\
                drawbox=x=0:y=0:w=iw:h=ih:color=gray:t=fill:enable='lt(t,1)+between(t,4,6)' -c:v ffv1
                """)
            let view = "{\"mirror\": true, \"zoom\": \"face\"}"
            let masks = hidesFaces ? "\"pixelate\"" : ""
            let config = try scratch.write("{\"masks\": [\(masks)], \"view\": \(view)}", "view.json")
            let outcome = try scratch.guise("run", "--source", clip, "--sink", "out.mkv", "--config", config)
            try #require(outcome.code == 0, "\(outcome)")
            let lines = try Tracked.lines(scratch.shell("'\(Program.path)' track out.mkv --json"))
            #expect(lines.count >= 75)
            let seen = lines.filter { $0.faces.contains { $0.state == "tracked" } }
            // Without the mask, this test detects a face in the same pictures.
            let isAsWanted = hidesFaces ? seen.isEmpty : seen.count > 12
            #expect(isAsWanted, "a face was seen in \(seen.count) of \(lines.count) frames")
        }

        @Test(arguments: [false, true])
        func `with a mirror and a zoom, what stays visible of a lost face is covered`(hidesFaces: Bool) throws {
            // So small and so far from the middle that the zoom moves it out of the place that it had.
            try scratch.makeMarkedFace("side.mkv", width: 192, x: 60, y: 60)
            let config = try scratch.write(
                """
                {"masks": [\(hidesFaces ? "\"pixelate\"" : "")],
                 "view": {"mirror": true, "zoom": "face", "maxZoom": 3}}
                """, "view.json")
            let outcome = try scratch.guise("run", "--source", "side.mkv", "--sink", "near.mkv", "--config", config)
            try #require(outcome.code == 0, "\(outcome)")
            #expect(try scratch.framesWithMark("near.mkv") == (hidesFaces ? 0 : 50))
        }

        @Test func `a small face is zoomed to, and its mask goes with it`() throws {
            let small = try scratch.make(
                "small.mkv",
                "-loop 1 -i \(Fixtures.sample) -t 4 -r 10 -vf scale=200:200,pad=640:360:100:80:gray -c:v ffv1")
            func eyes(_ name: String) throws -> Double {
                let lines = try Tracked.lines(scratch.shell("'\(Program.path)' track '\(name)' --json"))
                let points = try #require(lines.last?.faces.first?.points)
                let (left, right) = try (#require(points["left_eye"]), #require(points["right_eye"]))
                return hypot(left[0] - right[0], left[1] - right[1])
            }
            let view = "{\"zoom\": \"face\", \"maxZoom\": 3}"
            let (plain, zoomed) = try (dressed(small, "{}", "sunglasses"), dressed(small, view, "sunglasses"))
            let wide = Double(zoomed.mask.right - zoomed.mask.left) / Double(plain.mask.right - plain.mask.left)
            let config = try scratch.write("{\"masks\": [], \"view\": \(view)}", "view.json")
            let outcome = try scratch.guise("run", "--source", small, "--sink", "near.mkv", "--config", config)
            try #require(outcome.code == 0, "\(outcome)")
            let (far, near) = try (eyes(small), eyes(scratch.path("near.mkv")))
            print("zoomed to a small face: eyes \(far) px apart become \(near), glasses \(wide) times as wide")
            #expect((1.8...3.1).contains(near / far) && abs(wide / (near / far) - 1) < 0.1)
        }
    }
}
