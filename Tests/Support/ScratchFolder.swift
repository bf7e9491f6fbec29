import CArt
import CPictures
import Foundation
import Synchronization
import Testing

/// A temporary folder for one test, removed with the value. It is also the home of programs that the test starts.
public final class ScratchFolder {
    public let url: URL
    /// The folder for the control socket of programs that the test starts; nil: none.
    public private(set) var runtime: String?

    public init() throws {
        _ = Self.removesLivingAtExit
        url = FileManager.default.temporaryDirectory.appending(path: "guise-test-\(UUID().uuidString.prefix(13))")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        let path = url.path
        Self.living.withLock { _ = $0.insert(path) }
    }

    deinit {
        let path = url.path
        try? FileManager.default.removeItem(atPath: path)
        Self.living.withLock { _ = $0.remove(path) }
    }

    private static let living = Mutex<Set<String>>([])

    /// Folders of what tests share are still there when the test run exits. Registered before the first program is
    /// started, so that the programs have ended by then.
    private static let removesLivingAtExit: Void = {
        atexit {
            for path in ScratchFolder.living.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) }
        }
    }()

    public func path(_ name: String) -> String { url.appending(path: name).path }

    /// The names of its contents, sorted.
    public func names(in folder: String = ".") -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path(folder))) ?? []).sorted()
    }

    public func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: true)
    }

    /// Gives programs that the test starts a folder for their control socket.
    public func makeRuntimeFolder() throws {
        runtime = path("run")
        try makeFolder("run")
    }

    /// Writes a file, creating its folders, and returns its path.
    @discardableResult
    public func write(_ data: Data, _ name: String) throws -> String {
        let file = url.appending(path: name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try data.write(to: file)
        return file.path
    }

    @discardableResult
    public func write(_ text: String, _ name: String) throws -> String { try write(Data(text.utf8), name) }

    /// Configures programs started by the test to look for large faces only, such as the sample's: searching a photo
    /// then takes about a quarter of the time.
    public func lookForLargeFaces() throws {
        try write(#"{"faces": {"minSize": 0.1}}"#, "config/guise/config.json")
    }

    public func read(_ name: String) throws -> Data { try Data(contentsOf: url.appending(path: name)) }

    /// The environment of programs that the test starts, isolated from the user's settings and from a running Guise.
    public var environment: [String: String] {
        var variables = ProcessInfo.processInfo.environment
        variables["HOME"] = url.path
        variables["XDG_CONFIG_HOME"] = path("config")
        variables["XDG_STATE_HOME"] = path("state")
        variables["XDG_CACHE_HOME"] = Fixtures.cache
        variables["XDG_RUNTIME_DIR"] = runtime
        return variables
    }

    /// Runs a shell line, which must succeed, and returns its output.
    @discardableResult
    public func shell(_ line: String) throws -> String {
        let outcome = try Program.run(["-c", line], of: "/bin/bash", in: self)
        try #require(outcome.code == 0, "\(line): \(outcome)")
        return outcome.out
    }

    /// Runs the built `guise` to its end.
    public func guise(_ arguments: String...) throws -> Program.Outcome { try Program.run(arguments, in: self) }

    // MARK: - Media, by ffmpeg

    /// Makes a file with ffmpeg and returns its path: `arguments` go between the program's name and the output's. What
    /// is made of nothing but the sample and ffmpeg's own sources is kept for all tests and the next run: starting
    /// ffmpeg takes a tenth of a second.
    @discardableResult
    public func make(_ name: String, _ arguments: String) throws -> String {
        let words = arguments.split(separator: " ").map(String.init)
        let ending = URL(fileURLWithPath: name).pathExtension
        guard words.indices.allSatisfy({ words[$0] != "-i" || !isOwnFile(words[$0 + 1]) }) else {
            try runFFmpeg(words, into: path(name))
            return path(name)
        }
        let key = Fixtures.key(of: [arguments, ending], and: ["/usr/bin/ffmpeg", Fixtures.sample])
        let kept = "\(Fixtures.cache)/media/\(key).\(ending)"
        if !Fixtures.exists(kept) {
            // In the same folder, because a file cannot be renamed into another file system. If two tests make the same
            // file at once, the later one stays.
            let fresh = "\(Fixtures.cache)/media/\(UUID().uuidString).\(ending)"
            try FileManager.default.createDirectory(
                atPath: "\(Fixtures.cache)/media", withIntermediateDirectories: true)
            try runFFmpeg(words, into: fresh)
            try #require(unsafe rename(fresh, kept) == 0, "\(kept) is kept")
        }
        try? FileManager.default.removeItem(atPath: path(name))
        try FileManager.default.copyItem(atPath: kept, toPath: path(name))
        return path(name)
    }

    /// Whether one of ffmpeg's inputs is a file that may differ in the next run.
    private func isOwnFile(_ input: String) -> Bool {
        input != Fixtures.sample && (Fixtures.exists(input) || Fixtures.exists(path(input)))
    }

    private func runFFmpeg(_ words: [String], into file: String) throws {
        let outcome = try Program.run(
            ["ffmpeg", "-v", "error", "-nostdin", "-y"] + words + [file], of: "/usr/bin/env", in: self)
        try #require(outcome.code == 0, "\(words): \(outcome)")
    }

    /// A clip or photo of ffmpeg's test picture.
    public func testPicture(
        _ name: String, size: String = "64x48", frames: Int = 1, _ more: String = ""
    ) throws -> String {
        try make(name, "-f lavfi -i testsrc=s=\(size):r=10 -frames:v \(frames) \(more)")
    }

    /// The samples of a file as ffmpeg decodes them to one pixel format.
    public func samples(_ name: String, _ format: String) throws -> [UInt8] {
        _ = try make("samples.yuv", "-i \(path(name)) -pix_fmt \(format) -f rawvideo")
        return [UInt8](try read("samples.yuv"))
    }

    /// "512x512 3": the size of a picture or clip and the number of its frames, by decoding them all.
    public func measure(_ path: String) throws -> String {
        try shell(
            "ffprobe -v error -select_streams v -count_frames -show_entries stream=width,height,nb_read_frames "
                + "-of csv=p=0 '\(path)' | tr ',' ' ' | awk '{ print $1 \"x\" $2, $3 }'"
        ).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// A picture of a file, as ffmpeg decodes it, which takes a fifth of a second; an unchanged PNG is read faster.
    /// - Parameters:
    ///   - options: ffmpeg's, such as a filter.
    ///   - isLast: the last picture; otherwise the first.
    public func picture(_ path: String, _ options: String = "", isLast: Bool = false) throws -> Picture {
        if path.hasSuffix(".png"), options.isEmpty,
            let picture = Picture(png: [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))))
        {
            return picture
        }
        let raw = "picture-\(UUID().uuidString.prefix(8)).ppm"
        let count = isLast ? "" : "-frames:v 1"
        try shell("ffmpeg -v error -nostdin -i '\(path)' \(options) \(count) -pix_fmt rgb24 -update 1 '\(raw)'")
        defer { try? FileManager.default.removeItem(atPath: self.path(raw)) }
        return try #require(Picture(ppm: [UInt8](try read(raw))), "\(path) decodes")
    }
}

/// Decoded pixels: RGB, three bytes each, row by row.
public struct Picture {
    public var width: Int
    public var height: Int
    public var bytes: [UInt8]

    public init(width: Int, height: Int, bytes: [UInt8]) {
        (self.width, self.height, self.bytes) = (width, height, bytes)
    }

    /// A portable pixmap: "P6", width, height and 255 between white space, then the samples.
    init?(ppm: [UInt8]) {
        let head = ppm.prefix(64).split(separator: UInt8(ascii: "\n"), maxSplits: 3).prefix(3)
        let words = head.flatMap { $0.split(separator: UInt8(ascii: " ")) }.map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 4, words[0] == "P6", words[3] == "255", let width = Int(words[1]),
            let height = Int(words[2]), let start = head.last?.endIndex, ppm.count == start + 1 + width * height * 3
        else { return nil }
        self.init(width: width, height: height, bytes: Array(ppm[(start + 1)...]))
    }

    /// Reads an opaque PNG; nil if it is none.
    init?(png: [UInt8]) {
        var (request, reply) = (cart_request(), cart_reply())
        (request.size, request.density, request.limit) = (UInt64(png.count), .infinity, Int32(CART_MAX_SIDE))
        guard let rgba = unsafe cpictures_draw(png, &request, &reply) else { return nil }
        defer { unsafe free(rgba) }
        let (width, height) = (Int(reply.width), Int(reply.height))
        var rgb = [UInt8](repeating: 0, count: 3 * width * height)
        for pixel in 0..<width * height {
            for part in 0..<3 { rgb[3 * pixel + part] = unsafe rgba[4 * pixel + part] }
        }
        self.init(width: width, height: height, bytes: rgb)
    }

    /// The number of differing pixels, and their bounding box.
    public typealias Changes = (count: Int, left: Int, top: Int, right: Int, bottom: Int)

    /// The pixels that differ by more than conversion explains, and the corners of their bounding box.
    /// - Parameter stray: the share of the changed pixels beyond each of the box's sides that a video codec may have
    ///   changed elsewhere.
    public func changes(from other: Picture, stray: Double = 0) -> Changes {
        var columns = [Int](repeating: 0, count: width)
        var rows = [Int](repeating: 0, count: height)
        var count = 0
        for y in 0..<height {
            for x in 0..<width {
                let at = (y * width + x) * 3
                var most = 0
                for i in at..<at + 3 { most = max(most, abs(Int(bytes[i]) - Int(other.bytes[i]))) }
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

extension ScratchFolder {
    /// The ffmpeg processes whose standard output is a file in this folder, once there is one.
    public func encoders() -> [pid_t] {
        // For a moment, a started process has no arguments yet.
        var found: [pid_t] = []
        waits {
            found = encodersNow
            return !found.isEmpty
        }
        return found
    }

    /// Those that there are now.
    private var encodersNow: [pid_t] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { pid in
            // It may have ended by now, or be a kernel thread.
            let output = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/1")
            guard output?.contains(url.path) == true else { return false }
            return (try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8))?.hasPrefix("ffmpeg") == true
        }
    }
}
