import Frames
import Glibc
import Privacy
import Synchronization
import SystemKit

/// A photo or a clip on disk, written by an ffmpeg child process that lives as long as this value.
///
/// The file extension selects the format. The file is written under a name beside it that cannot be guessed
/// ("clip.0123456789abcdef.part.mp4") and renamed in `finish`, so that a failed run never leaves an incomplete file or
/// damages another one. A recording, which cannot be repeated, is kept as far as it was written. An existing file is
/// replaced only if the caller requests it.
///
/// Unlike live sinks, `publish` waits while the encoder is busy.
public struct FileSink: FrameSink, ~Copyable {
    /// The sink for the user, such as "out.mp4, 1280x720".
    public let description: String
    /// The layout that frames must have.
    public let layout: FrameLayout

    private let path: String
    /// The path's folder, which may be moved while the file is written.
    private let folder: OpenFolder
    /// The file's names in its folder, while it is written and when it is complete.
    private let (part, name): (String, String)
    /// The file while it is written, open for writing, whatever has its name by then.
    private var descriptor: CInt
    private let claim: Claim
    private let kind: Kind
    private let isRecording: Bool
    private let texts: [(keyword: String, text: String)]
    private let mode: mode_t
    private var overwrites: Bool
    private var encoder: ChildProcess
    private var frames = 0
    private var isFinished = false
    /// Bytes of address space for an encoder that reads a file's sound, which may come from strangers. Without such a
    /// file ffmpeg takes up to 6 GiB, on 128 cores.
    private static let soundMemory = 8 << 30
    /// The sound that is added at the end; nil: none, or that of another file.
    var sound: SoundTrack.Mix?

    /// Starts an encoder for `path`.
    /// - Parameters:
    ///   - layout: the layout of all frames to come.
    ///   - rate: frames per second.
    ///   - audioFrom: a file whose sound is copied into a clip; nil: silent.
    ///   - isRecording: whether to keep what was written if the encoder fails.
    ///   - isPrivate: whether only this user may read the file.
    ///   - overwrites: whether to replace an existing file once this one is complete.
    ///   - texts: texts to embed in a PNG, as for `PNGText`; other files get none.
    /// - Throws: `Problem` of kind `invalid` for an unknown extension, `unusable` for a folder, `exists` for a file
    ///   that may not be replaced, `busy` if the file is being written already, `missing`, `forbidden`, `unusable` or
    ///   `system` if it cannot be written, `missing` if ffmpeg is not installed.
    public init(
        path: String, layout: FrameLayout, rate: Double = 30, audioFrom: String? = nil, isRecording: Bool = false,
        isPrivate: Bool = false, overwrites: Bool = false, texts: [(keyword: String, text: String)] = []
    ) throws(Problem) {
        guard let kind = Kind(path: path) else {
            if isFolder(path) {
                throw Problem(.unusable, "cannot write \(path): it is a folder", fix: "name a file in it")
            }
            throw Problem(
                .invalid, "cannot write \(path): the file name has no supported extension",
                fix: "use one of \(Kind.known)")
        }
        let claim = try Claim(path)
        try Self.check(path, overwrites: overwrites)
        let folder = try OpenFolder(containing: path)
        let part = kind.temporaryName(for: path, "part")
        let descriptor = try Self.make(part, in: folder, for: path, isPrivate ? 0o600 : 0o666)
        do {
            encoder = try ChildProcess(
                ["ffmpeg", "-v", "error", "-nostdin", "-y"] + kind.input(layout, rate: rate)
                    + (kind.isPhoto ? [] : kind.sound(from: audioFrom)) + kind.output(inPieces: isRecording)
                    + kind.writing, .writing, output: descriptor,
                limits: audioFrom.map { _ in ChildProcess.Limits(memory: Self.soundMemory) })
        } catch {
            close(descriptor)
            folder.remove(part)
            throw error
        }
        self.claim = claim
        self.folder = folder
        self.descriptor = descriptor
        self.texts = texts
        (self.path, self.part, name, self.kind) = (path, part, fileName(of: path), kind)
        (self.layout, self.isRecording) = (layout, isRecording)
        (mode, self.overwrites) = (isPrivate ? 0o600 : 0o666, overwrites)
        description = "\(path), \(layout.width)x\(layout.height)"
    }

    deinit {
        if !isFinished {
            encoder.kill()
            if folder.isName(part, of: descriptor) { folder.remove(part) }
        }
        close(descriptor)
    }

    /// The file while it is written, for a process that may have to end without its sink.
    /// - Throws: `Problem` of kind `system` if no descriptor is left.
    public func unfinishedFile() throws(Problem) -> UnfinishedFile {
        UnfinishedFile(try OpenFolder(again: folder), part)
    }
    /// Whether the file is a photo, which contains one frame.
    var isPhoto: Bool { kind.isPhoto }
    /// Whether the format can contain sound.
    var canHaveSound: Bool { kind.soundCodec != nil }

    /// True: every frame has its place in the file.
    public var keepsFrames: Bool { true }

    /// Writes one frame; waits while the encoder is busy. A photo is the first frame; later ones are ignored.
    /// - Throws: `Problem` of kind `gone` if the encoder has ended (usually because the disk is full).
    public mutating func publish(_ frame: borrowing PublishableFrame) throws {
        precondition(frame.layout == layout, "the frame must have the sink's layout")
        if kind.isPhoto, frames > 0 { return }
        for plane in layout.planes {
            // A plane without padding is written in one piece.
            let isPacked = plane.stride == plane.rowBytes
            let (size, count) = isPacked ? (plane.rowBytes * plane.rows, 1) : (plane.rowBytes, plane.rows)
            for row in 0..<count {
                let start = plane.offset + row * plane.stride
                guard try encoder.write(frame.view.bytes.extracting(start..<start + size)) else { throw failure() }
            }
        }
        encoder.drainErrors()
        frames += 1
    }

    /// Completes the file and renames it to its path. If there was no frame, removes it.
    /// - Parameter placeholder: not used; a file ends with its last frame.
    /// - Throws: `Problem` of kind `gone` if the encoder failed or the folder was moved, `exists` if another file has
    ///   taken the path, `system` if the file cannot be renamed or its texts cannot be written.
    public consuming func finish(placeholder: borrowing PublishableFrame) throws {
        guard frames > 0 else { return }
        guard encoder.finish() == .status(0), !Self.lostItsEnd(encoder.lines) else {
            let problem = failure()
            throw isRecording ? recover(problem) : problem
        }
        try embedTexts()
        if let problem = moveIntoPlace() { throw problem }
        // The fragmented file plays too, so the recording is safe whatever interrupts this step.
        guard isRecording, kind.comesInPieces || sound != nil else { return }
        guard remux(name) || sound == nil else {
            throw Problem(
                .system, "the sound could not be added to \(path), which is kept without it",
                fix: "check the free space with df")
        }
    }

    /// Keeps what was written of a recording whose encoder ended early.
    /// - Parameter problem: what `publish` threw.
    /// - Returns: the problem, with what became of the file.
    public consuming func recover(_ problem: Problem) -> Problem {
        _ = encoder.finish()
        // A part replaces no file that may be whole.
        overwrites = false
        // If the program must exit, the file is left as it is.
        guard remux(part) || hasPicture || ChildProcess.isShuttingDown else {
            return Problem(problem.kind, "\(problem.message); nothing could be kept", fix: problem.fix)
        }
        if let another = moveIntoPlace() {
            return Problem(another.kind, "\(problem.message); \(another.message)", fix: another.fix)
        }
        return Problem(problem.kind, "\(problem.message); the part written so far is kept", fix: problem.fix)
    }

    /// Renames the complete file to its path, or to a free path if that fails.
    /// - Returns: why it is not at its path, and where it is; nil on success.
    private mutating func moveIntoPlace() -> Problem? {
        if folder.rename(part, of: descriptor, to: name, replacing: overwrites) {
            isFinished = true
            guard folder.wasMoved else { return nil }
            return Problem(.gone, "the folder of \(path) was moved", fix: "it was kept as \(folder.path)/\(name)")
        }
        let code = errno
        let other = freePath(for: "\(folder.path)/\(name)")
        isFinished = folder.rename(part, of: descriptor, to: fileName(of: other), replacing: false)
        return Problem(
            code == EEXIST ? .exists : .system, "cannot rename the file to \(path): \(errorMessage(of: code))",
            fix: isFinished ? "it was kept as \(other)" : "choose a file in another folder")
    }

    /// Embeds the texts in a PNG that is complete.
    private func embedTexts() throws(Problem) {
        guard kind == .png, !texts.isEmpty, let png = try? contents(of: "/proc/self/fd/\(descriptor)"),
            let more = PNGText.adding(texts, to: png)
        else { return }
        // The file gets longer. Nothing was written to this descriptor yet, so that it is at the file's start.
        guard writeAll(more.span, to: descriptor) else { throw unwritable(path, errno) }
    }

    /// ffmpeg's arguments that read the file that was written. It is standard input, under a name by which ffmpeg can
    /// seek in it, because another file may have its name by now.
    private static let reading: [String] =
        ["ffmpeg", "-v", "error", "-nostdin", "-y", "-abort_on", "empty_output"] + plainMedia
        + ["-i", "file:/dev/stdin"]

    /// Rewrites the file as one piece, so that players can seek in it.
    /// - Parameter file: its name in the folder.
    /// - Returns: false if that failed, usually because the disk is full, or if another file has the name. What has the
    ///   name is unchanged then.
    @discardableResult
    private mutating func remux(_ file: String) -> Bool {
        let whole = kind.temporaryName(for: path, "whole")
        guard let created = try? Self.make(whole, in: folder, for: path, mode) else { return false }
        let arguments =
            Self.reading + (sound.map(kind.mixing) ?? ["-map", "0:v", "-c", "copy"])
            + (kind.comesInPieces ? ["-movflags", "+faststart"] : []) + kind.writing
        guard runSucceeds(arguments, output: created), folder.isName(file, of: descriptor),
            folder.rename(whole, of: created, to: file, replacing: true)
        else {
            close(created)
            folder.remove(whole)
            return false
        }
        close(descriptor)
        descriptor = created
        return true
    }

    /// Whether the extension of a path is that of a format with a single picture: of several frames, the first one is
    /// kept.
    public static func isPhoto(_ path: String) -> Bool { Kind(path: path)?.isPhoto ?? false }

    /// Whether the file contains a picture.
    private var hasPicture: Bool { runSucceeds(Self.reading + ["-frames:v", "1", "-f", "null", "-"]) }

    /// Runs ffmpeg with the file as its standard input.
    private func runSucceeds(_ arguments: [String], output: CInt? = nil) -> Bool {
        guard var child = try? ChildProcess(arguments, .reading, input: descriptor, output: output) else {
            return false
        }
        return child.finish() == .status(0) && !Self.lostItsEnd(child.lines)
    }

    /// Whether ffmpeg could not write the end of a file. Up to version 5, its exit status is 0 then: a small file on a
    /// full disk is empty, since all of it is written at the end.
    private static func lostItsEnd(_ lines: [String]) -> Bool {
        lines.contains { $0.hasPrefix("Error writing trailer of") || $0.hasPrefix("Error closing file") }
    }

    /// The problem to report for an encoder that ended early.
    private mutating func failure() -> Problem {
        let exit = encoder.finish()
        // Without the name that is not the user's.
        let line = encoder.lastLine?.replacing(" \(Kind.target)", with: "").replacing("\(Kind.target): ", with: "")
        let reason = line.map { ": \($0)" } ?? ""
        return Problem(
            .gone, "cannot write \(path): ffmpeg stopped after \(frames) frames (\(exit))\(reason)",
            fix: "check the free space with df, or choose another folder")
    }

    /// Checks what exists at the path before a file is started.
    /// - Throws: `Problem` of kind `unusable` if it is not a file, `exists` if it may not be replaced, `invalid` if the
    ///   name is too long.
    public static func check(_ path: String, overwrites: Bool) throws(Problem) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            if errno == ENAMETOOLONG { throw unwritable(path, ENAMETOOLONG) }
            return
        }
        guard [S_IFREG, S_IFLNK].contains(status.st_mode & S_IFMT) else {
            throw Problem(
                .unusable, "cannot write \(path): it exists and is not a regular file", fix: "choose another file")
        }
        guard overwrites else {
            throw Problem(
                .exists, "cannot write \(path): it exists",
                fix: "choose another file, or pass --overwrite to replace it"
            )
        }
    }

    /// Creates an empty file exclusively, so that no pipe is opened and no link followed. Detects errors at once that
    /// ffmpeg would report late and less clearly.
    /// - Returns: its descriptor, which the caller closes.
    private static func make(
        _ file: String, in folder: borrowing OpenFolder, for path: String, _ mode: mode_t
    ) throws(Problem) -> CInt {
        let descriptor = folder.create(file, mode)
        guard descriptor >= 0 else { throw unwritable(path, errno) }
        return descriptor
    }
}

/// A file that is being written, wherever its folder is.
public final class UnfinishedFile: Sendable {
    private let folder: OpenFolder
    private let name: String

    fileprivate init(_ folder: consuming OpenFolder, _ name: String) {
        self.folder = folder
        self.name = name
    }

    /// Removes the file. One that was completed in the meantime has another name, and stays.
    public func remove() { folder.remove(name) }
}

/// The claim to a path that is being written, so that no two sinks write the same file.
private struct Claim: ~Copyable {
    private static let paths = Mutex<Set<String>>([])
    private let path: String

    init(_ path: String) throws(Problem) {
        guard Self.paths.withLock({ $0.insert(path).inserted }) else {
            throw Problem(
                .busy, "cannot write \(path): it is already being written", fix: "wait, or choose another file")
        }
        self.path = path
    }

    deinit { Self.paths.withLock { _ = $0.remove(path) } }
}

/// A path at which nothing exists: the given one, otherwise "clip 2.mp4" beside "clip.mp4", and so on.
public func freePath(for path: String) -> String {
    guard isTaken(path) else { return path }
    let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let end = path[start...].lastIndex(of: ".") ?? path.endIndex
    var number = 2
    while true {
        let ending = " \(number)\(path[end...])"
        // No longer than a name may be.
        let stem = shortened(path[start..<end], toBytes: max(1, Int(NAME_MAX) - ending.utf8.count))
        let other = "\(path[..<start])\(stem)\(ending)"
        if !isTaken(other) { return other }
        number += 1
    }
}

/// The format of a file, by its extension.
private enum Kind: String, CaseIterable {
    case png, jpg, jpeg, webp, bmp
    case mp4, mov, mkv, webm, avi, gif
    case y4m, yuv

    static var known: String { allCases.map { ".\($0.rawValue)" }.joined(separator: ", ") }

    init?(path: String) {
        guard let name = path.split(separator: "/", omittingEmptySubsequences: false).last,
            let dot = name.lastIndex(of: "."), dot != name.startIndex
        else { return nil }
        self.init(rawValue: name[dot...].dropFirst().lowercased())
    }

    /// How ffmpeg calls the file, in its messages too. It is standard output, under a name by which ffmpeg can seek in
    /// it: another file, or a link, may have the file's name by now.
    static let target = "file:/dev/stdout"

    /// ffmpeg's arguments for the file's format, which its name would tell otherwise, and for the file.
    var writing: [String] {
        let format =
            switch self {
            case .png, .jpg, .jpeg, .bmp: "image2"
            case .mkv: "matroska"
            case .y4m: "yuv4mpegpipe"
            case .yuv: "rawvideo"
            case .webp, .mp4, .mov, .webm, .avi, .gif: rawValue
            }
        return ["-f", format, Self.target]
    }

    /// A name for a file that is being written: "clip.0123456789abcdef.part.mp4" for "clip.mp4".
    func temporaryName(for path: String, _ what: String) -> String {
        SystemKit.temporaryName(for: path, ending: "\(what).\(rawValue)")
    }

    /// Whether the format is unreadable until its end is written, unless it is fragmented.
    var comesInPieces: Bool { self == .mp4 || self == .mov }

    var isPhoto: Bool {
        switch self {
        case .png, .jpg, .jpeg, .webp, .bmp: true
        case .mp4, .mov, .mkv, .webm, .avi, .gif, .y4m, .yuv: false
        }
    }

    /// ffmpeg's arguments for the raw frames in the pipe.
    func input(_ layout: FrameLayout, rate: Double) -> [String] {
        let format =
            switch layout.format {
            case .yuyv: "yuyv422"
            case .uyvy: "uyvy422"
            case .nv12: "nv12"
            case .i420: "yuv420p"
            case .i422: "yuv422p"
            case .i444: "yuv444p"
            case .gray: "gray"
            }
        return [
            "-f", "rawvideo", "-pix_fmt", format, "-s", "\(layout.width)x\(layout.height)",
            "-color_range", layout.range == .full ? "pc" : "tv", "-colorspace", "smpte170m",
            "-framerate", "\(rate)", "-i", "pipe:0",
        ]
    }

    /// ffmpeg's arguments for a second input, whose sound is copied.
    func sound(from path: String?) -> [String] {
        guard let path, self != .gif, self != .y4m, self != .yuv else { return [] }
        return plainMedia + ["-i", "file:\(path)", "-map", "0:v", "-map", "1:a?", "-c:a", "copy"]
    }

    /// The encoder for sound that fits the format; nil if it has no sound.
    var soundCodec: String? {
        switch self {
        case .mp4, .mov, .mkv: "aac"
        case .webm: "libopus"
        case .png, .jpg, .jpeg, .webp, .bmp, .avi, .gif, .y4m, .yuv: nil
        }
    }

    /// ffmpeg's arguments that add recorded sound to the picture of the first input, which is copied. The sound begins
    /// with the picture: what was heard before is left out, what is missing is silent.
    func mixing(_ sound: SoundTrack.Mix) -> [String] {
        let skipped = sound.delay < 0 ? ["-ss", decimal(-sound.delay, places: 4)] : []
        let silence = decimal(max(0, sound.delay * 1000), places: 0)
        // Read as bare samples, because the rate is not the one that the header says.
        let samples = ["-skip_initial_bytes", "\(SoundTrack.headerBytes)", "-f", "s16le", "-ar", "\(sound.rate)"]
        return samples + ["-ac", "1"] + skipped + ["-i", "file:\(sound.path)"]
            + ["-map", "0:v", "-map", "1:a", "-c:v", "copy", "-c:a", soundCodec ?? "copy", "-b:a", "128k"]
            // Silence follows a sound that ended early, and a sound that is longer ends with the picture.
            + ["-af", "adelay=\(silence):all=1,apad", "-ar", "48000", "-shortest"]
    }

    /// ffmpeg's arguments for the encoder.
    /// - Parameter inPieces: whether to write fragments of a second each, so that no more is lost if writing is
    ///   interrupted.
    func output(inPieces: Bool) -> [String] {
        // 4:2:0 requires even sizes: an odd picture gets one more row or column. Webcams' and our colours are BT.601.
        let even = "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_range=limited,format=yuv420p"
        let colors = [
            "-colorspace", "smpte170m", "-color_primaries", "smpte170m", "-color_trc", "smpte170m", "-color_range",
            "tv",
        ]
        let exact = "flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp"
        return switch self {
        case .png, .bmp:
            [
                "-c:v", rawValue, "-vf", "scale=in_color_matrix=bt601:\(exact),format=rgb24", "-frames:v", "1",
                "-update", "1",
            ]
        case .jpg, .jpeg:
            [
                "-c:v", "mjpeg", "-vf", "scale=out_range=full:\(exact),format=yuvj444p", "-q:v", "2", "-frames:v", "1",
                "-update", "1",
            ]
        case .webp: ["-vf", "scale=in_color_matrix=bt601:\(exact),format=yuv420p", "-quality", "90", "-frames:v", "1"]
        case .mp4, .mov:
            ["-vf", even, "-c:v", "libx264", "-preset", "veryfast", "-crf", "18"] + colors
                + (inPieces
                    // Without flushing, small files would stay in ffmpeg's memory until their end.
                    ? [
                        "-movflags", "+empty_moov+default_base_moof", "-frag_duration", "1000000", "-flush_packets",
                        "1",
                    ]
                    : ["-movflags", "+faststart"])
        case .mkv: ["-vf", even, "-c:v", "libx264", "-preset", "veryfast", "-crf", "18"] + colors
        case .webm:
            ["-vf", even, "-c:v", "libvpx-vp9", "-crf", "24", "-b:v", "0", "-deadline", "realtime", "-cpu-used", "5"]
                + colors
        case .avi: ["-vf", even, "-c:v", "mpeg4", "-q:v", "3"] + colors
        case .gif: ["-vf", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1"]
        case .y4m: ["-vf", "format=yuv420p|yuv422p|yuv444p|gray", "-strict", "-1"]
        case .yuv: []
        }
    }
}
