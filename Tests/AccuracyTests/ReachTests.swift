import Foundation
import TestSupport
import Testing

/// The tracker's limits, compared with those of earlier systems: heads tilted in the picture's plane, heads turned to
/// the side, small faces.
///
/// Tilts and sizes come from real photos that are rotated and scaled and shown as clips, because no other pictures have
/// a known tilt and size. Turns come from labelled clips and photos of people who turn their heads.
///
/// A face's size is the side of the box that OpenCV's frontal cascade (`alt2`) reports: the eyes are 0.371 of it apart
/// (Cascades/catalogue.json).
private enum Reach {
    /// The share of trials that must succeed at one step, and at each easier step.
    static let share = 0.9
    /// The least number of trials at a step.
    static let fewest = 5

    /// Eye distance as a fraction of a face's size.
    static let eyes = 0.371
    /// Frames a second, and frames within which a face must be found: two seconds.
    static let (rate, timeout) = (30, 60)
    /// A followed head is upright so many frames, and then tilts so many degrees with each: a sixth of a circle a
    /// second.
    static let (still, degreesPerFrame) = (45, 2)
    /// Frames for tilts: the face in the middle, with the size (pixels) that a camera at arm's length gives.
    static let (width, height, size) = (640, 480, 120.0)
    static let photos = 12

    static let tilts = [0, 20, 30, 40, 50, 60]
    static let followedTilts = Array(stride(from: 10, through: 100, by: 10))
    static let sizes = [80, 50, 40, 36, 32, 28]
    static let turns = Array(stride(from: 10, through: 70, by: 10))
    /// A labelled clip or photo counts for turns if somebody turns further than this, degrees, in at least one frame of
    /// fifty.
    static let (turned, turnedShare) = (30.0, 0.02)
    /// Only faces of at least this size in pixels count, in clips of at most this many people: small faces have their
    /// own row, and in a crowd faces are lost behind others.
    static let (largeEnough, maxPeople) = (50.0, 2)

    /// Elements of a list at even steps.
    static func sample<Element>(_ list: [Element], _ count: Int) -> [Element] {
        list.count <= count ? list : (0..<count).map { list[$0 * list.count / count] }
    }
}

extension Marks {
    /// The face's size, as if it were frontal.
    fileprivate var size: Double { eyeDistance / cos(turn * .pi / 180) / Reach.eyes }
}

/// Trials and successes at each step, the easiest first.
private struct Steps {
    let steps: [Int]
    private var counts: [(right: Int, all: Int)]

    init(_ steps: [Int]) { (self.steps, counts) = (steps, Array(repeating: (0, 0), count: steps.count)) }

    mutating func count(_ step: Int, _ isRight: Bool) {
        guard let i = steps.firstIndex(of: step) else { return }
        counts[i].all += 1
        if isRight { counts[i].right += 1 }
    }

    /// The hardest step up to which all steps reach the required share; nil if not even the first does.
    var reached: Int? {
        let end = counts.firstIndex { $0.all < Reach.fewest || Double($0.right) < Reach.share * Double($0.all) }
        return steps[..<(end ?? steps.count)].last
    }

    /// The steps as text: "40: 95 % of 38".
    var words: String {
        zip(steps, counts).map { "\($0): \($1.all == 0 ? "-" : "\(100 * $1.right / $1.all) % of \($1.all)")" }
            .joined(separator: ", ")
    }
}

/// A photo of one frontal face, and how it is shown.
private struct Portrait {
    var name: String
    var width, height: Int
    var marks: Marks

    /// The filter that scales the photo so that the face has this size, and the factor.
    func scaled(to size: Double) -> (filter: String, factor: Double) {
        let factor = size * Reach.eyes / marks.eyeDistance
        let (w, h) = (Int((Double(width) * factor).rounded()), Int((Double(height) * factor).rounded()))
        return ("scale=\(w):\(h):flags=area", factor)
    }

    /// Clips of the tilted face, as ffmpeg filters and outputs, and the face's position at a tilt of 0.
    ///
    /// The photo's edge is extended over the rest of the frame.
    func tilting(_ tilts: [Int], following directions: [Int]) -> (graph: String, upright: Marks) {
        // The square contains the frame at each angle, and the border contains the square wherever the face is in the
        // photo.
        let (side, border) = (800, 800)
        let (scale, factor) = scaled(to: Reach.size)
        let middle = marks.middle * factor
        let corner = Place((middle.x).rounded(), (middle.y).rounded()) - Double(side / 2)
        let pad = "pad=iw+\(2 * border):ih+\(2 * border):\(border):\(border)"
        let smear = "fillborders=\(border):\(border):\(border):\(border):smear"
        let crop = "crop=\(side):\(side):\(Int(corner.x) + border):\(Int(corner.y) + border)"
        let count = tilts.count + directions.count
        var graph = "[0]format=yuv444p,\(scale),\(pad),\(smear),\(crop),split=\(count)"
        graph += (0..<count).map { "[s\($0)]" }.joined()
        func rotate(_ degrees: String) -> String {
            "rotate='(\(degrees)-(\(marks.tilt)))*PI/180':\(Reach.width):\(Reach.height)"
        }
        for (i, tilt) in tilts.enumerated() {
            graph += ";[s\(i)]\(rotate("\(tilt)")),format=yuv420p,\(Self.hold(Reach.timeout))[v\(i)]"
        }
        let frames = Reach.still + (Reach.followedTilts.last ?? 0) / Reach.degreesPerFrame
        for (i, direction) in directions.enumerated() {
            let tilt = "\(direction * Reach.degreesPerFrame)*max(0,n-\(Reach.still - 1))"
            graph += ";[s\(tilts.count + i)]\(Self.hold(frames)),\(rotate(tilt))[v\(tilts.count + i)]"
        }
        let upright = marks.moved { place in
            let fromMiddle = place * factor - corner - Double(side) / 2
            return fromMiddle.turned(by: -marks.tilt) + Place(Double(Reach.width), Double(Reach.height)) / 2
        }
        return (graph, upright)
    }

    /// Clips of the face in a frame of 1280x720 over another picture, and its position in each.
    /// - Parameter place: the face's middle, as fractions of the frame.
    func shrinking(to sizes: [Int], at place: Place) -> (graph: String, marks: [Marks]) {
        var graph = "[0]format=yuv444p,split=\(sizes.count)" + sizes.indices.map { "[p\($0)]" }.joined()
        graph += ";[1]scale=1280:720:force_original_aspect_ratio=increase,crop=1280:720,format=yuv444p"
        graph += ",split=\(sizes.count)" + sizes.indices.map { "[b\($0)]" }.joined()
        var all: [Marks] = []
        for (i, size) in sizes.enumerated() {
            let (scale, factor) = scaled(to: Double(size))
            let corner = place * Place(1280, 720) - marks.middle * factor
            let (x, y) = (corner.x.rounded(), corner.y.rounded())
            graph += ";[p\(i)]\(scale)[f\(i)];[b\(i)][f\(i)]overlay=\(Int(x)):\(Int(y)):format=yuv444"
            graph += ",format=yuv420p,\(Self.hold(Reach.timeout))[v\(i)]"
            all.append(marks.moved { $0 * factor + Place(x, y) })
        }
        return (graph, all)
    }

    /// Repeats one picture for a number of frames.
    private static func hold(_ frames: Int) -> String {
        "loop=\(frames - 1):1,setpts=N/\(Reach.rate)/TB"
    }
}

extension ScratchFolder {
    /// Lets ffmpeg make a graph's clips, [v0] and following, and tracks each: as many at once as there are cores.
    fileprivate func track(_ graph: String, of pictures: [String], clips: Int) throws -> [[Tracked]] {
        let inputs = pictures.map { "-i '\(Fixtures.labelledFaces)/\($0)'" }.joined(separator: " ")
        let codec = "-r \(Reach.rate) -pix_fmt yuv420p -c:v libx264 -preset ultrafast -qp 0"
        let outputs = (0..<clips).map { "-map '[v\($0)]' \(codec) \($0).mp4" }.joined(separator: " ")
        try write(graph, "graph")
        try shell("ffmpeg -v error -y \(inputs) -filter_complex_script graph \(outputs)")
        return try track((0..<clips).map { path("\($0).mp4") })
    }

    /// Clips that are continued backwards from their end, so that a head that turns to the camera also turns away.
    fileprivate func thereAndBack(_ names: [String]) throws -> [String] {
        try names.map { name in
            let clip = path(name.replacingOccurrences(of: "/", with: "-"))
            let graph = "[0:v]split[a][b];[b]reverse[c];[a][c]concat"
            let codec = "-c:v libx264 -preset ultrafast -qp 0 -pix_fmt yuv420p"
            try shell(
                "ffmpeg -v error -y -i '\(Fixtures.labelledFaces)/\(name)' -filter_complex '\(graph)' \(codec) '\(clip)'"
            )
            return clip
        }
    }

    /// Tracks photos and clips: as many at once as there are cores.
    fileprivate func track(_ paths: [String]) throws -> [[Tracked]] {
        try write(paths.enumerated().map { "'\($1)' \($0).json\n" }.joined(), "inputs")
        let line = "'\"'\(Program.path)'\" track \"$0\" --json > \"$1\"'"
        try shell("xargs -a inputs -n 2 -P $(nproc) bash -c \(line)")
        return try paths.indices.map { try Tracked.lines(String(contentsOfFile: path("\($0).json"), encoding: .utf8)) }
    }
}

extension Tracked {
    /// The labelled face among these, if it is there.
    fileprivate func face(_ label: Marks) -> Face? {
        faces.first { Marks($0.points)?.isRight(label) ?? false }
    }
}

extension Accuracy {
    @Suite struct ReachOfTheTracker {
        let scratch: ScratchFolder
        init() throws { scratch = try ScratchFolder() }

        @Test func `tilted, turned and small faces are detected beyond the limits of earlier systems`() throws {
            let portraits = try portraits()
            try #require(portraits.count == Reach.photos)
            let (found, followed) = try tilts(portraits)
            let small = try sizes(portraits)
            let (turned, turnedPhotos) = try turns()

            func row(_ name: String, _ before: String, _ target: Int, _ steps: Steps) -> String {
                let reached = steps.reached.map { "\($0)" } ?? "none"
                func wide(_ text: String, _ width: Int) -> String {
                    text + String(repeating: " ", count: max(1, width - text.count))
                }
                return wide(name, 46) + wide(before, 16) + wide("\(target)", 9) + reached
            }
            print(
                """
                reach                                         systems before  target   Guise
                \(row("tilt followed, degrees", "25", 70, followed))
                \(row("tilt found afresh, degrees", "25", 40, found))
                \(row("turn followed, degrees", "50 to 60", 60, turned))
                \(row("smallest face found at 1280x720, pixels", "50 (320x480)", 36, small))
                Found: within \(Reach.timeout / Reach.rate) s. Each row: as far as \(Int(Reach.share * 100)) % of the trials \
                succeed. A face of 36 pixels has its eyes \(Int(36 * Reach.eyes)) apart.
                  tilt followed: \(followed.words)
                  tilt found afresh: \(found.words)
                  turn followed in clips, up to: \(turned.words)
                  turn found in photos, up to: \(turnedPhotos.words)
                  size found: \(small.words)
                """)
            #expect(followed.reached ?? 0 >= 70, "tilt followed: \(followed.words)")
            #expect(found.reached ?? 0 >= 40, "tilt found afresh: \(found.words)")
            #expect(turned.reached ?? 0 >= 60, "turn followed: \(turned.words)")
            #expect(small.reached ?? .max <= 36, "smallest face: \(small.words)")
        }

        @Test func `faces in photos are found at all tilts`() throws {
            let portraits = try portraits()
            let tilts = [90, 180, -120]
            var (found, all) = (0, 0)
            for portrait in portraits {
                let (graph, upright) = portrait.tilting(tilts, following: [])
                let middle = Place(Double(Reach.width), Double(Reach.height)) / 2
                let outputs = tilts.indices.map { "-map '[v\($0)]' -frames:v 1 \($0).png" }.joined(separator: " ")
                try scratch.write(graph, "graph")
                try scratch.shell(
                    "ffmpeg -v error -y -i '\(Fixtures.labelledFaces)/\(portrait.name)' -filter_complex_script graph "
                        + outputs)
                let photos = try scratch.track(tilts.indices.map { scratch.path("\($0).png") })
                for (tilt, photo) in zip(tilts, photos) {
                    let label = upright.moved { ($0 - middle).turned(by: Double(tilt)) + middle }
                    all += 1
                    if photo.first?.face(label) != nil { found += 1 }
                }
            }
            print("found in photos at \(tilts) degrees: \(found) of \(all)")
            #expect(Double(found) >= Reach.share * Double(all))
        }

        /// Photos of one labelled frontal face that need not be enlarged.
        private func portraits() throws -> [Portrait] {
            let all = try Labels.read("annotations/photos.json", as: [String: Labels.Photo].self)
            let fit = all.sorted { $0.key < $1.key }.compactMap { name, photo -> Portrait? in
                guard photo.faces.count == 1, let marks = photo.faces[0].marks, marks.turn < 10,
                    marks.eyeDistance >= Reach.size * Reach.eyes
                else { return nil }
                return Portrait(name: name, width: photo.width, height: photo.height, marks: marks)
            }
            return Reach.sample(fit, Reach.photos)
        }

        /// Faces that are tilted from the first frame on, alternately to either side, and faces that tilt further and
        /// further, both ways. Faces that are not detected upright do not count, and must be few.
        private func tilts(_ portraits: [Portrait]) throws -> (found: Steps, followed: Steps) {
            var (found, followed) = (Steps(Reach.tilts), Steps(Reach.followedTilts))
            var missed: [String] = []
            for (i, portrait) in portraits.enumerated() {
                let tilts = Reach.tilts.enumerated().map { ($0 + i).isMultiple(of: 2) ? $1 : -$1 }
                let (graph, upright) = portrait.tilting(tilts, following: [1, -1])
                let clips = try scratch.track(graph, of: [portrait.name], clips: tilts.count + 2)
                let middle = Place(Double(Reach.width), Double(Reach.height)) / 2
                func label(_ tilt: Int) -> Marks {
                    upright.moved { ($0 - middle).turned(by: Double(tilt)) + middle }
                }
                guard clips[0].last?.face(label(0)) != nil else {
                    missed.append(portrait.name)
                    continue
                }
                for (tilt, clip) in zip(tilts, clips) {
                    found.count(abs(tilt), clip.last?.face(label(tilt)) != nil)
                }
                for (direction, clip) in zip([1, -1], clips.suffix(2)) {
                    let reached = follow(clip) { label(direction * $0) }
                    for tilt in Reach.followedTilts { followed.count(tilt, reached >= tilt) }
                }
            }
            print("not found upright, so not counted for tilts: \(missed)")
            #expect(missed.count <= Reach.photos / 10, "not found upright: \(missed)")
            return (found, followed)
        }

        /// The furthest tilt at which the face was tracked, before it was lost or misplaced.
        private func follow(_ clip: [Tracked], _ label: (Int) -> Marks) -> Int {
            var furthest = 0
            for line in clip.dropFirst(Reach.still - 1) {
                let tilt = (line.frame - Reach.still + 1) * Reach.degreesPerFrame
                guard let face = line.face(label(tilt)) else { break }
                if face.state == "tracked" { furthest = tilt }
            }
            return furthest
        }

        /// Faces in unrelated pictures, at various places.
        private func sizes(_ portraits: [Portrait]) throws -> Steps {
            var found = Steps(Reach.sizes)
            var missed: [String] = []
            let pictures = try Labels.read("index.json", as: [Labels.Item].self).filter { $0.type == "nonface" }
            for (i, portrait) in portraits.enumerated() {
                // Evenly spread over the frame in both directions, by the golden ratio.
                let along = (Double(i) * 0.618).truncatingRemainder(dividingBy: 1)
                let spread = Place(along, Double(i) / Double(Reach.photos))
                let (graph, marks) = portrait.shrinking(to: Reach.sizes, at: 0.15 + 0.7 * spread)
                let background = pictures[i * pictures.count / portraits.count].name
                let clips = try scratch.track(graph, of: [portrait.name, background], clips: Reach.sizes.count)
                guard clips[0].last?.face(marks[0]) != nil else {
                    missed.append(portrait.name)
                    continue
                }
                for (size, (clip, label)) in zip(Reach.sizes, zip(clips, marks)) {
                    found.count(size, clip.last?.face(label) != nil)
                }
            }
            print("not found at \(Reach.sizes[0]) pixels, so not counted for sizes: \(missed)")
            #expect(missed.count <= Reach.photos / 10, "not found at \(Reach.sizes[0]) pixels: \(missed)")
            return found
        }

        /// In clips, played forward and back, each face counts in each frame from its first detection on; in photos
        /// each face counts. Only faces entirely within the picture count. A step covers the ten degrees up to it; few
        /// labelled faces turn further than 50 degrees, and none in these clips further than 57.
        private func turns() throws -> (clips: Steps, photos: Steps) {
            var (clips, photos) = (Steps(Reach.turns), Steps(Reach.turns))
            func step(_ marks: Marks) -> Int { (Int(marks.turn) / 10 + 1) * 10 }
            func counts(_ marks: Marks, _ width: Int, _ height: Int) -> Bool {
                let (low, high) = (marks.middle - marks.size / 2, marks.middle + marks.size / 2)
                return marks.size >= Reach.largeEnough && low.min() >= 0 && high.x <= Double(width)
                    && high.y <= Double(height)
            }
            func isTurned(_ faces: [Labels.Face]) -> Bool {
                faces.contains { $0.marks.map { $0.turn > Reach.turned && $0.size >= Reach.largeEnough } ?? false }
            }

            let items = try Labels.read("index.json", as: [Labels.Item].self).filter { $0.kind == "face" }
            let labelled = try items.compactMap { item in
                try item.annotations.map { (item.name, try Labels.read($0, as: Labels.Clip.self)) }
            }.filter { _, clip in
                clip.frames.allSatisfy { $0.count <= Reach.maxPeople }
                    && Double(clip.frames.count(where: isTurned)) >= Reach.turnedShare * Double(clip.frames.count)
            }
            let tracked = try scratch.track(scratch.thereAndBack(labelled.map(\.0)))
            for ((name, labels), lines) in zip(labelled, tracked) {
                let count = labels.frames.count
                try #require(lines.count == 2 * count, "\(name) plays there and back")
                // Each person's last position, and whether they were ever detected.
                var people: [(marks: Marks, isFound: Bool)] = []
                for line in lines {
                    let t = min(line.frame, 2 * count - 1 - line.frame)
                    if (labels.ignore_frames ?? []).contains(where: { ($0[0]...$0[1]).contains(t) }) { continue }
                    for marks in labels.frames[t].compactMap(\.marks) {
                        let isRight = line.face(marks) != nil
                        let person = people.firstIndex {
                            ($0.marks.middle - marks.middle).length < marks.size * Reach.eyes
                        }
                        let isFound = isRight || person.map { people[$0].isFound } ?? false
                        if let person { people[person] = (marks, isFound) } else { people.append((marks, isFound)) }
                        if isFound, counts(marks, labels.width, labels.height) { clips.count(step(marks), isRight) }
                    }
                }
            }

            let pictures = try Labels.read("annotations/photos.json", as: [String: Labels.Photo].self)
                .filter { isTurned($0.value.faces) }.sorted { $0.key < $1.key }
            for (picture, lines) in zip(
                pictures, try scratch.track(pictures.map { "\(Fixtures.labelledFaces)/\($0.key)" }))
            {
                for marks in picture.value.faces.compactMap(\.marks)
                where counts(marks, picture.value.width, picture.value.height) {
                    photos.count(step(marks), lines.first?.face(marks) != nil)
                }
            }
            return (clips, photos)
        }
    }
}
