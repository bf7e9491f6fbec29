import Frames

/// Finds faces and follows them, frame by frame.
///
/// A known face is sought only round its last place, at its last size and tilt. The whole frame is searched in slices
/// (`Sweep`), a few in each frame while no face is known, fewer once one is. A find becomes a face only when the
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
        public var slicesAlert = 60.0
        /// Seconds.
        public var alert = 3.0
        /// Slices in one second once nobody has been there for longer.
        public var slicesAlone = 20.0
        /// Slices in one second beside a known face: fewer than half as many as frames, so that most frames carry none.
        public var slicesBeside = 4.0
        /// Slices in one second in a crowd: more are likely to come, and they cost less than the faces.
        public var slicesCrowd = 30.0
        /// The same for a second after something moved that is no known face nor below one.
        public var slicesEntered = 10.0
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
    public var warning: String? { eye.warning }
    /// CPU time that the last frame spent on landmarks, nanoseconds.
    public var landmarkTime: UInt64 { eye.landmarkTime }

    private var eye: Looker
    private var tracks: [Track] = []
    private var sweep: Sweep?
    private var motion: FrameMotion?
    /// What may be a face, the next to be looked at first.
    private var suspects: [Suspect] = []
    private var isSuspectsTurn = false
    /// Boxes of the faces that are shown, pixels.
    private var known: [Rect] = []
    private var frameSize = (width: 0, height: 0)
    private var nextID = 1
    /// Of the last frame, seconds.
    private var lastTime: Double?
    /// Of a frame whose search was put off, seconds.
    private var putOff: Double?
    /// Slices that are due, the broken part of one included.
    private var due = 0.0
    /// When a face was last there, seconds.
    private var lastPresence = 0.0
    /// When something moved last that was no known face, seconds.
    private var lastEntrance = -10.0
    /// When something that may be a face was looked at last, seconds.
    private var lastLookAgain = -10.0
    /// Faces that were lost of late, to be known again.
    private var lost: [Track] = []
    /// nil: cats are not looked for.
    private var cats: CatFinder?
    /// Slices of the sweep since cats were last looked for.
    private var slicesSinceCats = 0

    /// Slices of the sweep for each that is searched for cats.
    private static let slicesPerCats = 5
    /// A frame carries so many looks a second, at least one: slices of the sweep, or closer looks at what may be a face,
    /// which cost about as much. The first frame alone may carry more.
    private static let looksPerSecond = 30.0
    private static let mostLooks = 3
    private static let firstLooks = 24
    /// Photos are searched three times, each time at sizes between those of the others (thirds of `Sweep.step`), and at
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
    private static let suspectReach = 6
    private static let mostSuspects = 6
    /// While `isThorough`: what may be faces at once, the looks at them in one frame, and the least slices of the sweep in
    /// one second.
    private static let mostCandidates = 32
    private static let thoroughLooks = 6
    private static let slicesThorough = 20.0
    /// The same while faces are likely to come: until all was searched, in a crowd, after a loss, and while something
    /// moves. A slice takes some 2 ms.
    private static let slicesUneasy = 180.0
    /// What was refuted may not be a face again, at the same place and size, for so many seconds.
    private static let clearance = 10.0
    /// A face that is found again near where it was lost, within so many seconds, gets its name back.
    private static let recall = 3.0

    /// More are never in `faces`: people, and cats beside them.
    public static let mostFaces = Settings.allowed.upperBound + CatFinder.most

    /// Takes other settings from the next frame on; who is followed stays so, as far as there is room.
    public mutating func change(_ new: Settings) {
        guard new != settings else { return }
        if new.smallest != settings.smallest { sweep = nil }
        if new.most != settings.most {
            tracks.removeAll { $0.slot >= new.most }
            eye.makeRoom(faces: new.most)
        }
        settings = new
    }

    /// What may be a face is looked at in each frame until it is known to be one or none, and its place is given out
    /// until then: for masks that hide faces.
    public var isThorough = false
    /// Heads of what may be faces and is neither known nor refuted, pixels; empty unless `isThorough`.
    public private(set) var candidates: [Rect] = []
    /// Numbers of faces that were shown until this frame and turned out to be none.
    public private(set) var refuted: [Int] = []
    /// Places of candidates that were refuted.
    private var cleared: [Cleared] = []

    private var cut = SceneCut()
    /// The last frame shows another scene than the one before it: nobody is where they were.
    public private(set) var isCut = false

    /// Forgets all faces and where was looked: the next frame shows everything elsewhere.
    public mutating func restart() { (sweep, lastTime, putOff) = (nil, nil, nil) }

    /// Begins without any face.
    /// - Parameter cats: finds cats' faces; nil: they are not looked for.
    public init(_ looker: consuming Looker, cats: consuming CatFinder? = nil, settings: Settings = Settings()) {
        eye = looker
        eye.makeRoom(faces: settings.most)
        self.cats = cats
        self.settings = settings
        faces.reserveCapacity(settings.most)
        known.reserveCapacity(settings.most)
        suspects.reserveCapacity(Self.mostCandidates + 1)
        candidates.reserveCapacity(Self.mostCandidates + settings.most)
        cleared.reserveCapacity(Self.mostCandidates)
        refuted.reserveCapacity(settings.most)
        lost.reserveCapacity(settings.most)
        tracks.reserveCapacity(settings.most + 1)
    }

    /// Finds the faces of the next frame of a clip or camera; they are in `faces` then.
    /// - Parameters:
    ///   - seconds: the frame's time; must grow from frame to frame.
    ///   - isPrompt: the search for more faces beside known ones is put off, for `searchOn`: known ones need not wait for it.
    public mutating func update(_ luma: borrowing LumaView, at seconds: Double, isPrompt: Bool = false) {
        isCut = cut.take(luma)
        if isCut { restart() }
        prepare(luma)
        for i in tracks.indices {
            var track = tracks[i]
            follow(&track, luma, seconds)
            tracks[i] = track
        }
        dropDoubles()
        forget(at: seconds)
        cats?.follow(luma, at: seconds, hold: settings.hold)
        putOff = isPrompt && !isHurried ? seconds : nil
        if putOff == nil { search(luma, at: seconds) }
        show(at: seconds)
    }

    /// Searches the frame of the last `update` for more faces, where that was put off; they are in `faces` with the next.
    public mutating func searchOn(_ luma: borrowing LumaView) {
        guard let seconds = putOff else { return }
        putOff = nil
        search(luma, at: seconds)
    }

    /// Searches one picture whole, at several tilts: for photos. No frame waits for this.
    /// - Parameter smallest: side of the smallest face to look for, in pixels; `faces.smallest` of the settings is the
    ///   lower limit. Most of the time goes into the smallest sizes.
    public mutating func searchWhole(_ luma: borrowing LumaView, smallest: Float = 0) {
        prepare(luma)
        forgetAll()
        // A size that the full search looks for too, so that larger faces are found alike.
        var first = self.smallest(luma)
        while first * Sweep.levelFactor <= smallest { first *= Sweep.levelFactor }
        for size in Self.photoSizes {
            let all = Sweep(
                width: luma.width, height: luma.height, smallest: size * first, rolls: Self.photoRolls)
            for region in all.regions {
                eye.sightings(luma, in: region)
                for sighting in eye.seen {
                    let certainty = consider(luma, sighting, atLeast: Looker.photoCertainty, 0)
                    if isThorough, let certainty, certainty > Looker.weakCertainty { suspect(sighting) }
                }
            }
        }
        suspects.removeAll { suspect in tracks.contains { $0.covers(suspect.sighting) } }
        for i in tracks.indices { tracks[i].isShown = true }
        cats?.searchWhole(luma, besides: tracks.filter { $0.certainty > Looker.catCertainty }, &nextID)
        for i in tracks.indices.reversed() where tracks[i].certainty <= Looker.catCertainty {
            if cats?.isCat(tracks[i].box) == true { tracks.remove(at: i) }
        }
        show(at: 0)
    }

    /// Drops what was lost for too long, and what turned out to be no face.
    private mutating func forget(at seconds: Double) {
        refuted.removeAll(keepingCapacity: true)
        var i = 0
        while i < tracks.count {
            let track = tracks[i]
            let isGone = track.isShown && seconds - track.lastSeen > settings.hold
            if isGone { lose(track) }
            guard isGone || track.isRefuted || !(track.isShown || track.seen) else {
                i += 1
                continue
            }
            tracks.remove(at: i)
            guard isThorough, !isGone else { continue }
            if track.isShown { refuted.append(track.id) }
            // A track that is gone covers no sighting, so it can be a suspect again.
            if track.isRefuted { clear(track.sighting, at: seconds) } else { suspect(track.sighting) }
        }
        lost.removeAll { seconds - $0.lastSeen > Self.recall }
    }

    /// Remembers a face that is gone, which may come back.
    private mutating func lose(_ track: Track) {
        if lost.count == settings.most { lost.removeFirst() }
        lost.append(track)
        sweep?.hurry(to: track.head.origin)
    }

    /// Seconds since the frame before; nil for the first.
    private func elapsed(at seconds: Double) -> Double? { lastTime.map { max(0, seconds - $0) } }

    /// Looks that this frame may spend beside its known faces.
    private func looks(at seconds: Double) -> Int {
        guard let elapsed = elapsed(at: seconds) else { return Self.firstLooks }
        let (perSecond, most) =
            isThorough ? (Self.slicesUneasy, 2 * Self.mostLooks) : (Self.looksPerSecond, Self.mostLooks)
        let looks = max(1, min(Int((elapsed * perSecond).rounded()), most))
        return isHurried ? 2 * looks : looks
    }

    /// With nobody to follow there is time for more. At the start, and in a crowd, more faces are sure to be there.
    private var isHurried: Bool {
        let shown = tracks.count { $0.isShown }
        return shown == 0 || shown >= Self.crowd || isPassing
    }

    /// Whether every place of the frame was searched once.
    public var hasSearchedAll: Bool { sweep?.isComplete == true }

    /// Whether some place has not been searched since the start.
    private var isPassing: Bool { sweep?.isComplete == false }

    /// Slices that are due by this frame: as many a second whatever the frame rate.
    private mutating func slices(at seconds: Double) -> Int {
        let shown = tracks.count { $0.isShown }
        if shown > 0 { lastPresence = seconds }
        guard let elapsed = elapsed(at: seconds) else { return Self.firstLooks }
        let isSeeking = isPassing || (shown == 0 && seconds - lastPresence < settings.alert)
        let hasEntered = seconds - lastEntrance < Self.unrest
        let rate =
            if isThorough, isSeeking || shown >= Self.crowd || !lost.isEmpty {
                Self.slicesUneasy
            } else if isThorough {
                hasEntered ? Self.slicesUneasy / 2 : Self.slicesThorough
            } else if isSeeking {
                settings.slicesAlert
            } else if shown == 0 {
                settings.slicesAlone
            } else if shown >= Self.crowd {
                settings.slicesCrowd
            } else if hasEntered {
                settings.slicesEntered
            } else {
                settings.slicesBeside
            }
        due += elapsed * rate
        let whole = Int(due)
        due = min(due - Double(whole), 1)
        return whole
    }

    private func smallest(_ luma: borrowing LumaView) -> Float {
        max(Float(Sweep.sizes.lowerBound), settings.smallest * Float(min(luma.width, luma.height)))
    }

    private mutating func prepare(_ luma: borrowing LumaView) {
        eye.landmarkTime = 0
        guard sweep == nil || frameSize != (luma.width, luma.height) else { return }
        frameSize = (luma.width, luma.height)
        sweep = Sweep(width: luma.width, height: luma.height, smallest: smallest(luma), rolls: [0, 40, -40])
        motion = FrameMotion(width: luma.width, height: luma.height)
        cats?.restart(width: luma.width, height: luma.height)
        forgetAll()
    }

    /// Drops all that places in other frames say.
    private mutating func forgetAll() {
        cleared.removeAll(keepingCapacity: true)
        tracks.removeAll(keepingCapacity: true)
        suspects.removeAll(keepingCapacity: true)
        lost.removeAll(keepingCapacity: true)
    }

    /// Looks for a known face where it should be now: first by its landmarks, then round about by the cascade.
    private mutating func follow(_ track: inout Track, _ luma: borrowing LumaView, _ seconds: Double) {
        track.seen = false
        let following = eye.follow(luma, track, at: seconds)
        var near = following?.fit
        // Where its look broke off, landmarks may slide, and the cascade look, to whoever passes before it.
        if following?.correlation == nil, let fit = near, isOthers(fit, than: track) { near = nil }
        if let following, following.isCut, let near {
            track.take(near, following, at: seconds, confirmed: true)
            eye.keep(slot: track.slot, isNew: false)
            return
        }
        if let following, following.isStill {
            track.rest(following, at: seconds)
            eye.keep(slot: track.slot, isNew: false)
            return
        }
        // A look that broke off says nothing of this frame, however fresh the cascade's word is.
        let isFresh = following?.correlation != nil && track.isFreshlyConfirmed
        let isConfirmed = isFresh || near.map { eye.confirms(luma, $0.landmarks) } ?? false
        if let following, let near, isConfirmed, near.disagreement < Looker.doubtfulDisagreement {
            track.take(near, following, at: seconds, confirmed: true)
            eye.keep(slot: track.slot, isNew: false)
            return judge(&track, luma)
        }
        if following?.isCut != true,
            let sighting = eye.sighting(
                luma, near: Looker.eyes(following?.base ?? track.guess(at: seconds)), reach: Self.lostReach),
            let fit = eye.fit(luma, at: sighting),
            fit.disagreement < min(near?.disagreement ?? Looker.keepDisagreement, Looker.foundDisagreement),
            !isOthers(fit, than: track)
        {
            track.take(fit, nil, at: seconds, confirmed: true)
            eye.keep(slot: track.slot, isNew: true)
        } else if let following, let near,
            isConfirmed || (near.disagreement < Looker.keepDisagreement && track.mayGoUnconfirmed)
        {
            track.take(near, following, at: seconds, confirmed: isConfirmed)
            eye.keep(slot: track.slot, isNew: false)
        } else {
            return
        }
        judge(&track, luma)
    }

    /// True where a fit lies on the face of another shown track.
    private func isOthers(_ fit: Fit, than track: borrowing Track) -> Bool {
        let (slot, eyes) = (track.slot, Looker.eyes(fit.landmarks).middle)
        return tracks.contains { $0.slot != slot && $0.isShown && $0.seen && $0.isAt(eyes) }
    }

    /// A face that is not beyond doubt is asked about from time to time.
    private mutating func judge(_ track: inout Track, _ luma: borrowing LumaView) {
        if track.isOnTrial {
            track.judge(eye.certainty(luma, Fit(landmarks: track.fit, disagreement: track.disagreement)))
        }
    }

    /// Two tracks on one face: the one that is shown stays, of two alike the older.
    private mutating func dropDoubles() {
        var i = 0
        while i < tracks.count {
            var j = i + 1
            while j < tracks.count {
                if tracks[i].covers(tracks[j]) {
                    if !tracks[i].isShown && tracks[j].isShown { tracks.swapAt(i, j) }
                    // One that is only predicted gives way to one that is seen, and hands it its name: that is the same
                    // face, found again. What was never shown has no name to hand on.
                    if !tracks[i].seen && tracks[j].seen {
                        if tracks[i].isShown && !tracks[j].isShown { tracks[j].inherit(tracks[i]) }
                        tracks.swapAt(i, j)
                    }
                    let double = tracks.remove(at: j)
                    // One that has a name of its own is somebody else, who passes before it.
                    if double.isShown && !double.seen && double.id != tracks[i].id { lose(double) }
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
        var left = looks(at: seconds)
        var slices = min(slices(at: seconds), left)
        if slices > 0 {
            known.removeAll(keepingCapacity: true)
            for track in tracks where track.isShown { known.append(track.box) }
            Self.look(&motion, luma, known)
            if motion?.share ?? 0 > Self.entrance { lastEntrance = seconds }
        }
        while left > 0 {
            left -= 1
            isSuspectsTurn.toggle()
            // Until everything was searched once, what was looked at in vain can wait.
            let (isPassing, isNew) = (isPassing, suspects.first?.looks == 0)
            let isItsTurn = isSuspectsTurn && (isNew || !isPassing)
            if mayLookAgain(at: seconds), isItsTurn || slices == 0 {
                lastLookAgain = seconds
                lookAgain(luma, seconds)
            } else if slices > 0, slicesSinceCats >= Self.slicesPerCats, !isPassing {
                slicesSinceCats = 0
                slices -= 1
                Self.searchCats(&cats, luma, motion, known, besides: tracks, at: seconds, &nextID)
            } else if slices > 0, let region = Self.advance(&sweep, motion, known) {
                slices -= 1
                if cats != nil { slicesSinceCats += 1 }
                eye.sightings(luma, in: region)
                for sighting in eye.seen { suspect(sighting) }
            }
        }
        if isThorough { lookAtCandidates(luma, seconds) }
        for i in tracks.indices where tracks[i].certainty > Track.shownAtOnce { tracks[i].isShown = true }
        lastTime = seconds
    }

    /// True where something may be a face, and it is time to look at that again.
    private func mayLookAgain(at seconds: Double) -> Bool {
        if suspects.isEmpty || isPassing || seconds - lastEntrance < Self.unrest { return !suspects.isEmpty }
        return seconds - lastLookAgain >= Self.calmInterval || !tracks.contains { $0.isShown }
    }

    /// Notes a sighting where nothing is known yet.
    private mutating func suspect(_ sighting: Sighting) {
        let isKnown =
            tracks.contains { $0.covers(sighting) } || suspects.contains { $0.covers(sighting) }
        if isKnown { return }
        if suspects.count >= (isThorough ? Self.mostCandidates : Self.mostSuspects) {
            // The one that disappointed most often makes room.
            let oldest = suspects.indices.max { suspects[$0].looks < suspects[$1].looks }
            if let oldest { suspects.remove(at: oldest) }
        }
        suspects.insert(Suspect(sighting: sighting), at: 0)
    }

    private static func searchCats(
        _ cats: inout CatFinder?, _ luma: borrowing LumaView, _ motion: borrowing FrameMotion?,
        _ known: borrowing [Rect],
        besides people: [Track], at seconds: Double, _ nextID: inout Int
    ) {
        switch motion {
        case .some(let motion):
            cats?.search(luma, motion, known: known.span, besides: people, at: seconds, &nextID)
        case nil: break
        }
    }

    private static func look(_ motion: inout FrameMotion?, _ luma: borrowing LumaView, _ known: borrowing [Rect]) {
        motion?.look(luma, known: known.span)
    }

    private static func advance(
        _ sweep: inout Sweep?, _ motion: borrowing FrameMotion?, _ known: borrowing [Rect]
    ) -> Region? {
        switch motion {
        case .some(let motion): sweep?.advance(motion, known: known.span)
        case nil: nil
        }
    }

    /// Looks into what may be a face; if it is not sure enough yet, again in frames to come, which may show it better.
    private mutating func lookAgain(_ luma: borrowing LumaView, _ seconds: Double) {
        if !suspects.isEmpty { look(at: suspects.removeFirst(), luma, seconds) }
    }

    /// Looks at each candidate that this frame has not looked at yet.
    private mutating func lookAtCandidates(_ luma: borrowing LumaView, _ seconds: Double) {
        var (next, left) = (0, Self.thoroughLooks)
        while left > 0, next < suspects.count {
            if suspects[next].lookedAt < seconds, !isCleared(suspects[next].sighting, at: seconds) {
                left -= 1
                look(at: suspects.remove(at: next), luma, seconds)
            } else {
                next += 1
            }
        }
    }

    private mutating func look(at suspect: Suspect, _ luma: borrowing LumaView, _ seconds: Double) {
        var suspect = suspect
        suspect.lookedAt = seconds
        suspect.looks += 1
        if let seen = eye.sighting(luma, near: suspect.sighting.pair, reach: Self.suspectReach) {
            guard let certainty = consider(luma, seen, atLeast: Looker.findCertainty, seconds) else { return }
            suspect.sighting = seen
            if certainty <= Looker.suspectCertainty {
                guard isThorough else { return }
                suspect.rejections += 1
            } else if certainty > Looker.findCertainty, isThorough, tracks.count == settings.most {
                // A face for which there is no room.
                (suspect.looks, suspect.rejections) = (0, 0)
            }
        } else {
            suspect.looks += 1
            suspect.rejections += 1
        }
        if suspect.looks < Suspect.mostLooks, !(isThorough && suspect.rejections >= Suspect.mostRejections) {
            suspects.append(suspect)
        } else if isThorough {
            clear(suspect.sighting, at: seconds)
        }
    }

    /// Notes that what may have been a face is none.
    private mutating func clear(_ sighting: Sighting, at seconds: Double) {
        cleared.removeAll { seconds - $0.time > Self.clearance || $0.isAt(sighting) }
        if cleared.count == Self.mostCandidates { cleared.removeFirst() }
        cleared.append(Cleared(sighting: sighting, time: seconds))
    }

    private func isCleared(_ sighting: Sighting, at seconds: Double) -> Bool {
        cleared.contains { seconds - $0.time <= Self.clearance && $0.isAt(sighting) }
    }

    /// Takes a sighting for a face where it is sure enough. Of two finds on one new face the surer one stays.
    /// - Returns: its certainty where it was too low; nil where it is a face, or lies on one.
    private mutating func consider(
        _ luma: borrowing LumaView, _ sighting: Sighting, atLeast needed: Float, _ seconds: Double
    ) -> Float? {
        if tracks.contains(where: { $0.isShown && $0.covers(sighting) }) { return nil }
        guard let fit = eye.fit(luma, at: sighting) else { return -.infinity }
        let certainty = eye.certainty(luma, fit)
        let isTiny = sighting.eyeDistance < Looker.tinyEyes
        guard certainty > needed + (isTiny ? Looker.tinyPenalty : 0) else { return certainty }
        var track = Track(id: nextID, slot: freeSlot, fit, certainty: certainty, at: seconds)
        if let rival = tracks.firstIndex(where: { $0.covers(track) }) {
            guard !tracks[rival].isShown, tracks[rival].standing < track.standing else { return nil }
            (track.id, track.slot) = (tracks[rival].id, tracks[rival].slot)
            eye.keep(slot: track.slot, isNew: true)
            tracks[rival] = track
        } else if tracks.count < settings.most {
            if let known = lost.firstIndex(where: { $0.mayBe(track) }) {
                track.id = lost.remove(at: known).id
            } else {
                nextID += 1
            }
            eye.keep(slot: track.slot, isNew: true)
            tracks.append(track)
        } else if isThorough {
            return certainty
        }
        return nil
    }

    /// The first slot that no track has.
    private var freeSlot: Int {
        var slot = 0
        while tracks.contains(where: { $0.slot == slot }) { slot += 1 }
        return slot
    }

    private mutating func show(at seconds: Double) {
        faces.removeAll(keepingCapacity: true)
        for track in tracks where track.isShown { faces.append(track.face(at: seconds)) }
        cats?.show(in: &faces)
        candidates.removeAll(keepingCapacity: true)
        guard isThorough else { return }
        for track in tracks where !track.isShown { candidates.append(track.sighting.head) }
        for suspect in suspects where !isCleared(suspect.sighting, at: seconds) {
            candidates.append(suspect.sighting.head)
        }
    }
}

/// The place of a candidate that was refuted.
private struct Cleared {
    let sighting: Sighting
    /// Seconds.
    let time: Double

    func isAt(_ other: Sighting) -> Bool { sighting.mayBe(other) }
}

/// What may be a face.
private struct Suspect {
    /// Looks after which it is none; one that sees nothing counts twice.
    static let mostLooks = 14
    /// Frames that must show that it is no face.
    static let mostRejections = 2

    var sighting: Sighting
    var looks = 0
    var rejections = 0
    /// Seconds.
    var lookedAt = -Double.infinity

    func covers(_ other: Sighting) -> Bool { sighting.mayBe(other) }
}
