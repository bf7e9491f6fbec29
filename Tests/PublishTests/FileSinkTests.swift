import Foundation
import TestSupport
import Testing

@testable import Capture
@testable import Frames
@testable import Privacy
@testable import Publish
@testable import SystemKit

@Suite(.ownThread) struct FileSinkTests {
    let scratch: ScratchFolder
    init() throws { scratch = try ScratchFolder() }

    /// A frame in three plain colours, left to right, with padded rows.
    private func frame(_ format: PixelFormat, width: Int = 48, height: Int = 32, pad: Int = 0) -> Frame {
        let range: ColorRange = format == .i444 ? .full : .limited
        let stride = pad == 0 ? nil : (format == .yuyv ? width * 2 : width) + pad
        var frame = Frame(FrameLayout(width: width, height: height, format: format, range: range, lumaStride: stride))
        frame.fill(y: 81, u: 90, v: 240)
        return frame
    }

    private func write(
        _ name: String, _ frame: borrowing Frame, count: Int, audioFrom: String? = nil, overwrites: Bool = false
    ) throws {
        var sink = try FileSink(
            path: scratch.path(name), layout: frame.layout, rate: 10, audioFrom: audioFrom, overwrites: overwrites)
        for _ in 0..<count { try sink.publish(PublishableFrame(frame.view)) }
        try sink.finish(placeholder: PublishableFrame(frame.view))
    }

    @Test func `the search for a free name ends at names that can't be looked up`() throws {
        let long = scratch.path(String(repeating: "n", count: 300) + ".png")
        try scratch.shell("ln -s loop loop")
        for path in [long, scratch.path("loop/x.png"), scratch.path("\u{0}x.png")] {
            #expect(freePath(for: path) == path)
        }
        try scratch.write("", "a.png")
        #expect(freePath(for: scratch.path("a.png")) == scratch.path("a 2.png"))
    }

    @Test(arguments: ["png", "jpg", "jpeg", "webp", "bmp", "PNG"])
    func `a photo is written and its colours survive`(ending: String) throws {
        let red = frame(.i444)
        try write("a.\(ending)", red, count: 2)
        var photo = try Clip(path: scratch.path("a.\(ending)"))
        let got = try harvest(&photo)
        let bytes = try #require(got.frames.first)
        try #require(bytes.count == 48 * 32 * 3)
        let want = red.array
        #expect([700, 2200, 3700].allSatisfy { abs(Int(bytes[$0]) - Int(want[$0])) <= 3 })
        #expect(scratch.names() == ["a.\(ending)"])
    }

    @Test(arguments: ["mp4", "mkv", "mov", "webm", "avi"], [PixelFormat.yuyv, .i420])
    func `a clip is written with every frame, its rate and colours`(ending: String, format: PixelFormat) throws {
        let red = frame(format, pad: 8)
        try write("a.\(ending)", red, count: 7)
        var clip = try Clip(path: scratch.path("a.\(ending)"))
        #expect(clip.rate.map { abs($0 - 10) < 0.1 } == true)
        let got = try harvest(&clip)
        #expect(got.frames.count == 7)
        let bytes = try #require(got.frames.last)
        try #require(bytes.count == 48 * 32 * 3 / 2)
        #expect(abs(Int(bytes[700]) - 81) <= 3 && abs(Int(bytes[1700]) - 90) <= 3 && abs(Int(bytes[2200]) - 240) <= 3)
        #expect(scratch.names() == ["a.\(ending)"])
    }

    @Test(arguments: PixelFormat.allCases)
    func `raw clips contain the unchanged samples`(format: PixelFormat) throws {
        // NV12 of odd width has a byte of padding in memory, and none in the file.
        let red = frame(format, width: format == .nv12 ? 18 : 17, height: 5)
        try write("a.yuv", red, count: 2)
        #expect([UInt8](try scratch.read("a.yuv")) == red.array + red.array)
    }

    @Test(arguments: ["y4m", "gif"])
    func `other clips are read back frame by frame`(ending: String) throws {
        try write("a.\(ending)", frame(.i420), count: 3)
        var clip = try Clip(path: scratch.path("a.\(ending)"))
        // A GIF may leave out a frame that is like the one before.
        let count = try harvest(&clip).frames.count
        #expect(ending == "gif" ? count >= 1 : count == 3, "\(count)")
    }

    @Test func `an odd picture becomes a clip of even size`() throws {
        try write("a.mp4", frame(.i420, width: 33, height: 21), count: 3)
        let clip = try Clip(path: scratch.path("a.mp4"))
        #expect(clip.layout.width == 34)
        #expect(clip.layout.height == 22)
    }

    @Test func `the input's sound is copied`() throws {
        let input = try scratch.make("in.mkv", "-f lavfi -i testsrc=s=48x32:r=10:d=1 -f lavfi -i sine=d=1 -c:a aac")
        try write("a.mp4", frame(.i420), count: 10, audioFrom: input)
        let streams = try scratch.shell(
            "ffprobe -v error -show_entries stream=codec_name -of csv=p=0 \(scratch.path("a.mp4"))")
        #expect(streams.contains("aac") && streams.contains("h264"))
        // An input without sound is not an error.
        let silent = try scratch.testPicture("silent.mkv", frames: 3)
        try write("b.mp4", frame(.i420), count: 3, audioFrom: silent)
        #expect(scratch.names().contains("b.mp4"))
    }

    @Test func `an unwritable path is an error that names it`() throws {
        let layout = FrameLayout(width: 16, height: 16, format: .i420)
        let cases: [(String, Problem.Kind)] = [
            (scratch.path("a.txt"), .invalid), (scratch.path("png"), .invalid),
            (scratch.path("none/a.png"), .missing),
            ("/proc/a.mp4", .missing), ("/dev/null/a.png", .missing), ("/dev/full.png/", .invalid),
        ]
        try FileManager.default.createDirectory(atPath: scratch.path("dir.png"), withIntermediateDirectories: false)
        for (path, kind) in cases + [(scratch.path("dir.png"), .unusable)] {
            let problem = problem { _ = try FileSink(path: path, layout: layout) }
            #expect(problem?.kind == kind, "\(path): \(String(describing: problem))")
            #expect(problem?.message.contains(path) == true && problem?.fix.isEmpty == false)
        }
    }

    @Test func `a name may have 255 bytes, and a longer one is an error that says so`() throws {
        let red = frame(.i420)
        let longest = String(repeating: "n", count: 246) + "\u{4e2d}.a.mp4"
        #expect(longest.utf8.count == 255)
        try write(longest, red, count: 3)
        #expect(scratch.names() == [longest])
        // So may the next free name.
        let next = freePath(for: scratch.path(longest))
        #expect(next.hasSuffix("n\u{4e2d} 2.mp4") && fileName(of: next).utf8.count <= 255)
        try write(fileName(of: next), red, count: 3)
        #expect(scratch.names().count == 2)
        let refused = problem { try write("n" + longest, red, count: 1) }
        #expect(refused?.kind == .invalid && refused?.message.hasSuffix("its name is too long") == true)
        #expect(refused?.fix.contains("255 bytes") == true && scratch.names().count == 2)
    }

    @Test func `a file whose folder is moved is completed there, or leaves nothing there`() throws {
        let red = frame(.i420)
        try scratch.makeFolder("folder")
        for isFinished in [false, true] {
            var sink = try FileSink(
                path: scratch.path("folder/a.mp4"), layout: red.layout, isRecording: true)
            let part = try #require(scratch.names(in: "folder").first)
            // Until the encoder has opened its file.
            var count = 0
            while try scratch.read("folder/\(part)").isEmpty {
                try sink.publish(PublishableFrame(red.view))
                count += 1
            }
            try scratch.shell("mv folder moved")
            if isFinished {
                let problem = finishing(sink, red)
                #expect(problem?.kind == .gone && problem?.fix.contains("moved/a.mp4") == true, "\(problem as Any)")
            } else {
                _ = consume sink
            }
            #expect(scratch.names(in: "moved") == (isFinished ? ["a.mp4"] : []) && scratch.names() == ["moved"])
            if isFinished { #expect(try scratch.measure(scratch.path("moved/a.mp4")) == "48x32 \(count)") }
            try scratch.shell("mv moved folder")
        }
    }

    @Test func `a part can be removed without its sink, wherever its folder is`() throws {
        try scratch.makeFolder("folder")
        let sink = try FileSink(path: scratch.path("folder/a.mp4"), layout: frame(.i420).layout)
        let file = try sink.unfinishedFile()
        try scratch.shell("mv folder moved")
        try #require(scratch.names(in: "moved").count == 1)
        file.remove()
        #expect(scratch.names(in: "moved") == [] && scratch.names() == ["moved"])
        _ = consume sink
    }

    @Test func `an abandoned sink leaves nothing and keeps the older file`() throws {
        let path = try scratch.write(Data("older".utf8), "a.mp4")
        do {
            var sink = try FileSink(path: path, layout: frame(.i420).layout, overwrites: true)
            try sink.publish(PublishableFrame(frame(.i420).view))
        }
        #expect(scratch.names() == ["a.mp4"])
        #expect(try scratch.read("a.mp4") == Data("older".utf8))
    }

    @Test func `other files next to an output are neither opened, followed nor changed`() throws {
        try scratch.shell("mkfifo a.part.mp4; echo mine > b; echo yours > b.part.mp4; ln -s b a.whole.mp4")
        let red = frame(.i420)
        for name in ["a.mp4", "b.mp4"] {
            try write(name, red, count: 5)
            #expect(try scratch.measure(scratch.path(name)) == "48x32 5")
        }
        #expect(try scratch.shell("cat b b.part.mp4") == "mine\nyours\n")
        #expect(scratch.names() == ["a.mp4", "a.part.mp4", "a.whole.mp4", "b", "b.mp4", "b.part.mp4"])
    }

    @Test func `existing files are replaced only on request, and a link is never followed`() throws {
        try scratch.shell("echo mine > b; ln -s b c.mp4; ln -s nowhere d.mp4; echo older > e.mp4")
        let red = frame(.i420)
        for name in ["c.mp4", "d.mp4", "e.mp4"] {
            let problem = problem { try write(name, red, count: 1) }
            #expect(problem?.kind == .exists && problem?.fix.contains("--overwrite") == true, "\(name)")
        }
        #expect(try scratch.shell("cat e.mp4") == "older\n")
        for name in ["c.mp4", "d.mp4", "e.mp4"] {
            try write(name, red, count: 5, overwrites: true)
            #expect(try scratch.measure(scratch.path(name)) == "48x32 5", "\(name)")
        }
        // The link itself was replaced, and its target is unchanged.
        #expect(try scratch.shell("cat b") == "mine\n")
        #expect(scratch.names() == ["b", "c.mp4", "d.mp4", "e.mp4"])
    }

    @Test func `a file whose name was taken in the meantime is kept under another name`() throws {
        let red = frame(.i420)
        var sink = try FileSink(path: scratch.path("a.mp4"), layout: red.layout)
        for _ in 0..<5 { try sink.publish(PublishableFrame(red.view)) }
        _ = try scratch.write("theirs", "a.mp4")
        let outcome = finishing(sink, red)
        let problem = try #require(outcome)
        #expect(problem.kind == .exists && problem.fix.contains(scratch.path("a 2.mp4")), "\(problem)")
        #expect(try scratch.read("a.mp4") == Data("theirs".utf8))
        #expect(try scratch.measure(scratch.path("a 2.mp4")) == "48x32 5")
    }

    @Test func `a free path is the given one, or the next number`() throws {
        let path = scratch.path("clip.v1.mp4")
        #expect(freePath(for: path) == path)
        for number in 2...3 {
            try scratch.shell("ln -s nowhere '\(freePath(for: path))'")
            #expect(freePath(for: path) == scratch.path("clip.v1 \(number).mp4"))
        }
        try scratch.shell("touch 'no ending'")
        #expect(freePath(for: scratch.path("no ending")) == scratch.path("no ending 2"))
    }

    @Test func `a killed encoder is reported and does not kill us`() throws {
        let red = frame(.i420, width: 320, height: 240)
        var sink = try FileSink(path: scratch.path("a.mp4"), layout: red.layout)
        try sink.publish(PublishableFrame(red.view))
        for child in scratch.encoders() { kill(child, SIGKILL) }
        let problem = try #require(
            problem { for _ in 0..<200 { try sink.publish(PublishableFrame(red.view)) } })
        #expect(problem.kind == .gone && problem.message.contains("a.mp4") && problem.message.contains("signal 9"))
        #expect(finishing(sink, red)?.kind == .gone)
        #expect(scratch.names().isEmpty)
    }

    @Test func `a recording whose encoder ends is kept, and does not replace the older file`() throws {
        try scratch.write("older", "a.y4m")
        let red = frame(.i420, width: 320, height: 240)
        var sink = try FileSink(
            path: scratch.path("a.y4m"), layout: red.layout, isRecording: true, overwrites: true)
        for _ in 0..<20 { try sink.publish(PublishableFrame(red.view)) }
        let part = try #require(scratch.names().first { $0.contains(".part.") })
        waits { (try? scratch.read(part).count) ?? 0 > 300_000 }
        for child in scratch.encoders() { kill(child, SIGKILL) }
        let problem = finishing(sink, red)
        #expect(problem?.message.contains("killed by signal 9") == true, "\(problem as Any)")
        #expect(scratch.names() == ["a 2.y4m", "a.y4m"])
        #expect(try scratch.read("a.y4m") == Data("older".utf8))
        #expect(try scratch.measure(scratch.path("a 2.y4m")).hasPrefix("320x240 "))
    }

    /// A list of another clip, which ffmpeg reads in its place.
    private func writeList() throws -> String {
        _ = try scratch.testPicture("other.mp4", size: "96x64", frames: 3)
        let text = "ffconcat version 1.0\nfile other.mp4\n"
        try scratch.write(text, "list")
        return text
    }

    @Test func `a list in place of a recording that is being written is not read`() throws {
        let list = try writeList()
        let red = frame(.i420)
        var sink = try FileSink(path: scratch.path("a.mp4"), layout: red.layout, isRecording: true)
        let part = try #require(scratch.names().first { $0.contains(".part.") })
        // Until the encoder has opened its file.
        while try scratch.read(part).isEmpty { try sink.publish(PublishableFrame(red.view)) }
        try scratch.shell("mv list '\(part)'")
        let problem = finishing(sink, red)
        #expect(problem?.message.contains("cannot rename the file to") == true)
        #expect(try scratch.read(part) == Data(list.utf8))
        #expect(scratch.names() == [part, "other.mp4"].sorted())
    }

    @Test(arguments: ["png", "mp4"])
    func `a link in place of a file that is being written is not followed`(ending: String) throws {
        let red = frame(.i420)
        try scratch.write("mine", "victim")
        var sink = try FileSink(path: scratch.path("a.\(ending)"), layout: red.layout)
        let part = try #require(scratch.names().first { $0.contains(".part.") })
        // At once, so that the encoder has hardly started.
        try FileManager.default.removeItem(atPath: scratch.path(part))
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path(part), withDestinationPath: scratch.path("victim"))
        try sink.publish(PublishableFrame(red.view))
        let problem = finishing(sink, red)
        #expect(problem?.message.contains("cannot rename the file to") == true)
        #expect(try scratch.read("victim") == Data("mine".utf8))
        #expect(scratch.names() == [part, "victim"].sorted())
    }

    @Test func `a list that takes a complete recording's place is neither read nor replaced`() throws {
        let list = try writeList()
        let red = frame(.i420)
        var sink = try FileSink(path: scratch.path("a.mp4"), layout: red.layout, isRecording: true)
        for _ in 0..<5 { try sink.publish(PublishableFrame(red.view)) }
        let (theirs, path) = (scratch.path("list"), scratch.path("a.mp4"))
        let isSwapped = DispatchSemaphore(value: 0)
        // The recording has its name for as long as ffmpeg takes to rewrite it.
        startThread(named: "swap") {
            while !isTaken(path) { usleep(100) }
            _ = unsafe rename(theirs, path)
            isSwapped.signal()
        }
        let problem = finishing(sink, red)
        #expect(problem == nil)
        isSwapped.wait()
        #expect(try scratch.read("a.mp4") == Data(list.utf8))
        #expect(scratch.names() == ["a.mp4", "other.mp4"])
    }

    private func finishing(_ sink: consuming FileSink, _ card: borrowing Frame) -> Problem? {
        do {
            try sink.finish(placeholder: PublishableFrame(card.view))
            return nil
        } catch { return error as? Problem }
    }
}

@Suite(.ownThread) struct PNGTextTests {
    @Test func `texts are read back, and the picture is unchanged`() throws {
        let scratch = try ScratchFolder()
        let path = try scratch.testPicture("a.png", "-pix_fmt rgb24")
        let png = [UInt8](try scratch.read("a.png"))
        let with = try #require(PNGText.adding([("Software", "Guise"), ("Note", "é, not €")], to: png))
        _ = try scratch.write(Data(with), "b.png")
        #expect(PNGText.texts(in: with) == ["Software": "Guise", "Note": "é, not ?"])
        #expect(try scratch.samples("a.png", "rgb24") == scratch.samples("b.png", "rgb24"))
        // A wrong checksum would be reported.
        #expect(
            try scratch.shell("ffprobe -v warning -show_entries frame=width -of csv=p=0 \(scratch.path("b.png"))")
                == "64\n")
        #expect(PNGText.adding([], to: Array("no picture at all, and long enough to look like one".utf8)) == nil)
        #expect(PNGText.texts(in: Array(with.prefix(60))).count <= 1)
        _ = path
    }
}
