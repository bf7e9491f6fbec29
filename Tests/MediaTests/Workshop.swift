import Foundation
import Testing

@testable import Capture
@testable import Frames

/// A folder of its own for one test, gone with it, and the tools to fill it.
final class Workshop {
    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "guise-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func path(_ name: String) -> String { folder.appending(path: name).path }

    func write(_ data: Data, _ name: String) throws -> String {
        try data.write(to: folder.appending(path: name))
        return path(name)
    }

    func read(_ name: String) throws -> Data { try Data(contentsOf: folder.appending(path: name)) }

    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()) ?? [] }

    /// Makes a file with ffmpeg: `arguments` go between the program's name and the output's.
    func make(_ name: String, _ arguments: String) throws -> String {
        try run("ffmpeg -v error -nostdin -y \(arguments) \(path(name))")
        return path(name)
    }

    /// A clip or photo of ffmpeg's test picture.
    func testPicture(_ name: String, size: String = "64x48", frames: Int = 1, _ more: String = "") throws -> String {
        try make(name, "-f lavfi -i testsrc=s=\(size):r=10 -frames:v \(frames) \(more)")
    }

    @discardableResult
    func run(_ command: String) throws -> String {
        let (text, exit, said) = try ChildProcess.output(
            of: command.split(separator: " ").map(String.init), input: -1)
        try #require(exit == .status(0), "\(command): \(said ?? "")")
        return text
    }

    /// The samples of a file as ffmpeg decodes them to one pixel format.
    func samples(_ name: String, _ format: String) throws -> [UInt8] {
        _ = try make("samples.yuv", "-i \(path(name)) -pix_fmt \(format) -f rawvideo")
        return [UInt8](try read("samples.yuv"))
    }
}

/// What `body` threw, if it was a `Problem`.
func problem(_ body: () throws -> Void) -> Problem? {
    do {
        try body()
        return nil
    } catch { return error as? Problem }
}

extension Frame {
    /// All bytes, as an array to compare.
    var array: [UInt8] {
        let bytes = self.bytes
        return bytes.indices.map { bytes[$0] }
    }
}

/// Frames that came, and how the source ended.
struct Harvest {
    var frames: [[UInt8]] = []
    var times: [FrameTime] = []
}

/// Reads a source to its end, at most `limit` frames.
func harvest(_ source: inout Clip, limit: Int = 1000) throws -> Harvest {
    var harvest = Harvest()
    while harvest.frames.count < limit {
        let arrival = try source.withFrame { view, time in
            let bytes = view.bytes
            harvest.frames.append(bytes.indices.map { bytes[$0] })
            harvest.times.append(time)
        }
        switch arrival {
        case .frame: continue
        case .end: return harvest
        case .nothing:
            var waiting = pollfd(fd: source.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
            let ready = unsafe poll(&waiting, 1, 10_000)
            try #require(ready == 1, "the decoder gives something within ten seconds")
        }
    }
    return harvest
}
