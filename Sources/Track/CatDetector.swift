import Frames
import SystemKit

/// A detector and tracker of cats' faces, by cascades alone: there are no landmark trees for cats.
///
/// One cascade detects (Viola and Jones' Haar features and more); a second one with other features verifies. Together
/// they measure a box and its tilt; all landmarks are placed in the box by fixed proportions.
public struct CatDetector: ~Copyable {
    /// Windows of both cascades that must pass around a detection: in a photo, on average over a clip's frames before a
    /// cat is shown, and to keep a known cat. Chosen on labelled cats and on pictures without cats, see
    /// docs/tracker.md.
    static let photoVotes: Float = 17
    static let shownVotes: Float = 16
    static let keptVotes: Float = 6
    /// The scheduler's smallest size, as a fraction of the frame's shorter side; the smallest cat's window is the first
    /// of `sizes` larger. Smaller ones are mostly texture.
    static let smallest: Float = 0.1
    /// A dog has a broad dark nose, a cat a small one. The minimum brightness of the nose as a fraction of that between
    /// the eyes: cats have 0.75 and more, dogs 0.39 to 0.59.
    static let dogsNose: Float = 0.65
    /// The maximum number of cats tracked at once.
    static let maxCats = 4
    /// The step between the tilts tried at a known place, degrees. The cascades tolerate some 15.
    static let turn: Float = 12

    /// Window sizes searched in a tile, pixels of its patch. Not the scheduler's smallest: the cascades' own window is
    /// larger, so the patch would have to be enlarged beyond what is searched at once.
    static let sizes = [ScanScheduler.step, ScanScheduler.step * ScanScheduler.step].map {
        Float(ScanScheduler.sizes.lowerBound) * $0
    }

    private var classifier: CascadeClassifier
    private var second: CascadeClassifier
    private var scheduler: ScanScheduler?
    /// The tile being searched, and how many window sizes are still to be searched in it.
    private(set) var region: PatchTransform?
    private var sizesLeft = 0
    private var tracks: [CatTrack] = []
    private var found: [Detection] = []
    private var patch: [UInt8]

    /// Side of the patch for the nose test, pixels.
    private static let noseSide = 32

    /// - Throws: `Problem` if a cascade is missing or damaged.
    public init(_ catalog: CascadeCatalog) throws {
        let cascades = catalog.all(.cat)
        guard cascades.count == 2 else {
            throw Problem(
                .invalid, "the cascade catalogue has \(cascades.count) cascades with role 'cat', two are needed",
                fix: "restore Cascades/catalogue.json")
        }
        // Without contrast stretch, which produces false cats.
        let classifier = try CascadeClassifier(cascades[0], side: ScanScheduler.side, isLit: false)
        let second = try CascadeClassifier(cascades[1], side: ScanScheduler.side, isLit: false)
        self.classifier = classifier
        self.second = second
        patch = Array(repeating: 0, count: Self.noseSide * Self.noseSide)
        tracks.reserveCapacity(Self.maxCats)
    }

    /// Drops all cats, because the frame size changed.
    mutating func restart(width: Int, height: Int) {
        tracks.removeAll(keepingCapacity: true)
        (region, sizesLeft) = (nil, 0)
        scheduler = ScanScheduler(width: width, height: height, smallest: smallest(width, height), rolls: [0, 20, -20])
    }

    /// Tracks the known cats into the next frame.
    /// - Parameter hold: seconds for which a lost cat is predicted.
    mutating func follow(_ luma: borrowing LumaView, at seconds: Double, hold: Double) {
        var i = 0
        while i < tracks.count {
            var track = tracks[i]
            track.isSeen = false
            if let detection = verify(luma, at: track.predictedPlace(at: seconds), maxOffset: 5),
                detection.votes >= Self.keptVotes
            {
                track.update(detection, at: seconds)
            }
            tracks[i] = track
            let isGone = !track.isSeen && (!track.isConfirmed || seconds - track.lastSeen > hold)
            if isGone || track.isRefuted { tracks.remove(at: i) } else { i += 1 }
        }
    }

    /// Searches the next tile of the frame at one of the window sizes; all at once would delay the frame.
    /// - Parameters:
    ///   - motion: the cells of the frame that changed.
    ///   - known: boxes of human faces, pixels.
    ///   - people: tracks of human faces, where no cat is accepted.
    ///   - nextID: the next free face id; incremented when a cat takes it.
    mutating func search(
        _ luma: borrowing LumaView, _ motion: borrowing FrameMotion, known: Span<Rect>, besides people: [Track],
        at seconds: Double, _ nextID: inout Int
    ) {
        if sizesLeft == 0 {
            scheduler?.record(motion)
            region = scheduler?.advance(known: known)
            // Without a tile, because known faces cover everything, the next search asks for one again.
            sizesLeft = region == nil ? 0 : Self.sizes.count
        }
        guard let region else { return }
        sizesLeft -= 1
        search(
            luma, region, Self.sizes[sizesLeft], besides: people, atLeast: Self.keptVotes, at: seconds, &nextID)
    }

    /// Searches a whole picture.
    mutating func searchWhole(_ luma: borrowing LumaView, besides people: [Track], _ nextID: inout Int) {
        tracks.removeAll(keepingCapacity: true)
        let all = ScanScheduler(
            width: luma.width, height: luma.height, smallest: smallest(luma.width, luma.height),
            rolls: [0, 20, -20, 40, -40])
        for region in all.tiles {
            for size in Self.sizes {
                search(luma, region, size, besides: people, atLeast: Self.photoVotes, at: 0, &nextID)
            }
        }
        for i in tracks.indices { tracks[i].isConfirmed = true }
    }

    /// Appends the confirmed cats to `faces`, except those that overlap a human face.
    func appendFaces(to faces: inout [Face]) {
        let people = faces.count
        for track in tracks where track.isConfirmed {
            let face = track.face
            if !faces[..<people].contains(where: { Self.overlap($0.box, face.box) }) { faces.append(face) }
        }
    }

    /// Whether a confirmed cat's face overlaps `box`.
    func isCat(_ box: Rect) -> Bool { tracks.contains { $0.isConfirmed && Self.overlap(box, $0.face.box) } }

    /// Whether two boxes share more than a tenth of the smaller one; no cat sits that close in front of a face.
    private static func overlap(_ a: Rect, _ b: Rect) -> Bool { a.overlap(b) > 0.1 * min(a.area, b.area) }

    private func smallest(_ width: Int, _ height: Int) -> Float {
        max(Float(ScanScheduler.sizes.lowerBound), Self.smallest * Float(min(width, height)))
    }

    private mutating func search(
        _ luma: borrowing LumaView, _ region: PatchTransform, _ size: Float, besides people: [Track],
        atLeast needed: Float,
        at seconds: Double, _ nextID: inout Int
    ) {
        let map = classifier.scan(luma, region, size: size)
        found.removeAll(keepingCapacity: true)
        for match in classifier.matches { found.append(classifier.detection(match, region, map)) }
        for detection in found {
            guard let rough = verify(luma, at: detection, maxOffset: 5),
                let detection = verify(luma, at: rough.detection, maxOffset: 4)
            else { continue }
            let eyes = detection.detection.eyes
            guard detection.votes >= needed, detection.first > 0, detection.second > 0,
                nose(luma, detection.detection) > Self.dogsNose,
                eyes.x >= 0, eyes.y >= 0, eyes.x < Float(luma.width), eyes.y < Float(luma.height),
                !people.contains(where: { $0.covers(detection.detection) })
            else { continue }
            let rival = tracks.firstIndex { $0.covers(detection.detection) }
            if let rival {
                guard !tracks[rival].isConfirmed, tracks[rival].votes < detection.votes else { continue }
                tracks[rival] = CatTrack(id: tracks[rival].id, detection, at: seconds)
            } else if tracks.count < Self.maxCats {
                tracks.append(CatTrack(id: nextID, detection, at: seconds))
                nextID += 1
            }
        }
    }

    /// Runs both cascades at one place under three tilts. The votes are those of the strongest tilt; position, size and
    /// tilt are the mean over all windows, weighted by their number.
    /// - Parameter maxOffset: the maximum offset of the place, in twenty-fourths of the face.
    private mutating func verify(_ luma: borrowing LumaView, at expected: Detection, maxOffset: Int) -> CatDetection? {
        let sizes: [3 of Float] = [1, 1.15, 0.87]
        var (sum, weight, best, bestFirst, bestSecond) = (SIMD4<Float>.zero, Float(0), 0, 0, 0)
        for step in -1...1 {
            var eyes = expected.pair
            eyes.roll += Float(step) * Self.turn
            let a = classifier.verify(
                luma, at: eyes, maxOffset: maxOffset, sizes: sizes, minStages: classifier.stages, enoughWindows: .max)
            let b = second.verify(
                luma, at: eyes, maxOffset: maxOffset, sizes: sizes, minStages: second.stages, enoughWindows: .max)
            for detection in [a, b] {
                guard let s = detection?.detection else { continue }
                let w = Float(s.votes)
                sum += SIMD4(s.eyes.x, s.eyes.y, s.eyeDistance, s.roll) * w
                weight += w
            }
            let (first, second) = (a?.detection.votes ?? 0, b?.detection.votes ?? 0)
            if first + second > best { (best, bestFirst, bestSecond) = (first + second, first, second) }
        }
        guard weight > 0 else { return nil }
        let mean = sum / weight
        return CatDetection(
            detection: Detection(eyes: Point(mean.x, mean.y), eyeDistance: mean.z, roll: mean.w, votes: best),
            votes: Float(best), first: bestFirst, second: bestSecond)
    }

    /// The nose's brightness as a fraction of that between the eyes.
    private mutating func nose(_ luma: borrowing LumaView, _ at: Detection) -> Float {
        let side = Self.noseSide
        let box = at.eyeDistance / classifier.entry.eyeDistance
        let offset = (Point(0.5, 0.5) - classifier.entry.eyes) * box
        let turn = Affine(scale: 1, angle: radians(at.roll), origin: .zero)
        let region = PatchTransform(center: at.eyes + turn.linear(offset), scale: box / Float(side), roll: at.roll)
        var samples = patch.mutableSpan
        resample(luma, by: region.map(side: side), into: &samples, width: side, height: side)
        // The columns of nose and bridge, then the rows of each, in thirty-seconds of the box.
        return Self.mean(patch, 13..<19, 20..<24) / max(Self.mean(patch, 13..<19, 12..<17), 1)
    }

    private static func mean(_ patch: borrowing [UInt8], _ columns: Range<Int>, _ rows: Range<Int>) -> Float {
        var sum = 0
        for y in rows { for x in columns { sum += Int(patch[y * noseSide + x]) } }
        return Float(sum) / Float(columns.count * rows.count)
    }
}

extension HeadPlacement {
    /// A cat's skull is flatter than a human's: forehead and crown are three quarters as high above the eyes.
    private static let catHeight: Float = 0.75

    /// The placement of a cat's head that faces the camera, tilted as its eyes are.
    /// - Parameter eyes: the right eye's x and y, then the left eye's; pixels.
    init(cat eyes: SIMD4<Float>) {
        let across = eyes.highHalf - eyes.lowHalf
        self.init(
            x: [across.x, -across.y * Self.catHeight, 0], y: [across.y, across.x * Self.catHeight, 0],
            origin: (eyes.lowHalf + eyes.highHalf) / 2)
    }

    /// The mean head's landmarks at a cat's proportions. Below the eyes, in eye distances: the nose's tip 0.64 (the
    /// labelled cats' mean), the mouth 0.85, the chin 1.15.
    var catLandmarks: Face.Landmarks {
        var points = Face.Landmarks(repeating: .zero)
        let (across, down) = (Point(x.x, y.x), Point(x.y, y.y) / Self.catHeight)
        for i in 0..<68 {
            let p = Self.meanHead[i]
            points[i] = origin + across * p.x + down * Self.catDepth(p.y)
        }
        return points
    }

    /// The depth below a cat's eyes that corresponds to depth `y` on the mean head, both in eye distances.
    private static func catDepth(_ y: Float) -> Float {
        let steps: [4 of (human: Float, cat: Float)] = [(0, 0), (0.52, 0.64), (1.1, 0.85), (1.85, 1.15)]
        guard y > 0 else { return y * catHeight }
        var i = 1
        while i < 3, y > steps[i].human { i += 1 }
        let (low, high) = (steps[i - 1], steps[i])
        return low.cat + (y - low.human) * (high.cat - low.cat) / (high.human - low.human)
    }
}
