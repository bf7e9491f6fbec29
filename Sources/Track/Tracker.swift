import Frames

/// A face tracker: detects faces and follows them from frame to frame.
///
/// A known face is searched for only around its last position, at its last size and tilt. The whole frame is searched
/// in tiles (`ScanScheduler`): a few per frame while no face is known, fewer once one is. A detection becomes a face
/// only if the landmarks fit it. A lost face is predicted for `Settings.hold` seconds and then dropped.
///
/// Work is counted in tiles, never in time: the same frames give the same faces on every run and machine.
public struct Tracker: ~Copyable {
    /// The tracker's settings.
    public struct Settings: Equatable, Sendable {
        /// The maximum number of faces tracked at once.
        public var max = Settings.allowed.upperBound
        /// The allowed values of `max`.
        public static let allowed = 1...20
        /// `max` for photos, where there is time for more: a group or a class, not a stadium.
        public static let maxInPhoto = 200
        /// The smallest face to search for: a window's side as a fraction of the frame's shorter side.
        public var minSize: Float = 0.05
        /// How long a lost face is predicted, seconds.
        public var hold = 0.4

        /// The default settings.
        public init() {}
    }

    /// The settings in effect.
    public private(set) var settings: Settings
    /// The faces of the last frame: people first, the oldest first, and then cats.
    public private(set) var faces: [Face] = []

    /// What does not work without missing data and how to install it; nil if nothing is missing.
    public var warning: String? { detector.warning }
    /// CPU time spent on landmarks in the last frame, nanoseconds.
    public var landmarkTime: UInt64 { detector.landmarkTime }

    private var detector: FaceDetector
    private var tracks: [Track] = []
    /// Where to search next; of no frame before the first one, and after another scene has begun.
    private var search = FrameSearch()
    private(set) var candidates: CandidateList
    private var isCandidatesTurn = false
    private var nextID = 1
    /// The time of the last frame, seconds.
    private var updateTime: Double?
    /// The time of the last searched frame, seconds.
    private var lastTime: Double?
    /// The time of the frame whose search was deferred, seconds.
    private var deferredSearchTime: Double?
    private(set) var budget = SearchBudget()
    private var last = LastTimes()
    /// Recently lost faces, to be recognised if they come back. They stay here until a track with their id is
    /// confirmed: one that is not may be dropped again.
    private var lost: [Track] = []
    /// The cat detector; nil: cats are not searched for.
    private var cats: CatDetector?
    /// Tiles scanned for human faces since the last tile for cats.
    private var tilesSinceCats = 0

    /// The number of tiles scanned for human faces per tile for cats, and that while `isThorough`, when four times as
    /// many are scanned: nobody hides a cat.
    private static let (tilesPerCats, thoroughTilesPerCats) = (5, 20)
    /// Photos are searched three times, each time at sizes between those of the others (thirds of
    /// `ScanScheduler.step`), and at these head tilts, degrees.
    static let photoSizes = ScanScheduler.phases
    static let photoRolls: [Float] = [0, 10, -10, 20, -20, 30, -30, 40, -40, 50, -50]
    /// The other head tilts, at which photos are searched too, degrees, and the smallest window then, pixels: that of a
    /// face with 32 between the eyes.
    private static let turnedPhotoRolls: [Float] = [70, -70, 90, -90, 110, -110, 130, -130, 150, -150, 170, -170]
    private static let smallestTurned: Float = 77
    /// The tilt from which on a face in a photo counts as turned, degrees: half a step beyond the most upright search.
    private static let mostUpright: Float = 55
    /// Seconds after an entrance during which a new face is expected, and those without motion before an empty room is
    /// entered.
    private static let entranceDuration = 1.0
    /// The interval between examinations of candidates beside a known face while nothing else moves, seconds.
    private static let calmInterval = 0.2
    /// The share of the frame that must move to count as someone entering.
    private static let entrance: Float = 0.005
    /// The search range around a lost face and around a candidate, in twentieths of the window.
    private static let lostMaxOffset = 14
    private static let candidateMaxOffset = 6
    private static let maxCandidates = 6
    /// While `isThorough`: the maximum number of candidates, and the examinations per frame.
    private static let maxThoroughCandidates = 64
    private static let thoroughRuns = 6
    /// The longest `Settings.hold` while `isThorough`, seconds.
    private static let maxThoroughHold = 0.4
    /// Tiles of turned faces searched per second while `isThorough` and no face is known, and in a frame at most: two
    /// searches of 1280 x 720 in less than the two seconds in which an empty room is not shown yet.
    private static let (turnedPerSecond, maxTurned) = (90.0, 6)
    /// Seconds between two repetitions of all searches: in a long pan, what moves comes first.
    private static let repetitionInterval = 2.0
    /// Seconds between two searches for large faces that come in: every second frame at 30 a second, since moving hands
    /// cause them too.
    private static let largeInterval = 0.06
    /// Seconds between two frames after which everything is searched for anew, as if the scene had changed: people move
    /// while a picture is frozen or a camera stalls.
    private static let maxGap = 2.0
    /// Seconds within which a face detected near where one was lost gets its id back.
    private static let reidentificationDuration = 3.0

    /// The maximum number of `faces`: people, and cats beside them.
    public static let maxFaces = Settings.allowed.upperBound + CatDetector.maxCats

    /// Applies other settings from the next frame on. Tracked faces are kept as far as there is room.
    public mutating func apply(_ new: Settings) {
        guard new != settings else { return }
        if new.max != settings.max {
            while tracks.count > new.max {
                tracks.remove(at: tracks.lastIndex { !$0.isConfirmed } ?? tracks.count - 1)
            }
            // All slots are new, and empty.
            detector.reserveSlots(faces: new.max)
            for i in tracks.indices { tracks[i].slot = i }
        }
        settings = new
    }

    /// How long a lost face is predicted, seconds. A mask that hides faces must not rely on a prediction for longer.
    private var hold: Double { isThorough ? min(settings.hold, Self.maxThoroughHold) : settings.hold }

    /// Whether to examine candidates in every frame until they are confirmed or refuted, and to publish their heads
    /// until then in `candidateHeads`. For masks that hide faces.
    public var isThorough = false {
        // Who was overlooked so far was not to be hidden.
        didSet {
            guard isThorough && !oldValue else { return }
            search.restartSearches()
        }
    }
    /// Heads of candidates that are neither confirmed nor refuted, pixels; empty unless `isThorough`.
    public private(set) var candidateHeads: [Rect] = []
    /// Whether `candidateHeads` lacks a candidate that was never rejected, because there were too many.
    public var hasTooManyCandidates: Bool { candidates.isIncomplete }
    /// The faces of a photo that `correct` moved, as they were found.
    public private(set) var replacedFaces: [Face] = []
    /// Ids of faces that were shown until this frame and turned out not to be faces.
    public private(set) var refuted: [Int] = []
    /// The frame before, while `isThorough`.
    private var previous = PreviousFrame()

    private var cut = SceneCut()
    /// Whether the last frame shows another scene than the one before it, so that all tracks were dropped.
    public private(set) var isCut = false

    /// Drops all faces and the search's progress before the next frame, which shows another scene.
    public mutating func restart() {
        search = FrameSearch()
        (lastTime, deferredSearchTime) = (nil, nil)
        previous.forget()
    }

    /// Creates a tracker without any face.
    /// - Parameter cats: the cat detector; nil: cats are not searched for.
    public init(_ detector: consuming FaceDetector, cats: consuming CatDetector? = nil, settings: Settings = Settings())
    {
        self.detector = detector
        self.detector.reserveSlots(faces: settings.max)
        self.cats = cats
        self.settings = settings
        candidates = CandidateList(capacity: max(Self.maxThoroughCandidates, settings.max))
        faces.reserveCapacity(Self.maxFaces)
        candidateHeads.reserveCapacity(max(Self.maxThoroughCandidates, settings.max) + settings.max)
        refuted.reserveCapacity(settings.max)
        lost.reserveCapacity(settings.max)
        tracks.reserveCapacity(settings.max + 1)
    }

    /// Tracks and detects the faces of the next frame of a clip or camera; the results are in `faces`.
    /// - Parameters:
    ///   - chroma: while `isThorough`, shows cuts between people before one wall; nil for a gray picture.
    ///   - seconds: the frame's time; must increase from frame to frame.
    ///   - defersSearch: whether to leave the search for more faces beside known ones to `searchDeferred`, so that the
    ///     known ones need not wait for it.
    public mutating func update(
        _ luma: borrowing LumaView, chroma: ChromaView? = nil, at seconds: Double, defersSearch: Bool = false
    ) {
        let change = cut.update(luma, chroma: chroma, isThorough: isThorough)
        isCut = change == .cut
        // After a gap nobody need be where they were.
        let isBack = updateTime.map { seconds < $0 } ?? false
        let isGap = isBack || updateTime.map { seconds > $0 + Self.maxGap } ?? false
        // Another source starts at zero: what the one before showed would seem to lie in the future.
        if isBack {
            budget.restartClock()
            last = LastTimes()
        }
        updateTime = seconds
        if isCut || isGap { restart() }
        prepare(luma)
        if change == .gradual, seconds - last.repetition > Self.repetitionInterval {
            last.repetition = seconds
            search.repeatSearches()
        }
        for i in tracks.indices {
            var track = tracks[i]
            follow(&track, luma, seconds)
            tracks[i] = track
        }
        mergeDuplicates()
        dropExpired(at: seconds)
        let hold = hold
        cats?.follow(luma, at: seconds, hold: hold)
        deferredSearchTime = defersSearch && !situation(at: seconds).isUrgent ? seconds : nil
        if deferredSearchTime == nil { searchFrame(luma, at: seconds) }
        publishFaces(at: seconds)
        if isThorough { previous.store(luma) } else { previous.forget() }
    }

    /// Searches the frame of the last `update` for more faces, if that was deferred. The next `update` publishes them.
    public mutating func searchDeferred(_ luma: borrowing LumaView) {
        guard let seconds = deferredSearchTime else { return }
        deferredSearchTime = nil
        searchFrame(luma, at: seconds)
    }

    /// Searches a whole picture at several tilts, for photos. Slow: not limited by any frame's budget.
    /// - Parameter smallest: side of the smallest face to search for, pixels; `settings.minSize` is a lower limit.
    ///   Most of the time goes into the smallest sizes.
    public mutating func searchWhole(_ luma: borrowing LumaView, smallest: Float = 0) {
        prepare(luma)
        removeAllTracks()
        // A size that the full search uses too, so that larger faces are detected the same way.
        var first = self.smallest(luma)
        while first * ScanScheduler.levelFactor <= smallest { first *= ScanScheduler.levelFactor }
        for size in Self.photoSizes {
            scan(luma, smallest: size * first, rolls: Self.photoRolls)
            scan(
                luma, smallest: size * max(first, Self.smallestTurned), rolls: Self.turnedPhotoRolls,
                atLeast: isThorough ? Thresholds.photoDetectionLogOdds : Thresholds.turnedPhotoLogOdds)
            if isThorough {
                scan(luma, smallest: size * FrameSearch.smallestThorough, limit: size * first, rolls: [0])
            }
        }
        dropUnlikely(luma)
        candidates.removeAll { candidate in tracks.contains { $0.covers(candidate.detection) } }
        for i in tracks.indices { tracks[i].isConfirmed = true }
        cats?.searchWhole(luma, besides: tracks.filter { $0.logOdds > Thresholds.catLogOdds }, &nextID)
        for i in tracks.indices.reversed() where tracks[i].logOdds <= Thresholds.catLogOdds {
            if cats?.isCat(tracks[i].box) == true { tracks.remove(at: i) }
        }
        publishFaces(at: 0)
    }

    /// Moves landmarks of a photo's faces, after `searchWhole`, to where somebody has placed them: each correction
    /// those of the human face in its box, or else of the nearest one. A complete one without such a face is one more
    /// face.
    /// - Returns: the indices of the corrections that belong to no face.
    public mutating func correct(_ corrections: [FaceCorrection]) -> [Int] {
        let found = faces
        let unused = faces.correct(corrections, nextID: &nextID)
        replacedFaces = zip(found, faces).compactMap { before, after in
            (0..<68).contains { before.landmarks[$0] != after.landmarks[$0] } ? before : nil
        }
        return unused
    }

    /// Searches a whole photo.
    /// - Parameters:
    ///   - smallest, limit, rolls: as for `ScanScheduler`.
    ///   - needed: the log-odds that make a face.
    private mutating func scan(
        _ luma: borrowing LumaView, smallest: Float, limit: Float? = nil, rolls: [Float],
        atLeast needed: Float = Thresholds.photoDetectionLogOdds
    ) {
        let scheduler = ScanScheduler(
            width: luma.width, height: luma.height, smallest: smallest, limit: limit, rolls: rolls)
        for region in scheduler.tiles {
            detector.detect(luma, in: region)
            for detection in detector.detections {
                let logOdds = evaluate(luma, detection, atLeast: needed, 0)
                guard isThorough, let logOdds, logOdds > Thresholds.weakLogOdds else { continue }
                if !tracks.contains(where: { $0.covers(detection) }) { addCandidate(detection) }
            }
        }
    }

    /// Drops what is no face in a photo after all. While faces must be hidden, it stays a candidate.
    private mutating func dropUnlikely(_ luma: borrowing LumaView) {
        for i in tracks.indices.reversed() {
            let track = tracks[i]
            guard track.logOdds < Thresholds.certainLogOdds else { continue }
            let isTurned = abs(EyePair(track.fit).roll) > Self.mostUpright && !isThorough
            let needed = isTurned ? Thresholds.turnedPhotoLogOdds : Thresholds.photoLogOdds
            guard detector.meanLogOdds(luma, EyePair(track.fit), first: track.logOdds) <= needed else { continue }
            tracks.remove(at: i)
            if isThorough { addCandidate(track.detection) }
        }
    }

    /// Drops tracks that were lost for too long or refuted.
    private mutating func dropExpired(at seconds: Double) {
        refuted.removeAll(keepingCapacity: true)
        var i = 0
        while i < tracks.count {
            let track = tracks[i]
            let isGone = track.isConfirmed && seconds - track.lastSeen > hold
            if isGone { rememberLost(track) }
            guard isGone || track.isRefuted || !(track.isConfirmed || track.seen) else {
                i += 1
                continue
            }
            tracks.remove(at: i)
            guard isThorough, !isGone else { continue }
            if track.isConfirmed { refuted.append(track.id) }
            // A dropped track covers no detection, so it can become a candidate again.
            if track.isRefuted {
                candidates.markRefuted(track.detection, at: seconds)
            } else {
                addCandidate(track.detection)
            }
        }
        lost.removeAll { lost in
            seconds - lost.lastSeen > Self.reidentificationDuration
                || tracks.contains { $0.isConfirmed && $0.id == lost.id }
        }
    }

    /// Remembers a lost face, which may come back.
    private mutating func rememberLost(_ track: Track) {
        lost.removeAll { $0.id == track.id }
        if lost.count >= settings.max { lost.removeFirst() }
        lost.append(track)
        search.prioritize(around: track.head.origin)
    }

    /// Seconds since the last searched frame; nil for the first.
    private func elapsed(at seconds: Double) -> Double? { lastTime.map { max(0, seconds - $0) } }

    /// What the search's budget depends on.
    func situation(at seconds: Double) -> SearchBudget.Situation {
        SearchBudget.Situation(
            shown: tracks.count { $0.isConfirmed }, isThorough: isThorough, isFirstPass: isFirstPass,
            lacksSearches: lacksSearches, hasLost: !lost.isEmpty,
            hasEntered: seconds - last.entrance < Self.entranceDuration,
            isEntering: seconds - last.entranceBegan < Self.entranceDuration)
    }

    /// Whether no face is known.
    private var isNobodyKnown: Bool { !tracks.contains(where: \.isConfirmed) }

    /// Whether every place in the frame was searched once, and every candidate of this frame was kept.
    public var hasSearchedAll: Bool {
        isSearched && search.isSmallComplete != false && !hasTooManyCandidates
    }

    /// Whether some place in the frame has not been searched since the start.
    private var isFirstPass: Bool { search.hasFrame && !isSearched }

    /// Whether the frame was searched for all likely sizes, as often as is needed.
    private var isSearched: Bool {
        search.hasFrame && (isThorough ? search.isComplete(awaitsLarge: awaitsLargeFace) : search.isComplete)
    }

    /// Whether no known face fills much of the frame: one may have been overlooked.
    private var awaitsLargeFace: Bool {
        let width = search.largeWidth
        return !tracks.contains { $0.isConfirmed && $0.box.width >= width }
    }

    /// Whether faces are to be hidden, and the frame was not searched often enough since.
    private var lacksSearches: Bool { isThorough && search.lacksSearches }

    /// The smallest window of the search for likely sizes, pixels. Which faces are hidden does not depend on a setting.
    private func smallest(_ luma: borrowing LumaView) -> Float {
        let minSize = isThorough ? Settings().minSize : settings.minSize
        return max(Float(ScanScheduler.sizes.lowerBound), minSize * Float(min(luma.width, luma.height)))
    }

    private mutating func prepare(_ luma: borrowing LumaView) {
        detector.landmarkTime = 0
        candidates.beginFrame()
        let smallest = smallest(luma)
        if search.width != luma.width || search.height != luma.height { restart() }
        if !search.hasFrame {
            search = FrameSearch(width: luma.width, height: luma.height, smallest: smallest, faces: settings.max)
            cats?.restart(width: luma.width, height: luma.height)
            removeAllTracks()
        }
        search.prepare(smallest: smallest, isThorough: isThorough)
    }

    /// Drops all state that refers to places in other frames.
    private mutating func removeAllTracks() {
        candidates.removeAll()
        tracks.removeAll(keepingCapacity: true)
        lost.removeAll(keepingCapacity: true)
    }

    /// Searches for a known face at its predicted position: first by its landmarks, then around it by the cascade.
    private mutating func follow(_ track: inout Track, _ luma: borrowing LumaView, _ seconds: Double) {
        track.seen = false
        let update = detector.follow(luma, track, at: seconds)
        var near = update?.fit
        // After a failed alignment, landmarks and cascade may slide to someone who passes in front of the face.
        if update?.correlation == nil, let fit = near, isOthers(fit, than: track) { near = nil }
        if let update, update.isCut, let near {
            track.update(near, update, at: seconds, verified: true)
            detector.storePatch(slot: track.slot, isNew: false)
            return
        }
        if let update, update.isStill {
            track.advanceWithoutFit(update, at: seconds)
            detector.storePatch(slot: track.slot, isNew: false)
            return
        }
        // After a failed alignment, an earlier verification says nothing about this frame.
        let isFresh = update?.correlation != nil && track.isRecentlyVerified
        let isVerified = isFresh || near.map { detector.verifies(luma, $0.landmarks) } ?? false
        if let update, let near, isVerified, near.fitResidual < Thresholds.doubtfulResidual {
            track.update(near, update, at: seconds, verified: true)
            detector.storePatch(slot: track.slot, isNew: false)
            return rescore(&track, luma)
        }
        let expected = EyePair(update?.base ?? track.predictedLandmarks(at: seconds))
        if update?.isCut != true,
            let detection = detector.detect(luma, near: expected, maxOffset: Self.lostMaxOffset),
            // Where the face's appearance went, the face is: what is detected beside it is something else.
            update?.correlation == nil || detection.isOn(expected), let fit = detector.fit(luma, at: detection),
            fit.fitResidual < min(near?.fitResidual ?? Thresholds.keepResidual, Thresholds.foundResidual),
            !isOthers(fit, than: track)
        {
            track.update(fit, nil, at: seconds, verified: true)
            detector.storePatch(slot: track.slot, isNew: true)
        } else if let update, let near,
            isVerified || (near.fitResidual < Thresholds.keepResidual && track.mayGoUnverified)
        {
            track.update(near, update, at: seconds, verified: isVerified)
            detector.storePatch(slot: track.slot, isNew: false)
        } else {
            return
        }
        rescore(&track, luma)
    }

    /// Whether a fit is on the face of another confirmed track.
    private func isOthers(_ fit: Fit, than track: borrowing Track) -> Bool {
        let (slot, eyes) = (track.slot, EyePair(fit.landmarks).middle)
        return tracks.contains { $0.slot != slot && $0.isConfirmed && $0.seen && $0.isAt(eyes) }
    }

    /// Rescores a face that is not beyond doubt, at intervals.
    private mutating func rescore(_ track: inout Track, _ luma: borrowing LumaView) {
        if track.isDueForScoring {
            let fit = Fit(landmarks: track.fit, fitResidual: track.fitResidual)
            // Not while faces must be hidden: in a clip with signing hands, 2.7 heads were covered instead of 2.0.
            let hasSecondLook = track.isNew && !isThorough
            track.updateLogOdds(hasSecondLook ? detector.meanLogOdds(luma, fit) : detector.logOdds(luma, fit))
        }
    }

    /// Merges two tracks on one face. The confirmed one is kept; if both are alike, the older.
    private mutating func mergeDuplicates() {
        var i = 0
        while i < tracks.count {
            var j = i + 1
            while j < tracks.count {
                if tracks[i].covers(tracks[j]) {
                    if !tracks[i].isConfirmed && tracks[j].isConfirmed { tracks.swapAt(i, j) }
                    // A predicted track yields to one that is seen and passes its id on: it is the same face, detected
                    // again. A track that was never confirmed has no id to pass on.
                    if !tracks[i].seen && tracks[j].seen {
                        if tracks[i].isConfirmed && !tracks[j].isConfirmed { tracks[j].adoptIdentity(tracks[i]) }
                        tracks.swapAt(i, j)
                    }
                    let double = tracks.remove(at: j)
                    // A confirmed track with another id is somebody else, who passes in front of the face.
                    if double.isConfirmed && !double.seen && double.id != tracks[i].id { rememberLost(double) }
                } else {
                    j += 1
                }
            }
            i += 1
        }
    }

    /// Spends a frame's detector runs on tiles and on candidates in turn. A detection is not examined in the run that
    /// scanned the tile, since that would double the run's cost.
    private mutating func searchFrame(_ luma: borrowing LumaView, at seconds: Double) {
        let (situation, elapsed) = (situation(at: seconds), elapsed(at: seconds))
        var left = budget.runs(situation, elapsed: elapsed)
        let due = budget.tilesDue(
            situation, at: seconds, elapsed: elapsed, isSmallComplete: search.isSmallComplete)
        var tiles = min(due.likely, left)
        if isThorough { repeatLargeTiles(luma) }
        var isEntrance = false
        if tiles + due.small > 0 || isNobodyKnown {
            if search.recordMotion(luma, besides: tracks) > Self.entrance {
                if seconds - last.entrance > Self.entranceDuration && !isFirstPass { last.entranceBegan = seconds }
                last.entrance = seconds
            }
            // Nobody would overlook a large face that comes in.
            if isThorough, seconds - last.largeSearch > Self.largeInterval, let tile = search.nextMovedLarge() {
                last.largeSearch = seconds
                addCandidates(luma, tile)
            }
            isEntrance = isNobodyKnown && seconds - last.entranceBegan < Self.entranceDuration
            if isEntrance { searchEntrance(luma) }
        }
        while left > 0 {
            left -= 1
            isCandidatesTurn.toggle()
            // Until everything was searched once, candidates that were examined before can wait.
            let (isFirstPass, isNew) = (isFirstPass, candidates.pending.first?.examinations == 0)
            let isItsTurn = isCandidatesTurn && (isNew || !isFirstPass)
            if mayExamineCandidate(at: seconds), isItsTurn || tiles == 0 {
                last.examination = seconds
                examine(candidates.takeNext(), luma, seconds)
            } else if tiles > 0, tilesSinceCats >= tilesPerCats, !isFirstPass {
                tilesSinceCats = 0
                tiles -= 1
                search.search(for: &cats, luma, besides: tracks, at: seconds, &nextID)
            } else if tiles > 0, hasAllFaces {
                // Nobody could be added.
                tiles -= 1
                if cats != nil { tilesSinceCats += 1 }
            } else if tiles > 0, let tile = movedTile(situation) ?? search.next(thorough: isThorough) {
                tiles -= 1
                if cats != nil { tilesSinceCats += 1 }
                addCandidates(luma, tile)
            }
        }
        for _ in 0..<due.small {
            guard let tile = search.nextSmall() else { break }
            addCandidates(luma, tile)
        }
        if isThorough {
            searchTurned(luma, at: seconds)
            searchAroundDoubtful(luma)
        }
        if isThorough || isEntrance { examineCandidates(luma, seconds) }
        for i in tracks.indices where tracks[i].logOdds > Track.confirmAtOnceLogOdds { tracks[i].isConfirmed = true }
        lastTime = seconds
    }

    /// While somebody to hide may be coming in beside a known face, the tile in which most has moved.
    private mutating func movedTile(_ situation: SearchBudget.Situation) -> PatchTransform? {
        situation.isThorough && situation.isEntering && situation.shown > 0 ? search.nextMoved() : nil
    }

    /// Searches for large faces again until that was done in several frames, beside the frame's budget.
    private mutating func repeatLargeTiles(_ luma: borrowing LumaView) {
        for i in 0..<search.largeCount {
            if let tile = search.repeatLarge(i) { addCandidates(luma, tile) }
        }
    }

    /// Searches for somebody who comes into an empty room, in one tile of each size, beside the frame's budget. Not for
    /// longer than `entranceDuration`: trees move all day.
    private mutating func searchEntrance(_ luma: borrowing LumaView) {
        for level in 0..<search.levelCount {
            if let tile = search.nextMoved(level: level) { addCandidates(luma, tile) }
        }
    }

    /// Searches for turned faces, while no face is known, until that was done everywhere twice.
    private mutating func searchTurned(_ luma: borrowing LumaView, at seconds: Double) {
        guard !isFirstPass, isNobodyKnown else { return }
        let tiles = elapsed(at: seconds).map { Int(($0 * Self.turnedPerSecond).rounded()) } ?? 0
        for _ in 0..<max(1, min(tiles, Self.maxTurned)) {
            guard let tile = search.nextTurned() else { return }
            addCandidates(luma, tile)
        }
    }

    /// Searches for the faces whose nose and mouth may be what is tracked.
    private mutating func searchAroundDoubtful(_ luma: borrowing LumaView) {
        for i in tracks.indices where tracks[i].isConfirmed && tracks[i].seen && tracks[i].isDueForScoring {
            let whole = tracks[i].wholeFace
            if let detection = detector.detect(luma, near: whole, maxOffset: Self.lostMaxOffset) {
                addCandidate(detection)
            }
        }
    }

    private var tilesPerCats: Int { isThorough ? Self.thoroughTilesPerCats : Self.tilesPerCats }

    /// Whether as many faces as are allowed are known, and nobody beside them need be hidden.
    private var hasAllFaces: Bool {
        !isThorough && tracks.count == settings.max && tracks.allSatisfy(\.isConfirmed)
    }

    /// Whether there is a candidate and it is time to examine it.
    private func mayExamineCandidate(at seconds: Double) -> Bool {
        if hasAllFaces { return false }
        // Another examination of the same frame has the same result.
        if isThorough, candidates.pending.first?.lastExamined == seconds { return false }
        if candidates.pending.isEmpty || isFirstPass || seconds - last.entrance < Self.entranceDuration {
            return !candidates.pending.isEmpty
        }
        return seconds - last.examination >= Self.calmInterval || isNobodyKnown
    }

    /// The maximum number of candidates. A photo has as many as faces, since all of them are covered.
    private var maxCandidates: Int {
        isThorough ? max(Self.maxThoroughCandidates, settings.max) : Self.maxCandidates
    }

    /// Searches a tile and adds what is detected there.
    private mutating func addCandidates(_ luma: borrowing LumaView, _ tile: PatchTransform) {
        detector.detect(luma, in: tile)
        for detection in detector.detections { addCandidate(detection) }
    }

    /// Adds a detection as a candidate, unless a track or candidate covers it.
    private mutating func addCandidate(_ detection: Detection) {
        if !isTracked(detection) { candidates.add(detection, max: maxCandidates) }
    }

    /// Whether a detection is on a face that is tracked as a whole.
    private func isTracked(_ detection: Detection) -> Bool {
        tracks.contains { $0.covers(detection) && !$0.mayBePart(of: detection) }
    }

    /// Examines candidates that were not examined in this frame yet, up to `thoroughRuns`.
    private mutating func examineCandidates(_ luma: borrowing LumaView, _ seconds: Double) {
        for _ in 0..<Self.thoroughRuns {
            guard let next = candidates.takeUnexamined(at: seconds) else { return }
            examine(next, luma, seconds)
        }
    }

    /// Examines one candidate: it becomes a track, stays a candidate, or is dropped. A face that is to be hidden is
    /// judged by the verifier where it was detected, if the cascade does not detect it again.
    private mutating func examine(_ candidate: Candidate, _ luma: borrowing LumaView, _ seconds: Double) {
        var (candidate, logOdds) = (candidate, Float?.none)
        let seen = detector.detect(luma, near: candidate.detection.pair, maxOffset: Self.candidateMaxOffset)
        if let detection = seen ?? (isThorough ? candidate.detection : nil) {
            logOdds = evaluate(luma, detection, atLeast: Thresholds.detectionLogOdds, seconds)
            guard let logOdds, isThorough || logOdds > Thresholds.candidateLogOdds else { return }
            candidate.detection = detection
        }
        candidate.record(logOdds, at: seconds, lacksRoom: isThorough && tracks.count == settings.max)
        if candidate.frames == 1, isThorough { examinePrevious(&candidate) }
        if !candidate.isRefuted(thorough: isThorough) {
            candidates.putBack(candidate)
        } else if isThorough {
            candidates.markRefuted(candidate.detection, at: seconds)
        }
    }

    /// Examines a new candidate in the frame before too, so that it need not wait for the next frame: there are many,
    /// and few are faces.
    private mutating func examinePrevious(_ candidate: inout Candidate) {
        guard previous.hasFrame else { return }
        let before = previous
        let luma = LumaView(
            samples: before.samples.span, width: before.width, height: before.height, rowStride: before.width)
        candidate.record(logOdds(luma, near: candidate.detection))
    }

    /// The log-odds of a face at or near a detection; nil if no landmarks fit.
    private mutating func logOdds(_ luma: borrowing LumaView, near detection: Detection) -> Float? {
        let seen = detector.detect(luma, near: detection.pair, maxOffset: Self.candidateMaxOffset)
        return detector.fit(luma, at: seen ?? detection).map { detector.logOdds(luma, $0) }
    }

    /// Turns a detection into a track if its log-odds are high enough. Of two detections on one new face, keeps the
    /// better placed one; a face replaces the track on a part of it.
    /// - Returns: the log-odds if they were too low (-infinity if no landmarks fit), or if there is no room for a new
    ///   track while `isThorough`; otherwise nil.
    private mutating func evaluate(
        _ luma: borrowing LumaView, _ detection: Detection, atLeast needed: Float, _ seconds: Double
    ) -> Float? {
        if tracks.contains(where: { $0.isConfirmed && $0.covers(detection) && !$0.mayBePart(of: detection) }) {
            return nil
        }
        guard let fit = detector.fit(luma, at: detection) else { return -.infinity }
        let logOdds = detector.logOdds(luma, fit)
        guard logOdds > needed else { return logOdds }
        var track = Track(id: nextID, slot: freeSlot, fit, logOdds: logOdds, at: seconds)
        if let rival = tracks.firstIndex(where: { $0.covers(track) }) {
            let isBetter = tracks[rival].placementQuality < track.placementQuality
            guard tracks[rival].isConfirmed ? tracks[rival].mayBePart(of: detection) : isBetter else { return nil }
            (track.id, track.slot) = (tracks[rival].id, tracks[rival].slot)
            detector.storePatch(slot: track.slot, isNew: true)
            tracks[rival] = track
        } else if tracks.count < settings.max {
            if let id = lostID(for: track) { track.id = id } else { nextID += 1 }
            detector.storePatch(slot: track.slot, isNew: true)
            tracks.append(track)
        } else if isThorough {
            return logOdds
        }
        return nil
    }

    /// The id of a lost face that a new track may be; nil if there is none, or if another track has it already.
    private func lostID(for track: Track) -> Int? {
        lost.first { lost in lost.mayBe(track) && !tracks.contains { $0.id == lost.id } }?.id
    }

    /// The first free slot.
    private var freeSlot: Int {
        var slot = 0
        while tracks.contains(where: { $0.slot == slot }) { slot += 1 }
        return slot
    }

    private mutating func publishFaces(at seconds: Double) {
        faces.removeAll(keepingCapacity: true)
        for track in tracks where track.isConfirmed { faces.append(track.face(at: seconds)) }
        cats?.appendFaces(to: &faces)
        candidateHeads.removeAll(keepingCapacity: true)
        guard isThorough else { return }
        for track in tracks where !track.isConfirmed { candidateHeads.append(track.detection.head) }
        candidates.appendHeads(to: &candidateHeads, at: seconds)
    }
}

/// When things last happened while searching, seconds.
private struct LastTimes {
    /// Something other than a known face moved, and that began after a calm time.
    var (entrance, entranceBegan) = (longAgo, longAgo)
    /// A candidate was examined.
    var examination = longAgo
    /// All searches were repeated because the scene had changed slowly.
    var repetition = longAgo
    /// A tile of large faces was searched because something had moved in it.
    var largeSearch = longAgo

    /// A time before the first frame's by more than any interval that counts.
    private static let longAgo = -10.0
}
