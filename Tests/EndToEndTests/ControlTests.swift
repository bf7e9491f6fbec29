import Foundation
import JSON
import SystemKit
import TestSupport
import Testing

extension EndToEnd {
    /// Control of a running Guise: by commands, by the socket, by its configuration.
    @Suite(.serialized, .goesFirst, .needsSample, .needsReleaseBuild) final class ControlTests {
        private let guise: RunningGuise
        private static let shared = Result { try RunningGuise(RunningGuise.sample + ["--sink", "null"]) }

        init() throws {
            guise = try Self.shared.get()
            try guise.reset()
        }

        deinit { guise.rest() }

        @Test func `commands put masks on and take them off`() throws {
            #expect(try guise.guise("wear", "santa-hat").out == "worn: santa-hat\n")
            #expect(try guise.guise("toggle", "santa-beard").out == "worn: santa-hat, santa-beard\n")
            #expect(try guise.guise("toggle", "santa-hat").out == "worn: santa-beard\n")
            #expect(try guise.guise("only", "crown").out == "worn: crown\n")
            #expect(try guise.guise("wear", "stubble").out == "worn: crown, stubble\n")
            #expect(try guise.guise("remove", "crown").out == "worn: stubble\n")
            #expect(try guise.guise("next").out == "worn: sunglasses\n")
            #expect(try guise.guise("previous").out == "worn: stubble\n")
            #expect(try guise.guise("clear").out == "no mask is worn\n")
            #expect(try guise.worn == [])
            let wrong = try guise.guise("toggle", "snata-hat")
            #expect(
                wrong.code == 1 && wrong.lines == ["guise: no mask 'snata-hat'; did you mean 'santa-hat'?"], "\(wrong)")
            #expect(try guise.guise("wear", "name-tag").code == 0)
            let answer = try guise.guise("set", "name-tag", "text", "2025")
            #expect(answer.code == 0, "a number is a text, too: \(answer)")
        }

        @Test func `a freeze keeps the last picture, a pause shows none, and resume continues`() throws {
            try guise.ask("freeze")
            #expect(guise.waits { $0["state"]?.string == "frozen" })
            try guise.waits(pictures: 2)
            let one = try guise.snapshot()
            try guise.waits(pictures: 3)
            #expect(one.changes(from: try guise.snapshot()).count == 0)
            #expect(try guise.guise("pause").code == 0)
            let refused = try guise.guise("snapshot", guise.scratch.path("no.png"))
            #expect(refused.code == 1 && refused.errors.contains("`guise resume` first"), "\(refused)")
            let frames = try #require(try guise.status()["frames"]?.number)
            try guise.waits(pictures: 3)
            let paused = try guise.status()
            #expect(paused["state"]?.string == "paused" && paused["frames"]?.number == frames)
            #expect(try guise.guise("resume").code == 0)
            #expect(guise.waits { $0["frames"]?.number ?? 0 > frames + 3 })
            #expect(one.changes(from: try guise.snapshot()).count > 1000)
        }

        @Test func `a recording has as many frames as it reports`() throws {
            let path = guise.scratch.path("clip.mp4")
            #expect(try guise.guise("record", "stop").errors.contains("no recording is running"))
            #expect(try guise.guise("record", "start", path).code == 0)
            #expect(try guise.guise("record", "start").errors.contains("already running"))
            #expect(guise.waits { $0["recording"]?["frames"]?.number ?? 0 > 5 })
            // A late frame counts as often as it is repeated for those that are missing before it.
            guise.running.send(signal: SIGSTOP)
            usleep(1_000_000)
            guise.running.send(signal: SIGCONT)
            #expect(guise.waits { $0["recording"]?["frames"]?.number ?? 0 > 20 })
            let said = try guise.ask("record", ["action": "stop"])
            let frames = try #require(said["frames"]?.number)
            #expect(try guise.scratch.measure(path) == "640x360 \(Int(frames))")
            #expect(!guise.scratch.names().contains { $0.contains(".part.") })
        }

        @Test func `an edit of the configuration takes effect, a broken one changes nothing`() throws {
            func configure(_ text: String) throws {
                try guise.scratch.write("{\(text), \(RunningGuise.smallOutput)}", "config/guise/config.json")
            }
            for mask in ["chevron", "goatee", "stubble"] {
                try configure("\"masks\": [\"\(mask)\"]")
                #expect(guise.waits { _ in try guise.worn == [mask] }, "\(mask)")
            }
            try configure(#""masks": ["beanie"], "facs": 1"#)
            #expect(guise.running.waits(for: "unknown key 'facs'"))
            #expect(try guise.worn == ["stubble"])
            try configure(#""masks": ["beanie"]"#)
            #expect(guise.waits { _ in try guise.worn == ["beanie"] })
            #expect(try guise.guise("set", "faces.max", "2").code == 0)
            #expect(try guise.guise("set", "faces.max", "99").errors.contains("allowed: 1 to 20"))
            #expect(try guise.guise("set", "faces.maxx", "2").errors.contains("did you mean 'max'?"))
        }

        @Test func `commands print the socket's replies`() throws {
            func keys(_ json: JSON?) -> [String] {
                if case .object(let members)? = json?.value { members.map(\.key) } else { [] }
            }
            func printed(_ command: String) throws -> JSON {
                try JSON(Array(guise.guise(command, "--json").out.utf8), file: command)
            }
            #expect(try printed("devices").text == guise.ask("devices").text)
            #expect(try keys(printed("status")) == keys(guise.ask("status")))
            let (sent, said) = (try guise.ask("doctor"), try printed("doctor"))
            #expect(keys(said) == ["checks", "errors", "warnings"] && keys(sent) == keys(said))
            #expect(keys(said["checks"]?.elements.first) == ["check", "state", "message", "fix"])
            let status = try guise.guise("status").out
            #expect(status.contains("started 0 h ") && status.contains("cpu, compose"), "\(status)")
        }

        @Test func `events are printed one by one as they arrive, also into a file`() throws {
            let watch = try Running(["watch", "--json"], in: guise.scratch)
            #expect(guise.waits { _ in !watch.output.isEmpty })
            let events = watch.output
            #expect(events.hasPrefix("{\"event\":") && events.hasSuffix("}\n"), "\(events)")
        }

        @Test func `two snapshots in one second are two files`() throws {
            try guise.scratch.shell("for i in 1 2 3; do '\(Program.path)' snapshot & done; wait")
            let names = guise.scratch.names(in: "Pictures/Guise")
            #expect(names.count == 3, "\(names)")
            #expect(names.allSatisfy { $0.hasSuffix(".png") && !$0.contains(".part") }, "\(names)")
        }

        @Test func `requests from many clients, including garbage, are each answered`() throws {
            // The script counts missing replies.
            let missing = try guise.scratch.shell(
                "python3 '\(Fixtures.path("flood.py"))' '\(guise.scratch.path("run/guise/control.sock"))' 10 'status masks next'"
            )
            #expect(missing == "0\n")
            let frames = try #require(try guise.status()["frames"]?.number)
            #expect(guise.waits { $0["frames"]?.number ?? 0 > frames + 3 }, "it still publishes")
        }

        @Test
        func `a second daemon names the first, one killed by SIGKILL blocks nothing, and --verbose logs requests`()
            throws
        {
            let first = try RunningGuise(RunningGuise.sample + ["--sink", "null"])
            let second = try first.guise("run", "--source", "sample", "--sink", "null")
            #expect(
                second.code == 1 && second.errors.contains("(\(first.running.pid)) already listens there"), "\(second)")
            first.running.send(signal: SIGKILL)
            first.running.wait()
            let gone = try first.guise("status")
            #expect(gone.code == 3 && gone.errors.contains("Guise isn't running"), "\(gone)")
            #expect(!first.running.said.contains("request: "))
            let third = try RunningGuise(RunningGuise.sample + ["--sink", "null", "--verbose"], in: first.scratch)
            #expect(try third.guise("status").code == 0)
            #expect(try third.guise("stop").code == 0)
            let end = third.running.wait()
            #expect(end.code == 0, "\(end)")
            for line in [#"request: {"request":"status"}"#, "state: "] { #expect(end.errors.contains(line), "\(end)") }
        }

        @Test func `what hides, and a pause, outlast a crash, but not an end that the user wants`() throws {
            let arguments = RunningGuise.sample + ["--sink", "null"]
            let config = #"{\#(RunningGuise.smallOutput), "masks": ["crown"]}"#
            let first = try RunningGuise(arguments, config: config)
            let scratch = first.scratch
            #expect(try first.worn == ["crown"])
            #expect(try first.guise("wear", "pixelate").code == 0)
            #expect(try first.guise("panic").code == 0)
            // At once: nothing waits for a file to be written.
            first.running.send(signal: SIGKILL)
            first.running.wait()
            let second = try RunningGuise(arguments, config: config, in: scratch, isPublishing: false)
            #expect(try second.worn == ["pixelate", "crown"] && second.status()["paused"]?.bool == true)
            #expect(second.running.said.contains("pixelate stays on, since it was worn when Guise ended"))
            _ = try second.end()
            let third = try RunningGuise(arguments, config: config, in: scratch)
            #expect(try third.worn == ["crown"] && third.status()["paused"]?.bool == false)
            _ = try third.end()
        }

        @Test func `what hides from the start outlasts a crash too, whatever is converted beside it`() throws {
            let arguments = RunningGuise.sample + ["--sink", "null"]
            let config = #"{\#(RunningGuise.smallOutput), "masks": ["crown"]}"#
            let first = try RunningGuise(arguments + ["--mask", "pixelate"], config: config)
            let scratch = first.scratch
            let runtime = try #require(scratch.environment["XDG_RUNTIME_DIR"])
            let read = { try scratch.shell("cat \(runtime)/guise/hidden.json || true") }
            #expect(first.waits { _ in try read().contains("pixelate") })
            let batch = try first.guise("run", "--source", Fixtures.sample, "--sink", "out.png", "--mask", "polaroid")
            #expect(batch.code == 0, "\(batch)")
            #expect(try read().contains("pixelate"))
            first.running.send(signal: SIGKILL)
            first.running.wait()
            let second = try RunningGuise(arguments, config: config, in: scratch, isPublishing: false)
            #expect(try second.worn == ["pixelate", "crown"])
            _ = try second.end()
        }
    }

    @Suite(.needsSample) struct MissingMasks {
        @Test func `what another process beside this one hides is neither taken over nor forgotten`() throws {
            let scratch = try ScratchFolder()
            try scratch.makeRuntimeFolder()
            try scratch.write(#"{"masks": ["pixelate"], "paused": false}"#, "run/guise/hidden.json")
            let lock = try FileLock(scratch.path("run/guise/hidden.lock"))
            let guise = try RunningGuise(RunningGuise.sample + ["--sink", "null"], in: scratch)
            #expect(try guise.worn == ["santa"])
            #expect(guise.running.said.contains("another Guise runs beside this one"))
            _ = try guise.end()
            #expect(try scratch.shell("cat run/guise/hidden.json").contains("pixelate"))
            withExtendedLifetime(lock) {}
        }

        @Test(arguments: [nil, #"{"version": 1, "layers": [{"kind": "effect", "mode": "grey"}]}"#] as [String?])
        func `after a crash, the picture is paused if the mask that hid something is not there any more`(
            another: String?
        ) throws {
            let scratch = try ScratchFolder()
            try scratch.write(
                """
                {"version": 1, "onLostFace": "cover", "layers": [{"kind": "anonymize", "mode": "pixelate"}]}
                """, "config/guise/Masks/veil/mask.json")
            let arguments = RunningGuise.sample + ["--sink", "null"]
            let first = try RunningGuise(arguments, in: scratch)
            #expect(try first.guise("wear", "veil").code == 0)
            first.running.send(signal: SIGKILL)
            first.running.wait()
            try scratch.shell("rm -r config/guise/Masks/veil")
            if let another { try scratch.write(another, "config/guise/Masks/veil/mask.json") }
            let second = try RunningGuise(arguments, in: scratch, isPublishing: false)
            #expect(try second.status()["paused"]?.bool == true)
            #expect(second.running.said.contains("the picture is paused: veil hid something"))
            #expect(try second.guise("resume").code == 0)
            #expect(second.waits { $0["paused"]?.bool == false })
            _ = try second.end()
        }
    }

    @Suite(.needsSample, .needsReleaseBuild) struct ControlWithoutSharing {
        @Test func `a mask that is put on is seen, faintly if so set, and gone when it is taken off`() throws {
            // A photo is still: only the mask changes.
            let guise = try RunningGuise(
                ["--source", Fixtures.sample, "--realtime", "--loop", "--sink", "null", "--mask", "crown"])
            try guise.reset()
            let bare = corner(try guise.snapshot())
            try guise.ask("only", ["mask": "polaroid"])
            #expect(guise.waits { _ in try corner(guise.snapshot()) > 150 })
            let full = corner(try guise.snapshot())
            #expect(try guise.guise("set", "polaroid", "opacity", "0.3").code == 0)
            #expect(guise.waits { _ in try corner(guise.snapshot()) < full - 20 })
            #expect(corner(try guise.snapshot()) > bare + 20)
            #expect(try guise.guise("set", "polaroid", "opacity", "3").errors.contains("allowed: a number from 0 to 1"))
            #expect(try guise.guise("set", "polaroid", "txt", "x").errors.contains("did you mean 'text'?"))
            #expect(try guise.guise("set", "polaroid", "text", "Ada").code == 0)
            #expect(try guise.guise("set", "crown", "opacity", "1").errors.contains("'crown' is not worn"))
            try guise.ask("clear")
            #expect(guise.waits { _ in abs(corner(try guise.snapshot()) - bare) < 10 })
            try guise.end()
        }

        /// The mean brightness of the picture's lower left corner, where a polaroid is white.
        private func corner(_ picture: Picture) -> Int {
            var sum = 0
            for y in picture.height - 12..<picture.height - 2 {
                for x in 2..<12 { sum += Int(picture.bytes[(y * picture.width + x) * 3 + 1]) }
            }
            return sum / 100
        }

        @Test func `a damaged clip in place of a camera can be replaced by another`() throws {
            // A configuration given without a folder is watched like any other.
            let scratch = try ScratchFolder()
            func configure(_ more: String = "") throws {
                try scratch.write(
                    #"{"page": {"port": 0}, "camera": {"when": "always"}, \#(RunningGuise.smallOutput)\#(more)}"#,
                    "here.json")
            }
            try configure()
            let guise = try RunningGuise(
                ["--config", "here.json", "--source", "camera", "--sink", "page"], in: scratch, isPublishing: false)
            try guise.ask("use", ["device": "sample"])
            #expect(guise.waits { $0["camera"]?.string == "open" && $0["frames"]?.number ?? 0 > 10 })
            // Truncated in the middle of a frame.
            let whole = try scratch.make("whole.avi", "-f lavfi -i testsrc=s=320x240:d=1 -c:v mjpeg")
            try scratch.shell("head -c 9000 '\(whole)' > cut.avi")
            // A file that is neither a picture nor a clip is rejected at once, and the current source stays.
            let refused = try guise.guise("use", scratch.path("here.json"))
            #expect(refused.code == 1 && refused.errors.contains("here.json"), "\(refused)")
            try guise.ask("use", ["device": JSON(scratch.path("cut.avi"))])
            #expect(guise.waits { $0["source"]?.string?.contains("cut.avi") == true })
            // The damage was reached more than once, because the clip has fewer frames.
            let frames = try #require(try guise.status()["frames"]?.number)
            #expect(guise.waits { $0["frames"]?.number ?? 0 > frames + 30 })
            try guise.ask("use", ["device": "sample"])
            #expect(guise.waits { $0["camera"]?.string == "open" && $0["source"]?.string?.contains("sample") == true })
            try configure(#", "masks": ["crown"]"#)
            #expect(guise.waits { _ in try guise.worn == ["crown"] })
            #expect(try guise.end().code == 0)
        }

        @Test func `a closed standard error ends nothing`() throws {
            let scratch = try ScratchFolder()
            try scratch.makeRuntimeFolder()
            try scratch.shell("'\(Program.path)' status 2>/dev/full; [ $? = 3 ]")
            // Standard error is a pipe without a reader.
            try scratch.shell(
                "mkfifo pipe; (exec 3<pipe) & exec 4>pipe; wait $!; '\(Program.path)' status 2>&4; [ $? = 3 ]")
        }

        @Test func `a face to hide is not visible while it is lost, nor before it is detected`() throws {
            let scratch = try ScratchFolder()
            // The face appears after one second, is hidden from three to five, and comes back.
            try scratch.make(
                "gone.mkv",
                """
                -loop 1 -i \(Fixtures.sample) -t 6 -r 10 -vf scale=-2:360,crop=iw:360,\
                drawbox=x=0:y=0:w=iw:h=ih:color=gray:t=fill:enable='lt(t,1)+between(t,3,5)' -c:v ffv1
                """)
            // Without the mask, this test detects a face in the same pictures.
            #expect(try facesSeen(wearing: "polaroid", scratch) > 12)
            #expect(try facesSeen(wearing: "pixelate", scratch) == 0)
            #expect(try facesSeen(wearing: "pixelate", scratch, byApply: true) == 0)
        }

        @Test func `what stays visible of a lost face is covered`() throws {
            let scratch = try ScratchFolder()
            try scratch.makeMarkedFace("marked.mkv", width: 512, x: 64, y: 20)
            // Without covers, the mark on the cheek is visible in all 50 frames that contain the face.
            #expect(try scratch.framesWithMark("marked.mkv") == 50)
            for mask in ["dog", "pixelate"] {
                let run = try scratch.guise("run", "--source", "marked.mkv", "--sink", "\(mask).mkv", "--mask", mask)
                try #require(run.code == 0, "\(run)")
            }
            #expect(try scratch.framesWithMark("dog.mkv") == 50)
            #expect(try scratch.framesWithMark("pixelate.mkv") == 0)
            let applied = try scratch.guise("apply", "marked.mkv", "-o", "applied.mkv", "--mask", "pixelate")
            try #require(applied.code == 0, "\(applied)")
            #expect(try scratch.framesWithMark("applied.mkv") == 0)
        }

        /// The published frames in which an uncovered face is detected.
        private func facesSeen(wearing mask: String, _ scratch: ScratchFolder, byApply: Bool = false) throws -> Int {
            let words = byApply ? ["apply", "gone.mkv", "-o"] : ["run", "--source", "gone.mkv", "--sink"]
            let outcome = try Program.run(words + ["out.mkv", "--overwrite", "--mask", mask], in: scratch)
            try #require(outcome.code == 0, "\(outcome)")
            if byApply { #expect(outcome.errors.contains("of 60 frames were covered completely"), "\(outcome)") }
            let frames = try Tracked.lines(scratch.guise("track", "out.mkv", "--json").out)
            #expect(frames.count == 60)
            return frames.count { $0.faces.contains { $0.state == "tracked" } }
        }
    }
}
