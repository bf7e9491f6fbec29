import Frames

/// The detections that may be faces, and the places of those that were refuted.
struct CandidateList {
    /// Detections to examine, the next one first.
    private(set) var pending: [Candidate] = []
    /// Whether a candidate that was never rejected made room for another since `beginFrame`.
    private(set) var isIncomplete = false
    private var refutedPlaces: [RefutedPlace] = []

    private static let maxRefutedPlaces = 256
    /// Seconds for which a refuted candidate is not reported again at the same place and size.
    private static let refutedDuration = 10.0

    /// - Parameter capacity: the number of candidates for which room is reserved.
    init(capacity: Int) {
        pending.reserveCapacity(capacity + 1)
        refutedPlaces.reserveCapacity(Self.maxRefutedPlaces)
    }

    mutating func beginFrame() { isIncomplete = false }

    mutating func removeAll() {
        refutedPlaces.removeAll(keepingCapacity: true)
        pending.removeAll(keepingCapacity: true)
    }

    mutating func removeAll(where isDone: (Candidate) -> Bool) { pending.removeAll(where: isDone) }

    /// Adds a detection, to be examined next, unless a candidate covers it. If there are too many, the one that is
    /// nearest to being refuted makes room.
    mutating func add(_ detection: Detection, max: Int) {
        if pending.contains(where: { $0.covers(detection) }) { return }
        if pending.count >= max, let least = pending.indices.max(by: { pending[$0] < pending[$1] }) {
            if pending[least].rejections == 0 { isIncomplete = true }
            pending.remove(at: least)
        }
        pending.insert(Candidate(detection: detection), at: 0)
    }

    /// Puts a candidate that was examined back, behind the others.
    mutating func putBack(_ candidate: Candidate) { pending.append(candidate) }

    /// Takes the next candidate out.
    mutating func takeNext() -> Candidate { pending.removeFirst() }

    /// Takes the next candidate out that is covered and was not examined in this frame.
    mutating func takeUnexamined(at seconds: Double) -> Candidate? {
        let next = pending.firstIndex { $0.lastExamined < seconds && !isRefutedPlace($0.detection, at: seconds) }
        return next.map { pending.remove(at: $0) }
    }

    /// Records that a candidate is not a face.
    mutating func markRefuted(_ detection: Detection, at seconds: Double) {
        refutedPlaces.removeAll { seconds - $0.time > Self.refutedDuration || $0.isAt(detection) }
        if refutedPlaces.count == Self.maxRefutedPlaces { refutedPlaces.removeFirst() }
        refutedPlaces.append(RefutedPlace(detection: detection, time: seconds))
    }

    func isRefutedPlace(_ detection: Detection, at seconds: Double) -> Bool {
        refutedPlaces.contains { seconds - $0.time <= Self.refutedDuration && $0.isAt(detection) }
    }

    /// Appends the heads of all candidates at places that were not refuted.
    func appendHeads(to heads: inout [Rect], at seconds: Double) {
        for candidate in pending where !isRefutedPlace(candidate.detection, at: seconds) {
            heads.append(candidate.detection.head)
        }
    }
}

/// The place of a refuted candidate.
private struct RefutedPlace {
    let detection: Detection
    /// The time of the refutation, seconds.
    let time: Double

    func isAt(_ other: Detection) -> Bool { detection.mayBe(other) }
}
