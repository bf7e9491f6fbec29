import Foundation
import Frames
import JSON
import Publish
import TestSupport
import Testing

extension EndToEnd {
    /// The page of the built program: who may use it, what it shows, and its requests.
    @Suite(.serialized, .goesFirst, .needsSample, .needsReleaseBuild) final class PageTests {
        /// A running Guise with its page, and a connection with a session.
        private final class Stage: @unchecked Sendable {
            let guise: RunningGuise
            let link: String
            let token: String
            /// The connection that keeps the session open.
            private let connection: HTTPTestClient

            var scratch: ScratchFolder { guise.scratch }
            var origin: String { String(link.prefix { $0 != "#" }.dropLast()) }
            var secret: String { String(link.drop { $0 != "#" }.dropFirst()) }

            init(in given: ScratchFolder? = nil) throws {
                guise = try RunningGuise(
                    ["--no-open"], command: "page",
                    config:
                        #"{"page": {"port": 0}, "source": "sample", "sinks": ["null"], "masks": [], "faces": {"minSize": 0.1}, \#(RunningGuise.smallOutput)}"#,
                    in: given)
                let link = try #require(try guise.ask("page")["address"]?.string)
                let match = try #require(link.wholeMatch(of: /http:\/\/127\.0\.0\.1:(\d+)\/#([0-9a-f]{64})/))
                self.link = link
                (connection, token) = try HTTPTestClient.signIn(
                    port: try #require(Int(match.1)), secret: String(match.2))
            }

            /// Sends a request like the page.
            /// - Returns: the status; the body is in the file.
            @discardableResult
            func curl(_ path: String, _ more: String = "", to file: String) throws -> Int {
                let status = try scratch.shell(
                    "curl -s -H 'Authorization: Guise \(token)' -H 'Origin: \(origin)' -o '\(file)' -w '%{http_code}' \(more) '\(origin)\(path)'"
                )
                return Int(status) ?? 0
            }

            func json(_ file: String) throws -> JSON { try JSON([UInt8](scratch.read(file)), file: file) }
        }

        private let stage: Stage
        private static let shared = Result { try Stage() }

        init() throws {
            stage = try Self.shared.get()
            try stage.guise.reset()
        }

        deinit { stage.guise.rest() }

        @Test func `the link is printed at once, also into a file`() {
            #expect(stage.guise.running.output == "\(stage.link)\n")
        }

        @Test func `the page is served, and shows faces with and without masks`() throws {
            let second = try stage.scratch.guise("page", "--no-open")
            #expect(second.out == "\(stage.link)\n", "\(second)")
            #expect(
                try stage.curl("/style.css", to: "style") == (Fixtures.exists(Fixtures.inPackage("Page")) ? 200 : 404))
            let stranger = try stage.scratch.shell("curl -s -o no -w '%{http_code}' '\(stage.origin)/stream'")
            #expect(stranger == "401")
            let token = stage.token
            func picture(_ query: String) throws -> Picture {
                let name = query.filter(\.isLetter) + UUID().uuidString.prefix(4)
                try stage.scratch.shell(
                    "ffmpeg -v error -y -headers 'Authorization: Guise \(token)' -f mpjpeg -i "
                        + "'\(stage.origin)/stream?\(query)' -frames:v 1 '\(name).png'")
                return try stage.scratch.picture(stage.scratch.path("\(name).png"))
            }
            #expect(try stage.scratch.guise("wear", "crown", "santa-beard").out == "worn: crown, santa-beard\n")
            let after = try picture("picture=after")
            #expect((after.width, after.height) == (640, 360))
            /// Pixels as green as the tracking overlay, which the sample does not have.
            func greens(_ picture: Picture) -> Int {
                (0..<picture.width * picture.height).count { i in
                    let (red, green, blue) = (picture.bytes[3 * i], picture.bytes[3 * i + 1], picture.bytes[3 * i + 2])
                    return green > 170 && red < 140 && blue < 150
                }
            }
            let marked = try picture("picture=after&overlay=1")
            print("\(greens(after)) green pixels without marks, \(greens(marked)) with them")
            #expect(greens(marked) > greens(after) + 100)
            /// The white part of the lower edge: all of it in a polaroid, and never all of it without one.
            func white(_ picture: Picture) -> Double {
                let row = (picture.height - 6) * picture.width
                let count = (0..<picture.width).count { picture.bytes[(row + $0) * 3 + 1] > 190 }
                return Double(count) / Double(picture.width)
            }
            _ = try stage.scratch.guise("wear", "polaroid")
            #expect(stage.guise.waits { _ in white(try picture("picture=after&width=640")) > 0.95 })
            let bare = try picture("picture=before&width=640")
            #expect((bare.width, bare.height) == (640, 360))
            #expect(white(bare) < 0.9)
        }

        @Test func `the secret survives a restart, is in no log and no other file, and can be revoked`() throws {
            let first = try Stage()
            #expect(!first.guise.running.said.contains(first.secret))
            #expect(try first.scratch.shell("stat -c %a state/guise/page-secret") == "600\n")
            // If the output is not a terminal, the link is printed only on request.
            #expect(try first.scratch.guise("page").out == "")
            #expect(try first.guise.end().code == 0)
            let second = try Stage(in: first.scratch)
            #expect(second.secret == first.secret)
            let revoked = try second.scratch.guise("page", "--revoke", "--no-open")
            #expect(revoked.code == 0 && revoked.out.hasPrefix("\(second.origin)/#"), "\(revoked)")
            #expect(!revoked.out.contains(second.secret))
            // When the session ends, its connections end too.
            let asking =
                "curl -s -H 'Authorization: Guise \(second.token)' -o no -w '%{http_code}' '\(second.origin)/stream' "
                + "--max-filesize 1 || true"
            #expect(second.guise.waits { _ in try second.scratch.shell(asking) == "401" })
            #expect(try second.guise.end().code == 0)
            // Without a running Guise the secret is replaced too, and none is started.
            let alone = try second.scratch.guise("page", "--revoke", "--no-open")
            #expect(alone.code == 0 && alone.out == "")
            let third = try Stage(in: first.scratch)
            #expect(!revoked.out.contains(third.secret) && third.secret != second.secret)
            #expect(try third.guise.end().code == 0)
        }

        @Test func `on a full disk a revoked secret is gone, and the error says so`() throws {
            let scratch = try ScratchFolder()
            try scratch.makeRuntimeFolder()
            let first = try scratch.guise("page", "--revoke", "--no-open")
            #expect(first.code == 0 && scratch.names(in: "state/guise").contains("page-secret"), "\(first)")
            // With the signal ignored, a limit on the size of files is like a full disk.
            let full = try Program.run(
                ["-c", "trap '' XFSZ; ulimit -f 0; exec '\(Program.path)' page --revoke --no-open"],
                of: "/bin/bash", in: scratch)
            #expect(full.code == 1 && full.errors.contains("the old link is revoked, but"), "\(full)")
            #expect(full.errors.contains("then run `guise page`"), "\(full)")
            #expect(scratch.names(in: "state/guise").filter { $0.hasPrefix("page-secret") } == [])
        }

        @Test func `without free descriptors the page's server pauses, and continues once there are some`() throws {
            let own = try Stage()
            let (scratch, pid) = (own.scratch, own.guise.running.pid)
            let port = try #require(own.origin.split(separator: ":").last.flatMap { Int($0) })
            let most = try scratch.shell("ls /proc/\(pid)/fd | sort -n | tail -1")
            let last = try #require(Int(most.trimmingCharacters(in: .whitespacesAndNewlines)))
            try scratch.shell("prlimit --pid \(pid) --nofile=\(last + 1):")
            // More than there are free descriptors: some of them are not accepted.
            let visitors = try (0..<32).map { _ in try HTTPTestClient(port: port) }
            // The secret can't be read now, and is not replaced for that.
            for _ in 0..<20 { _ = try? own.guise.ask("page") }
            // Without the pause it would try again all the time, and its thread would never sleep.
            let state = "cut -d' ' -f3 $(grep -l '^NIO' /proc/\(pid)/task/*/comm | sed 's/comm$/stat/')"
            let states = try (0..<30).map { _ in
                try own.guise.waits(pictures: 1)
                return try scratch.shell(state)
            }
            // On a busy machine it often waits for a processor.
            #expect(states.count { $0 == "S\n" } >= 3, "\(states)")
            try scratch.shell("prlimit --pid \(pid) --nofile=1024:")
            #expect(try own.curl("/thumbnail?mask=santa", to: "santa.jpg") == 200)
            #expect(try own.guise.ask("page")["address"]?.string == own.link)
            withExtendedLifetime(visitors) {}
            #expect(try own.guise.end().code == 0)
        }

        @Test func `the browser is opened with a file of this user, and no argument contains the secret`() throws {
            let scratch = stage.scratch
            try scratch.write(
                "#!/bin/sh\nstat -c %a \"$1\" >mode\ncp \"$1\" page\necho \"$0 $*\" >arguments.part\nmv arguments.part arguments\n",
                "programs/xdg-open")
            try scratch.shell(
                "chmod +x programs/xdg-open; cd '\(scratch.path("."))'; PATH=\"$PWD/programs:$PATH\" DISPLAY=:0 '\(Program.path)' page"
            )
            waits { scratch.names().contains("arguments") }
            let arguments = String(decoding: try scratch.read("arguments"), as: UTF8.self)
            #expect(arguments.contains("/run/guise/open-") && !arguments.contains(stage.secret), "\(arguments)")
            #expect(String(decoding: try scratch.read("mode"), as: UTF8.self) == "600\n")
            #expect(
                String(decoding: try scratch.read("page"), as: UTF8.self).contains(
                    "location.replace(\"\(stage.link)\")"))
            // The file is removed.
            waits { !scratch.names(in: "run/guise").contains { $0.hasPrefix("open-") } }
        }

        @Test func `a photo comes back with masks, and other files are errors`() throws {
            _ = try stage.scratch.guise("wear", "santa")
            for (ending, options) in [("png", ""), ("webp", ""), ("jpg", "-q:v 2")] {
                try stage.scratch.make(
                    "two.\(ending)", "-i \(Fixtures.sample) -vf split[a][b];[a][b]hstack,scale=iw/2:-1 \(options)")
            }
            try stage.scratch.shell("head -c 3000 two.png > half.png")
            try stage.scratch.write("no picture", "text")
            // The photo processed without masks, so that only the mask differs.
            _ = try stage.scratch.guise("clear")
            #expect(try stage.curl("/photo", "--data-binary @two.png", to: "bare.jpg") == 200)
            let bare = try stage.scratch.picture(stage.scratch.path("bare.jpg"))
            _ = try stage.scratch.guise("wear", "santa")
            for ending in ["png", "jpg", "webp"] {
                let status = try stage.curl("/photo", "-D head.txt --data-binary @two.\(ending)", to: "dressed.jpg")
                #expect(status == 200, "\(ending)")
                let head = try String(contentsOf: stage.scratch.url.appending(path: "head.txt"), encoding: .utf8)
                let faces = head.firstMatch(of: /X-Guise-Faces: (\d+)/).flatMap { Int($0.1) } ?? 0
                #expect(faces >= 2, "\(ending): \(faces) faces")
                let dressed = try stage.scratch.picture(stage.scratch.path("dressed.jpg"))
                #expect((dressed.width, dressed.height) == (bare.width, bare.height))
                let changed = dressed.changes(from: bare)
                #expect(changed.left < bare.width / 2 && changed.right > bare.width / 2, "\(ending): \(changed)")
                #expect(changed.count > 1250, "\(ending): \(changed)")
            }
            for (file, code) in [("half.png", 422), ("text", 415)] {
                #expect(try stage.curl("/photo", "--data-binary @\(file)", to: "refusal") == code, "\(file)")
                #expect(try stage.json("refusal")["error"]?["message"]?.string?.contains("/proc/") == false)
            }
            // 20000x20000 pixels, and the largest size that a header can state; only the header is read.
            for side: [UInt8] in [[0, 0, 0x4E, 0x20], [0xFF, 0xFF, 0xFF, 0xFF]] {
                let bomb: [UInt8] =
                    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8) + side + side
                    + [8, 2, 0, 0, 0]
                try Data(bomb).write(to: stage.scratch.url.appending(path: "bomb.png"))
                #expect(try stage.curl("/photo", "--data-binary @bomb.png", to: "refusal") == 413)
            }
        }

        @Test
        func `a photo that was corrected by hand wears its masks there, after a restart too, until it is forgotten`()
            throws
        {
            var own = try Stage()
            let scratch = own.scratch
            /// What the masks change on the sample.
            func changes() throws -> Picture.Changes {
                #expect(try own.curl("/photo", "--data-binary @\(Fixtures.sample) -D head", to: "out.jpg") == 200)
                return try scratch.picture(scratch.path("out.jpg")).changes(
                    from: scratch.picture(scratch.path("bare.jpg")))
            }
            #expect(try own.curl("/photo", "--data-binary @\(Fixtures.sample) -D head", to: "bare.jpg") == 200)
            let hash = String(try scratch.shell("sha256sum \(Fixtures.sample)").prefix(64))
            #expect(try String(decoding: scratch.read("head"), as: UTF8.self).contains("X-Guise-Photo: \(hash)"))
            #expect(try own.guise.guise("wear", "handlebar-moustache").code == 0)
            let before = try changes()
            #expect(try own.curl("/photo/faces", "--data-binary @\(Fixtures.sample)", to: "faces.json") == 200)
            let answer = try own.json("faces.json")
            let (photo, width, faces) = (
                answer["photo"]?.string, answer["width"]?.number, answer["faces"]?.elements ?? []
            )
            let found = faces.first?["landmarks"]?.elements ?? []
            try #require(photo == hash && width == 512 && faces.count == 1 && found.count == 68, "\(answer.text)")
            #expect(faces[0]["corrected"]?.bool == false)

            // The whole face 40 pixels lower.
            func write(_ points: [JSON], _ name: String) throws {
                try scratch.write(JSON(["faces": [JSON(["landmarks": JSON(points)])]]).text, name)
            }
            func keep(_ name: String, of photo: String) throws -> Int {
                try own.curl("/corrections?photo=\(photo)", "--data-binary @\(name)", to: "answer")
            }
            let low = found.map { JSON([$0.elements[0], JSON(($0.elements[1].number ?? 0) + 40)]) }
            try write(low, "low.json")
            #expect(try keep("low.json", of: hash) == 200)
            let after = try changes()
            #expect(after.top > before.top + 25 && after.bottom > before.bottom + 25, "\(before), \(after)")
            #expect(try own.curl("/photo/faces", "--data-binary @\(Fixtures.sample)", to: "faces.json") == 200)
            #expect(try own.json("faces.json")["faces"]?.elements.first?["corrected"]?.bool == true)
            let file = "state/guise/corrections/\(hash).json"
            #expect(try scratch.shell("stat -c %a \(file)") == "600\n")
            let applied = try scratch.guise("apply", Fixtures.sample, "-o", "own.png", "--points", file)
            #expect(applied.code == 0, "\(applied)")

            // What is wrong changes nothing.
            try write(Array(low.dropLast()), "short.json")
            try write(low.dropLast() + [JSON([JSON(0), JSON(9999)])], "outside.json")
            try scratch.write(#"{"faces": [{"landmarks": [[NaN, 1]]}]}"#, "nan.json")
            try scratch.write(String(repeating: " ", count: 65 << 10), "long.json")
            for (name, photo, status) in [
                ("short.json", hash, 422), ("outside.json", hash, 422), ("nan.json", hash, 422),
                ("long.json", hash, 413),
                ("low.json", "12", 400), ("low.json", String(repeating: "0", count: 64), 404),
            ] {
                #expect(try keep(name, of: photo) == status, "\(name)")
                #expect(try own.json("answer")["error"]?["message"]?.string?.isEmpty == false)
            }
            #expect(scratch.names(in: "state/guise/corrections") == ["\(hash).json"])

            #expect(try own.guise.end().code == 0)
            own = try Stage(in: scratch)
            #expect(try own.guise.guise("wear", "handlebar-moustache").code == 0)
            #expect(try changes().top == after.top)
            // A damaged file is reported once, and the photo is as without it.
            let kept = try scratch.read(file)
            try scratch.write(kept.prefix(kept.count / 2), file)
            #expect(try changes().top == before.top && changes().top == before.top)
            #expect(own.guise.running.said.components(separatedBy: "corrections are ignored").count == 2)
            try scratch.write(#"{"faces": []}"#, "none.json")
            #expect(try keep("low.json", of: hash) == 200 && changes().top == after.top)
            #expect(try keep("none.json", of: hash) == 200 && changes().top == before.top)
            #expect(scratch.names(in: "state/guise/corrections").isEmpty)
            #expect(try own.guise.end().code == 0)
        }

        @Test
        func `an uploaded picture is kept once, under a name that is safe, and what is no picture changes nothing`()
            throws
        {
            func pictures() -> [String] { stage.scratch.names(in: "config/guise/Pictures").sorted() }
            func upload(_ file: String, named name: String) throws -> Int {
                try stage.curl("/picture?name=\(name)", "--data-binary @\(file)", to: "answer")
            }
            try stage.scratch.make("beach.png", "-f lavfi -i testsrc2=size=320x180 -frames:v 1")
            try stage.scratch.shell("head -c 3000 beach.png > half.png")
            try stage.scratch.write("no picture", "text")
            // "../../beach.png": a path is no name.
            #expect(try upload("beach.png", named: "..%2F..%2Fbeach.png") == 200)
            let name = try #require(try stage.json("answer")["picture"]?.string)
            #expect(name == "beach.jpg")
            #expect(pictures() == [name])
            #expect(try upload("beach.png", named: "beach.png") == 200)
            #expect(try stage.json("answer")["picture"]?.string == name, "the same picture was kept twice")
            for (file, code) in [("half.png", 422), ("text", 415)] {
                #expect(try upload(file, named: "other.png") == code, "\(file)")
                #expect(try stage.json("answer")["error"]?["message"]?.string?.contains("/proc/") == false)
            }
            #expect(pictures() == [name])
            _ = try stage.scratch.guise("wear", "background-picture")
            defer { _ = try? stage.scratch.guise("clear") }
            #expect(try stage.scratch.guise("set", "background-picture", "picture", name).code == 0)
            let refused = try stage.scratch.guise("set", "background-picture", "picture", "nosuch.jpg")
            #expect(refused.code != 0, "a picture that is not there was taken")
        }

        @Test func `an uploaded clip moves behind the person`() throws {
            let clip = "-f lavfi -i color=red:s=320x180:r=30:d=1 -f lavfi -i color=blue:s=320x180:r=30:d=1"
            try stage.scratch.make("flag.mp4", clip + " -filter_complex concat -c:v libx264 -pix_fmt yuv420p")
            #expect(try stage.curl("/picture?name=flag.mp4", "--data-binary @flag.mp4", to: "answer") == 200)
            let name = try #require(try stage.json("answer")["picture"]?.string)
            #expect(name == "flag.mjpeg")
            _ = try stage.scratch.guise("wear", "background-picture")
            defer { _ = try? stage.scratch.guise("clear") }
            #expect(try stage.scratch.guise("set", "background-picture", "picture", name).code == 0)
            var seen: Set<String> = []
            // The corners are the background's, with the outline's model and without.
            var number = 0
            let hasMoved = stage.guise.waits { _ in
                number += 1
                let path = stage.scratch.path("moving \(number).png")
                _ = try stage.scratch.guise("snapshot", path)
                let picture = try stage.scratch.picture(path)
                seen.insert(picture.bytes[0] > 180 ? "red" : picture.bytes[2] > 180 ? "blue" : "other")
                return seen.isSuperset(of: ["red", "blue"])
            }
            #expect(hasMoved, "\(seen)")
        }

        @Test func `masks are shown on the sample and on the user's own face`() throws {
            #expect(try stage.curl("/thumbnail?mask=santa", to: "santa.jpg") == 200)
            #expect(try stage.curl("/thumbnail?mask=crown", to: "crown.jpg") == 200)
            let santa = try stage.scratch.picture(stage.scratch.path("santa.jpg"))
            #expect((santa.width, santa.height) == (192, 192))
            #expect(santa.changes(from: try stage.scratch.picture(stage.scratch.path("crown.jpg"))).count > 2000)
            #expect(try stage.curl("/thumbnail?mask=santa&face=mine", to: "mine.jpg") == 409)
            // A busy machine may take longer to publish a frame with a face than one request waits.
            let isKept = stage.guise.waits { _ in try stage.curl("/face", "-X POST", to: "face") == 200 }
            let answer = try stage.json("face")
            #expect(isKept, "\(answer)")
            #expect(try stage.json("face")["faces"]?.number ?? 0 >= 1)
            #expect(try stage.curl("/thumbnail?mask=santa&face=mine", to: "mine.jpg") == 200)
            #expect(santa.changes(from: try stage.scratch.picture(stage.scratch.path("mine.jpg"))).count > 500)
        }

        @Test func `a snapshot contains its list of masks, and a note lists them as text`() throws {
            _ = try stage.scratch.guise("wear", "name-tag")
            _ = try stage.scratch.guise("set", "name-tag", "text", "Ada Łovelace")
            let path = stage.scratch.path("me.png")
            #expect(try stage.scratch.guise("snapshot", path, "--note").code == 0)
            let texts = PNGText.texts(in: [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))))
            #expect(texts["Software"]?.hasPrefix("Guise ") == true)
            let worn = try JSON(Array((texts["Guise"] ?? "").utf8), file: "tEXt")["masks"]?.elements.first
            #expect(worn?["name"]?.string == "name-tag")
            #expect(worn?["choices"]?["text"]?.string == "Ada Łovelace")
            #expect(try stage.scratch.measure(path) == "640x360 1")
            let note = try String(contentsOf: stage.scratch.url.appending(path: "me.txt"), encoding: .utf8)
            #expect(note.contains("name-tag: opacity 1, text Ada Łovelace"), "\(note)")
            #expect(try stage.scratch.shell("stat -c %a me.png me.txt") == "600\n600\n")
            #expect(try stage.curl("/album/me.png", to: "again.png") == 200)
            #expect(try stage.scratch.measure(stage.scratch.path("again.png")) == "640x360 1")
            #expect(try stage.curl("/album/me.txt", to: "again.txt") == 404)
            // Existing files stay, and so do their notes.
            let before = try stage.scratch.read("me.png")
            let again = try stage.scratch.guise("snapshot", path, "--note")
            #expect(again.code == 0 && again.out.contains("me 2.png"), "\(again)")
            #expect(try stage.scratch.read("me.png") == before)
            #expect(
                stage.scratch.names().filter { $0.hasPrefix("me") } == ["me 2.png", "me 2.txt", "me.png", "me.txt"])
        }

        @Test func `a recording whose encoder is killed is reported, plays, and does not block the next`()
            throws
        {
            let path = stage.scratch.path("clip.mp4")
            #expect(try stage.scratch.guise("record", "start", path).code == 0)
            // Waits until two fragments of a second each are written, which takes a slow encoder some time.
            #expect(
                stage.guise.waits { _ in
                    let parts = stage.scratch.names().filter { $0.hasPrefix("clip.") && $0.hasSuffix(".part.mp4") }
                    let part = stage.scratch.path(try #require(parts.first))
                    let count = try stage.scratch.shell("grep -ao moof '\(part)' | wc -l")
                    return Int(count.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0 >= 2
                })
            #expect(try stage.guise.status()["recording"]?["problem"]?.string == nil)
            let own = stage.guise.running.pid
            try stage.scratch.shell("kill -KILL $(pgrep -P \(own) -x ffmpeg)")
            #expect(stage.guise.waits { $0["recording"]?["problem"]?.string?.contains("is kept") == true })
            #expect(stage.guise.running.waits(for: "the recording has ended"))
            let stopped = try stage.scratch.guise("record", "stop")
            #expect(stopped.code == 1 && stopped.out == "\(path)\n" && stopped.errors.contains("killed by signal 9"))
            let seconds = try #require(
                Double(
                    try stage.scratch.shell("ffprobe -v error -show_entries format=duration -of csv=p=0 '\(path)'")
                        .trimmingCharacters(in: .whitespacesAndNewlines)))
            #expect(seconds > 1)
            #expect(try stage.curl("/album/clip.mp4", "-H 'Range: bytes=0-99'", to: "part") == 206)
            #expect(!stage.scratch.names().contains { $0.contains(".part.") })
            #expect(try stage.scratch.guise("record", "start", stage.scratch.path("next.mp4")).code == 0)
            #expect(stage.guise.waits { $0["recording"]?["frames"]?.number ?? 0 > 5 })
            #expect(try stage.scratch.guise("record", "stop").code == 0)
        }

        @Test func `current settings are saved, with the masks`() throws {
            _ = try stage.scratch.guise("wear", "crown", "stubble")
            _ = try stage.scratch.guise("set", "faces.max", "3")
            let saved = try stage.scratch.guise("save")
            #expect(saved.out == stage.scratch.path("config/guise/config.json") + "\n", "\(saved)")
            let json = try stage.json("config/guise/config.json")
            #expect(json["masks"]?.elements.compactMap(\.string) == ["crown", "stubble"])
            #expect(json["faces"]?["max"]?.number == 3 && json["page"]?["port"]?.number == 0)
            // With the masks' settings.
            #expect(try stage.scratch.guise("clear").code == 0)
            #expect(try stage.scratch.guise("wear", "heart-glasses", "crown").code == 0)
            #expect(try stage.scratch.guise("set", "crown", "opacity", "0.5").code == 0)
            #expect(try stage.scratch.guise("set", "heart-glasses", "frame", "#2040c0").code == 0)
            #expect(try stage.scratch.guise("save").code == 0)
            let worn = try stage.json("config/guise/config.json")["masks"]?.elements ?? []
            #expect(worn.count == 2 && worn[0]["choices"]?["frame"]?.string == "#2040c0", "\(worn)")
            #expect(worn.last?["opacity"]?.number == 0.5, "\(worn)")
            let surprise = try stage.scratch.guise("surprise")
            #expect(surprise.code == 0 && surprise.out.split(separator: ",").count == 4, "\(surprise)")
            #expect(try stage.scratch.guise("random").out.contains(",") == false)
            // By now it would have noticed its own change of the file.
            try stage.guise.waits(pictures: 10)
            #expect(!stage.guise.running.said.contains("reloaded"))
        }
    }
}
