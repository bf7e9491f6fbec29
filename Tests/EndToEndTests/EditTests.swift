import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Edits of masks while they are active.
    @Suite(.needsSample, .needsReleaseBuild) struct Edits {
        let scratch: ScratchFolder
        init() throws { scratch = try ScratchFolder() }

        private func svg(_ color: String) -> String {
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 100 100'>"
                + "<rect width='100' height='100' fill='\(color)'/></svg>"
        }

        /// A square of ten eye distances, so that it covers the middle of the picture wherever the face is.
        private func describe(_ name: String, more: String = "") throws {
            try scratch.write(
                """
                {"version": 1, "layers": [{"kind": "sprite", "art": "art.svg", "eyeDistance": 10,
                 "pins": [{"art": [50, 50], "face": "nose"}]\(more)}]}
                """, "config/guise/Masks/\(name)/mask.json")
        }

        /// The middle of each frame of a clip: red, green, blue.
        private func middles(_ path: String) throws -> [SIMD3<Int>] {
            try scratch.shell(
                "ffmpeg -v error -y -i '\(path)' -vf crop=16:16,scale=1:1 -pix_fmt rgb24 -f rawvideo middles.rgb")
            let bytes = [UInt8](try Data(contentsOf: scratch.url.appending(path: "middles.rgb")))
            return (0..<bytes.count / 3).map { (i: Int) -> SIMD3<Int> in
                SIMD3(Int(bytes[3 * i]), Int(bytes[3 * i + 1]), Int(bytes[3 * i + 2]))
            }
        }

        private func name(_ color: SIMD3<Int>) -> String {
            switch (color.x > 128, color.y > 90, color.z > 128) {
            case (true, false, false): "red"
            case (false, true, false): "green"
            case (false, false, true): "blue"
            case (true, true, true): "white"
            default: "other"
            }
        }

        @Test func `an edit shows, an invalid one changes nothing, and no frame is without masks`() throws {
            try describe("mine")
            try scratch.write(svg("blue"), "config/guise/Masks/mine/art.svg")
            let guise = try RunningGuise(
                [
                    "--source", Fixtures.sample, "--loop", "--realtime", "--sink", "out.mkv", "--sink", "null",
                    "--mask", "mine",
                ], in: scratch)
            func shows(_ color: String) -> Bool {
                guise.waits { _ in
                    let picture = try guise.snapshot()
                    let at = (picture.height / 2 * picture.width + picture.width / 2) * 3
                    return name(SIMD3(Int(picture.bytes[at]), Int(picture.bytes[at + 1]), Int(picture.bytes[at + 2])))
                        == color
                }
            }
            #expect(shows("blue"))
            try scratch.write(svg("red"), "config/guise/Masks/mine/art.svg")
            #expect(shows("red"))
            // The same error twice is reported once.
            try scratch.write("<svg", "config/guise/Masks/mine/art.svg")
            #expect(guise.running.waits(for: "its last valid version stays on"))
            try scratch.write("<svg", "config/guise/Masks/mine/art.svg")
            #expect(shows("red"))
            // Replaced by renaming, as most editors do.
            try scratch.write(svg("lime"), "config/guise/Masks/mine/.art.svg.part")
            try scratch.shell("mv config/guise/Masks/mine/.art.svg.part config/guise/Masks/mine/art.svg")
            #expect(shows("green"))
            let none = try guise.guise("wear", "later")
            #expect(none.code == 1 && none.errors.contains("no mask 'later'"), "\(none)")
            try describe("later")
            try scratch.write("<svg", "config/guise/Masks/later/art.svg")
            let broken = try guise.guise("wear", "later")
            #expect(broken.code == 1 && broken.errors.contains("(the current masks stay on)"), "\(broken)")
            #expect(shows("green"))
            try scratch.write(svg("white"), "config/guise/Masks/later/art.svg")
            try guise.ask("wear", ["masks": ["later"]])
            #expect(shows("white"))
            // A mask that is not active: nothing happens.
            try describe("unworn")
            let outcome = try guise.end()
            try #require(outcome.code == 0, "\(outcome)")

            let colors = try middles(scratch.path("out.mkv")).map(name)
            let first = try #require(colors.firstIndex(of: "blue"), "\(colors)")
            #expect(first <= 2, "the first face is shown dressed")
            #expect(!colors[first...].contains("other"), "a frame was shown undressed: \(colors)")
            let order = colors[first...].reduce(into: [String]()) { if $0.last != $1 { $0.append($1) } }
            #expect(order == ["blue", "red", "green", "white"], "\(order)")
            let reported = outcome.lines.filter { $0.contains("mine/art.svg") }
            #expect(reported.count == 1 && reported[0].contains("its last valid version stays on"), "\(outcome)")
        }
    }
}
