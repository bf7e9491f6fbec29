import Foundation
import TestSupport
import Testing

@testable import Capture
@testable import Frames
@testable import SystemKit

@Suite(.ownThread) struct ClipTests {
    let scratch: ScratchFolder
    init() throws { scratch = try ScratchFolder() }

    @Test func `a clip is read frame by frame with the file's own samples`() throws {
        let path = try scratch.testPicture("a.y4m", frames: 5, "-pix_fmt yuv420p")
        var clip = try Clip(path: path)
        #expect(clip.layout == FrameLayout(width: 64, height: 48, format: .i420))
        #expect(clip.rate == 10 && clip.expectedFrames == 5)
        let got = try harvest(&clip)
        #expect(got.frames.flatMap { $0 } == (try scratch.samples("a.y4m", "yuv420p")))
        #expect(got.times.map(\.number) == [0, 1, 2, 3, 4])
        #expect(got.times.map(\.seconds) == [0, 0.1, 0.2, 0.3, 0.4])
        #expect(clip.warning == nil)
        #expect(try clip.withFrame { _, _ in } == .end)
    }

    @Test func `a clip with pixels that are not square is widened`() throws {
        try scratch.make("wide.mkv", "-f lavfi -i testsrc=s=144x108:r=10:d=0.3 -vf setsar=4/3 -c:v ffv1")
        let clip = try Clip(path: scratch.path("wide.mkv"))
        #expect(clip.layout.width == 192 && clip.layout.height == 108)
    }

    @Test func `a photo that ends too early is reported, and said by the name that it was given`() throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: scratch.testPicture("a.jpg", size: "640x480")))
        let path = try scratch.write(bytes.prefix(bytes.count / 2), "cut.jpg")
        var photo = try Clip(path: path, named: "the photo")
        #expect(try harvest(&photo).frames.count == 1)
        #expect(photo.warning?.hasPrefix("the photo is damaged: ") == true, "\(photo.warning ?? "nothing")")
    }

    @Test func `a looped clip starts again and its time continues`() throws {
        let path = try scratch.testPicture("a.y4m", frames: 3, "-pix_fmt yuv420p")
        var clip = try Clip(path: path, loop: true)
        let got = try harvest(&clip, limit: 8)
        #expect(got.frames[0] == got.frames[3] && got.frames[1] == got.frames[7] && got.frames[0] != got.frames[1])
        #expect(got.times.map(\.number) == Array(0..<8))
    }

    @Test func `a photo is read once, exactly, in full range and 4 4 4`() throws {
        try scratch.make("a.png", "-f lavfi -i color=red:s=3x5,format=rgb24 -frames:v 1")
        var photo = try Clip(path: scratch.path("a.png"))
        #expect(photo.isPhoto == true)
        #expect(photo.layout == FrameLayout(width: 3, height: 5, format: .i444, range: .full))
        let got = try harvest(&photo)
        // JFIF's YCbCr of pure red is 76, 85, 255.
        let frame = try #require(got.frames.first)
        try #require(got.frames.count == 1 && frame.count == 45)
        for (plane, want) in [76, 85, 255].enumerated() {
            #expect(frame[plane * 15..<plane * 15 + 15].allSatisfy { abs(Int($0) - want) <= 1 })
        }
    }

    @Test func `a looped photo is repeated`() throws {
        var photo = try Clip(path: try scratch.testPicture("a.jpg"), loop: true)
        let got = try harvest(&photo, limit: 3)
        #expect(got.frames.count == 3 && got.frames[0] == got.frames[2])
    }

    @Test(arguments: ["jpg", "png", "webp", "bmp", "gif"])
    func `each picture format is a photo`(format: String) throws {
        var photo = try Clip(path: try scratch.testPicture("a.\(format)", size: "33x21"))
        #expect(photo.isPhoto == true)
        #expect(try harvest(&photo).frames.map(\.count) == [33 * 21 * 3])
    }

    @Test func `an animated GIF is a clip`() throws {
        var clip = try Clip(path: try scratch.testPicture("a.gif", frames: 4))
        #expect(clip.isPhoto == false)
        #expect(try harvest(&clip).frames.count == 4)
    }

    @Test func `an animated PNG is a clip, and one that is cut off is an error`() throws {
        let moving = try scratch.testPicture("moving.png", frames: 3, "-f apng")
        var clip = try Clip(path: moving)
        #expect(clip.isPhoto == false)
        #expect(try harvest(&clip).frames.count == 3)
        let still = try Data(contentsOf: URL(fileURLWithPath: scratch.testPicture("still.png")))
        let header = try #require(still.firstRange(of: Data("IDAT".utf8))?.upperBound)
        let cut = try scratch.write(still.prefix(header), "cut.png")
        let problem = problem { try Clip.firstPicture(of: cut) { _ in } }
        #expect(problem?.kind == .unusable && problem?.message.contains(cut) == true, "\(problem as Any)")
    }

    @Test func `each frame of a clip is lent once, in order, and none after the end`() throws {
        var clip = try Clip(path: try scratch.testPicture("a.mkv", frames: 3, "-c:v ffv1"))
        var numbers: [Int] = []
        try clip.forEachFrame { _, time in numbers.append(time.number) }
        #expect(numbers == [0, 1, 2])
        let isFrame = try clip.withNextFrame { _, _ in }
        #expect(!isFrame)
    }

    @Test(arguments: ["1x1", "3x1", "17x13"])
    func `odd sizes keep every pixel`(size: String) throws {
        var photo = try Clip(path: try scratch.testPicture("a.png", size: size))
        var clip = try Clip(
            path: try scratch.testPicture("a.mkv", size: size, frames: 2, "-c:v ffv1 -pix_fmt yuv444p"))
        #expect(try harvest(&photo).frames.map(\.count) == [photo.layout.byteCount])
        #expect(try harvest(&clip).frames.map(\.count) == [clip.layout.byteCount, clip.layout.byteCount])
        #expect("\(clip.layout.width)x\(clip.layout.height)" == size)
    }

    @Test func `a photo of 48 megapixels is read`() throws {
        try scratch.make("a.jpg", "-f lavfi -i color=blue:s=8000x6000 -frames:v 1")
        var photo = try Clip(path: scratch.path("a.jpg"))
        var last: UInt8?
        try photo.forEachFrame { view, _ in last = view.bytes[8000 * 6000 * 3 - 1] }
        // JFIF's Cr of pure blue.
        #expect(last.map { abs(Int($0) - 107) <= 2 } == true)
    }

    /// A JPEG of 64x32 pixels, black but for the corner that is the first pixel of the stored picture.
    private static let whiteCorner = Result {
        let scratch = try ScratchFolder()
        try scratch.make(
            "p.jpg", "-f lavfi -i color=black:s=64x32,drawbox=w=16:h=16:color=white:t=fill -frames:v 1")
        return [UInt8](try scratch.read("p.jpg"))
    }

    @Test(arguments: 1...8)
    func `a photo's EXIF orientation is applied`(orientation: UInt8) throws {
        let exif: [UInt8] =
            [0xff, 0xe1, 0, 34] + Array("Exif\0\0MM\0*".utf8) + [0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1]
            + [0, orientation, 0, 0, 0, 0, 0, 0]
        let plain = try Self.whiteCorner.get()
        let turned = Data(plain.prefix(2) + exif + plain.dropFirst(2))
        try expectUpright(Clip(path: try scratch.write(turned, "q.jpg")), orientation)
    }

    /// Expects a photo to be upright that is stored as 64x32, with white in its first corner.
    private func expectUpright(_ clip: consuming Clip, _ orientation: UInt8) throws {
        var photo = clip
        let (width, height) = orientation < 5 ? (64, 32) : (32, 64)
        #expect(photo.isPhoto == true && photo.layout.width == width && photo.layout.height == height)
        let frame = try #require(try harvest(&photo).frames.first)
        // EXIF 2.3, tag 0x0112: the visual position of the stored first row and first column.
        let right = [2, 3, 6, 7].contains(orientation)
        let bottom = [3, 4, 7, 8].contains(orientation)
        let corner = (bottom ? height - 4 : 3) * width + (right ? width - 4 : 3)
        #expect(frame[corner] > 200)
        #expect(frame[..<(width * height)].filter { $0 > 128 }.count < 400)
    }

    @Test(arguments: 1...8, [true, false])
    func `a PNG's orientation is applied, wherever it is in the file`(orientation: UInt8, isFirst: Bool) throws {
        try scratch.make(
            "p.png", "-f lavfi -i color=black:s=64x32,drawbox=w=16:h=16:color=white:t=fill -frames:v 1")
        let plain = [UInt8](try scratch.read("p.png"))
        let exif =
            Array("II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0]
        // Behind the header, or before the end.
        let place = isFirst ? 33 : plain.count - 12
        let turned = Data(plain[..<place] + PNG.chunk("eXIf", exif) + plain[place...])
        try expectUpright(Clip(path: try scratch.write(turned, "q.png")), orientation)
    }

    @Test func `damaged EXIF data turns nothing`() {
        let exif = Array("MM\0*".utf8) + [0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0]
        #expect(StillPNG.orientation(in: exif) == 6)
        for count in 0..<exif.count - 2 { #expect(StillPNG.orientation(in: Array(exif[..<count])) == 1) }
        for (index, byte) in [(0, UInt8(0)), (4, 255), (11, 0), (17, 9), (19, 9)] {
            var wrong = exif
            wrong[index] = byte
            #expect((1...8).contains(StillPNG.orientation(in: wrong)))
        }
    }

    @Test(arguments: [
        ("a.png", ""), ("a.png", "-pix_fmt rgba64be"), ("a.webp", "-lossless 1"), ("a.mov", "-c:v qtrle"),
        ("a.png", "-vf split[a][b];[a]palettegen=reserve_transparent=1[p];[b][p]paletteuse"),
        ("a.gif", "-vf split[a][b];[a]palettegen=reserve_transparent=1[p];[b][p]paletteuse"),
        ("moving.png", "-f apng -frames:v 2"),
    ])
    func `what transparent parts hide is not shown: they are white`(name: String, options: String) throws {
        // Red, and transparent on the left.
        let source = "color=red:s=64x48:r=10:d=1,format=rgba,geq=r=255:g=0:b=0:a='255*gte(X,32)'"
        try scratch.make(name, "-f lavfi -i \(source) -frames:v 1 \(options)")
        var picture = try Clip(path: scratch.path(name))
        let (isPhoto, row) = (picture.isPhoto, 20 * 64)
        let frame = try #require(try harvest(&picture).frames.first)
        // White is 255 in photos and 235 in clips; red is 76 and 81.
        #expect(abs(Int(frame[row + 8]) - (isPhoto ? 255 : 235)) <= 2, "\(frame[row + 8])")
        #expect(abs(Int(frame[row + 56]) - (isPhoto ? 76 : 81)) <= 4, "\(frame[row + 56])")
    }

    @Test func `a JPEG with further pictures behind the first is a photo`() throws {
        let first = [UInt8](try Data(contentsOf: URL(fileURLWithPath: scratch.testPicture("a.jpg"))))
        let preview = [UInt8](try Data(contentsOf: URL(fileURLWithPath: scratch.testPicture("b.jpg", size: "32x24"))))
        // The list is not read, only that there is one.
        let list = [0xFF, 0xE2, 0, 16] + Array("MPF\0II*\0".utf8) + [8, 0, 0, 0, 0, 0]
        let path = try scratch.write(Data(first[..<2] + list + first[2...] + preview), "phone.jpg")
        var photo = try Clip(path: path)
        #expect(photo.isPhoto == true && photo.warning == nil)
        #expect(photo.layout == FrameLayout(width: 64, height: 48, format: .i444, range: .full))
        #expect(try harvest(&photo).frames.count == 1)
        // Without the list it is a clip, as some cameras write them.
        var clip = try Clip(path: try scratch.write(Data(first + first), "clip.jpg"))
        #expect(clip.isPhoto == false)
        #expect(try harvest(&clip).frames.count == 2)
    }

    @Test func `a clip filmed upright is read upright`() throws {
        // White in the first corner of the stored pictures.
        try scratch.make(
            "a.mp4",
            "-f lavfi -i color=black:s=64x32:r=10,drawbox=w=16:h=16:color=white:t=fill -frames:v 2 -pix_fmt yuv420p")
        var bytes = try scratch.read("a.mp4")
        // The matrix of the track's header (ISO 14496-12, 8.3.2) becomes a quarter turn clockwise and a move by the
        // height. ffmpeg's option for this differs between its versions.
        let header = try #require(bytes.firstRange(of: Data("tkhd".utf8)))
        let matrix: [Int32] = [0, 1 << 16, 0, -1 << 16, 0, 0, 32 << 16, 0, 1 << 30]
        let turned = matrix.flatMap { value in (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
        bytes.replaceSubrange(header.upperBound + 40..<header.upperBound + 76, with: turned)
        var clip = try Clip(path: scratch.write(bytes, "b.mp4"))
        #expect(clip.layout.width == 32 && clip.layout.height == 64)
        let frames = try harvest(&clip).frames
        try #require(frames.count == 2 && frames[1].count == 3072)
        #expect(frames[1][3 * 32 + 28] > 200 && frames[1][..<2048].filter { $0 > 128 }.count < 400)
    }

    @Test func `BT 709 and full range are converted to a webcam's BT 601 in limited range`() throws {
        // Pure red: BT.709 limited 63, 102, 240; BT.601 limited 81, 90, 240.
        try scratch.make(
            "a.mkv",
            "-f lavfi -i color=red:s=32x32 -vf scale=out_color_matrix=bt709,format=yuv420p -colorspace bt709 "
                + "-color_range tv -frames:v 1 -c:v ffv1")
        try scratch.make(
            "b.mkv",
            "-f lavfi -i color=red:s=32x32 -vf scale=out_range=full,format=yuvj420p -frames:v 1 -c:v mjpeg -q:v 2")
        for name in ["a.mkv", "b.mkv"] {
            var clip = try Clip(path: scratch.path(name))
            let frame = try #require(try harvest(&clip).frames.first)
            try #require(frame.count == 1536)
            #expect(
                abs(Int(frame[500]) - 81) <= 2 && abs(Int(frame[1100]) - 90) <= 2 && abs(Int(frame[1400]) - 240) <= 2)
        }
    }

    @Test func `a file that is no picture is an error that names it`() throws {
        let cases: [(String, Problem.Kind)] = [
            (scratch.path("none.jpg"), .missing),
            (scratch.url.path, .unusable),
            (try scratch.write(Data(), "empty.mp4"), .unusable),
            (try scratch.write(Data("To be, or not to be".utf8), "text.png"), .unusable),
            (
                try scratch.write(Data((0..<9999).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }), "noise.mp4"),
                .unusable
            ),
            (try scratch.make("sound.wav", "-f lavfi -i sine=d=0.1"), .unusable),
            ("/dev/zero", .unusable),
        ]
        for (path, kind) in cases {
            let problem = problem { _ = try Clip(path: path) }
            #expect(problem?.kind == kind, "\(path)")
            #expect(
                problem?.message.contains(path) == true && problem?.fix.isEmpty == false,
                "\(String(describing: problem))"
            )
        }
    }

    @Test func `a picture of absurd size is rejected before it is decoded`() throws {
        var header = Data([0x89]) + Data("PNG\r\n".utf8) + Data([0x1a, 0x0a, 0, 0, 0, 13]) + Data("IHDR".utf8)
        header += Data([0, 0, 0x80, 0, 0, 0, 0x80, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0])
        let path = try scratch.write(header, "huge.png")
        let tall = try scratch.make("tall.bmp", "-f lavfi -i color=red:s=2x16500 -frames:v 1")
        #expect(problem { _ = try Clip(path: path) }?.kind == .unusable)
        #expect(problem { _ = try Clip(path: tall) }?.message.contains("too large") == true)
    }

    @Test func `a list of other files is not a clip, whatever its name`() throws {
        let other = try scratch.testPicture("other.mp4", frames: 5, "-pix_fmt yuv420p")
        let lists = [
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:0.5,\nfile://\(other)\n#EXT-X-ENDLIST\n",
            "ffconcat version 1.0\nfile '\(other)'\n",
            "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n",
            """
            <?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT1S"
            profiles="urn:mpeg:dash:profile:isoff-main:2011"><Period><AdaptationSet mimeType="video/mp4">
            <Representation id="1" bandwidth="9" width="64" height="48"><BaseURL>file://\(other)</BaseURL><SegmentList>
            <SegmentURL media="file://\(other)"/></SegmentList></Representation></AdaptationSet></Period></MPD>
            """,
        ]
        for list in lists {
            let path = try scratch.write(list, "list.mp4")
            let problem = problem { _ = try Clip(path: path) }
            #expect(
                problem?.kind == .unusable && problem?.message.contains("neither a picture nor a clip") == true,
                "\(list)")
        }
    }

    @Test func `a file that exceeds the limits on memory, time or pixels is rejected`() throws {
        // A text that is long once it is inflated, and a picture that is larger than its first header claims.
        try scratch.shell(
            """
            python3 - <<'END'
            import struct, zlib
            def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
            png = open('\(try scratch.testPicture("small.png"))', 'rb').read()
            packer = zlib.compressobj(9, wbits=-15)
            piece = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
            check, many = 1, 700
            for _ in range(many): check = zlib.adler32(bytes(1 << 20), check)
            long = b'\\x78\\x9c' + many * piece + packer.flush() + check.to_bytes(4, 'big')
            open('bomb.png', 'wb').write(png[:33] + chunk(b'zTXt', b'Comment\\0\\0' + long) + png[33:])
            open('profile.png', 'wb').write(png[:33] + chunk(b'iCCP', b'Profile\\0\\0' + long) + png[33:])
            END
            ffmpeg -v error -f lavfi -i color=red:s=1000x900 -frames:v 1 -c:v libwebp -lossless 1 large.webp
            python3 - <<'END'
            webp = open('large.webp', 'rb').read()
            head = b'VP8X' + (10).to_bytes(4, 'little') + bytes(4) + (15).to_bytes(3, 'little') * 2
            open('liar.webp', 'wb').write(webp[:4] + (len(webp) - 8 + len(head)).to_bytes(4, 'little') + b'WEBP' + head + webp[12:])
            END
            """)
        _ = try scratch.testPicture("wide.jpg", size: "10000x10000")
        var (little, brief, few) = (MediaLimits.userFile, MediaLimits.upload, MediaLimits.upload)
        // In MiB, ffmpeg 5.1 and 7.1 use up to 425 and 875 for the small picture, and fail below 1100 for the wide one.
        little.memory = 1000 << 20
        brief.photo = 1
        few.pixels = 500_000
        for (name, bounds) in [
            ("wide.jpg", little), ("bomb.png", brief), ("profile.png", brief), ("liar.webp", few),
        ] {
            let problem = problem { try Clip.firstPicture(of: scratch.path(name), within: bounds) { _ in } }
            #expect(problem?.kind == .unusable, "\(name): \(String(describing: problem))")
            try Clip.firstPicture(of: scratch.path("small.png"), within: bounds) { _ in }
        }
        // A decoder's CPU time is limited by itself, not together with others.
        var bounds = MediaLimits.upload
        bounds.clip = 1
        let short = try scratch.testPicture("short.mkv", size: "1280x720", frames: 20, "-c:v mjpeg")
        let long = try scratch.make("long.mkv", "-stream_loop 59 -i \(short) -c copy")
        var clip = try Clip(path: long, within: bounds)
        let problem = problem { _ = try harvest(&clip) }
        #expect(problem?.message.contains("killed by signal 9") == true, "\(String(describing: problem))")
    }

    @Test func `a truncated clip yields its intact frames and a warning`() throws {
        _ = try scratch.testPicture("a.mkv", size: "320x240", frames: 40, "-c:v mjpeg")
        let whole = try scratch.read("a.mkv")
        var clip = try Clip(path: try scratch.write(whole.prefix(whole.count / 2), "b.mkv"))
        let got = try harvest(&clip)
        #expect((5..<40).contains(got.frames.count))
        #expect(clip.warning?.contains("b.mkv") == true)
    }

    @Test func `errors in a clip's pictures are a warning, and errors in its metadata are none`() throws {
        let plain = try Data(contentsOf: URL(filePath: try scratch.testPicture("a.mjpeg", frames: 5, "-f mjpeg")))
        // An application segment that is too short, after each start of an image.
        var (odd, rest) = (Data(), plain[...])
        while let start = rest.firstRange(of: [0xFF, 0xD8, 0xFF]) {
            odd += rest[..<start.lowerBound] + [0xFF, 0xD8, 0xFF, 0xE1, 0x00, 0x04, 0x00, 0x00, 0xFF]
            rest = rest[start.upperBound...]
        }
        _ = try scratch.write(odd + rest, "odd.mjpeg")
        var clip = try Clip(path: try scratch.make("odd.mkv", "-f mjpeg -i \(scratch.path("odd.mjpeg")) -c copy"))
        #expect(try harvest(&clip).frames.count == 5)
        #expect(clip.warning == nil)
        // Noise amid the picture's data.
        var noisy = try Data(contentsOf: URL(filePath: try scratch.testPicture("b.mkv", frames: 5, "-c:v mjpeg")))
        for i in 0..<40 { noisy[noisy.count / 2 + i] = UInt8(truncatingIfNeeded: i * 37 + 11) }
        var broken = try Clip(path: try scratch.write(noisy, "noisy.mkv"))
        #expect(try harvest(&broken).frames.count > 2)
        #expect(broken.warning?.contains("noisy.mkv is damaged") == true)
    }

    @Test func `a decoder that does not exit keeps nobody waiting`() throws {
        let path = try scratch.testPicture("a.mkv", frames: 3, "-c:v mjpeg")
        let (closed, go) = (scratch.path("closed"), scratch.path("go"))
        let script = try scratch.write(
            """
            #!/bin/sh
            ffmpeg "$@"
            exec >&-
            touch \(closed)
            while [ ! -e \(go) ]; do sleep 0.02; done
            """, "decoder")
        #expect(unsafe chmod(script, 0o755) == 0)
        var bounds = MediaLimits.userFile
        bounds.program = script
        var clip = try Clip(path: path, within: bounds)
        #expect(try harvest(&clip, limit: 3).frames.count == 3)
        while !mayExist(closed) { usleep(1000) }
        for _ in 0..<3 { #expect(try clip.withFrame { _, _ in } == .nothing) }
        _ = try scratch.write("", "go")
        #expect(try harvest(&clip).frames.isEmpty)
        #expect(clip.warning == nil && clip.descriptor == nil)
    }

    @Test func `a decoder that never answers is ended`() throws {
        let script = try scratch.write("#!/bin/sh\nexec sleep 1000", "decoder")
        #expect(unsafe chmod(script, 0o755) == 0)
        var bounds = MediaLimits.upload
        (bounds.program, bounds.milliseconds) = (script, 200)
        let photo = try scratch.testPicture("a.png")
        let problem = problem { try Clip.firstPicture(of: photo, within: bounds) { _ in } }
        #expect(problem?.message.contains("takes too long") == true, "\(String(describing: problem))")
    }

    @Test func `a small picture may take less time and memory than a large one`() throws {
        let script = try scratch.write(
            // The limits are set once it runs.
            "#!/bin/sh\nfor i in $(seq 500); do [ $(ulimit -t) = unlimited ] || break; sleep 0.01; done\n"
                + "echo $(ulimit -t) seconds, $(ulimit -v) KiB >&2\nexit 1", "decoder")
        #expect(unsafe chmod(script, 0o755) == 0)
        var bounds = MediaLimits.userFile
        bounds.program = script
        for (size, limits) in [("100x100", "5 seconds, 2097542 KiB"), ("6000x5000", "25 seconds, 3269027 KiB")] {
            let photo = try scratch.testPicture("a.png", size: size)
            let problem = problem { try Clip.firstPicture(of: photo, within: bounds) { _ in } }
            #expect(problem?.message.contains(limits) == true, "\(String(describing: problem))")
        }
    }

    @Test func `a truncated photo does not trap`() throws {
        let whole = try Data(contentsOf: URL(filePath: try scratch.testPicture("a.png", size: "320x240")))
        for part in [20, 40, 100, whole.count / 2] {
            let path = try scratch.write(whole.prefix(part), "b.png")
            let thrown = problem {
                var photo = try Clip(path: path)
                #expect(try harvest(&photo).frames.count <= 1)
            }
            #expect(thrown == nil || thrown?.message.contains(path) == true)
        }
    }

    @Test func `a killed decoder is an error that says what it was doing`() throws {
        let path = try scratch.testPicture("a.mkv", size: "640x480", frames: 200, "-c:v mjpeg")
        var clip = try Clip(path: path)
        #expect(try harvest(&clip, limit: 2).frames.count == 2)
        for child in children() { kill(child, SIGKILL) }
        let problem = problem { _ = try harvest(&clip) }
        #expect(problem?.kind == .gone && problem?.message.contains("signal 9") == true)
    }

    @Test func `no child process and no descriptor is left open`() throws {
        let path = try scratch.testPicture("a.mkv", size: "640x480", frames: 50, "-c:v mjpeg")
        let text = try scratch.write(Data("no picture".utf8), "text.png")
        let before = openDescriptors(of: scratch)
        for _ in 0..<3 {
            var clip = try Clip(path: path)
            #expect(try harvest(&clip, limit: 1).frames.count == 1)
            #expect(problem { _ = try Clip(path: text) } != nil)
        }
        #expect(openDescriptors(of: scratch) == before)
        #expect(children().isEmpty)
    }

    /// Open descriptors of this process on files in the scratch folder.
    private func openDescriptors(of scratch: ScratchFolder) -> Int {
        let folder = URL(filePath: "/proc/self/fd")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.count { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
            return target?.hasPrefix(scratch.url.path) == true
        }
    }

    /// ffmpeg processes that decode a file of this test.
    private func children() -> [pid_t] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { pid in
            let input = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/0")
            return input?.hasPrefix(scratch.url.path) == true && pid != getpid()
        }
    }
}
