import Frames
import Glibc
import SystemKit

/// Resource limits for decoding a picture or clip, applied to the decoders' processes: files may lie about their
/// contents, and may contain what takes long to decode.
public struct MediaLimits: Sendable {
    /// The maximum number of pixels in one picture.
    public internal(set) var pixels: Int
    /// Bytes of address space for each decoder.
    var memory: Int
    /// CPU time for probing the file, seconds.
    var probing: Int
    /// CPU time for decoding a photo, seconds.
    var photo: Int
    /// CPU time for decoding a clip, seconds; nil: no limit.
    var clip: Int?
    /// Time on the clock from opening the file to its last picture, milliseconds; nil: no limit.
    var milliseconds: UInt64?
    /// The decoder's program; tests have others.
    var program = "ffmpeg"

    /// The limits for files named by the user: photos of up to 134 million pixels (402 MB as YUV 4:4:4), clips of any
    /// length.
    public static let userFile = MediaLimits(
        pixels: 1 << 27, memory: 6 << 30, probing: 20, photo: 40, clip: nil)
    /// The limits for photos uploaded through the page: more pixels than phones send by default, and so little time
    /// that one photo does not delay the next by more than 5 s.
    public static let upload = MediaLimits(
        pixels: 40_000_000, memory: 2 << 30, probing: 2, photo: 3, clip: 3, milliseconds: 5000)
    /// The limits for pictures and clips that become backgrounds, which are kept: only some seconds of a clip are
    /// decoded. On the clock it is three times the CPU time, for a computer that is busy with a call.
    public static let background = MediaLimits(
        pixels: 40_000_000, memory: 2 << 30, probing: 4, photo: 3, clip: 60, milliseconds: 180_000)

    /// These limits, but no more than pictures of a size need: a small one that asks for gigabytes is an attack. A JPEG
    /// 2000 takes longest, a second for some 3 million pixels.
    /// - Parameter size: the pixels of a picture.
    func scaled(to size: Int) -> MediaLimits {
        var limits = self
        limits.memory = min(memory, (2 << 30) + 40 * size)
        limits.photo = min(photo, 5 + size / 1_500_000)
        return limits
    }
}

/// A picture or clip on disk: its properties, for most PNGs according to their own header and otherwise to ffprobe, and
/// how to decode it. Owns the open file.
struct MediaFile: ~Copyable {
    /// What messages call the file.
    let name: String
    /// Open for reading. ffmpeg gets it as its standard input, so that it cannot misinterpret a file name.
    let descriptor: CInt
    /// Whether the file is a single picture rather than a clip.
    private(set) var isPhoto = false
    /// Width after rotation, pixels.
    private(set) var width = 0
    /// Height after rotation, pixels.
    private(set) var height = 0
    /// Frames per second; nil for photos.
    private(set) var rate: Double?
    /// The number of frames according to the clip's declared duration, which may be wrong; nil if it declares none.
    private(set) var expected: Int?
    private(set) var codec = ""
    /// ffmpeg's filters that rotate the picture upright and convert it to our colours.
    private(set) var filters = ""

    /// The number of threads of the decoder and of each filter. Each thread takes tens of MiB of address space, and
    /// ffmpeg's own number of them grows with the cores. For 4K clips and a PNG of 39 megapixels with transparent
    /// parts, ffmpeg 5.1 and 7.1 took up to 1.5 GiB on 2 cores, 3.6 GiB on 16 and 5.9 GiB on 128; so they take up to
    /// 1.4 GiB.
    private static let threads = "4"
    /// The maximum width and height, pixels. No camera's picture is larger, and memory would run short.
    static let largestSide = 16384

    private let limits: MediaLimits
    private let deadline: UInt64?
    /// The fix for a file that is no picture or clip.
    private static let hint = "choose a picture (JPEG, PNG) or a clip (MP4, MKV)"

    /// The arguments for ffmpeg's input: standard input under a name by which ffmpeg can seek in it.
    private var inputArguments: [String] {
        ["-max_pixels", "\(limits.pixels)"] + plainMedia + ["-i", "file:/dev/stdin"]
    }

    /// Opens and probes a file.
    /// - Throws: `Problem` of kind `missing`, `forbidden` or `unusable` that names the file.
    init(path: String, named name: String, within limits: MediaLimits) throws(Problem) {
        (self.name, self.limits) = (name, limits)
        deadline = limits.milliseconds.map { monotonicTime() + $0 * 1_000_000 }
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.problem(name, errno) }
        try checkKind()
        if try !readHeader() { try probe() }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private static func problem(_ name: String, _ number: CInt) -> Problem {
        switch number {
        case ENOENT, ENOTDIR:
            Problem(.missing, "cannot open \(name): there is no such file", fix: "check the name")
        case EACCES, EPERM:
            Problem(.forbidden, "cannot open \(name): permission denied", fix: "allow reading: chmod u+r FILE")
        default: Problem(.unusable, "cannot open \(name): \(errorMessage(of: number))")
        }
    }

    private func checkKind() throws(Problem) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Self.problem(name, errno) }
        let kind = status.st_mode & S_IFMT
        guard kind != S_IFDIR else {
            throw Problem(.unusable, "cannot read \(name): it is a folder", fix: "choose a picture or a clip in it")
        }
        guard kind == S_IFREG else {
            throw Problem(.unusable, "cannot read \(name): it is not a regular file", fix: "choose a picture or a clip")
        }
        guard status.st_size > 0 else {
            throw Problem(.unusable, "cannot read \(name): the file is empty", fix: "choose a picture or a clip")
        }
    }

    /// Reads a PNG's chunks. Without ffprobe, opening a photo costs half as much; and ffmpeg does not tell how a PNG is
    /// to be turned.
    /// - Returns: false if it is none, or an animated one.
    private mutating func readHeader() throws(Problem) -> Bool {
        guard let png = StillPNG(descriptor) else { return false }
        (codec, isPhoto, width, height) = ("png", true, png.width, png.height)
        try checkSize()
        setFilters(orientation: png.orientation, rotation: 0, matrix: "", hasAlpha: png.hasAlpha)
        return true
    }

    private mutating func probe() throws(Problem) {
        // Of frames only what is used, since they come first: since ffmpeg 6, `-show_frames` tells a frame's duration
        // under the name of the file's.
        let entries =
            "format=format_name,duration:stream=codec_name,width,height,pix_fmt,sample_aspect_ratio,avg_frame_rate,"
            + "r_frame_rate,color_space,nb_read_packets:stream_side_data=rotation"
            + ":frame=width,height,pix_fmt,sample_aspect_ratio,color_space:frame_side_data=rotation"
            + ":frame_tags=Orientation"
        let (text, exit, lines) = try ChildProcess.output(
            of: [
                "ffprobe", "-v", "error", "-select_streams", "v:0", "-count_packets", "-read_intervals", "%+#2",
                "-show_entries", entries, "-of", "default=noprint_wrappers=1",
            ] + inputArguments, input: descriptor,
            limits: ChildProcess.Limits(memory: limits.memory, cpuSeconds: limits.probing, deadline: deadline))
        var facts: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            let pair = line.split(separator: "=", maxSplits: 1)
            if pair.count == 2, facts[pair[0]] == nil { facts[pair[0]] = pair[1] }
        }
        guard let codec = facts["codec_name"], let width = facts["width"].flatMap({ Int($0) }),
            let height = facts["height"].flatMap({ Int($0) })
        else {
            if exit == .status(0), facts["format_name"] != nil {
                throw Problem(
                    .unusable, "cannot read \(name): it contains no pictures", fix: "choose a picture or a clip")
            }
            if case .signal = exit {
                throw Problem(
                    .unusable,
                    "cannot read \(name): \(exit.isByLimit ? "reading it takes too long" : "ffprobe has crashed") (\(exit))",
                    fix: "the file may be damaged; try another copy")
            }
            // Since ffmpeg 7.1 an HLS playlist without a playlist's file name is none.
            if lines.contains(where: { $0.contains("not on whitelist") || $0.contains("Not detecting m3u8") }) {
                throw Problem(
                    .unusable,
                    "cannot read \(name): it is neither a picture nor a clip; lists of other files are not supported",
                    fix: Self.hint)
            }
            let reason = lines.last.map { ": \(Self.withoutInputName($0))" } ?? ""
            throw Problem(
                .unusable, "cannot read \(name): it is not a picture or clip that ffmpeg supports\(reason)",
                fix: Self.hint)
        }
        self.codec = String(codec)
        (self.width, self.height) = (width, height)
        // As it is stored, and below as it is shown.
        try checkSize()
        let format = facts["format_name"] ?? ""
        isPhoto =
            (format.hasSuffix("_pipe") || ["gif", "apng", "mjpeg", "image2"].contains(format))
            && (facts["nb_read_packets"] == "1" || hasFurtherPictures(descriptor))
        if !isPhoto { rate = Self.ratio(facts["avg_frame_rate"]) ?? Self.ratio(facts["r_frame_rate"]) ?? 25 }
        if let rate, let seconds = facts["duration"].flatMap({ Double($0) }), (0...1e6).contains(seconds) {
            expected = Int(seconds * rate)
        }
        if !isPhoto, let aspect = Self.ratio(facts["sample_aspect_ratio"], separator: ":") {
            // Camcorders store 16:9 in 1440x1080. Pixels become square.
            self.width = max(1, Int((Double(width) * aspect).rounded()))
        }
        try checkSize()
        setFilters(
            orientation: facts["TAG:Orientation"].flatMap { Int($0.trimmed) } ?? 1,
            rotation: facts["rotation"].flatMap { Double($0) } ?? 0, matrix: facts["color_space"] ?? "",
            hasAlpha: Self.hasAlpha(facts["pix_fmt"] ?? ""))
    }

    private func checkSize() throws(Problem) {
        guard width > 0, height > 0 else {
            throw Problem(.unusable, "cannot read \(name): its pictures have no size", fix: "choose another file")
        }
        guard max(width, height) <= Self.largestSide, width <= limits.pixels / height else {
            throw Problem(
                .unusable, "cannot read \(name): \(width)x\(height) is too large",
                fix: "scale it to at most \(Self.largestSide) pixels on each side and "
                    + "\(limits.pixels / 1_000_000) million pixels in total")
        }
    }

    /// Whether pixels of a format, as ffmpeg names them, have an opacity.
    private static func hasAlpha(_ format: Substring) -> Bool {
        ["yuva", "ya8", "ya16", "gbrap", "rgba", "bgra", "argb", "abgr", "ayuv", "vuya", "pal8"]
            .contains { format.hasPrefix($0) }
    }

    /// Lays a picture on white: below transparent parts may be what its author has hidden. The dark parts of the
    /// negative are multiplied by the opacity, and become light again.
    private static let onWhite = "format=gbrap,negate=components=r+g+b,premultiply=inplace=1,negate=components=r+g+b"

    /// Determines the upright size and the filters that produce it.
    private mutating func setFilters(orientation: Int, rotation: Double, matrix: Substring, hasAlpha: Bool) {
        var chain = hasAlpha ? [Self.onWhite] : []
        if isPhoto {
            // The values of EXIF's tag 0x0112, and the transform from the stored picture to the upright one.
            let turns = [
                2: "hflip", 3: "hflip,vflip", 4: "vflip", 5: "transpose=0", 6: "transpose=1", 7: "transpose=3",
                8: "transpose=2",
            ]
            if let turn = turns[orientation] { chain.append(turn) }
            if (5...8).contains(orientation) { (width, height) = (height, width) }
            chain.append(
                "scale=out_color_matrix=bt601:out_range=full:flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp"
            )
            chain.append("format=yuv444p")
        } else {
            // ffmpeg itself rotates clips by their display matrix; only the resulting size is determined here.
            let turned = abs((rotation / 90).rounded()).truncatingRemainder(dividingBy: 2) == 1
            if turned { (width, height) = (height, width) }
            // Webcams' YUV is BT.601; that of HD clips is mostly BT.709.
            // RGB, which what is laid on white has become, is converted below.
            if matrix == "bt709", !hasAlpha {
                chain.append("colorspace=iall=bt709:space=smpte170m:trc=bt709:primaries=bt709")
            }
            // The size is given even if it is the clip's own, since it may change within a clip.
            chain.append("scale=\(width):\(height):in_color_matrix=auto:out_color_matrix=bt601:out_range=limited")
            chain.append("format=yuv420p")
        }
        filters = chain.joined(separator: ",")
    }

    /// The arguments that decode the file to raw frames on standard output.
    private var decoderArguments: [String] {
        // Without room for errors, a picture that can't be decoded shows in the exit status.
        [limits.program, "-v", "error", "-nostdin", "-max_error_rate", "0", "-filter_threads", Self.threads]
            + (isPhoto ? ["-noautorotate"] : []) + ["-threads", Self.threads] + inputArguments
            // Raw frames are written by a single thread.
            + ["-map", "0:v:0", "-vf", filters, "-fps_mode", "passthrough", "-f", "rawvideo", "-threads", "1"]
            + (isPhoto ? ["-frames:v", "1"] : []) + ["pipe:1"]
    }

    /// Starts a decoder that writes raw frames.
    func decode() throws(Problem) -> ChildProcess {
        let limits = limits.scaled(to: width * height)
        let seconds = isPhoto ? limits.photo : limits.clip
        return try ChildProcess(
            decoderArguments, .reading, input: descriptor,
            limits: ChildProcess.Limits(memory: limits.memory, cpuSeconds: seconds, deadline: deadline))
    }

    /// Parses a ratio such as "30000/1001"; nil for "0/0" and invalid text.
    private static func ratio(_ text: Substring?, separator: Character = "/") -> Double? {
        guard let parts = text?.split(separator: separator), parts.count == 2, let a = Double(parts[0]),
            let b = Double(parts[1]), a > 0, b > 0, (0.01...1000).contains(a / b)
        else { return nil }
        return a / b
    }

    /// Lines of decoders that are about metadata, or about what they have put right.
    private static let harmless = [
        "unable to decode APP fields", "SEI type", "mmco: unref short failure", "co located POCs unavailable",
    ]

    /// Whether a line of ffmpeg's standard error says that pictures are missing or damaged. Other lines are about
    /// sound, times or metadata.
    static func reportsDamage(_ line: String, codec: String) -> Bool {
        // The demuxers' words for files that end too early.
        if line.contains("ended prematurely") || line.contains("partial file") { return true }
        // A line begins with the name of the part of ffmpeg that it comes from: a decoder's is its codec's.
        return line.hasPrefix("[\(codec) @ ") && !harmless.contains { line.contains($0) }
    }

    /// ffmpeg's message without the input name that we chose.
    static func withoutInputName(_ line: String) -> String {
        line.replacing("file:/dev/stdin: ", with: "")
    }
}

extension Substring {
    fileprivate var trimmed: Substring { self.drop { $0 == " " } }
}
