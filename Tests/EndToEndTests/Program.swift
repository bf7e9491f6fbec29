import Foundation
import Testing

/// The folder of the sources, and what lies beside it.
enum Package {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    static let sample = folder.appending(path: "samples/astronaut.png").path
    /// Labelled faces, outside the project.
    static let data =
        ProcessInfo.processInfo.environment["GUISE_DATA"]
        ?? folder.deletingLastPathComponent().appending(path: "shared/data/faces").path

    static func has(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
    static var hasSample: Bool { has(sample) }
    static var hasVideoDevices: Bool {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/dev")) ?? []).contains { $0.hasPrefix("video") }
    }
}

/// All of these tests, one after the other: each starts programs that take all cores.
@Suite(.serialized) struct EndToEnd {}

/// The built `guise`, as its users start it.
enum Program {
    struct Outcome: CustomStringConvertible {
        var code: Int32
        var out: String
        var errors: String
        var seconds: Double

        /// What was said on standard error, without what ends lines.
        var lines: [String] { errors.split(separator: "\n").map(String.init) }
        var description: String { "exit \(code) after \(seconds) s\n\(out.prefix(2000))\n\(errors.prefix(2000))" }
    }

    /// $GUISE_BINARY, else the program that was built with these tests.
    static let path: String =
        ProcessInfo.processInfo.environment["GUISE_BINARY"]
        ?? URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appending(path: "guise").path

    /// A debug build tracks so slowly that what scores it takes an hour.
    static var isRelease: Bool { path.contains("/release/") }

    /// Runs a program to its end; killed, and said so, after `limit` seconds.
    static func run(
        _ arguments: [String], of path: String = Program.path, in workshop: Workshop, limit: Double = 120
    ) throws -> Outcome {
        try Running(arguments, of: path, in: workshop).wait(limit: limit)
    }
}

/// A program at work. Its two outputs go to files, so that it never waits for a reader.
final class Running {
    let process = Process()
    private let (out, errors): (URL, URL)
    private let started = Date()

    init(_ arguments: [String], of path: String = Program.path, in workshop: Workshop) throws {
        let name = UUID().uuidString
        (out, errors) = (workshop.folder.appending(path: "\(name).out"), workshop.folder.appending(path: "\(name).err"))
        for file in [out, errors] { try Data().write(to: file) }
        // The threads of tests have most signals blocked, which a child would inherit.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["--default-signal", path] + arguments
        process.environment = workshop.environment
        process.currentDirectoryURL = workshop.folder
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: out)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
    }

    /// What was said on standard error so far.
    var said: String { (try? String(contentsOf: errors, encoding: .utf8)) ?? "" }

    /// Waits until standard error says `text`, or ten seconds or the program are over.
    func waits(for text: String) -> Bool {
        for _ in 0..<200 {
            if said.contains(text) { return true }
            if !process.isRunning { return said.contains(text) }
            Thread.sleep(forTimeInterval: 0.05)
        }
        return false
    }

    /// Waits for the end by looking again and again: Foundation's own waiting hangs now and then beside other threads.
    func wait(limit: Double = 60) -> Program.Outcome {
        if !ends(within: limit) {
            Issue.record("it did not end within \(limit) s: \(process.arguments ?? [])\n\(said)")
            kill(process.processIdentifier, SIGKILL)
            guard ends(within: 10) else {
                return Program.Outcome(code: -1, out: "", errors: said, seconds: Date().timeIntervalSince(started))
            }
        }
        let code = process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
        return Program.Outcome(
            code: code, out: (try? String(contentsOf: out, encoding: .utf8)) ?? "", errors: said,
            seconds: Date().timeIntervalSince(started))
    }

    private func ends(within seconds: Double) -> Bool {
        let asked = Date()
        while process.isRunning, Date().timeIntervalSince(asked) < seconds { Thread.sleep(forTimeInterval: 0.005) }
        return !process.isRunning
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
}

/// A folder of its own for one test, gone with it, that is the program's home too.
final class Workshop {
    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "guise-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Where the control socket lies; nil: there is none.
    private(set) var runtime: String?

    /// Without it, the program has no control socket.
    func makeRuntimeFolder() throws {
        runtime = path("run")
        try FileManager.default.createDirectory(atPath: path("run"), withIntermediateDirectories: true)
    }

    /// No setting of the user's own reaches the program. The cache alone is shared: filling it takes seconds.
    var environment: [String: String] {
        var variables = ProcessInfo.processInfo.environment
        variables["HOME"] = folder.path
        variables["XDG_CONFIG_HOME"] = folder.appending(path: "config").path
        variables["XDG_CACHE_HOME"] = Package.folder.appending(path: ".build/test-cache").path
        // Nobody's running guise is in the way, and none is disturbed.
        variables["XDG_RUNTIME_DIR"] = runtime
        return variables
    }

    func path(_ name: String) -> String { folder.appending(path: name).path }

    /// Writes a file, with the folders that it lies in.
    @discardableResult
    func write(_ text: String, _ name: String) throws -> String {
        let file = folder.appending(path: name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
        return file.path
    }

    /// Runs `guise` to its end.
    func guise(_ arguments: String..., limit: Double = 120) throws -> Program.Outcome {
        try Program.run(arguments, in: self, limit: limit)
    }

    /// Runs a shell line, which must succeed, and returns its output.
    @discardableResult
    func shell(_ line: String) throws -> String {
        let outcome = try Program.run(["-c", line], of: "/bin/bash", in: self)
        try #require(outcome.code == 0, "\(line): \(outcome)")
        return outcome.out
    }

    /// "512x512 3": the size of a picture or clip and the number of its frames, by decoding them all.
    func measure(_ path: String) throws -> String {
        try shell(
            "ffprobe -v error -select_streams v -count_frames -show_entries stream=width,height,nb_read_frames "
                + "-of csv=p=0 '\(path)' | tr ',' ' ' | awk '{ print $1 \"x\" $2, $3 }'"
        ).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The first picture of a file: RGB, three bytes a pixel.
    func pixels(_ path: String) throws -> Picture {
        let size = try measure(path).split(separator: " ")[0].split(separator: "x").compactMap { Int($0) }
        try #require(size.count == 2, "\(path) has a size")
        try shell("ffmpeg -v error -y -i '\(path)' -frames:v 1 -pix_fmt rgb24 -f rawvideo picture.rgb")
        let bytes = [UInt8](try Data(contentsOf: folder.appending(path: "picture.rgb")))
        try #require(bytes.count == size[0] * size[1] * 3, "\(path) decodes")
        return Picture(width: size[0], height: size[1], bytes: bytes)
    }
}

/// RGB, three bytes a pixel.
struct Picture {
    var width: Int
    var height: Int
    var bytes: [UInt8]

    /// Pixels that differ by more than conversion explains, and the corners of the box round them.
    /// - Parameter stray: of the changed pixels, the share on each of the box's sides that a video codec may have
    ///   changed elsewhere.
    func changes(from other: Picture, stray: Double = 0) -> (
        count: Int, left: Int, top: Int, right: Int, bottom: Int
    ) {
        var columns = [Int](repeating: 0, count: width)
        var rows = [Int](repeating: 0, count: height)
        var count = 0
        for y in 0..<height {
            for x in 0..<width {
                let at = (y * width + x) * 3
                let most = (0..<3).map { abs(Int(bytes[at + $0]) - Int(other.bytes[at + $0])) }.max() ?? 0
                guard most > 24 else { continue }
                count += 1
                columns[x] += 1
                rows[y] += 1
            }
        }
        func reach(_ counts: some Collection<Int>) -> Int {
            var (passed, steps) = (0, 0)
            for number in counts {
                passed += number
                if Double(passed) > stray * Double(count) { break }
                steps += 1
            }
            return steps
        }
        return (
            count, reach(columns), reach(rows), width - 1 - reach(columns.reversed()),
            height - 1 - reach(rows.reversed())
        )
    }
}

/// A line that `guise track --json` prints.
struct Tracked: Decodable {
    struct Face: Decodable {
        var id: Int
        var kind: String
        var box: [Double]
        var points: [String: [Double]]
        var pose: [String: Double]
        var state: String
        var landmarks: [[Double]]?
    }
    var frame: Int
    var time: Double
    var faces: [Face]

    static func lines(_ text: String) throws -> [Tracked] {
        try text.split(separator: "\n").map { try JSONDecoder().decode(Tracked.self, from: Data($0.utf8)) }
    }
}
