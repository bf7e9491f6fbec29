import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
    @Suite(.needsSample) struct Photos {
        let scratch: ScratchFolder
        init() throws {
            scratch = try ScratchFolder()
            try scratch.lookForLargeFaces()
        }

        /// A crop of the sample, "width:height:x:y".
        private func cut(_ crop: String, _ name: String = "cut.png") throws -> String {
            try scratch.make(name, "-i \(Fixtures.sample) -vf crop=\(crop)")
        }

        private func faces(_ path: String, _ more: String...) throws -> [Tracked.Face] {
            let outcome = try Program.run(["track", path, "--json"] + more, in: scratch)
            let lines = try Tracked.lines(outcome.out)
            try #require(outcome.code == 0 && lines.count == 1 && lines[0].frame == 0, "\(outcome)")
            return lines[0].faces
        }

        @Test func `the sample's face is detected in place, upright and frontal`() throws {
            let faces = try faces(Fixtures.sample, "--landmarks")
            try #require(faces.count == 1)
            let face = faces[0]
            #expect(face.state == "tracked" && face.basis == "landmarks")
            // Labelled by hand; the eyes are 43 pixels apart.
            let places: [String: [Double]] = [
                "right_eye": [204, 101], "left_eye": [247, 104], "nose": [226, 127], "mouth": [223, 142],
                "chin": [221, 178],
            ]
            for (name, place) in places {
                let point = try #require(face.points[name])
                let off = hypot(point[0] - place[0], point[1] - place[1])
                #expect(off < 43 * 0.12, "\(name) at \(point), \(off) pixels off")
            }
            #expect(face.box[0] > 160 && face.box[0] + face.box[2] < 290, "\(face.box)")
            #expect(face.landmarks?.count == 68 && face.state == "tracked" && face.id == 1)
            for (name, most) in [("roll", 8.0), ("yaw", 15), ("pitch", 20)] {
                #expect(abs(try #require(face.pose[name])) < most, "\(name): \(face.pose)")
            }
        }

        @Test(
            arguments: [
                // The mask's place: the box that contains it, and one that it must cover in part.
                ("santa-hat", 300...40_000, (120, 0, 340, 112), (200, 20, 260, 60)),
                ("santa-beard", 300...40_000, (140, 80, 310, 260), (200, 160, 250, 200)),
                ("handlebar-moustache", 300...5000, (170, 118, 280, 156), (200, 128, 250, 145)),
                ("round-glasses", 300...5000, (165, 75, 290, 135), (185, 90, 270, 120)),
                ("cat", 800...10_000, (140, 0, 310, 170), (200, 110, 250, 150)),
                ("santa", 5000...60_000, (120, 0, 340, 260), (200, 128, 250, 150)),
            ] as [(String, ClosedRange<Int>, (Int, Int, Int, Int), (Int, Int, Int, Int))])
        func `each mask changes the picture only where it is worn`(
            mask: String, count: ClosedRange<Int>, all: (Int, Int, Int, Int), part: (Int, Int, Int, Int)
        ) throws {
            let outcome = try scratch.guise("apply", Fixtures.sample, "-o", "out.png", "--mask", mask)
            try #require(outcome.code == 0, "\(outcome)")
            #expect(
                try Data(contentsOf: scratch.url.appending(path: "out.png")).starts(with: [0x89, 0x50, 0x4e, 0x47]))
            let (before, after) = (try scratch.picture(Fixtures.sample), try scratch.picture(scratch.path("out.png")))
            try #require(after.width == before.width && after.height == before.height)
            let changed = after.changes(from: before)
            #expect(count.contains(changed.count), "\(changed)")
            #expect(changed.left >= all.0 && changed.top >= all.1, "\(changed)")
            #expect(changed.right <= all.2 && changed.bottom <= all.3, "\(changed)")
            #expect(changed.left < part.2 && changed.right > part.0, "\(changed)")
            #expect(changed.top < part.3 && changed.bottom > part.1, "\(changed)")
        }

        /// What `guise track` prints of the sample.
        private func landmarks() throws -> JSON {
            let outcome = try Program.run(["track", Fixtures.sample, "--json", "--landmarks"], in: scratch)
            return try JSON(Array(outcome.out.utf8), file: "track")
        }

        @Test func `a mask is where the landmarks were placed by hand`() throws {
            func changes(_ points: String?, _ mask: String) throws -> Picture.Changes {
                let file = try points.map { ["--points", try scratch.write($0, "points.json")] } ?? []
                let words = ["apply", Fixtures.sample, "--overwrite", "-o", "out.png", "--mask", mask]
                let outcome = try Program.run(words + file, in: scratch)
                try #require(outcome.code == 0, "\(outcome)")
                return try scratch.picture(scratch.path("out.png")).changes(from: scratch.picture(Fixtures.sample))
            }
            // As the tracker printed them, they change nothing but for rounding.
            let printed = try landmarks()
            let (same, found) = (try changes(printed.text, "santa"), try changes(nil, "santa"))
            #expect(abs(same.count - found.count) <= 20 && abs(same.bottom - found.bottom) <= 1, "\(same), \(found)")
            // A mouth 20 pixels lower takes the moustache along.
            let face = try #require(printed["faces"]?.elements.first)
            let mouth = (face["landmarks"]?.elements ?? []).suffix(20).map { point in
                JSON([JSON(point.elements[0].number ?? 0), JSON((point.elements[1].number ?? 0) + 20)])
            }
            let low = JSON(["faces": [JSON(["landmarks": JSON(["mouth": JSON(mouth)])])]])
            let (before, after) = (
                try changes(nil, "handlebar-moustache"), try changes(low.text, "handlebar-moustache")
            )
            #expect(after.bottom > before.bottom + 5, "\(before), \(after)")
        }

        /// The detail of a photo in a box: the mean difference of neighbouring pixels.
        private func detail(of photo: Picture, in box: [Double]) -> Double {
            let (left, top) = (max(0, Int(box[0])), max(0, Int(box[1])))
            let (right, bottom) = (min(photo.width - 1, Int(box[0] + box[2])), min(photo.height, Int(box[1] + box[3])))
            var sum = 0
            for y in top..<bottom {
                for x in left..<right {
                    let at = 3 * (y * photo.width + x) + 1
                    sum += abs(Int(photo.bytes[at]) - Int(photo.bytes[at + 3]))
                }
            }
            return Double(sum) / Double(max(1, (right - left) * (bottom - top)))
        }

        @Test(arguments: ["pixelate", "blur"])
        func `a face to hide stays hidden where it was found, wherever its landmarks are placed by hand`(
            mask: String
        ) throws {
            // The larger the head is in the photo, the coarser it must be covered.
            for photo in [Fixtures.sample, try cut("200:200:125:5", "close.png")] {
                let face = try #require(try faces(photo, "--landmarks").first)
                let (found, box) = (try #require(face.landmarks), face.box)
                let (width, middle) = (box[2], (box[0] + box[2] / 2, box[1] + box[3] / 2))
                func detail(
                    withBox: Bool = true, _ move: (_ x: Double, _ y: Double) -> (Double, Double)
                ) throws -> Double {
                    let points = found.map { point in
                        let (x, y) = move(point[0], point[1])
                        return JSON([JSON(x), JSON(y)])
                    }
                    var json = JSON(["landmarks": JSON(points)])
                    if withBox { json = json.with("box", JSON(box.map { JSON($0) })) }
                    let file = try scratch.write(JSON(["faces": JSON([json])]).text, "points.json")
                    let outcome = try Program.run(
                        ["apply", photo, "--overwrite", "-o", "out.png", "--mask", mask, "--points", file], in: scratch)
                    try #require(outcome.code == 0, "\(outcome)")
                    return self.detail(of: try scratch.picture(scratch.path("out.png")), in: box)
                }
                let bare = self.detail(of: try scratch.picture(photo), in: box)
                // Beside the face, far away, to a point, and its upper part.
                for (number, left) in [
                    try detail(withBox: false) { ($0 + width * 0.6, $1 + width * 0.2) },
                    try detail { ($0 - width * 1.5, $1) },
                    try detail(withBox: false) { (middle.0 + ($0 - middle.0) / 30, middle.1 + ($1 - middle.1) / 30) },
                    try detail { ($0, $1 < middle.1 ? $1 - width / 2 : $1) },
                ].enumerated() {
                    #expect(left < bare / 4, "\(photo), \(number): \(left) of \(bare)")
                }
            }
        }

        @Test(arguments: [
            ("[]", "expected an object"), ("{}", "'faces' is empty or missing"),
            (#"{"faces": [{}]}"#, "'faces[0].landmarks' is missing; allowed: 68 points"),
            (#"{"faces": [{"landmarks": [[1, 2]]}]}"#, "'faces[0].landmarks' is 1 points; allowed: 68 points"),
            (#"{"faces": [{"landmarks": {"mout": []}}]}"#, "unknown key 'landmarks.mout'; did you mean 'mouth'?"),
            (
                #"{"faces": [{"landmarks": {"left_eye": [[1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [1, 9999]]}}]}"#,
                "a list with [1,9999] in line 1"
            ),
            (
                #"{"faces": [{"landmarks": {"left_eye": [[1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [1, 3]]}}]}"#,
                "'faces[0]' has only some landmarks, and no face was found there"
            ),
        ])
        func `a bad file of landmarks is an error that says what is allowed, and nothing is written`(
            text: String, words: String
        ) throws {
            let file = try scratch.write(text, "points.json")
            let outcome = try Program.run(
                ["apply", Fixtures.sample, "-o", "out.png", "--mask", "santa", "--points", file], in: scratch)
            #expect(outcome.code == 1 && outcome.errors.contains(words), "\(outcome)")
            #expect(!Fixtures.exists(scratch.path("out.png")))
        }

        @Test func `two masks are both worn`() throws {
            func count(_ masks: String...) throws -> Int {
                let options = masks.flatMap { ["--mask", $0] }
                let outcome = try Program.run(
                    ["apply", Fixtures.sample, "--overwrite", "-o", "out.png"] + options, in: scratch)
                try #require(outcome.code == 0, "\(outcome)")
                return try scratch.picture(scratch.path("out.png")).changes(from: scratch.picture(Fixtures.sample))
                    .count
            }
            let (glasses, hat) = (try count("round-glasses"), try count("santa-hat"))
            let both = try count("round-glasses", "santa-hat")
            // Where the soft edges overlap, a pixel may change that neither changes alone.
            #expect(both > max(glasses, hat) && both <= glasses + hat + 100, "\(glasses), \(hat), \(both)")
        }

        @Test func `all of a group of twenty wear masks, although eight are followed in a clip`() throws {
            let one = try scratch.make("one.png", "-i \(Fixtures.sample) -vf crop=320:320:60:0,scale=160:160")
            let group = try scratch.make("group.png", "-loop 1 -t 0.8 -i \(one) -vf tile=5x4 -frames:v 1")
            // Their faces are small.
            try scratch.write("{}", "config/guise/config.json")
            #expect(try faces(group).count == 20)
            // Clear lenses change a pixel of the one photo and not of the other.
            func count(_ photo: String) throws -> Int {
                let outcome = try scratch.guise(
                    "apply", photo, "--overwrite", "-o", "out.png", "--mask", "sunglasses")
                try #require(outcome.code == 0 && outcome.errors.isEmpty, "\(outcome)")
                return try scratch.picture(scratch.path("out.png")).changes(from: scratch.picture(photo)).count
            }
            let (single, all) = (try count(one), try count(group))
            #expect(single > 100 && all > 18 * single && all < 22 * single, "\(single), \(all)")
        }

        @Test func `a face cut by the picture's edge is detected while most of it is visible`() throws {
            let bottom = try cut("512:150:0:0")
            #expect(try faces(bottom).count == 1)
            let top = try cut("512:440:0:68", "top.png")
            #expect(try faces(top).count == 1)
            // Half of the face, from all four sides: whether detected or not, the output is valid.
            for (number, crop) in ["290:512:222:0", "222:512:0:0", "512:390:0:122", "512:122:0:0"].enumerated() {
                let path = try cut(crop, "half\(number).png")
                let outcome = try scratch.guise("apply", path, "-o", "out\(number).png")
                try #require(outcome.code == 0, "\(crop): \(outcome)")
                let parts = crop.split(separator: ":")
                #expect(try scratch.measure(scratch.path("out\(number).png")) == "\(parts[0])x\(parts[1]) 1")
            }
        }

        @Test func `a photo without a face to hide is not written, unless that is allowed`() throws {
            let corner = try cut("120:120:392:392")
            let outcome = try scratch.guise("apply", corner, "-o", "out.png", "--mask", "pixelate")
            #expect(outcome.code == 1 && outcome.errors.contains("--allow-uncovered"), "\(outcome)")
            #expect(scratch.names() == ["config", "cut.png"], "\(scratch.names())")
            let wanted = try scratch.guise(
                "apply", corner, "-o", "out.png", "--mask", "pixelate", "--allow-uncovered")
            #expect(wanted.code == 0 && Fixtures.exists(scratch.path("out.png")), "\(wanted)")
        }

        @Test func `a photo of 4000 x 3000 gets masks like a small one`() throws {
            try scratch.make("big.jpg", "-i \(Fixtures.sample) -vf scale=3000:3000,pad=4000:3000")
            let outcome = try scratch.guise("apply", "big.jpg", "-o", "out.jpg", "--mask", "santa-hat")
            try #require(outcome.code == 0, "\(outcome)")
            #expect(outcome.errors == "")
            for name in ["big", "out"] {
                try scratch.shell("ffmpeg -v error -i \(name).jpg -vf scale=800:600 \(name).png")
            }
            let changed = try scratch.picture(scratch.path("out.png")).changes(
                from: scratch.picture(scratch.path("big.png")))
            #expect(changed.count > 300, "\(changed)")
            // The hat begins where it does on the sample itself, of 512 pixels instead of 600. JPEG changes more
            // elsewhere.
            let own = try scratch.guise("apply", Fixtures.sample, "-o", "own.png", "--mask", "santa-hat")
            try #require(own.code == 0, "\(own)")
            let wanted = try scratch.picture(scratch.path("own.png")).changes(from: scratch.picture(Fixtures.sample))
            #expect(abs(changed.left - wanted.left * 600 / 512) <= 8, "\(changed), \(wanted)")
            #expect(try scratch.measure(scratch.path("out.jpg")) == "4000x3000 1")
            let face = try #require(try faces(scratch.path("big.jpg")).first)
            let (eye, scale) = (try #require(face.points["right_eye"]), 3000.0 / 512)
            #expect(hypot(eye[0] - 204 * scale, eye[1] - 101 * scale) < 30, "\(eye)")
        }

        @Test func `--verbose logs the programs that are started`() throws {
            let quiet = try scratch.guise("track", Fixtures.sample)
            #expect(quiet.code == 0 && !quiet.errors.contains("started: "), "\(quiet)")
            let verbose = try scratch.guise("track", Fixtures.sample, "--verbose")
            #expect(verbose.code == 0 && verbose.errors.contains("started: ffmpeg "), "\(verbose)")
        }

        @Test func `a photo of one pixel is written unchanged, with a warning`() throws {
            try scratch.make("one.png", "-i \(Fixtures.sample) -vf scale=1:1")
            let outcome = try scratch.guise("apply", "one.png", "-o", "out.png")
            try #require(outcome.code == 0, "\(outcome)")
            #expect(outcome.lines == ["guise: no face was found in one.png; out.png shows the same"])
            let (before, after) = (
                try scratch.picture(scratch.path("one.png")), try scratch.picture(scratch.path("out.png"))
            )
            #expect((after.width, after.height) == (1, 1) && after.changes(from: before).count == 0, "\(after)")
            #expect(try faces(scratch.path("one.png")).isEmpty)
        }
    }

    @Suite struct NoPictures {
        let scratch: ScratchFolder
        init() throws { scratch = try ScratchFolder() }

        @Test(arguments: [
            ("text.jpg", "no picture at all\n", "text.jpg: it is not a picture or clip"),
            ("empty.mp4", "", "empty.mp4: the file is empty"),
        ])
        func `a file that is no picture is an error of one line, and nothing is written`(
            name: String, text: String, words: String
        ) throws {
            try scratch.write(text, name)
            for arguments in [["apply", name, "-o", "out.png"], ["track", name], ["run", "--source", name]] {
                let outcome = try Program.run(arguments, in: scratch)
                #expect(outcome.code == 1 && outcome.out == "", "\(outcome)")
                // `run` first prints where it would show the picture.
                #expect(outcome.lines.last?.contains(words) == true, "\(outcome)")
                #expect(arguments[0] == "run" || outcome.lines.count == 1, "\(outcome)")
            }
            #expect(!Fixtures.exists(scratch.path("out.png")))
        }

        @Test func `a missing file and a folder are errors that name them`() throws {
            let gone = try scratch.guise("apply", "none.png", "-o", "out.png")
            #expect(
                gone.code == 1 && gone.lines == ["guise: cannot open none.png: there is no such file; check the name"])
            let folder = try scratch.guise("track", scratch.url.path)
            #expect(folder.code == 1 && folder.errors.contains("it is a folder"), "\(folder)")
        }

        @Test(.needsSample)
        func `an output with an unknown extension or a missing folder is an error`() throws {
            for (name, words) in [("out.pgn", ".png"), ("none/out.png", "the folder does not exist")] {
                let outcome = try scratch.guise("apply", Fixtures.sample, "-o", name)
                #expect(outcome.code == 1 && outcome.lines.count == 1 && outcome.errors.contains(words), "\(outcome)")
            }
        }
    }
}
