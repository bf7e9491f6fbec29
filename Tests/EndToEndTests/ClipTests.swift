import Foundation
import TestSupport
import Testing

extension EndToEnd {
    @Suite(.needsSample) struct Clips {
        let scratch: ScratchFolder
        init() throws { scratch = try ScratchFolder() }

        /// The sample's portrait crossing a grey picture for two seconds, with a tone.
        private func makeClip(_ name: String, _ codecs: String) throws {
            let graph = "[0][1]overlay=x=20+n*4:y=40+n[v]"
            try scratch.make(
                name,
                "-f lavfi -i color=gray:s=800x600:r=25:d=2 -loop 1 -i \(Fixtures.sample) "
                    + "-f lavfi -i sine=440:d=2 -filter_complex \(graph) -map [v] -map 2:a \(codecs) -t 2")
        }

        private func streams(_ name: String) throws -> String {
            try scratch.shell("ffprobe -v error -show_entries stream=codec_type,codec_name -of csv=p=0 \(name)")
        }

        @Test(arguments: [SIGINT, SIGTERM])
        func `an interrupt leaves no part of the clip behind`(signal: Int32) throws {
            try scratch.make("long.mp4", "-f lavfi -i testsrc=s=640x480:r=30:d=120 -c:v libx264 -preset ultrafast")
            let before = scratch.names()
            let running = try Running(["apply", "long.mp4", "-o", "out.mp4", "--mask", "tiger"], in: scratch)
            while scratch.names() == before, running.isRunning { usleep(1000) }
            running.send(signal: signal)
            #expect(running.wait().code != 0)
            #expect(scratch.names() == before)
        }

        @Test func `an interrupt leaves no part of the clip in a folder that was moved`() throws {
            try scratch.make("long.mp4", "-f lavfi -i testsrc=s=640x480:r=30:d=120 -c:v libx264 -preset ultrafast")
            try scratch.makeFolder("folder")
            let running = try Running(["apply", "long.mp4", "-o", "folder/out.mkv", "--mask", "tiger"], in: scratch)
            // Until the encoder has opened its file.
            func size() -> Int {
                scratch.names(in: "folder").first.flatMap { try? scratch.read("folder/\($0)").count } ?? 0
            }
            while size() == 0, running.isRunning { usleep(1000) }
            try scratch.shell("mv folder moved")
            running.send(signal: SIGTERM)
            #expect(running.wait().code == 128 + SIGTERM)
            #expect(scratch.names(in: "moved") == [])
        }

        @Test func `a clip keeps its size, its number of frames and its sound, and wears the mask throughout`() throws {
            try makeClip("in.mp4", "-c:v libx264 -c:a aac")
            let outcome = try scratch.guise("apply", "in.mp4", "-o", "out.mp4", "--mask", "santa-hat")
            try #require(outcome.code == 0 && outcome.errors == "", "\(outcome)")
            #expect(try scratch.measure(scratch.path("in.mp4")) == "800x600 50")
            #expect(try scratch.measure(scratch.path("out.mp4")) == "800x600 50")
            #expect(try streams("out.mp4").contains("aac,audio"))
            // The hat follows the head: it is where it is on the portrait itself.
            for frame in [25, 49] {
                for name in ["in", "out"] {
                    let pick = "-vf 'select=eq(n\\,\(frame))'"
                    try scratch.shell("ffmpeg -v error -y -i \(name).mp4 \(pick) -frames:v 1 \(name).png")
                }
                let changed = try scratch.picture(scratch.path("out.png"))
                    .changes(from: scratch.picture(scratch.path("in.png")), stray: 0.01)
                let (x, y) = (20 + frame * 4, 40 + frame)
                #expect(changed.count > 3000, "frame \(frame): \(changed)")
                // It is as wide as the hair where the outline's model is installed, else less.
                #expect((155...184).contains(changed.left - x), "frame \(frame): \(changed)")
                #expect((298...339).contains(changed.right - x), "frame \(frame): \(changed)")
                #expect(changed.top > y - 80 && abs(changed.bottom - y - 91) < 7, "frame \(frame): \(changed)")
            }
        }

        @Test func `on a terminal, a clip shows its progress, and a file is replaced only after a question`() throws {
            try scratch.make("in.mkv", "-f lavfi -i color=s=64x48:r=10:d=3")
            try scratch.write("older", "out.mkv")
            func apply(answer: String) throws -> String {
                let command = "'\(Program.path)' apply in.mkv -o out.mkv --mask santa-hat"
                return try scratch.shell("script -qec \"\(command)\" typescript <<<\(answer) || true")
            }
            let refused = try apply(answer: "n")
            #expect(refused.contains("out.mkv exists. Replace it? [y/N]"), "\(refused)")
            #expect(refused.contains("cannot write out.mkv: it exists"), "\(refused)")
            #expect(try scratch.read("out.mkv") == Data("older".utf8))
            let shown = try apply(answer: "y")
            #expect(shown.contains("1 of 30 frames (3 %)"), "\(shown)")
            #expect(shown.contains("no face was found in in.mkv; out.mkv shows the same"), "\(shown)")
            #expect(shown.contains("wrote out.mkv, wearing: nothing"), "\(shown)")
            #expect(try scratch.measure(scratch.path("out.mkv")) == "64x48 30")
            // Scripts are not asked.
            let outcome = try scratch.guise("apply", "in.mkv", "-o", "out.mkv", "--mask", "santa-hat")
            #expect(outcome.code == 1 && outcome.out.isEmpty, "\(outcome)")
        }

        @Test(arguments: ["mkv", "webm", "mp4", "avi", "gif", "y4m", "webp", "png"])
        func `a full disk is an error, and the older file stays`(ending: String) throws {
            try scratch.make("in.mkv", "-f lavfi -i testsrc2=s=64x48:r=10:d=1")
            try scratch.make("in.png", "-f lavfi -i testsrc2=s=320x240 -frames:v 1")
            try scratch.write("older", "out.\(ending)")
            let input = ["webp", "png"].contains(ending) ? "in.png" : "in.mkv"
            // With the signal ignored, a limit on the size of files is like a disk with so much space.
            let outcome = try Program.run(
                [
                    "-c",
                    """
                    trap '' XFSZ; ulimit -f 1
                    exec '\(Program.path)' apply \(input) -o out.\(ending) --mask clown --overwrite
                    """,
                ], of: "/bin/bash", in: scratch)
            #expect(outcome.code == 1 && outcome.out.isEmpty, "\(outcome)")
            #expect(outcome.errors.contains("cannot write out.\(ending)"), "\(outcome)")
            #expect(try scratch.read("out.\(ending)") == Data("older".utf8))
            #expect(scratch.names().filter { $0.hasPrefix("out") } == ["out.\(ending)"], "\(scratch.names())")
        }

        @Test func `a clip whose sound ends before its picture gets masks to its end`() throws {
            try makeClip("in.mp4", "-c:v libx264 -af atrim=end=0.5 -c:a aac")
            let outcome = try scratch.guise("apply", "in.mp4", "-o", "out.mp4")
            #expect(outcome.code == 0, "\(outcome)")
            #expect(try scratch.measure(scratch.path("out.mp4")) == "800x600 50")
            #expect(try streams("out.mp4").contains("aac,audio"))
        }

        @Test func `a clip's face is tracked in all its frames, under one id`() throws {
            try makeClip("in.mp4", "-c:v libx264 -an")
            let outcome = try scratch.guise("track", "in.mp4", "--json")
            let lines = try Tracked.lines(outcome.out)
            try #require(outcome.code == 0 && lines.count == 50, "\(outcome)")
            #expect(lines.map(\.frame) == Array(0..<50))
            #expect(abs(lines[49].time - 49.0 / 25) < 0.001)
            // The first search of the picture takes some frames.
            let found = lines.filter { !$0.faces.isEmpty }
            #expect(found.count >= 40, "found in \(found.count) of 50 frames")
            #expect(Set(found.flatMap { $0.faces.map(\.id) }).count == 1)
            for line in found {
                let eye = try #require(line.faces[0].points["right_eye"])
                let off = hypot(eye[0] - Double(224 + line.frame * 4), eye[1] - Double(141 + line.frame))
                #expect(off < 8, "frame \(line.frame): \(eye) is \(off) pixels off")
            }
        }

        @Test func `the text output of track names a face and its position`() throws {
            let outcome = try scratch.guise("track", Fixtures.sample)
            let place = try #require(
                outcome.out.firstMatch(of: /face 1 tracked at (\d+),(\d+) size (\d+)x(\d+) roll/), "\(outcome)")
            let (x, y) = (Int(place.1) ?? 0, Int(place.2) ?? 0)
            let (width, height) = (Int(place.3) ?? 0, Int(place.4) ?? 0)
            #expect(outcome.code == 0)
            // The nose, labelled by hand, is at 226, 127.
            #expect(abs(x + width / 2 - 226) < 15 && abs(y + height / 2 - 127) < 15, "\(outcome)")
        }

        @Test func `the intact part of a truncated clip gets masks, and the loss is reported`() throws {
            try makeClip("whole.mkv", "-c:v mjpeg -an")
            try scratch.shell("head -c $(($(stat -c %s whole.mkv) / 2)) whole.mkv > cut.mkv")
            let outcome = try scratch.guise("apply", "cut.mkv", "-o", "out.mp4")
            try #require(outcome.code == 0, "\(outcome)")
            #expect(outcome.lines.count == 1 && outcome.errors.contains("cut.mkv is damaged"), "\(outcome)")
            let parts = try scratch.measure(scratch.path("out.mp4")).split(separator: " ")
            #expect(parts.first == "800x600" && (5..<45).contains(Int(parts.last ?? "") ?? 0), "\(parts)")
        }

        @Test func `a clip without a readable frame is an error, and leaves no file`() throws {
            // It opens, but no frame can be decoded.
            try makeClip("whole.mp4", "-c:v libx264 -an -movflags +faststart")
            try scratch.shell(
                "head -c $(($(grep -abo mdat whole.mp4 | head -1 | cut -d: -f1) + 64)) whole.mp4 > cut.mp4")
            let outcome = try scratch.guise("apply", "cut.mp4", "-o", "out.mp4")
            #expect(outcome.code == 1 && outcome.lines.count == 1 && outcome.errors.contains("cut.mp4"), "\(outcome)")
            #expect(try scratch.shell("ls *.mp4") == "cut.mp4\nwhole.mp4\n")
        }
    }
}
