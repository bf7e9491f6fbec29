import Frames
import Glibc
import SystemKit

/// A photo or a clip from disk, decoded by an ffmpeg child process. The child lives as long as this value.
///
/// Clips are delivered as I420, limited range; photos as I444, full range. Both are BT.601 and upright: the file's
/// rotation is applied. Each coded frame is delivered once; its time follows from the mean rate.
public struct Clip: FrameSource, ~Copyable {
    /// I420, limited range, for clips; I444, full range, for photos.
    public let layout: FrameLayout
    /// Frames per second; nil for photos.
    public let rate: Double?
    /// The descriptor to poll: the current decoder's output, and after the output's end, until the decoder exits, its
    /// standard error. It changes when a looped clip restarts, and is nil after the end.
    public private(set) var descriptor: CInt?
    /// The number of frames that were cut off at the clip's end.
    public private(set) var damaged = 0
    /// What is wrong with the file's pictures, for the user; nil if nothing is known.
    public private(set) var warning: String?

    private let file: MediaFile
    private let loop: Bool
    private var decoder: ChildProcess?
    /// The decoder of the next run through the file, started before this run's end so that a looped clip has no gap.
    private var nextDecoder: ChildProcess?
    /// The number of frames in a run, as estimated or as counted in the last one.
    private var runLength: Int?
    private var frame: Frame
    /// The number of bytes of `frame` that were read.
    private var bytesRead = 0
    /// Whether `frame` holds the beginning of a frame that never became whole, over the one before.
    private var isTorn = false
    /// The number of frames delivered so far.
    private var delivered = 0
    /// The number of frames delivered in this run through the file.
    private var deliveredInRun = 0
    /// When the current decoder closed its output, in nanoseconds of the monotonic clock; nil before.
    private var outputEnd: UInt64?

    /// Nanoseconds that a decoder may take to exit after the end of its output. It usually takes some milliseconds.
    private static let exitTimeout: UInt64 = 5_000_000_000

    /// Opens and probes the file, and starts to decode.
    /// - Parameters:
    ///   - name: what messages call the file; nil: its path.
    ///   - loop: whether to restart at the end, forever; a photo is delivered again and again.
    ///   - limits: resource limits of the decoders.
    /// - Throws: `Problem` of kind `missing`, `forbidden` or `unusable` that names the file; `missing` if ffmpeg is not
    ///   installed.
    public init(
        path: String, named name: String? = nil, loop: Bool = false, within limits: MediaLimits = .userFile
    ) throws(Problem) {
        let file = try MediaFile(path: path, named: name ?? path, within: limits)
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

    /// A description for the user, such as "talk.mp4, h264 1280x720 at 30.0 fps".
    public var description: String {
        let rate = rate.map { " at \(($0 * 100).rounded() / 100) fps" } ?? ""
        return "\(file.name), \(file.codec) \(layout.width)x\(layout.height)\(rate)"
    }

    /// False: frames are decoded as fast as they are read.
    public var isLive: Bool { false }

    /// Whether the file is a single picture.
    public var isPhoto: Bool { file.isPhoto }

    /// The number of frames according to the file; nil if it isn't known.
    public var expectedFrames: Int? { file.expected }

    /// Lends the next frame once it is complete. Does not block.
    /// - Throws: `Problem` of kind `gone` if the decoder was killed, `unusable` if the file yielded no frame, and what
    ///   `body` throws.
    public mutating func withFrame(
        _ body: (borrowing FrameView, _ time: FrameTime) throws -> Void
    ) throws -> FrameResult {
        if file.isPhoto, delivered > 0 {
            // The picture remains in `frame`. What is wrong with it is known once the decoder has exited.
            if let (exit, lines) = finishDecoder(), let damage = damage(exit, lines) {
                warning = "\(file.name) is damaged: \(damage)"
            }
            guard loop else {
                switch decoder {
                case .none: return .end
                case .some: return .nothing
                }
            }
            try deliverFrame(body)
            return .frame
        }
        guard decoder != nil else { return .end }
        guard outputEnd == nil else { return try endRun() }
        while bytesRead < layout.byteCount {
            switch try decoder?.read(into: &frame, from: bytesRead) ?? .end {
            case .bytes(let count): bytesRead += count
            case .nothing: return .nothing
            case .end:
                endOutput()
                return try endRun()
            }
        }
        decoder?.drainErrors()
        bytesRead = 0
        // A looped photo always has a frame.
        if file.isPhoto { (descriptor, outputEnd) = (loop ? nil : decoder?.errors, monotonicTime()) }
        startNextDecoder()
        try deliverFrame(body)
        return .frame
    }

    /// Waits until `withFrame` can make progress, at most a second.
    public func wait() {
        if let descriptor { waitUntilReady(descriptor, milliseconds: 1000) }
    }

    /// Waits for the next frame and lends it.
    /// - Returns: false at the clip's end, without calling `body`.
    /// - Throws: as `withFrame`.
    public mutating func withNextFrame(
        _ body: (borrowing FrameView, _ time: FrameTime) throws -> Void
    ) throws -> Bool {
        while true {
            switch try withFrame(body) {
            case .frame: return true
            case .nothing: wait()
            case .end: return false
            }
        }
    }

    /// Lends each frame up to the clip's end, which a looped clip does not have.
    /// - Throws: as `withFrame`.
    public mutating func forEachFrame(_ body: (borrowing FrameView, _ time: FrameTime) throws -> Void) throws {
        while try withNextFrame(body) {}
    }

    /// Lends the last frame again.
    /// - Returns: false, without calling `body`, before the first frame and once data of the next one has arrived.
    /// - Throws: what `body` throws.
    public mutating func withLastFrame(
        _ body: (borrowing FrameView, _ time: FrameTime) throws -> Void
    ) throws -> Bool {
        guard delivered > 0, bytesRead == 0, !isTorn else { return false }
        try body(frame.view, time(of: delivered - 1))
        return true
    }

    private func time(of number: Int) -> FrameTime {
        // A photo has no rate. Looped, it stands for a camera of 30 frames a second.
        FrameTime(number: number, seconds: Double(number) / (rate ?? 30))
    }

    private mutating func deliverFrame(_ body: (borrowing FrameView, FrameTime) throws -> Void) throws {
        isTorn = false
        delivered += 1
        deliveredInRun += 1
        try body(frame.view, time(of: delivered - 1))
    }

    /// Starts the next run's decoder a second before it is needed, since it takes part of that until its first picture.
    /// If it cannot start, the run's end tries again and reports the error.
    private mutating func startNextDecoder() {
        guard loop, let rate, let runLength, deliveredInRun + Int(rate) >= runLength, nextDecoder == nil else { return }
        nextDecoder = try? file.decode()
    }

    /// Reaps the decoder if it has exited. Never waits, because the frame loop calls it.
    /// - Returns: nil if it hasn't exited yet. One that takes too long is killed.
    private mutating func finishDecoder() -> (exit: ChildProcess.Exit, lines: [String])? {
        guard var ending = decoder.take() else { return nil }
        ending.drainErrors()
        guard ending.hasExited else {
            if let outputEnd, monotonicTime() > outputEnd + Self.exitTimeout { ending.requestKill() }
            decoder = consume ending
            return nil
        }
        (descriptor, outputEnd) = (nil, nil)
        return (ending.finish(), ending.lines.map(MediaFile.withoutInputName))
    }

    /// Handles the end of the decoder's output.
    private mutating func endOutput() {
        if bytesRead > 0 {
            damaged += 1
            isTorn = true
        }
        bytesRead = 0
        outputEnd = monotonicTime()
        descriptor = decoder?.errors
    }

    /// Handles the decoder's exit: the clip is over, or something went wrong.
    private mutating func endRun() throws -> FrameResult {
        guard let (exit, lines) = finishDecoder() else { return .nothing }
        // The decoder's own words say more than ffmpeg's last ones, such as that nothing was written.
        let codec = file.codec
        let cause = lines.last(where: { MediaFile.reportsDamage($0, codec: codec) }) ?? lines.last
        let reason = cause.map { ": \($0)" } ?? ""
        // A photo exceeds its limits each time.
        if file.isPhoto, exit.isByLimit {
            throw Problem(
                .unusable, "cannot read \(file.name): decoding it takes too long (\(exit))",
                fix: "the file may be damaged; try another copy")
        }
        if case .signal = exit {
            throw Problem(
                .gone, "ffmpeg stopped decoding \(file.name) after \(delivered) frames (\(exit))\(reason)",
                fix: "try again")
        }
        guard deliveredInRun > 0 else {
            throw Problem(
                .unusable, "cannot decode \(file.name): ffmpeg produced no frame (\(exit))\(reason)",
                fix: "the file is damaged; try another copy")
        }
        if let damage = damage(exit, lines) {
            warning = "\(file.name) is damaged, \(deliveredInRun) frames could be read: \(damage)"
        }
        guard loop else { return .end }
        (runLength, deliveredInRun) = (deliveredInRun, 0)
        let next = try nextDecoder.take() ?? file.decode()
        descriptor = next.pipe
        decoder = consume next
        return .nothing
    }
}

extension Clip {
    /// What was wrong with the pictures of a run; nil if nothing was.
    private func damage(_ exit: ChildProcess.Exit, _ lines: [String]) -> String? {
        let codec = file.codec
        if let line = lines.last(where: { MediaFile.reportsDamage($0, codec: codec) }) { return line }
        if exit != .status(0) { return lines.last ?? "ffmpeg's \(exit)" }
        return isTorn ? "the last frame is incomplete" : nil
    }

    /// Lends the first picture of a photo or clip, once it is decoded.
    /// - Parameters:
    ///   - name: what messages call the file; nil: its path.
    ///   - limits: resource limits of the decoders.
    ///   - body: called once, with the picture.
    /// - Throws: what `Clip` throws for the file, and what `body` throws.
    public static func firstPicture(
        of path: String, named name: String? = nil, within limits: MediaLimits = .userFile,
        _ body: (borrowing FrameView) throws -> Void
    ) throws {
        var clip = try Clip(path: path, named: name, within: limits)
        _ = try clip.withNextFrame { view, _ in try body(view) }
    }
}

extension ChildProcess {
    /// Reads available data into a frame's bytes from `offset` on, at most up to their end. Does not block.
    fileprivate mutating func read(into frame: inout Frame, from offset: Int) throws(Problem) -> Read {
        var bytes = frame.mutableBytes
        return try read(into: &bytes, from: offset)
    }
}
