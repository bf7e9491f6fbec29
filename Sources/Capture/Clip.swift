import Frames
import Glibc

/// A photo or a clip from disk, decoded by an ffmpeg child process. The child lives as long as this value.
///
/// Clips come as I420, limited range; photos as I444, full range. Both are BT.601 and upright: what the file says of
/// rotation is obeyed. Each coded frame comes once; times follow from the mean rate.
public struct Clip: FrameSource, ~Copyable {
    /// I420, limited range, for clips; I444, full range, for photos.
    public let layout: FrameLayout
    /// Frames per second; nil for photos.
    public let rate: Double?
    /// Of the decoder at work: another one after a clip has started again, nil after the end.
    public private(set) var descriptor: CInt?
    /// Frames at a clip's end that were cut off.
    public private(set) var damaged = 0
    /// What was wrong with a clip that could be read in part; nil: nothing known.
    public private(set) var warning: String?

    private let file: MediaFile
    private let loop: Bool
    private var decoder: ChildProcess?
    /// Of the next run through the file, begun before this one's end: a looped clip goes on without a gap.
    private var upcoming: ChildProcess?
    /// Frames of a run, as foretold or as the last one had.
    private var runLength: Int?
    private var frame: Frame
    /// Bytes of `frame` that are in.
    private var filled = 0
    /// Frames given so far, and of them in this run through the file.
    private var number = 0
    private var numberInRun = 0

    /// Opens and probes the file, and starts to decode.
    /// - Parameters:
    ///   - loop: starts again at the end, for ever; a photo is given again and again.
    ///   - bounds: what the file may ask of its decoders.
    /// - Throws: `missing`, `forbidden` or `unusable`, naming the file; `missing` where ffmpeg is not installed.
    public init(path: String, loop: Bool = false, within bounds: MediaLimits = .named) throws(Problem) {
        let file = try MediaFile(path: path, within: bounds)
        let decoder = try file.decode()
        let layout = FrameLayout(
            width: file.width, height: file.height, format: file.isPhoto ? .i444 : .i420,
            range: file.isPhoto ? .full : .limited)
        self.layout = layout
        rate = file.rate
        frame = Frame(layout)
        descriptor = decoder.pipe
        self.loop = loop
        runLength = file.expected
        self.file = file
        self.decoder = consume decoder
    }

    /// "talk.mp4, h264 1280x720 at 30.0 fps".
    public var description: String {
        let rate = rate.map { " at \(($0 * 100).rounded() / 100) fps" } ?? ""
        return "\(file.path), \(file.codec) \(layout.width)x\(layout.height)\(rate)"
    }

    /// False: frames come as fast as they are read.
    public var isLive: Bool { false }

    /// True where the file is one picture.
    public var isPhoto: Bool { file.isPhoto }

    /// Lends the next frame once it is whole. Does not block.
    /// - Throws: `gone` when the decoder was killed, `unusable` when not one frame came out of the file, and what `body`
    ///   throws.
    public mutating func withFrame(
        _ body: (borrowing FrameView, _ time: FrameTime) throws -> Void
    ) throws -> Arrival {
        guard decoder != nil else {
            // A photo stays in `frame`.
            guard loop, file.isPhoto, number > 0 else { return .end }
            try deliverFrame(body)
            return .frame
        }
        while filled < layout.byteCount {
            switch try decoder?.read(into: &frame, from: filled) ?? .end {
            case .bytes(let count): filled += count
            case .nothing: return .nothing
            case .end: return try endRun()
            }
        }
        decoder?.drainErrors()
        filled = 0
        if file.isPhoto { _ = finishDecoder() }
        startNextDecoder()
        try deliverFrame(body)
        return .frame
    }

    /// Waits until `withFrame` has something to do.
    public func wait() { decoder?.wait() }

    /// Lends the last frame once more, until the next one begins to come in.
    public mutating func withLastFrame(
        _ body: (borrowing FrameView, _ time: FrameTime) throws -> Void
    ) throws -> Bool {
        guard number > 0, filled == 0 || decoder == nil else { return false }
        try body(frame.view, time(of: number - 1))
        return true
    }

    private func time(of number: Int) -> FrameTime {
        // A photo has no rate; looped it stands for a camera of 30 frames a second.
        FrameTime(number: number, seconds: Double(number) / (rate ?? 30))
    }

    private mutating func deliverFrame(_ body: (borrowing FrameView, FrameTime) throws -> Void) throws {
        number += 1
        numberInRun += 1
        try body(frame.view, time(of: number - 1))
    }

    /// Starts the next run's decoder a second before it is wanted: until its first picture it takes a part of that. What
    /// keeps it from starting is told at the run's end, if it still does.
    private mutating func startNextDecoder() {
        guard loop, let rate, let runLength, numberInRun + Int(rate) >= runLength, upcoming == nil else { return }
        upcoming = try? file.decode()
    }

    private mutating func finishDecoder() -> (exit: ChildProcess.Exit, lastLine: String?)? {
        guard var ended = decoder.take() else { return nil }
        descriptor = nil
        let exit = ended.finish()
        return (exit, ended.lastLine.map(MediaFile.plain))
    }

    /// The decoder has closed its output: the clip is over, or something went wrong.
    private mutating func endRun() throws -> Arrival {
        if filled > 0 { damaged += 1 }
        filled = 0
        guard let (exit, lastLine) = finishDecoder() else { return .end }
        let said = lastLine.map { ": \($0)" } ?? ""
        if case .signal = exit {
            throw Problem(
                .gone, "ffmpeg, decoding \(file.path), ended after \(number) frames (\(exit))\(said)",
                fix: "start again")
        }
        guard numberInRun > 0 else {
            throw Problem(
                .unusable, "cannot decode \(file.path): not one frame came out (\(exit))\(said)",
                fix: "the file is damaged: take another copy")
        }
        if let lastLine { warning = "\(file.path) is damaged, \(numberInRun) frames could be read: \(lastLine)" }
        guard loop else { return .end }
        (runLength, numberInRun) = (numberInRun, 0)
        let next = try upcoming.take() ?? file.decode()
        descriptor = next.pipe
        decoder = consume next
        return .nothing
    }
}

extension Clip {
    /// Lends the first picture of a photo or clip, once it is decoded.
    public static func firstPicture(
        of path: String, within bounds: MediaLimits = .named, _ body: (borrowing FrameView) throws -> Void
    ) throws {
        var clip = try Clip(path: path, within: bounds)
        while try clip.withFrame({ view, _ in try body(view) }) == .nothing { clip.wait() }
    }
}
