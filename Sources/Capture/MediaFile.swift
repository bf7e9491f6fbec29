import Frames
import Glibc

/// How much a picture or clip may ask of its decoders, which run as children with these limits: files lie about what they
/// hold, and hold what takes long.
public struct MediaLimits: Sendable {
    /// Of one picture.
    public internal(set) var pixels: Int
    /// Bytes of address space for each decoder.
    var memory: Int
    /// Processor time for finding out what the file is, seconds.
    var probing: Int
    /// Processor time for decoding a photo, seconds.
    var decoder: Int
    /// The time for photos holds for clips too.
    var isBriefForClips: Bool

    /// For files that the user names: a photo of 134 million pixels (402 MB as YUV 4:4:4), clips of any length.
    public static let named = MediaLimits(
        pixels: 1 << 27, memory: 6 << 30, probing: 20, decoder: 40, isBriefForClips: false)
    /// For photos that come over the page: more pixels than phones send by default, and little enough time that one
    /// photo does not keep the next waiting for more than 5 s.
    public static let received = MediaLimits(
        pixels: 40_000_000, memory: 2 << 30, probing: 2, decoder: 3, isBriefForClips: true)
}

/// What a picture or clip on disk is, as ffprobe sees it, and how to decode it. Owns the open file.
struct MediaFile: ~Copyable {
    let path: String
    /// Open for reading; goes to ffmpeg as its standard input, so that no file name can be taken for something else.
    let descriptor: CInt
    /// A single picture rather than a clip.
    private(set) var isPhoto = false
    /// Pixels, after rotation.
    private(set) var width = 0
    /// Pixels, after rotation.
    private(set) var height = 0
    /// Frames per second; nil for photos.
    private(set) var rate: Double?
    /// Frames of a clip by what the file says of its length, which may be wrong; nil: it says nothing.
    private(set) var expected: Int?
    private(set) var codec = ""
    /// ffmpeg's filters that turn the picture upright and give it our colours.
    private(set) var filters = ""

    /// Beyond this on a side nothing is a camera's picture, and memory runs short.
    static let largestSide = 16384

    private let bounds: MediaLimits
    /// What to do about a file that is no picture or clip.
    private static let hint = "choose a picture (JPEG, PNG) or a clip (MP4, MKV)"

    /// The name under which ffmpeg finds its standard input as a file that it can seek in.
    private var inputArguments: [String] {
        ["-max_pixels", "\(bounds.pixels)"] + plainMedia + ["-i", "file:/dev/stdin"]
    }

    /// - Throws: `missing`, `forbidden` or `unusable`, naming the file.
    init(path: String, within bounds: MediaLimits) throws(Problem) {
        (self.path, self.bounds) = (path, bounds)
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.problem(path, errno) }
        try checkKind()
        try probe()
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private static func problem(_ path: String, _ number: CInt) -> Problem {
        switch number {
        case ENOENT, ENOTDIR:
            Problem(.missing, "cannot open \(path): there is no such file", fix: "check the name")
        case EACCES, EPERM:
            Problem(.forbidden, "cannot open \(path): you may not read it", fix: "allow it: chmod u+r FILE")
        default: Problem(.unusable, "cannot open \(path): \(errorMessage(of: number))")
        }
    }

    private func checkKind() throws(Problem) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Self.problem(path, errno) }
        let kind = status.st_mode & S_IFMT
        guard kind != S_IFDIR else {
            throw Problem(.unusable, "cannot read \(path): it is a folder", fix: "name a picture or a clip in it")
        }
        guard kind == S_IFREG else {
            throw Problem(.unusable, "cannot read \(path): it is not a plain file", fix: "name a picture or a clip")
        }
        guard status.st_size > 0 else {
            throw Problem(.unusable, "cannot read \(path): the file is empty", fix: "name a picture or a clip")
        }
    }

    private mutating func probe() throws(Problem) {
        let entries =
            "format=format_name,duration:stream=codec_name,width,height,avg_frame_rate,r_frame_rate,color_space,nb_read_packets"
            + ":stream_side_data=rotation:frame_tags=Orientation"
        let (text, exit, lines) = try ChildProcess.output(
            of: [
                "ffprobe", "-v", "error", "-select_streams", "v:0", "-count_packets", "-show_frames",
                "-read_intervals", "%+#2", "-show_entries", entries, "-of", "default=noprint_wrappers=1",
            ] + inputArguments, input: descriptor,
            limits: ChildProcess.Limits(memory: bounds.memory, seconds: bounds.probing))
        var facts: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            let pair = line.split(separator: "=", maxSplits: 1)
            if pair.count == 2, facts[pair[0]] == nil { facts[pair[0]] = pair[1] }
        }
        guard let codec = facts["codec_name"], let width = facts["width"].flatMap({ Int($0) }),
            let height = facts["height"].flatMap({ Int($0) })
        else {
            if exit == .status(0), facts["format_name"] != nil {
                throw Problem(.unusable, "cannot read \(path): there are no pictures in it", fix: "name a clip")
            }
            if case .signal = exit {
                throw Problem(
                    .unusable, "cannot read \(path): it takes longer to read than any plain picture or clip (\(exit))",
                    fix: "the file may be damaged; try another copy")
            }
            if lines.contains(where: { $0.contains("not on whitelist") }) {
                throw Problem(
                    .unusable,
                    "cannot read \(path): it is no plain picture or clip; lists of other files are not followed",
                    fix: Self.hint)
            }
            let reason = lines.last.map { ": \(Self.plain($0))" } ?? ""
            throw Problem(
                .unusable, "cannot read \(path): it is no picture and no clip that ffmpeg knows\(reason)",
                fix: Self.hint)
        }
        self.codec = String(codec)
        (self.width, self.height) = (width, height)
        let format = facts["format_name"] ?? ""
        isPhoto =
            (format.hasSuffix("_pipe") || ["gif", "apng", "mjpeg", "image2"].contains(format))
            && facts["nb_read_packets"] == "1"
        if !isPhoto { rate = Self.rate(facts["avg_frame_rate"]) ?? Self.rate(facts["r_frame_rate"]) ?? 25 }
        if let rate, let seconds = facts["duration"].flatMap({ Double($0) }), (0...1e6).contains(seconds) {
            expected = Int(seconds * rate)
        }
        try checkSize()
        applyOrientation(
            orientation: facts["TAG:Orientation"].flatMap { Int($0.trimmed) } ?? 1,
            rotation: facts["rotation"].flatMap { Double($0) } ?? 0, matrix: facts["color_space"] ?? "")
    }

    private func checkSize() throws(Problem) {
        guard width > 0, height > 0 else {
            throw Problem(.unusable, "cannot read \(path): its pictures have no size", fix: "name another file")
        }
        guard max(width, height) <= Self.largestSide, width <= bounds.pixels / height else {
            throw Problem(
                .unusable, "cannot read \(path): \(width)x\(height) is too large",
                fix: "scale it to at most \(Self.largestSide) pixels on each side and "
                    + "\(bounds.pixels / 1_000_000) million pixels in total")
        }
    }

    /// Works out the upright size and the filters that give it.
    private mutating func applyOrientation(orientation: Int, rotation: Double, matrix: Substring) {
        var chain: [String] = []
        if isPhoto {
            // The eight values of EXIF's tag 0x0112: how to turn what is stored into what was seen.
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
            // ffmpeg turns clips by their display matrix itself; here only the size is foretold.
            let turned = abs((rotation / 90).rounded()).truncatingRemainder(dividingBy: 2) == 1
            if turned { (width, height) = (height, width) }
            // Webcams' YUV is BT.601, HD clips' mostly BT.709.
            if matrix == "bt709" {
                chain.append("colorspace=iall=bt709:space=smpte170m:trc=bt709:primaries=bt709")
            }
            // The size is said even if it is the clip's own: clips may change theirs midway.
            chain.append("scale=\(width):\(height):in_color_matrix=auto:out_color_matrix=bt601:out_range=limited")
            chain.append("format=yuv420p")
        }
        filters = chain.joined(separator: ",")
    }

    /// The arguments that decode the file to raw frames on standard output.
    private var decoderArguments: [String] {
        ["ffmpeg", "-v", "error", "-nostdin"] + (isPhoto ? ["-noautorotate"] : []) + inputArguments
            + ["-map", "0:v:0", "-vf", filters, "-fps_mode", "passthrough", "-f", "rawvideo"]
            + (isPhoto ? ["-frames:v", "1"] : []) + ["pipe:1"]
    }

    /// Starts a decoder that writes raw frames.
    func decode() throws(Problem) -> ChildProcess {
        let seconds = isPhoto || bounds.isBriefForClips ? bounds.decoder : nil
        return try ChildProcess(
            decoderArguments, .reading, input: descriptor,
            limits: ChildProcess.Limits(memory: bounds.memory, seconds: seconds))
    }

    /// "30000/1001" as a number; nil for "0/0" and nonsense.
    private static func rate(_ text: Substring?) -> Double? {
        guard let parts = text?.split(separator: "/"), parts.count == 2, let a = Double(parts[0]),
            let b = Double(parts[1]), a > 0, b > 0, (0.01...1000).contains(a / b)
        else { return nil }
        return a / b
    }

    /// ffmpeg's words without the name that only we gave the file.
    static func plain(_ line: String) -> String {
        line.replacing("file:/dev/stdin: ", with: "")
    }
}

/// ffmpeg's options before an input that let it read plain pictures and clips alone. Playlists and descriptions of
/// sessions name other files and hosts, whatever their own name ends with.
public let plainMedia = [
    "-protocol_whitelist", "file", "-format_whitelist", plainFormats.joined(separator: ","),
]

/// Containers and streams that hold their own pictures and sound, as ffmpeg's demuxers name them.
private let plainFormats =
    [
        "mov", "matroska", "avi", "mpegts", "mpeg", "mpegvideo", "m4v", "h264", "hevc", "obu", "ivf", "dv", "flv",
        "asf",
        "ogg", "gif", "apng", "mjpeg", "nut", "yuv4mpegpipe", "mxf", "rm", "wtv",
    ]
    + [
        "bmp", "gif", "j2k", "jpeg", "jpegls", "jpegxl", "pam", "pbm", "pgm", "png", "ppm", "qoi", "tiff", "webp",
    ].map { "\($0)_pipe" }

extension Substring {
    fileprivate var trimmed: Substring { self.drop { $0 == " " } }
}
