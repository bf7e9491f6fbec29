/// A detection that may be a face.
struct Candidate {
    /// Examinations after which a candidate is refuted, unless the tracker `isThorough`; one that detects nothing
    /// counts twice.
    private static let maxExaminations = 14
    /// While the tracker `isThorough`, the number of frames in which a candidate is examined without becoming a face
    /// before it is refuted.
    private static let maxFrames = 2

    var detection: Detection
    var examinations = 0
    /// The number of frames in which the candidate was examined and did not become a face.
    var frames = 0
    /// The number of frames in which the candidate was rejected.
    var rejections = 0
    /// The time of the last examination, seconds.
    var lastExamined = -Double.infinity

    init(detection: Detection) { self.detection = detection }

    /// Records the result of an examination in the newest frame.
    /// - Parameters:
    ///   - logOdds: of a face at the place; nil: the cascade detects nothing there.
    ///   - seconds: the time of the frame.
    ///   - lacksRoom: whether a face would have become a track if there were fewer.
    mutating func record(_ logOdds: Float?, at seconds: Double, lacksRoom: Bool) {
        examinations += logOdds == nil ? 2 : 1
        // Another examination of the same frame only repeats the first.
        if lastExamined < seconds { record(logOdds) }
        lastExamined = seconds
        if lacksRoom, Self.isFace(logOdds) { (examinations, frames, rejections) = (0, 0, 0) }
    }

    /// Records the result of the examination in a frame.
    mutating func record(_ logOdds: Float?) {
        if Self.isFace(logOdds) { return }
        frames += 1
        if logOdds ?? -.infinity <= Thresholds.candidateLogOdds { rejections += 1 }
    }

    private static func isFace(_ logOdds: Float?) -> Bool {
        logOdds ?? -.infinity > Thresholds.detectionLogOdds
    }

    /// Whether the candidate is finally not a face.
    func isRefuted(thorough: Bool) -> Bool {
        thorough ? frames >= Self.maxFrames : examinations >= Self.maxExaminations
    }

    func covers(_ other: Detection) -> Bool { detection.mayBe(other) }

    /// Whether the first is further from being refuted than the second.
    static func < (first: Candidate, second: Candidate) -> Bool {
        (first.rejections, first.examinations) < (second.rejections, second.examinations)
    }
}
