import Foundation
import JSON
import Testing

extension EndToEnd {
    /// A guise that is left on, and used.
    @Suite(.serialized, .enabled(if: Package.hasSample && Program.isRelease)) struct SoakTests {
        /// Two minutes of use, or as many seconds as GUISE_SOAK says: 1800 are what a day looks like.
        private static let seconds = Double(ProcessInfo.processInfo.environment["GUISE_SOAK"] ?? "") ?? 120
        /// Megabytes of resident memory that may come after the first minute, or half of the time.
        private static let growth = seconds < 600 ? 4 : 2

        /// What comes and goes: masks, whole configurations, those who look.
        private static let use = """
            import http.client, json, random, re, socket, subprocess, sys, time
            path, address, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
            host, token = re.match(r'http://([^/]+)/\\?token=(\\S+)', address).groups()
            random.seed(1)
            def ask(request):
                s = socket.socket(socket.AF_UNIX); s.connect(path); s.settimeout(20)
                s.sendall(json.dumps(request).encode() + b'\\n'); answer = s.makefile().readline(); s.close()
                return json.loads(answer)['ok']
            def look(pictures):
                c = http.client.HTTPConnection(host, timeout=20)
                c.request('GET', '/stream', headers={'Cookie': 'guise-%s=%s' % (host.split(':')[1], token)})
                answer = c.getresponse(); assert answer.status == 200, answer.status
                while pictures:
                    if answer.readline().startswith(b'--'): pictures -= 1
                c.close()
            # All masks that are used are worn once before it counts.
            masks = ['santa', 'crown', 'tiger', 'round-glasses', 'makeup-evening', 'snow', 'name-tag', 'bowler']
            for mask in masks: ask({'request': 'only', 'mask': mask}); time.sleep(0.3)
            # And all at once: whenever that came first, it would be the most.
            for part in range(3):
                ask({'request': 'wear', 'masks': masks}); time.sleep(1); look(4)
                for request in 'reload', 'pause', 'resume', 'clear': ask({'request': request}); time.sleep(0.2)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                ask({'request': 'toggle', 'mask': random.choice(masks)})
                ask({'request': random.choice(['pause', 'resume', 'reload', 'status', 'masks', 'devices'])})
                if random.random() < 0.3: ask({'request': 'only', 'mask': random.choice(masks)})
                ask({'request': 'resume'})
                look(random.randrange(1, 8))
            ask({'request': 'clear'})
            """

        @Test func `left on and used it takes no more memory and no more descriptors`() throws {
            let stage = try Stage(["--sink", "page"], config: "{\"page\": {\"port\": 0}}")
            let file = try stage.workshop.write(Self.use, "use.py")
            let address = try stage.guise("page", "--no-open").out.trimmingCharacters(in: .whitespacesAndNewlines)
            let socket = stage.workshop.path("run/guise/control.sock")
            let user = try Running([file, socket, address, "\(Self.seconds)"], of: "python3", in: stage.workshop)
            let process = stage.running.process.processIdentifier
            var seen: [(at: Double, memory: Int, descriptors: Int)] = []
            let began = Date()
            while user.process.isRunning, Date().timeIntervalSince(began) < Self.seconds + 60 {
                Thread.sleep(forTimeInterval: 2)
                seen.append((Date().timeIntervalSince(began), try memory(process), try descriptors(process)))
            }
            let outcome = user.wait()
            #expect(outcome.code == 0, "\(outcome)")
            // Who looked last is gone for certain a moment later.
            Thread.sleep(forTimeInterval: 2)
            let open = try links(process)
            let early = seen.filter { $0.at < max(60, Self.seconds / 2) }
            let late = seen.filter { $0.at >= max(60, Self.seconds / 2) }
            print("resident, kB: \(seen.map(\.memory))")
            let fewest = early.map(\.descriptors).min() ?? 0
            try #require(early.count > 3 && late.count > 3)
            // The kernel counts some pages late: of the second half, the middle.
            let before = early.map(\.memory).max() ?? 0
            let after = late.map(\.memory).sorted()[late.count / 2]
            print("memory: at most \(before) kB, then \(after) kB; descriptors: \(fewest) at least, \(open.count) left")
            #expect(after <= before + Self.growth * 1024)
            #expect(open.count <= fewest, "\(open)")
            #expect(try stage.end().code == 0)
        }

        /// Resident, kB.
        private func memory(_ process: Int32) throws -> Int {
            let lines = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8).split(separator: "\n")
            let line = try #require(lines.first { $0.hasPrefix("VmRSS:") })
            return try #require(Int(line.filter(\.isNumber)))
        }

        private func descriptors(_ process: Int32) throws -> Int { try links(process).count }

        private func links(_ process: Int32) throws -> [String] {
            let folder = "/proc/\(process)/fd"
            return try FileManager.default.contentsOfDirectory(atPath: folder).map {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) ?? "gone"
            }
        }

        /// Looks at a picture that stands still, so that whatever changes is the mask.
        private static let watch = """
            import http.client, re, subprocess, sys, threading, time
            guise, address = sys.argv[1:3]
            host, token = re.match(r'http://([^/]+)/\\?token=(\\S+)', address).groups()
            c = http.client.HTTPConnection(host, timeout=20)
            c.request('GET', '/stream?width=320&rate=60', headers={'Cookie': 'guise-%s=%s' % (host.split(':')[1], token)})
            answer = c.getresponse(); parts = []
            def read():
                while line := answer.readline():
                    if line.lower().startswith(b'content-length'):
                        answer.readline(); picture = answer.read(int(line.split(b':')[1]))
                        parts.append((time.monotonic(), hash(picture)))
            threading.Thread(target=read, daemon=True).start()
            time.sleep(1); delays = []
            for i in range(42):
                time.sleep(0.3 + 0.013 * (i % 7)); before, known, began = parts[-1][1], len(parts), time.monotonic()
                subprocess.run([guise, 'toggle', 'polaroid'], stdout=subprocess.DEVNULL, check=True)
                while not any(other != before for _, other in parts[known:]):
                    time.sleep(0.001); assert time.monotonic() < began + 5, 'nothing changed'
                delays.append(next(at for at, other in parts[known:] if other != before) - began)
            # The first time its art is loaded.
            delays = sorted(delays[2:]); starts = []
            for i in range(21):
                began = time.monotonic(); subprocess.run([guise, '--version'], stdout=subprocess.DEVNULL, check=True)
                starts.append(time.monotonic() - began)
            print(*(int(time * 1000) for time in (
                delays[len(delays) // 2], delays[len(delays) * 95 // 100], sorted(starts)[len(starts) // 2])))
            """

        @Test func `a mask that is toggled by a command is on the page at once`() throws {
            let workshop = try Workshop()
            try workshop.makeRuntimeFolder()
            try workshop.write("{\"page\": {\"port\": 0}, \"masks\": []}", "config/guise/config.json")
            let running = try Running(
                ["run", "--source", Package.sample, "--loop", "--realtime", "--sink", "page"], in: workshop)
            try #require(running.waits(for: "page http"), "\(running.said)")
            let address = try Program.run(["page", "--no-open"], in: workshop).out
                .trimmingCharacters(in: .whitespacesAndNewlines)
            let file = try workshop.write(Self.watch, "watch.py")
            let outcome = try Program.run([file, Program.path, address], of: "python3", in: workshop)
            let delays = outcome.out.split { !$0.isNumber }.compactMap { Int($0) }
            try #require(outcome.code == 0 && delays.count == 3, "\(outcome)")
            let (middle, late, start) = (delays[0], delays[1], delays[2])
            print(
                "from the command's start to the changed picture in a browser: \(middle) ms, 95th \(late) ms, \(start) ms of it to start a program"
            )
            // To the published frame; then the page's pictures are at most 60 a second, encoded, and sent.
            #expect(middle < start + 40 && late < start + 100)
            _ = try Program.run(["stop"], in: workshop)
            _ = running.wait()
        }
    }
}
