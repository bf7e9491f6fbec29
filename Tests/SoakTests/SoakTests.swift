import Foundation
import JSON
import TestSupport
import Testing

/// Tests that need real time and an idle machine: a Guise in long use, floods of requests, delays, CPU time and memory.
/// Run by `make soak`, which compares the figures with the committed ones.
@Suite(.serialized, .ownThread, .needsSample, .needsReleaseBuild) struct SoakTests {
    /// Two minutes of use, or the seconds in GUISE_SOAK; 1800 is typical for a day.
    private static let seconds = Double(ProcessInfo.processInfo.environment["GUISE_SOAK"] ?? "") ?? 120

    @Test func `running and in use, it takes no more memory and no more descriptors`() throws {
        let guise = try RunningGuise(
            RunningGuise.sample + ["--sink", "null", "--sink", "page"], config: "{\"page\": {\"port\": 0}}")
        let address = try guise.guise("page", "--no-open").out.trimmingCharacters(in: .whitespacesAndNewlines)
        let socket = guise.scratch.path("run/guise/control.sock")
        let user = try Running(
            [Fixtures.path("use.py"), socket, address, "\(Self.seconds)"], of: "python3", in: guise.scratch)
        var seen: [(memory: Int, descriptors: Int)] = []
        while user.isRunning {
            Thread.sleep(forTimeInterval: 2)
            seen.append((try memory(guise.running.pid), try descriptors(guise.running.pid).count))
        }
        let outcome = user.wait()
        #expect(outcome.code == 0, "\(outcome)")
        // The first part is for warming up. The kernel counts some pages late, so the median of the rest is used.
        let (early, late) = (seen.prefix(seen.count / 2), seen.suffix(seen.count / 2).map(\.memory).sorted())
        try #require(late.count > 3)
        // The last viewer's connection closes a moment later.
        Thread.sleep(forTimeInterval: 3)
        let open = try descriptors(guise.running.pid)
        let idle = early.map(\.descriptors).min() ?? 0
        figure("soak, memory after warming up", Double(early.map(\.memory).max() ?? 0) / 1024, "MB")
        figure(
            "soak, memory that came later", Double(late[late.count / 2] - (early.map(\.memory).max() ?? 0)) / 1024, "MB"
        )
        figure("soak, descriptors left over", Double(open.count - idle), "")
        #expect(open.count <= idle, "\(open)")
        #expect(try guise.end().code == 0)
    }

    /// Resident memory, kB.
    private func memory(_ process: Int32) throws -> Int {
        let lines = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("VmRSS:") })
        return try #require(Int(line.filter(\.isNumber)))
    }

    /// The target of each open descriptor.
    private func descriptors(_ process: Int32) throws -> [String] {
        let folder = "/proc/\(process)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).map {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) ?? "gone"
        }
    }

    /// CPU seconds of a process so far.
    private func load(_ process: Int32) throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        // utime and stime of proc(5), in hundredths of a second; the name before them may contain spaces.
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        return try [11, 12].map { try #require(Double(fields[$0 + 1])) }.reduce(0, +) / 100
    }

    @Test func `a mask that is toggled by a command is on the page soon`() throws {
        let guise = try RunningGuise(
            ["--source", Fixtures.sample, "--loop", "--realtime", "--sink", "page"],
            config: "{\"page\": {\"port\": 0}, \"masks\": []}", isPublishing: false)
        let address = try guise.guise("page", "--no-open").out.trimmingCharacters(in: .whitespacesAndNewlines)
        let outcome = try Program.run(
            [Fixtures.path("latency.py"), Program.path, address], of: "python3", in: guise.scratch)
        let delays = outcome.out.split { !$0.isNumber }.compactMap { Double($0) }
        try #require(outcome.code == 0 && delays.count == 3, "\(outcome)")
        figure("toggle to picture, median", delays[0], "ms")
        figure("toggle to picture, 95th percentile", delays[1], "ms")
        figure("starting the program", delays[2], "ms")
        try guise.end()
    }

    @Test func `an edit of the configuration takes effect soon`() throws {
        let guise = try RunningGuise(RunningGuise.sample + ["--sink", "null"])
        var delays: [Double] = []
        for mask in ["chevron", "goatee", "stubble", "crown", "bowler"] {
            try guise.scratch.write(
                "{\"masks\": [\"\(mask)\"], \(RunningGuise.smallOutput)}", "config/guise/config.json")
            let asked = Date()
            #expect(guise.waits { _ in try guise.worn == [mask] })
            delays.append(Date().timeIntervalSince(asked))
        }
        figure("edit of the configuration to effect, median", delays.sorted()[2] * 1000, "ms")
        try guise.end()
    }

    @Test func `ten thousand requests from fifty clients delay no frame`() throws {
        let guise = try RunningGuise(RunningGuise.sample + ["--sink", "null"], config: "{}")
        let socket = guise.scratch.path("run/guise/control.sock")
        func flood(_ requests: String) throws {
            let missing = try guise.scratch.shell("python3 '\(Fixtures.path("flood.py"))' '\(socket)' 50 '\(requests)'")
            #expect(missing == "0\n")
        }
        func late() throws -> Double { try #require(try guise.status()["latency"]?["p95"]?.number) }
        try guise.waits(pictures: 200)
        let quiet = try late()
        // With one mask on, so that delays are due to the flood.
        for _ in 0..<3 { try flood("status masks set") }
        figure("delay of a frame, quiet, 95th percentile", quiet, "ms")
        figure("delay of a frame in a flood, 95th percentile", try late(), "ms")
        // The first time, the flood loads masks.
        try flood("status masks next set")
        let before = try #require(try guise.status()["memory"]?.number)
        try flood("status masks next set")
        figure("memory that a flood leaves", try #require(try guise.status()["memory"]?.number) - before, "MB")
        try guise.end()
    }

    @Test(.needsSoundServer) func `sound and picture of a recording stay in step`() throws {
        let scratch = try ScratchFolder()
        try scratch.makeRuntimeFolder()
        let outcome = try Program.run([Fixtures.path("sound.py"), Program.path, "65"], of: "python3", in: scratch)
        let delays = outcome.out.split { $0 == " " || $0 == "\n" }.compactMap { Double($0) }
        try #require(outcome.code == 0 && delays.count == 3, "\(outcome)")
        figure("recording, sound after picture, median", delays[0], "ms")
        figure("recording, sound after picture, worst", delays[1], "ms")
        figure("recording, sound after picture, drift", delays[2], "ms a minute")
        #expect(delays.allSatisfy { abs($0) <= 40 })
    }

    @Test func `without viewers it uses almost no CPU time`() throws {
        let guise = try RunningGuise(
            ["--source", "camera", "--sink", "page"], config: #"{"page": {"port": 0}}"#, isPublishing: false)
        // The start, and the rendering of placeholders, end after some seconds.
        Thread.sleep(forTimeInterval: 6)
        let before = try load(guise.running.pid)
        Thread.sleep(forTimeInterval: 10)
        let spent = try load(guise.running.pid) - before
        let idle = try guise.status()
        #expect(idle["camera"]?.string == "closed" && idle["watched"]?.bool == false)
        figure("nobody watches", spent / 10 * 100, "% of a core")
        try guise.end()
    }

    @Test func `a frozen picture uses almost no CPU time`() throws {
        let guise = try RunningGuise(
            ["--source", "sample", "--sink", "page"],
            config: #"{"page": {"port": 0}, "camera": {"when": "always"}}"#)
        try guise.ask("freeze")
        Thread.sleep(forTimeInterval: 1)
        let before = try load(guise.running.pid)
        Thread.sleep(forTimeInterval: 5)
        figure("frozen", (try load(guise.running.pid) - before) / 5 * 100, "% of a core")
        try guise.end()
    }
}

/// The memory of masks. Run by `make soak`.
@Suite(.serialized, .ownThread, .needsSample, .needsReleaseBuild) struct MaskMemorySoakTests {
    @Test func `all masks loaded take little memory`() throws {
        let scratch = try ScratchFolder()
        let masks = try FileManager.default.contentsOfDirectory(atPath: Fixtures.inPackage("Masks"))
            .filter { Fixtures.exists(Fixtures.inPackage("Masks/\($0)/mask.json")) }.sorted()
        try #require(masks.count > 10)
        // `guise bench` always has a mask: this one has no art.
        try scratch.write(
            "{\"version\": 1, \"layers\": [{\"kind\": \"effect\", \"mode\": \"grey\"}]}",
            "config/guise/Masks/bare/mask.json")
        let bare = try memory(["bare"], scratch)
        figure("memory without masks", bare, "MB")
        figure("memory of three masks", try memory(["santa", "makeup-evening", "round-glasses"], scratch) - bare, "MB")
        figure("memory of all masks", try memory(masks, scratch) - bare, "MB")
    }

    /// Resident memory after a bench, MB.
    private func memory(_ masks: [String], _ scratch: ScratchFolder) throws -> Double {
        let outcome = try Program.run(["bench"] + masks.flatMap { ["--mask", $0] }, in: scratch)
        try #require(outcome.code == 0, "\(outcome)")
        let line = outcome.out.split(separator: "\n").first { $0.hasPrefix("memory: ") }
        return try #require(line.flatMap { Double($0.dropFirst(8).prefix { $0.isNumber }) }, "\(outcome)")
    }
}

/// The page in long use in a browser. Run by `make soak`.
@Suite(.serialized, .ownThread, .needsSample, .needsReleaseBuild, .needsBrowser) struct BrowserSoakTests {
    /// Duration in seconds; for ten minutes: GUISE_SOAK=600.
    private static let seconds = Double(ProcessInfo.processInfo.environment["GUISE_SOAK"] ?? "") ?? 20

    @Test func `minutes of viewing leave the memory of both sides constant`() throws {
        let guise = try RunningGuise(
            ["--source", "sample", "--sink", "page"], config: #"{"page": {"port": 0}, "masks": []}"#,
            isPublishing: false)
        let browser = try Browser(in: try ScratchFolder())
        try browser.open(try guise.guise("page", "--no-open").out.trimmingCharacters(in: .whitespacesAndNewlines))
        try #require(browser.waits(for: "document.querySelectorAll('[data-mask]').length > 40"))
        func memories() throws -> (guise: Double, browser: Double) {
            (try guise.status()["memory"]?.number ?? 0, Double(try browser.memory()))
        }
        /// A user who tries one mask after the other, and compares.
        func use(seconds: Double) throws {
            let began = Date()
            while Date().timeIntervalSince(began) < seconds {
                try browser.click("#next")
                try browser.press("b")
                Thread.sleep(forTimeInterval: 0.5)
                try browser.release("b")
                Thread.sleep(forTimeInterval: 0.5)
            }
            // The same mask is active at each measurement.
            try browser.run("document.querySelector('#clear').click()")
            Thread.sleep(forTimeInterval: 1)
        }
        try use(seconds: max(8, Self.seconds / 4))
        let before = try memories()
        try use(seconds: Self.seconds)
        let after = try memories()
        figure("page left open, memory that guise took more", after.guise - before.guise, "MB")
        figure("page left open, memory that the browser took more", after.browser - before.browser, "MB")
        try guise.end()
    }
}
