import Foundation
import Testing

extension EndToEnd {
    /// Masks that are edited while they are worn.
    @Suite(.enabled(if: Package.hasSample, "needs the sample: make sample")) struct Edits {
        let workshop: Workshop
        init() throws { workshop = try Workshop() }

        private func svg(_ color: String) -> String {
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 100 100'>"
                + "<rect width='100' height='100' fill='\(color)'/></svg>"
        }

        /// A square of ten eye distances, so that it covers the middle of the picture wherever the face is.
        private func describe(_ name: String, more: String = "") throws {
            try workshop.write(
                """
                {"version": 1, "layers": [{"kind": "sprite", "art": "art.svg", "eyeDistance": 10,
                 "pins": [{"art": [50, 50], "face": "nose"}]\(more)}]}
                """, "config/guise/Masks/\(name)/mask.json")
        }

        /// The middle of each frame of a clip: red, green, blue.
        private func middles(_ path: String) throws -> [SIMD3<Int>] {
            try workshop.shell(
                "ffmpeg -v error -y -i '\(path)' -vf crop=16:16,scale=1:1 -pix_fmt rgb24 -f rawvideo middles.rgb")
            let bytes = [UInt8](try Data(contentsOf: workshop.folder.appending(path: "middles.rgb")))
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

        @Test func `an edit shows within a second, a broken one changes nothing, and no frame is undressed`() throws {
            try describe("mine")
            try workshop.write(svg("blue"), "config/guise/Masks/mine/art.svg")
            let running = try Running(
                [
                    "run", "--source", Package.sample, "--loop", "--realtime", "--sink", "out.mkv", "--mask", "mine",
                    "--mask", "later",
                ], in: workshop)
            try #require(running.waits(for: "out.mkv"), "\(running.said)")
            Thread.sleep(forTimeInterval: 2.5)
            var edits: [(color: String, at: Date)] = []
            func edit(_ color: String, _ body: () throws -> Void) throws {
                edits.append((color, Date()))
                try body()
                Thread.sleep(forTimeInterval: 1.8)
            }
            try edit("red") { try workshop.write(svg("red"), "config/guise/Masks/mine/art.svg") }
            // Broken in the same way twice: told once.
            try workshop.write("<svg", "config/guise/Masks/mine/art.svg")
            Thread.sleep(forTimeInterval: 1)
            try workshop.write("<svg", "config/guise/Masks/mine/art.svg")
            Thread.sleep(forTimeInterval: 1)
            try edit("green") {
                // As most editors do.
                try workshop.write(svg("lime"), "config/guise/Masks/mine/.art.svg.part")
                try workshop.shell("mv config/guise/Masks/mine/.art.svg.part config/guise/Masks/mine/art.svg")
            }
            try edit("white") {
                try describe("later")
                try workshop.write(svg("white"), "config/guise/Masks/later/art.svg")
            }
            // Another that nobody wears, and its end: nothing happens.
            try describe("unworn")
            let ended = Date()
            kill(running.process.processIdentifier, SIGINT)
            let outcome = running.wait(limit: 30)
            try #require(outcome.code == 0, "\(outcome)")

            let colors = try middles(workshop.path("out.mkv")).map(name)
            let first = try #require(colors.firstIndex(of: "blue"), "\(colors)")
            #expect(first <= 2, "the first face is shown dressed")
            #expect(!colors[first...].contains("other"), "a frame was shown undressed: \(colors)")
            let order = colors[first...].reduce(into: [String]()) { if $0.last != $1 { $0.append($1) } }
            #expect(order == ["blue", "red", "green", "white"], "\(order)")
            for (color, at) in edits {
                guard let index = colors.firstIndex(of: color) else { continue }
                // The last frame was written when the program was ended.
                let shown = ended.addingTimeInterval(-Double(colors.count - index) / 30)
                let delay = shown.timeIntervalSince(at)
                print("an edit to \(color) shows after \((delay * 100).rounded() / 100) s")
                #expect(delay < 1, "\(color) shows after \(delay) s")
            }
            let broken = outcome.lines.filter { $0.contains("mine/art.svg") }
            #expect(broken.count == 1 && broken[0].contains("it is worn as it was"), "\(outcome)")
            #expect(outcome.lines.filter { $0.contains("there is no mask 'later'") }.count == 1, "\(outcome)")
        }
    }
}
