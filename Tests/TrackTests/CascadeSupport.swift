import COpenCVReference
import Foundation
import Frames
import Synchronization
import SystemKit
import TestSupport
import Testing

@testable import Track

/// The folder in which the landmark data is cached, as in use.
let landmarkCache = UserFolder.cache.path(in: ProcessInfo.processInfo.environment).map { "\($0)/guise" }

/// A grey picture for tests.
struct Gray {
    var width: Int
    var height: Int
    var pixels: [UInt8]

    func view<R>(_ body: (borrowing LumaView) -> R) -> R {
        body(LumaView(samples: pixels.span, width: width, height: height, rowStride: width))
    }

    func crop(_ x: Int, _ y: Int, width w: Int, height h: Int) -> Gray {
        var out = Gray(width: w, height: h, pixels: [])
        for row in y..<y + h { out.pixels += pixels[(row * width + x)..<(row * width + x + w)] }
        return out
    }

    /// Blobs, edges, noise and a flat corner, so that windows reach many different stages.
    static func synthetic(width: Int, height: Int, seed: UInt64) -> Gray {
        var generator = RepeatableGenerator(state: seed)
        func random(_ limit: Int) -> Int { generator.next(below: limit) }
        var values = [Int](repeating: 128, count: width * height)
        for _ in 0..<60 {
            let (cx, cy) = (random(width), random(height))
            let (rx, ry) = (2 + random(14), 2 + random(14))
            let shade = random(161) - 80
            for y in max(0, cy - ry)..<min(height, cy + ry) {
                for x in max(0, cx - rx)..<min(width, cx + rx) {
                    let d = (x - cx) * (x - cx) * ry * ry + (y - cy) * (y - cy) * rx * rx
                    if d < rx * rx * ry * ry { values[y * width + x] += shade }
                }
            }
        }
        let noise = 1 + random(24)
        var picture = Gray(
            width: width, height: height, pixels: values.map { UInt8(max(0, min(255, $0 + random(noise)))) })
        for y in 0..<min(40, height) { for x in 0..<min(40, width) { picture.pixels[y * width + x] = 90 } }
        return picture
    }
}

enum OpenCVData {
    static let folder = "/usr/share/opencv4/"

    static func read(_ name: String) throws -> [UInt8] {
        let part = name.hasPrefix("lbp") ? "lbpcascades/" : "haarcascades/"
        return try [UInt8](Data(contentsOf: URL(fileURLWithPath: folder + part + name + ".xml")))
    }

    static func cascade(_ name: String) throws -> Cascade {
        let bytes = try read(name)
        return try Cascade(xml: bytes.span, file: name + ".xml")
    }

    /// The file with only its first stages, so that results are visible at each stage.
    static func cut(_ xml: [UInt8], stages: Int) throws -> [UInt8] {
        let stageEnd = "</weakClassifiers></_>"
        let parts = String(decoding: xml, as: UTF8.self).components(separatedBy: stageEnd)
        // The last part follows the last stage.
        let rest = try #require(parts.last)
        let end = try #require(rest.range(of: "</stages>"), "the file's stages end")
        try #require((1..<parts.count).contains(stages), "the file has \(parts.count - 1) stages")
        return [UInt8]((parts[..<stages].joined(separator: stageEnd) + stageEnd + rest[end.lowerBound...]).utf8)
    }
}

/// OpenCV's classifier for comparison.
@safe final class OpenCVCascade {
    private let handle: OpaquePointer
    private var windows = [opencv_reference_window](repeating: opencv_reference_window(), count: 1 << 20)

    init?(_ xml: [UInt8]) {
        guard let scratch = try? ScratchFolder(), let path = try? scratch.write(Data(xml), "cascade.xml") else {
            return nil
        }
        guard let handle = unsafe opencv_reference_cascade_open(path, nil, 0) else { return nil }
        unsafe self.handle = handle
    }

    deinit { unsafe opencv_reference_cascade_close(handle) }

    func judge(_ picture: Gray, step: Double = 1.1, minSize: Int, maxSize: Int) -> ArraySlice<opencv_reference_window> {
        let count = unsafe opencv_reference_cascade_windows(
            handle, picture.pixels, Int32(picture.width), Int32(picture.height), picture.width, step, Int32(minSize),
            Int32(maxSize), &windows, Int32(windows.count), nil, 0)
        return windows[0..<max(0, Int(count))]
    }
}

/// The labelled photos, which most machines don't have.
enum LabelledPhotos {
    static let folder = Fixtures.labelledFaces

    /// The first photos by name, `height` pixels high, decoded by ffmpeg; none where the data or ffmpeg is absent.
    static func some(_ count: Int, height: Int) -> [Gray] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/photo"))?.sorted() ?? []
        return names.prefix(count).compactMap { decode(folder + "/photo/" + $0, height: height) }
    }

    /// A photo in grey, scaled to `height` pixels if given; nil if it cannot be decoded. Each is decoded once.
    static func decode(_ path: String, height: Int?) -> Gray? {
        decoded.withLock { decoded in
            let key = "\(path) \(height ?? 0)"
            if decoded[key] == nil { decoded[key] = decodeNow(path, height: height) }
            return decoded[key]
        }
    }

    private static let decoded = Mutex<[String: Gray]>([:])

    private static func decodeNow(_ path: String, height: Int?) -> Gray? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let scale = height.map { ["-vf", "scale=-2:\($0)"] } ?? []
        process.arguments =
            ["ffmpeg", "-v", "error", "-nostdin", "-i", path] + scale + [
                "-pix_fmt", "gray", "-c:v", "pgm", "-f", "image2pipe", "-",
            ]
        let pipe = Pipe()
        process.standardOutput = pipe
        guard (try? process.run()) != nil else { return nil }
        let data = [UInt8](pipe.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        // P5, width, height, 255, then the samples.
        var fields: [Int] = []
        var at = 2
        while fields.count < 3, at < data.count {
            while at < data.count, data[at] <= 32 { at += 1 }
            var value = 0
            while at < data.count, data[at] > 32 {
                value = value * 10 + Int(data[at]) - 48
                at += 1
            }
            fields.append(value)
        }
        guard fields.count == 3, data.count >= at + 1 + fields[0] * fields[1] else { return nil }
        return Gray(
            width: fields[0], height: fields[1], pixels: Array(data[(at + 1)..<(at + 1 + fields[0] * fields[1])]))
    }
}
