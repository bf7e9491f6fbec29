import Foundation
import JSON
import Testing

extension EndToEnd {
    /// A running guise and those who tell it what to do: by commands, by the socket, by its configuration.
    @Suite(.serialized, .enabled(if: Package.hasSample && Program.isRelease)) struct ControlTests {
        private func worn(_ status: JSON) -> [String] {
            status["masks"]?.elements.compactMap { $0["name"]?.string } ?? []
        }

        @Test func `masks come and go by commands`() throws {
            let stage = try Stage()
            #expect(try stage.guise("toggle", "santa-beard").out == "worn: santa-hat, santa-beard\n")
            #expect(try stage.guise("toggle", "santa-hat").out == "worn: santa-beard\n")
            #expect(try stage.guise("only", "crown").out == "worn: crown\n")
            #expect(try stage.guise("show", "stubble").out == "worn: crown, stubble\n")
            #expect(try stage.guise("hide", "crown").out == "worn: stubble\n")
            #expect(try stage.guise("next").out == "worn: sunglasses\n")
            #expect(try stage.guise("previous").out == "worn: stubble\n")
            #expect(try stage.guise("clear").out == "no mask is worn\n")
            #expect(worn(try stage.status()) == [])
            let wrong = try stage.guise("toggle", "snata-hat")
            #expect(
                wrong.code == 1 && wrong.lines == ["guise: no mask 'snata-hat'; did you mean 'santa-hat'?"], "\(wrong)")
            #expect(try stage.guise("show", "name-tag").code == 0)
            let answer = try stage.guise("set", "name-tag", "text", "2025")
            #expect(answer.code == 0, "a number is a text, too: \(answer)")
            #expect(try stage.end().code == 0)
            let gone = try stage.guise("status")
            #expect(gone.code == 3 && gone.errors.contains("no guise is running"), "\(gone)")
        }

        @Test func `a mask that is put on is seen, faintly where it is told so, and gone when it is taken off`() throws
        {
            let stage = try Stage()
            _ = try stage.guise("clear")
            // The sample moves: each picture is compared with itself in the place of a frame, which holds still.
            _ = try stage.guise("only", "polaroid")
            try #require(stage.answers { try corner(stage.snapshot("on")) > 150 })
            let full = corner(try stage.snapshot("full"))
            #expect(try stage.guise("set", "polaroid", "opacity", "0.3").code == 0)
            #expect(stage.answers { try corner(stage.snapshot("faint")) < full - 20 })
            #expect(try stage.guise("set", "polaroid", "opacity", "3").errors.contains("allowed: a number from 0 to 1"))
            #expect(try stage.guise("set", "polaroid", "txt", "x").errors.contains("did you mean 'text'?"))
            #expect(try stage.guise("set", "polaroid", "text", "Ada").code == 0)
            #expect(try stage.guise("set", "crown", "opacity", "1").errors.contains("'crown' is not worn"))
            _ = try stage.end()
        }

        /// The mean brightness of the picture's lower left corner, where a polaroid is white.
        private func corner(_ picture: Picture) -> Int {
            var sum = 0
            for y in picture.height - 20..<picture.height - 4 {
                for x in 4..<20 { sum += Int(picture.bytes[(y * picture.width + x) * 3 + 1]) }
            }
            return sum / 256
        }

        @Test func `a pause shows the card and a freeze the last picture`() throws {
            let stage = try Stage()
            #expect(try stage.guise("freeze").code == 0)
            Thread.sleep(forTimeInterval: 0.2)
            let (one, two) = (try stage.snapshot("one"), try stage.snapshot("two"))
            #expect(one.changes(from: two).count == 0)
            #expect(try stage.guise("pause").code == 0)
            let refused = try stage.guise("snapshot", stage.workshop.path("no.png"))
            #expect(refused.code == 1 && refused.errors.contains("`guise resume` first"), "\(refused)")
            let frames = try #require(try stage.status()["frames"]?.number)
            Thread.sleep(forTimeInterval: 0.5)
            let paused = try stage.status()
            #expect(paused["state"]?.string == "paused" && paused["frames"]?.number == frames)
            #expect(try stage.guise("resume").code == 0)
            #expect(stage.answers { try stage.status()["frames"]?.number ?? 0 > frames + 3 })
            _ = try stage.end()
        }

        @Test func `a recording has the length of what was recorded`() throws {
            let stage = try Stage()
            let path = stage.workshop.path("clip.mp4")
            #expect(try stage.guise("record", "stop").errors.contains("nothing is being recorded"))
            #expect(try stage.guise("record", "start", path).code == 0)
            #expect(try stage.guise("record", "start").errors.contains("running already"))
            Thread.sleep(forTimeInterval: 2)
            #expect(try stage.guise("record", "stop").code == 0)
            let seconds = try #require(
                Double(
                    try stage.workshop.shell("ffprobe -v error -show_entries format=duration -of csv=p=0 '\(path)'")
                        .trimmingCharacters(in: .whitespacesAndNewlines)))
            #expect((1.5...4).contains(seconds), "\(seconds) s")
            _ = try stage.end()
        }

        @Test func `an edit of the configuration holds within a second, a broken one changes nothing`() throws {
            let stage = try Stage(config: #"{"masks": ["crown"]}"#)
            var delays: [Double] = []
            for mask in ["chevron", "goatee", "stubble"] {
                try stage.workshop.write("{\"masks\": [\"\(mask)\"]}", "config/guise/config.json")
                let asked = Date()
                #expect(stage.answers { try worn(stage.status()) == [mask] })
                delays.append(Date().timeIntervalSince(asked))
            }
            // Programs that ask take their time to start, and a busy machine takes its own now and then.
            print("edits of the configuration hold after \(delays) s")
            #expect(delays.sorted()[1] < 1.5)
            try stage.workshop.write(#"{"masks": ["beanie"], "facs": 1}"#, "config/guise/config.json")
            #expect(stage.running.waits(for: "unknown key 'facs'"))
            #expect(worn(try stage.status()) == ["stubble"])
            try stage.workshop.write(#"{"masks": ["beanie"]}"#, "config/guise/config.json")
            #expect(stage.answers { try worn(stage.status()) == ["beanie"] })
            #expect(try stage.guise("set", "faces.most", "2").code == 0)
            #expect(try stage.guise("set", "faces.most", "99").errors.contains("allowed: 1 to 8"))
            #expect(try stage.guise("set", "faces.mst", "2").errors.contains("did you mean 'most'?"))
            _ = try stage.end()
        }

        @Test func `while nobody watches it costs next to nothing`() throws {
            let workshop = try Workshop()
            try workshop.makeRuntimeFolder()
            let config = try workshop.write(#"{"page": {"port": 0}}"#, "idle.json")
            let running = try Running(
                ["run", "--config", config, "--source", "camera", "--sink", "page"], in: workshop)
            #expect(running.waits(for: "-> page"))
            // The start, and the drawing of cards, are over after some seconds; a figure covers one, in which a busy machine
            // may be slow.
            Thread.sleep(forTimeInterval: 6)
            var shares: [Double] = []
            for _ in 0..<5 {
                let outcome = try workshop.guise("status", "--json")
                let idle = try JSON(Array(outcome.out.utf8), file: "status")
                shares.append(try #require(idle["cpu"]?["process"]?.number))
                #expect(idle["camera"]?.string == "closed" && idle["watched"]?.bool == false)
                Thread.sleep(forTimeInterval: 1.1)
            }
            print("idle: \(shares) % of a core")
            #expect(shares.sorted()[2] < 3, "\(shares) % of a core")
            _ = try workshop.guise("stop")
            #expect(running.wait().code == 0)
        }

        @Test func `what stands for a camera costs nothing while it is frozen, and may be damaged`() throws {
            let workshop = try Workshop()
            try workshop.makeRuntimeFolder()
            // Named without a folder, it is watched like any other.
            try workshop.write(#"{"page": {"port": 0}, "camera": {"when": "always"}}"#, "here.json")
            let running = try Running(
                ["run", "--config", "here.json", "--source", "camera", "--sink", "page"], in: workshop)
            #expect(running.waits(for: "-> page"))
            func answers(_ holds: (JSON) -> Bool) throws -> Bool {
                for _ in 0..<100 {
                    let outcome = try workshop.guise("status", "--json")
                    if holds(try JSON(Array(outcome.out.utf8), file: "status")) { return true }
                    Thread.sleep(forTimeInterval: 0.1)
                }
                return false
            }
            #expect(try workshop.guise("use", "sample").code == 0)
            #expect(try answers { $0["camera"]?.string == "open" && $0["frames"]?.number ?? 0 > 30 })
            #expect(try workshop.guise("freeze").code == 0)
            Thread.sleep(forTimeInterval: 1)
            func load() throws -> Double {
                let ticks = try workshop.shell("cut -d' ' -f14,15 /proc/\(running.process.processIdentifier)/stat")
                return ticks.split(separator: " ").compactMap { Double($0.filter(\.isNumber)) }.reduce(0, +) / 100
            }
            let before = try load()
            Thread.sleep(forTimeInterval: 3)
            let spent = try load() - before
            #expect(spent < 1.5, "\(spent) s of CPU in 3 s of a frozen picture")
            #expect(try workshop.guise("resume").code == 0)
            let asked = Date()
            let frames = try JSON(Array(workshop.guise("status", "--json").out.utf8), file: "")["frames"]?.number ?? 0
            #expect(try answers { $0["frames"]?.number ?? 0 > frames + 10 })
            #expect(Date().timeIntervalSince(asked) < 3, "it goes on where it was")
            // Cut off in the middle of a frame.
            try workshop.shell(
                "ffmpeg -v error -f lavfi -i testsrc=s=320x240:d=1 -c:v mjpeg -f avi whole.avi; head -c 9000 whole.avi > cut.avi"
            )
            #expect(try workshop.guise("use", workshop.path("cut.avi")).code == 0)
            Thread.sleep(forTimeInterval: 3)
            #expect(try workshop.guise("use", "sample").code == 0)
            #expect(try answers { $0["camera"]?.string == "open" })
            try workshop.write(
                #"{"page": {"port": 0}, "camera": {"when": "always"}, "masks": ["crown"]}"#, "here.json")
            #expect(try answers { self.worn($0) == ["crown"] })
            _ = try workshop.guise("stop")
            #expect(running.wait().code == 0)
        }

        @Test func `where nothing can be said, nothing ends for it`() throws {
            let workshop = try Workshop()
            try workshop.shell("'\(Program.path)' status 2>/dev/full; [ $? = 3 ]")
            try workshop.shell("exec 2> >(exec 0<&-); sleep 0.2; '\(Program.path)' status; [ $? = 3 ]")
        }

        @Test func `two snapshots in one second are two files`() throws {
            let stage = try Stage()
            try stage.workshop.shell("for i in 1 2 3; do '\(Program.path)' snapshot & done; wait")
            let names = try FileManager.default.contentsOfDirectory(atPath: stage.workshop.path("Pictures/Guise"))
            #expect(names.count == 3, "\(names)")
            #expect(names.allSatisfy { $0.hasSuffix(".png") && !$0.contains(".part") }, "\(names)")
            _ = try stage.end()
        }

        @Test func `a second guise says who is there, and SIGKILL leaves nothing in the way`() throws {
            let stage = try Stage()
            let pid = stage.running.process.processIdentifier
            let second = try stage.guise("run", "--source", "sample", "--sink", "null")
            #expect(second.code == 1 && second.errors.contains("(\(pid)) already does"), "\(second)")
            kill(pid, SIGKILL)
            _ = stage.running.wait()
            #expect(try stage.guise("status").code == 3)
            let third = try Running(["run", "--source", "sample", "--realtime", "--sink", "null"], in: stage.workshop)
            #expect(stage.answers { try stage.guise("status").code == 0 })
            _ = try stage.guise("stop")
            #expect(third.wait().code == 0)
        }

        @Test func `a face that a mask is to hide is not seen while it is lost, nor before it is found`() throws {
            let stage = try Stage()
            let clip = stage.workshop.path("gone.mkv")
            // The face comes after a second, is hidden from three to six, and comes back.
            try stage.workshop.shell(
                """
                ffmpeg -v error -loop 1 -i '\(Package.sample)' -t 8 -r 15 -vf "scale=-2:720,crop=iw:720,\
                drawbox=x=0:y=0:w=iw:h=ih:color=gray:t=fill:enable='lt(t,1)+between(t,3,6)'" -c:v ffv1 '\(clip)'
                """)
            let outcome = try stage.workshop.guise(
                "run", "--source", clip, "--sink", stage.output, "--mask", "pixelate")
            try #require(outcome.code == 0, "\(outcome)")
            // A bare face is found in what is published: then it was shown.
            let found = try stage.workshop.guise("track", stage.output, "--json")
            let tracked = found.out.split(separator: "\n")
            #expect(tracked.count >= 110)
            let seen = tracked.filter { $0.contains("\"landmarks\"") && $0.contains("\"tracked\"") }
            #expect(seen.isEmpty, "a face was seen in \(seen.count) of \(tracked.count) frames")
            _ = try stage.end()
        }

        @Test func `ten thousand requests from fifty clients delay no frame`() throws {
            let stage = try Stage()
            let socket = stage.workshop.path("run/guise/control.sock")
            let script = """
                import json, random, socket, sys, threading, time
                random.seed(1)
                bad = []
                def client(n):
                    for part in range(4):
                        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.settimeout(20)
                        f = s.makefile('rb')
                        for i in range(50):
                            kind = random.random()
                            if kind < 0.1: s.sendall(b'garbage' * random.randrange(1, 50) + b'\\n')
                            elif kind < 0.12: s.sendall(b'x' * 100000 + b'\\n')
                            elif kind < 0.2: s.sendall(b'{"request": "tog'); time.sleep(0.002); s.sendall(b'gle"}\\n')
                            else: s.sendall(json.dumps({'id': i, 'request': random.choice(sys.argv[2].split())}).encode() + b'\\n')
                            if not f.readline(): bad.append((n, i))
                        if n % 5 == 0:
                            s.sendall(b'{"request": "subscribe"}\\n' + b'{"request": "masks"}\\n' * 30)
                            time.sleep(0.05)
                        s.close()
                threads = [threading.Thread(target=client, args=(n,)) for n in range(50)]
                [t.start() for t in threads]; [t.join() for t in threads]
                print(len(bad))
                """
            let file = try stage.workshop.write(script, "flood.py")
            // The first time, masks are loaded that come by in it.
            let flood = "python3 '\(file)' '\(socket)' 'status masks next set'"
            #expect(try stage.workshop.shell(flood) == "0\n")
            let before = try stage.status()
            #expect(try stage.workshop.shell(flood) == "0\n")
            let after = try stage.status()
            func number(_ status: JSON, _ keys: String...) -> Double {
                keys.reduce(status) { $0[$1] ?? JSON(.null) }.number ?? -1
            }
            let (delay, calm) = (number(after, "latency", "p95"), number(before, "latency", "p95"))
            print("delay, 95th percentile: \(calm) ms after one flood, \(delay) ms after two")
            let (memory, less) = (number(after, "memory"), number(before, "memory"))
            #expect(memory < less + 20, "\(less) MB became \(memory) MB")
            #expect(number(after, "rate") > 20)
            _ = try stage.end()

            // The same while one mask stays on: what is late then is late for the flood.
            let other = try Stage()
            #expect(other.answers { number(try other.status(), "frames") > 200 })
            let quiet = number(try other.status(), "latency", "p95")
            let rush = "python3 '\(file)' '\(other.workshop.path("run/guise/control.sock"))' 'status masks set'"
            for _ in 0..<3 { #expect(try other.workshop.shell(rush) == "0\n") }
            let rushed = number(try other.status(), "latency", "p95")
            print("delay, 95th percentile: \(quiet) ms, with a flood \(rushed) ms")
            #expect(rushed < quiet + 5)
            _ = try other.end()
        }
    }
}
