import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Capture
@testable import Frames
@testable import Privacy
@testable import Publish
@testable import SystemKit

/// A recorder takes a frame for each moment of real time. These tests are independent of how much time passes: at a
/// very low rate the first frame is the only one, and at a high rate frames are offered until enough were taken.
@Suite(.ownThread) struct RecorderTests {
    let scratch: ScratchFolder
    init() throws { scratch = try ScratchFolder() }

    /// Frames per second: the second frame is due after a quarter of an hour.
    private static let seldom = 0.001
    private static let often = 1000.0

    /// A red frame.
    private func red(_ format: PixelFormat = .i420, width: Int = 64, height: Int = 48) -> Frame {
        var frame = Frame(FrameLayout(width: width, height: height, format: format))
        frame.fill(y: 81, u: 90, v: 240)
        return frame
    }

    /// A recorder's reports of its end.
    private final class Reports: Sendable {
        private let problems = Mutex<[Problem]>([])
        func add(_ problem: Problem) { problems.withLock { $0.append(problem) } }
        var all: [Problem] { problems.withLock { $0 } }
    }

    /// The encoder that writes this test's file.
    private func encoder() -> pid_t { scratch.encoders().first ?? -1 }

    private func size(of path: String) -> Int {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    @Test(arguments: [PixelFormat.i420, .yuyv, .nv12])
    func `an offered frame is copied, so later changes do not affect the clip`(format: PixelFormat) throws {
        let path = scratch.path("a.mp4")
        var frame = red(format)
        let layout = FrameLayout(width: 64, height: 48, format: .i420)
        let recorder = try Recorder(path: path, layout: layout, rate: Self.seldom)
        #expect(recorder.path == path)
        recorder.enqueue(PublishableFrame(frame.view))
        frame.fill(y: 145, u: 54, v: 34)
        try recorder.finish()
        let measured = try scratch.measure(path)
        #expect(measured == "64x48 1")
        let picture = try scratch.picture(path)
        let middle = (24 * 64 + 32) * 3
        let (r, g, b) = (picture.bytes[middle], picture.bytes[middle + 1], picture.bytes[middle + 2])
        #expect(r > 220 && g < 40 && b < 40, "\(r) \(g) \(b)")
        #expect(recorder.progress.frames == 1 && recorder.progress.problem == nil)
        #expect(scratch.names() == ["a.mp4"])
    }

    @Test func `a photo is no recording, and leaves no file`() {
        let layout = FrameLayout(width: 64, height: 48, format: .i420)
        let problem = problem { _ = try Recorder(path: scratch.path("a.png"), layout: layout, rate: 30) }
        #expect(problem?.kind == .invalid && problem?.message.contains("it is a photo") == true)
        #expect(scratch.names().isEmpty)
    }

    @Test func `a clip has as many frames as the recorder reports`() throws {
        let path = scratch.path("a.mp4")
        let frame = red()
        let recorder = try Recorder(path: path, layout: frame.layout, rate: 100)
        while recorder.progress.frames < 5, recorder.progress.problem == nil {
            recorder.enqueue(PublishableFrame(frame.view))
        }
        try recorder.finish()
        let measured = try scratch.measure(path)
        #expect(measured == "64x48 \(recorder.progress.frames)")
    }

    @Test func `if the encoder cannot keep up frames are dropped, without waiting`() throws {
        let path = scratch.path("a.mp4")
        let frame = red(width: 320, height: 240)
        let recorder = try Recorder(path: path, layout: frame.layout, rate: Self.often)
        let encoder = encoder()
        kill(encoder, SIGSTOP)
        defer { kill(encoder, SIGCONT) }
        // The pipe holds some frames and the recorder eight; waiting for the next would block here.
        while recorder.progress.dropped < 3, recorder.progress.problem == nil {
            recorder.enqueue(PublishableFrame(frame.view))
        }
        kill(encoder, SIGCONT)
        try recorder.finish()
        let measured = try scratch.measure(path)
        #expect(measured == "320x240 \(recorder.progress.frames)")
        #expect(recorder.progress.problem == nil)
    }

    @Test func `frames after the end change nothing but their count`() throws {
        let path = scratch.path("a.mp4")
        let frame = red()
        let recorder = try Recorder(path: path, layout: frame.layout, rate: Self.often)
        recorder.enqueue(PublishableFrame(frame.view))
        try recorder.finish()
        let (before, file) = (recorder.progress, try scratch.read("a.mp4"))
        #expect(before.frames >= 1)
        while recorder.progress.dropped < before.dropped + 3 { recorder.enqueue(PublishableFrame(frame.view)) }
        let after = recorder.progress
        #expect(after.frames == before.frames && after.seconds == before.seconds && after.problem == nil)
        let fileAfter = try scratch.read("a.mp4")
        #expect(fileAfter == file && scratch.names() == ["a.mp4"])
    }

    @Test func `ending it a second time gives the same result`() throws {
        let whole = red()
        let broken = red(width: 16_400, height: 2)
        let recorder = try Recorder(path: scratch.path("a.mp4"), layout: whole.layout, rate: Self.seldom)
        recorder.enqueue(PublishableFrame(whole.view))
        try recorder.finish()
        try recorder.finish()
        let other = try Recorder(path: scratch.path("b.mp4"), layout: broken.layout, rate: Self.seldom)
        other.enqueue(PublishableFrame(broken.view))
        let (first, second) = (problem { try other.finish() }, problem { try other.finish() })
        #expect(first != nil && first == second)
        #expect(scratch.names() == ["a.mp4"])
    }

    @Test func `a frame is repeated for missing ones, by the clock`() throws {
        let clock = Atomic<UInt64>(1_000_000_000)
        let frame = red()
        let recorder = try Recorder(
            path: scratch.path("a.mp4"), layout: frame.layout, rate: 10,
            now: { clock.load(ordering: .relaxed) })
        recorder.enqueue(PublishableFrame(frame.view))
        waits { recorder.progress.frames == 1 }
        // Too soon, then half a second later.
        recorder.enqueue(PublishableFrame(frame.view))
        clock.add(500_000_000, ordering: .relaxed)
        recorder.enqueue(PublishableFrame(frame.view))
        try recorder.finish()
        let progress = recorder.progress
        #expect(progress.frames == 6 && progress.dropped == 0 && progress.problem == nil)
        #expect(progress.seconds == 0.5)
        let measured = try scratch.measure(scratch.path("a.mp4"))
        #expect(measured == "64x48 6")
    }

    @Test func `every frame has the nearest place in the file, and the one before it stays until then`() throws {
        let path = scratch.path("a.mp4")
        let clock = Atomic<UInt64>(1_000_000_000)
        let dark = red()
        var light = red()
        light.fill(y: 220, u: 128, v: 128)
        let recorder = try Recorder(
            path: path, layout: dark.layout, rate: 10, now: { clock.load(ordering: .relaxed) })
        // Some 40 ms early, some late, then four are missing.
        for (milliseconds, isLight) in [(0, false), (60, false), (240, true), (260, false), (440, false), (870, true)] {
            clock.store(UInt64(1000 + milliseconds) * 1_000_000, ordering: .relaxed)
            let before = recorder.progress.frames
            if isLight {
                recorder.enqueue(PublishableFrame(light.view))
            } else {
                recorder.enqueue(PublishableFrame(dark.view))
            }
            waits { recorder.progress.frames > before }
        }
        try recorder.finish()
        #expect(recorder.progress.dropped == 0)
        let lumas = try scratch.shell(
            "ffmpeg -v error -i '\(path)' -vf scale=1:1,format=gray -f rawvideo - | od -An -v -w1 -tu1")
        let places = lumas.split(separator: "\n").compactMap { Int($0.filter(\.isNumber)) }.map { $0 > 150 ? "W" : "-" }
        #expect(places.joined() == "--W-----" + "-W")
    }

    @Test func `without a frame nothing is left, and an older file is kept`() throws {
        let layout = FrameLayout(width: 64, height: 48, format: .i420)
        try scratch.write("older", "a.mp4")
        let refused = problem { _ = try Recorder(path: scratch.path("a.mp4"), layout: layout, rate: Self.seldom) }
        #expect(refused?.kind == .exists)
        let recorder = try Recorder(path: scratch.path("b.mp4"), layout: layout, rate: Self.seldom)
        #expect(recorder.progress == Recorder.Progress())
        try recorder.finish()
        #expect(recorder.progress == Recorder.Progress())
        #expect(scratch.names() == ["a.mp4"])
        let file = try scratch.read("a.mp4")
        #expect(file == Data("older".utf8))
    }

    @Test(arguments: [("none/a.mp4", Problem.Kind.missing), ("a.txt", .invalid), ("folder.mp4", .unusable)])
    func `an unwritable path is an error before the first frame`(name: String, kind: Problem.Kind) throws {
        try scratch.makeFolder("folder.mp4")
        let (path, layout) = (scratch.path(name), FrameLayout(width: 64, height: 48, format: .i420))
        let refused = problem { _ = try Recorder(path: path, layout: layout, rate: Self.seldom) }
        #expect(refused?.kind == kind && refused?.message.contains(path) == true)
        #expect(scratch.names() == ["folder.mp4"])
    }

    @Test func `a file that is being recorded is not recorded twice at once`() throws {
        let path = scratch.path("a.mp4")
        let frame = red()
        let first = try Recorder(path: path, layout: frame.layout, rate: Self.seldom)
        let refused = problem { _ = try Recorder(path: path, layout: frame.layout, rate: Self.seldom) }
        #expect(refused?.kind == .busy)
        first.enqueue(PublishableFrame(frame.view))
        try first.finish()
        let measured = try scratch.measure(path)
        #expect(measured == "64x48 1")
    }

    @Test func `an encoder that refuses frames is reported once, with its reason`() throws {
        let path = scratch.path("a.mp4")
        // Wider than x264 supports.
        let frame = red(width: 16_400, height: 2)
        let reports = Reports()
        let recorder = try Recorder(path: path, layout: frame.layout, rate: Self.seldom) { reports.add($0) }
        recorder.enqueue(PublishableFrame(frame.view))
        let thrown = problem { try recorder.finish() }
        let told = try #require(thrown)
        #expect(reports.all == [told] && recorder.progress.problem == told)
        #expect(told.kind == .gone && told.message.hasPrefix("cannot write \(path): ffmpeg stopped after"))
        #expect(told.message.hasSuffix("; nothing could be kept") && !told.fix.isEmpty)
        #expect(scratch.names().isEmpty)
    }

    @Test(arguments: [
        ("a.mp4", 0, "nothing could be kept"), ("a.y4m", 300_000, "the part written so far is kept"),
    ])
    func `a killed encoder is reported once, and what it wrote is kept`(
        name: String, written: Int, outcome: String
    ) throws {
        let path = scratch.path(name)
        let frame = red(width: 320, height: 240)
        let reports = Reports()
        let recorder = try Recorder(path: path, layout: frame.layout, rate: Self.often) { reports.add($0) }
        let encoder = encoder()
        let part = scratch.path(try #require(scratch.names().first { $0.contains(".part.") }))
        while size(of: part) < written, recorder.progress.problem == nil {
            recorder.enqueue(PublishableFrame(frame.view))
        }
        kill(encoder, SIGKILL)
        while recorder.progress.problem == nil { recorder.enqueue(PublishableFrame(frame.view)) }
        let thrown = problem { try recorder.finish() }
        let told = try #require(thrown)
        #expect(told.kind == .gone && told.message.contains("killed by signal 9"))
        #expect(told.message.hasSuffix("; \(outcome)"), "\(told)")
        #expect(reports.all == [told] && recorder.progress.problem == told)
        #expect(scratch.names() == (written > 0 ? [name] : []))
        guard written > 0 else { return }
        let words = try scratch.measure(path).split(separator: " ")
        let count = words.last.flatMap { Int($0) } ?? 0
        // The last fragment may be truncated; at least two were written completely.
        #expect(words.first == "320x240" && count >= 2)
    }

    // MARK: - Sound

    @Test func `the sound begins with the picture, however late its pieces come and whatever its clock`() {
        for (rate, expected) in [(48_000.0, 48_000), (47_995.2, 47_995), (48_004.8, 48_005)] {
            var random = RepeatableGenerator(1)
            var clock = SoundClock()
            // Ten minutes in pieces of 20 ms, of which some come up to 80 ms late.
            for piece in 1...30_000 {
                let heard = 5e9 + Double(piece * 960) / rate * 1e9
                let isLate = UInt8.random(in: 0..<3, using: &random) > 0
                clock.add(960, at: heard + (isLate ? Double.random(in: 0...80e6, using: &random) : 0))
            }
            #expect(clock.samples == 28_800_000)
            #expect(abs((clock.start ?? 0) - 5e9) < 5e6, "\(rate)")
            #expect(abs(clock.rate - expected) <= 1, "\(rate): \(clock.rate)")
        }
        #expect(SoundClock().start == nil && SoundClock().rate == 48_000)
    }

    /// A recording that has a second of frames, and so much sound that however late it comes, none is missing at the
    /// end.
    private func recordTone(_ path: String, _ frame: borrowing Frame) throws -> Recorder {
        let sine = SoundInput(arguments: ["-re", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000"])
        let recorder = try Recorder(path: path, layout: frame.layout, rate: 25, sound: sine)
        let sound = scratch.path(try #require(scratch.names().first { $0.hasSuffix(".sound") }))
        var before = 0
        while recorder.progress.frames <= 25 {
            if recorder.progress.frames == 0 { before = size(of: sound) }
            recorder.enqueue(PublishableFrame(frame.view))
            usleep(1000)
        }
        let seconds = Double(recorder.progress.frames) / 25 + 1.5
        let wanted = before + Int(seconds * Double(2 * SoundClock.nominalRate))
        waits { size(of: sound) >= wanted }
        return recorder
    }

    @Test func `a recording with sound has both from its first moment, and nothing else stays`() throws {
        let path = scratch.path("a.mp4")
        let frame = red()
        let recorder = try recordTone(path, frame)
        try recorder.finish()
        let streams = try scratch.shell(
            "ffprobe -v error -show_entries stream=codec_type,start_time,duration -of csv=p=0 '\(path)'")
        let lines = streams.split(separator: "\n").map { $0.split(separator: ",") }
        #expect(lines.map { $0.first ?? "" } == ["video", "audio"], "\(streams)")
        let seconds = lines.map { Double($0.last ?? "") ?? 0 }
        #expect(seconds.count == 2 && abs(seconds[0] - seconds[1]) < 0.1, "\(streams)")
        // It is heard all the time.
        let silence = try scratch.shell(
            """
            said=$(ffmpeg -v info -nostdin -i '\(path)' -af silencedetect=noise=-40dB:d=0.1 -f null - 2>&1) &&
                { grep -c silence_start <<<"$said" || true; }
            """
        )
        #expect(silence == "0\n")
        #expect(scratch.names() == ["a.mp4"])
    }

    @Test func `the sound of a recording that fails is kept beside it`() throws {
        let path = scratch.path("a.mp4")
        let frame = red()
        let recorder = try recordTone(path, frame)
        kill(encoder(), SIGKILL)
        waits {
            recorder.enqueue(PublishableFrame(frame.view))
            return !recorder.isRunning
        }
        let problem = problem { try recorder.finish() }
        #expect(
            problem?.message.contains("its sound is in \(scratch.path("a.wav"))") == true, "\(problem?.message ?? "")")
        let seconds = try scratch.shell("ffprobe -v error -show_entries format=duration -of csv=p=0 a.wav")
        #expect(Double(seconds.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0 > 0.8)
    }

    @Test func `without sound no recording starts, and no file stays`() {
        let layout = FrameLayout(width: 64, height: 48, format: .i420)
        let none = SoundInput(arguments: ["-f", "pulse", "-server", "/nowhere", "-i", "default"])
        let absent = problem {
            _ = try Recorder(path: scratch.path("a.mp4"), layout: layout, rate: 25, sound: none)
        }
        #expect(absent?.kind == .unusable && absent?.fix.contains("without sound") == true)
        let silent = SoundInput.microphone
        #expect(
            problem { _ = try Recorder(path: scratch.path("a.gif"), layout: layout, rate: 25, sound: silent) }?.kind
                == .invalid)
        #expect(scratch.names().isEmpty)
    }
}
