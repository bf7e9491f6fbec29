import Frames

/// Finds faces and follows them, frame by frame.
///
/// A known face is sought only round its last place, at its last size and tilt. The whole frame is searched in slices
/// (`ScanScheduler`), a few in each frame while no face is known, fewer once one is. A find becomes a face only when the
/// landmarks fit it; a face that is lost is carried on for `Settings.hold` and then forgotten.
///
/// Work is counted in slices and never in time: the same frames give the same faces on every run and machine.
public struct Tracker: ~Copyable {
    /// What a user may choose.
    public struct Settings: Equatable, Sendable {
        /// Faces followed at once.
        public var most = Settings.allowed.upperBound
        /// What `most` may be.
        public static let allowed = 1...8
        /// The smallest face that is looked for: a window's side as a fraction of the frame's shorter side.
        public var smallest: Float = 0.05
        /// Slices of the sweep in one second until everything was searched once, and while a face that was there up to
        /// `alert` seconds ago is lost.
        public var tilesAlert = 60.0
        /// Seconds.
        public var alert = 3.0
        /// Slices in one second once nobody has been there for longer.
        public var tilesAlone = 20.0
        /// Slices in one second beside a known face: fewer than half as many as frames, so that most frames carry none.
        public var tilesBeside = 4.0
        /// Slices in one second in a crowd: more are likely to come, and they cost less than the faces.
        public var tilesCrowd = 30.0
        /// The same for a second after something moved that is no known face nor below one.
        public var tilesEntered = 10.0
        /// Seconds for which a lost face is carried on.
        public var hold = 0.4

        /// The defaults.
        public init() {}
    }

    /// As given, or changed since.
    public private(set) var settings: Settings
    /// The faces of the last frame, oldest first.
    public private(set) var faces: [Face] = []

    /// What is lost on this machine and how to get it; nil: nothing.
    public var warning: String? { detector.warning }
    /// CPU time that the last frame spent on landmarks, nanoseconds.
    public var landmarkTime: UInt64 { detector.landmarkTime }

    private var detector: FaceDetector
    private var tracks: [Track] = []
    private var scheduler: ScanScheduler?
    private var motion: FrameMotion?
    /// What may be a face, the next to be looked at first.
    private var pendingCandidates: [Candidate] = []
    private var isCandidatesTurn = false
    /// Boxes of the faces that are shown, pixels.
    private var known: [Rect] = []
    private var frameSize = (width: 0, height: 0)
    private var nextID = 1
    /// Of the last frame, seconds.
    private var lastTime: Double?
    /// Of a frame whose search was put off, seconds.
    private var deferredSearchTime: Double?
    /// Slices that are due, the broken part of one included.
    private var due = 0.0
    /// When a face was last there, seconds.
    private var lastPresence = 0.0
    /// When something moved last that was no known face, seconds.
    private var lastEntrance = -10.0
    /// When something that may be a face was looked at last, seconds.
    private var lastExamination = -10.0
    /// Faces that were lost of late, to be known again.
    private var lost: [Track] = []
    /// nil: cats are not looked for.
    private var cats: CatDetector?
    /// Slices of the sweep since cats were last looked for.
    private var tilesSinceCats = 0

    /// Slices of the sweep for each that is searched for cats.
    private static let tilesPerCats = 5
    /// A frame carries so many looks a second, at least one: slices of the sweep, or closer looks at what may be a face,
    /// which cost about as much. The first frame alone may carry more.
    private static let looksPerSecond = 30.0
    private static let mostLooks = 3
    private static let firstLooks = 24
    /// Photos are searched three times, each time at sizes between those of the others (thirds of `ScanScheduler.step`), and at
    /// these head tilts, degrees.
    private static let photoSizes: [Float] = [1, 1.063, 1.129]
    private static let photoRolls: [Float] = [0, 10, -10, 20, -20, 30, -30, 40, -40, 50, -50]
    /// For so many seconds after something moved, someone may come.
    private static let unrest = 1.0
    /// Faces that are a crowd.
    private static let crowd = 3
    /// Beside a known face, while nobody enters, what may be another is looked at again after so many seconds.
    private static let calmInterval = 0.2
    /// The part of the frame that must move for someone to have entered.
    private static let entrance: Float = 0.005
    /// How far a lost face, and one that is looked at again, may be from its place, in twentieths of the window.
    private static let lostReach = 14
    private static let candidateReach = 6
    private static let maxCandidates = 6
    /// While `isThorough`: what may be faces at once, the looks at them in one frame, and the least slices of the sweep in
    /// one second.
    private static let maxThoroughCandidates = 32
    private static let thoroughLooks = 6
    private static let tilesThorough = 20.0
    /// Tiles searched per second while `isThorough`, until the frame was searched once and in a crowd. A tile takes 1 to
    /// 2 ms of CPU time.
    private static let tilesThoroughBusy = 180.0
    /// Tiles searched per second while `isThorough` after a face was lost, and half as many while something moves. On
    /// labelled clips without a crowd no rate from 60 to 180 left a face bare; the cost grows with it.
    private static let tilesThoroughAlert = 90.0
    /// What was refuted may not be a face again, at the same place and size, for so many seconds.
    private static let refutedDuration = 10.0
    /// A face that is found again near where it was lost, within so many seconds, gets its name back.
    private static let recall = 3.0

    /// More are never in `faces`: people, and cats beside them.
    public static let mostFaces = Settings.allowed.upperBound + CatDetector.most

    /// Takes other settings from the next frame on; who is followed stays so, as far as there is room.
    public mutating func apply(_ new: Settings) {
        guard new != settings else { return }
        if new.smallest != settings.smallest { scheduler = nil }
        if new.most != settings.most {
            tracks.removeAll { $0.slot >= new.most }
            detector.reserveSlots(faces: new.most)
        }
        settings = new
    }

    /// What may be a face is looked at in each frame until it is known to be one or none, and its place is given out
    /// until then: for masks that hide faces.
    public var isThorough = false
    /// Heads of what may be faces and is neither known nor refuted, pixels; empty unless `isThorough`.
    public private(set) var candidateHeads: [Rect] = []
    /// Numbers of faces that were shown until this frame and turned out to be none.
    public private(set) var refuted: [Int] = []
    /// Places of candidates that were refuted.
    private var refutedPlaces: [RefutedPlace] = []

    private var cut = SceneCut()
    /// The last frame shows another scene than the one before it: nobody is where they were.
    public private(set) var isCut = false

    /// Forgets all faces and where was looked: the next frame shows everything elsewhere.
    public mutating func restart() { (scheduler, lastTime, deferredSearchTime) = (nil, nil, nil) }

    /// Begins without any face.
    /// - Parameter cats: finds cats' faces; nil: they are not looked for.
    public init(_ detector: consuming FaceDetector, cats: consuming CatDetector? = nil, settings: Settings = Settings())
    {
        self.detector = detector
        self.detector.reserveSlots(faces: settings.most)
        self.cats = cats
        self.settings = settings
        faces.reserveCapacity(settings.most)
        known.reserveCapacity(settings.most)
        pendingCandidates.reserveCapacity(Self.maxThoroughCandidates + 1)
        candidateHeads.reserveCapacity(Self.maxThoroughCandidates + settings.most)
        refutedPlaces.reserveCapacity(Self.maxThoroughCandidates)
        refuted.reserveCapacity(settings.most)
        lost.reserveCapacity(settings.most)
        tracks.reserveCapacity(settings.most + 1)
    }

    /// Finds the faces of the next frame of a clip or camera; they are in `faces` then.
    /// - Parameters:
    ///   - seconds: the frame's time; must grow from frame to frame.
    ///   - defersSearch: the search for more faces beside known ones is put off, for `searchDeferred`: known ones need not wait for it.
    public mutating func update(_ luma: borrowing LumaView, at seconds: Double, defersSearch: Bool = false) {
        isCut = cut.update(luma)
        if isCut { restart() }
        prepare(luma)
        for i in tracks.indices {
            var track = tracks[i]
            follow(&track, luma, seconds)
            tracks[i] = track
        }
        mergeDuplicates()
        dropExpired(at: seconds)
        cats?.follow(luma, at: seconds, hold: settings.hold)
        deferredSearchTime = defersSearch && !isUrgent ? seconds : nil
        if deferredSearchTime == nil { search(luma, at: seconds) }
        publishFaces(at: seconds)
    }

    /// Searches the frame of the last `update` for more faces, where that was put off; they are in `faces` with the next.
    public mutating func searchDeferred(_ luma: borrowing LumaView) {
        guard let seconds = deferredSearchTime else { return }
        deferredSearchTime = nil
        search(luma, at: seconds)
    }

    /// Searches one picture whole, at several tilts: for photos. No frame waits for this.
    /// - Parameter smallest: side of the smallest face to look for, in pixels; `faces.smallest` of the settings is the
    ///   lower limit. Most of the time goes into the smallest sizes.
    public mutating func searchWhole(_ luma: borrowing LumaView, smallest: Float = 0) {
        prepare(luma)
        removeAllTracks()
        // A size that the full search looks for too, so that larger faces are found alike.
        var first = self.smallest(luma)
        while first * ScanScheduler.levelFactor <= smallest { first *= ScanScheduler.levelFactor }
        for size in Self.photoSizes {
            let all = ScanScheduler(
                width: luma.width, height: luma.height, smallest: size * first, rolls: Self.photoRolls)
            for region in all.tiles {
                detector.detect(luma, in: region)
                for detection in detector.detections {
                    let logOdds = evaluate(luma, detection, atLeast: Thresholds.photoLogOdds, 0)
                    if isThorough, let logOdds, logOdds > Thresholds.weakLogOdds { addCandidate(detection) }
                }
            }
        }
        pendingCandidates.removeAll { candidate in tracks.contains { $0.covers(candidate.detection) } }
        for i in tracks.indices { tracks[i].isConfirmed = true }
        cats?.searchWhole(luma, besides: tracks.filter { $0.logOdds > Thresholds.catLogOdds }, &nextID)
        for i in tracks.indices.reversed() where tracks[i].logOdds <= Thresholds.catLogOdds {
            if cats?.isCat(tracks[i].box) == true { tracks.remove(at: i) }
        }
        publishFaces(at: 0)
    }

    /// Drops what was lost for too long, and what turned out to be no face.
    private mutating func dropExpired(at seconds: Double) {
        refuted.removeAll(keepingCapacity: true)
        var i = 0
        while i < tracks.count {
            let track = tracks[i]
            let isGone = track.isConfirmed && seconds - track.lastSeen > settings.hold
            if isGone { rememberLost(track) }
            guard isGone || track.isRefuted || !(track.isConfirmed || track.seen) else {
                i += 1
                continue
            }
            tracks.remove(at: i)
            guard isThorough, !isGone else { continue }
            if track.isConfirmed { refuted.append(track.id) }
            // A track that is gone covers no sighting, so it can be a suspect again.
            if track.isRefuted { markRefuted(track.detection, at: seconds) } else { addCandidate(track.detection) }
        }
        lost.removeAll { seconds - $0.lastSeen > Self.recall }
    }

    /// Remembers a face that is gone, which may come back.
    private mutating func rememberLost(_ track: Track) {
        if lost.count == settings.most { lost.removeFirst() }
        lost.append(track)
        scheduler?.prioritize(around: track.head.origin)
    }

    /// Seconds since the frame before; nil for the first.
    private func elapsed(at seconds: Double) -> Double? { lastTime.map { max(0, seconds - $0) } }

    /// Looks that this frame may spend beside its known faces.
    private func detectionBudget(at seconds: Double) -> Int {
        guard let elapsed = elapsed(at: seconds) else { return Self.firstLooks }
        let (perSecond, most) =
            isThorough ? (Self.tilesThoroughBusy, 2 * Self.mostLooks) : (Self.looksPerSecond, Self.mostLooks)
        let looks = max(1, min(Int((elapsed * perSecond).rounded()), most))
        return isUrgent ? 2 * looks : looks
    }

    /// With nobody to follow there is time for more. At the start, and in a crowd, more faces are sure to be there.
    private var isUrgent: Bool {
        let shown = tracks.count { $0.isConfirmed }
        return shown == 0 || shown >= Self.crowd || isFirstPass
    }

    /// Whether every place of the frame was searched once.
    public var hasSearchedAll: Bool { scheduler?.isComplete == true }

    /// Whether some place has not been searched since the start.
    private var isFirstPass: Bool { scheduler?.isComplete == false }

    /// Slices that are due by this frame: as many a second whatever the frame rate.
    private mutating func tilesDue(at seconds: Double) -> Int {
        let shown = tracks.count { $0.isConfirmed }
        if shown > 0 { lastPresence = seconds }
        guard let elapsed = elapsed(at: seconds) else { return Self.firstLooks }
        let isSeeking = isFirstPass || (shown == 0 && seconds - lastPresence < settings.alert)
        let hasEntered = seconds - lastEntrance < Self.unrest
        let rate =
            if isThorough, isFirstPass || shown >= Self.crowd {
                Self.tilesThoroughBusy
            } else if isThorough, isSeeking || !lost.isEmpty {
                Self.tilesThoroughAlert
            } else if isThorough {
                hasEntered ? Self.tilesThoroughAlert / 2 : Self.tilesThorough
            } else if isSeeking {
                settings.tilesAlert
            } else if shown == 0 {
                settings.tilesAlone
            } else if shown >= Self.crowd {
                settings.tilesCrowd
            } else if hasEntered {
                settings.tilesEntered
            } else {
                settings.tilesBeside
            }
        due += elapsed * rate
        let whole = Int(due)
        due = min(due - Double(whole), 1)
        return whole
    }

    private func smallest(_ luma: borrowing LumaView) -> Float {
        max(Float(ScanScheduler.sizes.lowerBound), settings.smallest * Float(min(luma.width, luma.height)))
    }

    private mutating func prepare(_ luma: borrowing LumaView) {
        detector.landmarkTime = 0
        guard scheduler == nil || frameSize != (luma.width, luma.height) else { return }
        frameSize = (luma.width, luma.height)
        scheduler = ScanScheduler(
            width: luma.width, height: luma.height, smallest: smallest(luma), rolls: [0, 40, -40])
        motion = FrameMotion(width: luma.width, height: luma.height)
        cats?.restart(width: luma.width, height: luma.height)
        removeAllTracks()
    }

    /// Drops all that places in other frames say.
    private mutating func removeAllTracks() {
        refutedPlaces.removeAll(keepingCapacity: true)
        tracks.removeAll(keepingCapacity: true)
        pendingCandidates.removeAll(keepingCapacity: true)
        lost.removeAll(keepingCapacity: true)
    }

    /// Looks for a known face where it should be now: first by its landmarks, then round about by the cascade.
    private mutating func follow(_ track: inout Track, _ luma: borrowing LumaView, _ seconds: Double) {
        track.seen = false
        let update = detector.follow(luma, track, at: seconds)
        var near = update?.fit
        // Where its look broke off, landmarks may slide, and the cascade look, to whoever passes before it.
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
        // A look that broke off says nothing of this frame, however fresh the cascade's word is.
        let isFresh = update?.correlation != nil && track.isRecentlyVerified
        let isVerified = isFresh || near.map { detector.verifies(luma, $0.landmarks) } ?? false
        if let update, let near, isVerified, near.fitResidual < Thresholds.doubtfulResidual {
            track.update(near, update, at: seconds, verified: true)
            detector.storePatch(slot: track.slot, isNew: false)
            return rescore(&track, luma)
        }
        if update?.isCut != true,
            let detection = detector.detect(
                luma, near: EyePair(update?.base ?? track.predictedLandmarks(at: seconds)),
                reach: Self.lostReach),
            let fit = detector.fit(luma, at: detection),
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

    /// True where a fit lies on the face of another shown track.
    private func isOthers(_ fit: Fit, than track: borrowing Track) -> Bool {
        let (slot, eyes) = (track.slot, EyePair(fit.landmarks).middle)
        return tracks.contains { $0.slot != slot && $0.isConfirmed && $0.seen && $0.isAt(eyes) }
    }

    /// A face that is not beyond doubt is asked about from time to time.
    private mutating func rescore(_ track: inout Track, _ luma: borrowing LumaView) {
        if track.isDueForScoring {
            track.updateLogOdds(detector.logOdds(luma, Fit(landmarks: track.fit, fitResidual: track.fitResidual)))
        }
    }

    /// Two tracks on one face: the one that is shown stays, of two alike the older.
    private mutating func mergeDuplicates() {
        var i = 0
        while i < tracks.count {
            var j = i + 1
            while j < tracks.count {
                if tracks[i].covers(tracks[j]) {
                    if !tracks[i].isConfirmed && tracks[j].isConfirmed { tracks.swapAt(i, j) }
                    // One that is only predicted gives way to one that is seen, and hands it its name: that is the same
                    // face, found again. What was never shown has no name to hand on.
                    if !tracks[i].seen && tracks[j].seen {
                        if tracks[i].isConfirmed && !tracks[j].isConfirmed { tracks[j].adoptIdentity(tracks[i]) }
                        tracks.swapAt(i, j)
                    }
                    let double = tracks.remove(at: j)
                    // One that has a name of its own is somebody else, who passes before it.
                    if double.isConfirmed && !double.seen && double.id != tracks[i].id { rememberLost(double) }
                } else {
                    j += 1
                }
            }
            i += 1
        }
    }

    /// Spends a frame's looks: on slices of the sweep, and on what may be a face, in turn. A find is not looked into in
    /// the look that had the slice, for that would cost a frame twice as much.
    private mutating func search(_ luma: borrowing LumaView, at seconds: Double) {
        var left = detectionBudget(at: seconds)
        var tiles = min(tilesDue(at: seconds), left)
        if tiles > 0 {
            known.removeAll(keepingCapacity: true)
            for track in tracks where track.isConfirmed { known.append(track.box) }
            Self.updateMotion(&motion, luma, known)
            if motion?.share ?? 0 > Self.entrance { lastEntrance = seconds }
        }
        while left > 0 {
            left -= 1
            isCandidatesTurn.toggle()
            // Until everything was searched once, what was looked at in vain can wait.
            let (isFirstPass, isNew) = (isFirstPass, pendingCandidates.first?.examinations == 0)
            let isItsTurn = isCandidatesTurn && (isNew || !isFirstPass)
            if mayExamineCandidate(at: seconds), isItsTurn || tiles == 0 {
                lastExamination = seconds
                examineNextCandidate(luma, seconds)
            } else if tiles > 0, tilesSinceCats >= Self.tilesPerCats, !isFirstPass {
                tilesSinceCats = 0
                tiles -= 1
                Self.searchCats(&cats, luma, motion, known, besides: tracks, at: seconds, &nextID)
            } else if tiles > 0, let region = Self.advance(&scheduler, motion, known) {
                tiles -= 1
                if cats != nil { tilesSinceCats += 1 }
                detector.detect(luma, in: region)
                for detection in detector.detections { addCandidate(detection) }
            }
        }
        if isThorough { examineCandidates(luma, seconds) }
        for i in tracks.indices where tracks[i].logOdds > Track.confirmAtOnceLogOdds { tracks[i].isConfirmed = true }
        lastTime = seconds
    }

    /// True where something may be a face, and it is time to look at that again.
    private func mayExamineCandidate(at seconds: Double) -> Bool {
        if pendingCandidates.isEmpty || isFirstPass || seconds - lastEntrance < Self.unrest {
            return !pendingCandidates.isEmpty
        }
        return seconds - lastExamination >= Self.calmInterval || !tracks.contains { $0.isConfirmed }
    }

    /// Notes a sighting where nothing is known yet.
    private mutating func addCandidate(_ detection: Detection) {
        let isKnown =
            tracks.contains { $0.covers(detection) } || pendingCandidates.contains { $0.covers(detection) }
        if isKnown { return }
        if pendingCandidates.count >= (isThorough ? Self.maxThoroughCandidates : Self.maxCandidates) {
            // The one that disappointed most often makes room.
            let oldest = pendingCandidates.indices.max {
                pendingCandidates[$0].examinations < pendingCandidates[$1].examinations
            }
            if let oldest { pendingCandidates.remove(at: oldest) }
        }
        pendingCandidates.insert(Candidate(detection: detection), at: 0)
    }

    private static func searchCats(
        _ cats: inout CatDetector?, _ luma: borrowing LumaView, _ motion: borrowing FrameMotion?,
        _ known: borrowing [Rect],
        besides people: [Track], at seconds: Double, _ nextID: inout Int
    ) {
        switch motion {
        case .some(let motion):
            cats?.search(luma, motion, known: known.span, besides: people, at: seconds, &nextID)
        case nil: break
        }
    }

    private static func updateMotion(
        _ motion: inout FrameMotion?, _ luma: borrowing LumaView, _ known: borrowing [Rect]
    ) {
        motion?.update(luma, known: known.span)
    }

    private static func advance(
        _ scheduler: inout ScanScheduler?, _ motion: borrowing FrameMotion?, _ known: borrowing [Rect]
    ) -> PatchTransform? {
        switch motion {
        case .some(let motion): scheduler?.advance(motion, known: known.span)
        case nil: nil
        }
    }

    /// Looks into what may be a face; if it is not sure enough yet, again in frames to come, which may show it better.
    private mutating func examineNextCandidate(_ luma: borrowing LumaView, _ seconds: Double) {
        if !pendingCandidates.isEmpty { examine(pendingCandidates.removeFirst(), luma, seconds) }
    }

    /// Looks at each candidate that this frame has not looked at yet.
    private mutating func examineCandidates(_ luma: borrowing LumaView, _ seconds: Double) {
        var (next, left) = (0, Self.thoroughLooks)
        while left > 0, next < pendingCandidates.count {
            if pendingCandidates[next].lastExamined < seconds,
                !isRefutedPlace(pendingCandidates[next].detection, at: seconds)
            {
                left -= 1
                examine(pendingCandidates.remove(at: next), luma, seconds)
            } else {
                next += 1
            }
        }
    }

    private mutating func examine(_ candidate: Candidate, _ luma: borrowing LumaView, _ seconds: Double) {
        var candidate = candidate
        candidate.lastExamined = seconds
        candidate.examinations += 1
        if let seen = detector.detect(luma, near: candidate.detection.pair, reach: Self.candidateReach) {
            guard let logOdds = evaluate(luma, seen, atLeast: Thresholds.detectionLogOdds, seconds) else { return }
            candidate.detection = seen
            if logOdds <= Thresholds.candidateLogOdds {
                guard isThorough else { return }
                candidate.rejections += 1
            } else if logOdds > Thresholds.detectionLogOdds, isThorough, tracks.count == settings.most {
                // A face for which there is no room.
                (candidate.examinations, candidate.rejections) = (0, 0)
            }
        } else {
            candidate.examinations += 1
            candidate.rejections += 1
        }
        if candidate.examinations < Candidate.maxExaminations,
            !(isThorough && candidate.rejections >= Candidate.maxRejections)
        {
            pendingCandidates.append(candidate)
        } else if isThorough {
            markRefuted(candidate.detection, at: seconds)
        }
    }

    /// Notes that what may have been a face is none.
    private mutating func markRefuted(_ detection: Detection, at seconds: Double) {
        refutedPlaces.removeAll { seconds - $0.time > Self.refutedDuration || $0.isAt(detection) }
        if refutedPlaces.count == Self.maxThoroughCandidates { refutedPlaces.removeFirst() }
        refutedPlaces.append(RefutedPlace(detection: detection, time: seconds))
    }

    private func isRefutedPlace(_ detection: Detection, at seconds: Double) -> Bool {
        refutedPlaces.contains { seconds - $0.time <= Self.refutedDuration && $0.isAt(detection) }
    }

    /// Takes a sighting for a face where it is sure enough. Of two finds on one new face the surer one stays.
    /// - Returns: its certainty where it was too low; nil where it is a face, or lies on one.
    private mutating func evaluate(
        _ luma: borrowing LumaView, _ detection: Detection, atLeast needed: Float, _ seconds: Double
    ) -> Float? {
        if tracks.contains(where: { $0.isConfirmed && $0.covers(detection) }) { return nil }
        guard let fit = detector.fit(luma, at: detection) else { return -.infinity }
        let logOdds = detector.logOdds(luma, fit)
        let isTiny = detection.eyeDistance < Thresholds.tinyEyes
        guard logOdds > needed + (isTiny ? Thresholds.tinyPenalty : 0) else { return logOdds }
        var track = Track(id: nextID, slot: freeSlot, fit, logOdds: logOdds, at: seconds)
        if let rival = tracks.firstIndex(where: { $0.covers(track) }) {
            guard !tracks[rival].isConfirmed, tracks[rival].placementQuality < track.placementQuality else {
                return nil
            }
            (track.id, track.slot) = (tracks[rival].id, tracks[rival].slot)
            detector.storePatch(slot: track.slot, isNew: true)
            tracks[rival] = track
        } else if tracks.count < settings.most {
            if let known = lost.firstIndex(where: { $0.mayBe(track) }) {
                track.id = lost.remove(at: known).id
            } else {
                nextID += 1
            }
            detector.storePatch(slot: track.slot, isNew: true)
            tracks.append(track)
        } else if isThorough {
            return logOdds
        }
        return nil
    }

    /// The first slot that no track has.
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
        for candidate in pendingCandidates where !isRefutedPlace(candidate.detection, at: seconds) {
            candidateHeads.append(candidate.detection.head)
        }
    }
}

/// The place of a candidate that was refuted.
private struct RefutedPlace {
    let detection: Detection
    /// Seconds.
    let time: Double

    func isAt(_ other: Detection) -> Bool { detection.mayBe(other) }
}

/// What may be a face.
private struct Candidate {
    /// Looks after which it is none; one that sees nothing counts twice.
    static let maxExaminations = 14
    /// Frames that must show that it is no face.
    static let maxRejections = 2

    var detection: Detection
    var examinations = 0
    var rejections = 0
    /// Seconds.
    var lastExamined = -Double.infinity

    func covers(_ other: Detection) -> Bool { detection.mayBe(other) }
}
