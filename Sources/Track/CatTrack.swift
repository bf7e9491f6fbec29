import Frames

/// The result of verifying one place with both cascades.
struct CatDetection: Sendable {
    var detection: Detection
    /// Windows of both cascades that passed, then those of each.
    var votes: Float
    var first: Int
    var second: Int
}

/// One tracked cat.
struct CatTrack: Sendable {
    /// Frames that must agree before a cat is shown, and frames that the running mean covers.
    private static let needed: Float = 5
    private static let memory: Float = 6
    /// A mean below this fraction of `shownVotes` drops even a confirmed cat.
    private static let refuted: Float = 0.3

    let id: Int
    private(set) var detected: Detection
    private(set) var lastSeen: Double
    /// The mean over the frames that showed the cat, weighted towards recent ones, and the number of frames in it.
    private(set) var votes: Float
    private var scoredFrames: Float = 1
    /// Whether the cat is certain enough to be published.
    var isConfirmed = false
    /// Whether this frame shows the cat.
    var isSeen = true
    /// Pixels per second.
    private var velocity = Point.zero
    private var smooth: CatSmoothing

    init(id: Int, _ detection: CatDetection, at seconds: Double) {
        self.id = id
        detected = detection.detection
        votes = detection.votes
        lastSeen = seconds
        smooth = CatSmoothing(detection.detection, at: seconds)
    }

    /// Whether the track has turned out not to be a cat.
    var isRefuted: Bool { scoredFrames >= Self.needed && votes < Self.refuted * CatDetector.shownVotes }

    /// The predicted place, extrapolated with the last velocity for at most 0.1 s.
    func predictedPlace(at seconds: Double) -> Detection {
        var guess = detected
        guess.eyes += velocity * Float(min(seconds - lastSeen, 0.1))
        return guess
    }

    mutating func update(_ detection: CatDetection, at seconds: Double) {
        let elapsed = Float(seconds - lastSeen)
        // The cascade's position is noisy, so each frame's velocity is averaged in by half.
        if elapsed > 0 { velocity += ((detection.detection.eyes - detected.eyes) / elapsed - velocity) / 2 }
        smooth.update(detection.detection, at: seconds)
        (detected, lastSeen, isSeen) = (detection.detection, seconds, true)
        scoredFrames = min(scoredFrames + 1, Self.memory)
        votes += (detection.votes - votes) / scoredFrames
        if scoredFrames >= Self.needed && votes >= CatDetector.shownVotes { isConfirmed = true }
    }

    /// Whether a detection is on this cat.
    func covers(_ detection: Detection) -> Bool {
        (detection.eyes - detected.eyes).length < max(detection.eyeDistance, detected.eyeDistance)
    }

    var face: Face {
        let head = HeadPlacement(cat: smooth.eyes)
        let landmarks = head.catLandmarks
        return Face(
            id: id, kind: .cat, state: isSeen ? .tracked : .predicted, basis: .eyes, box: Rect(around: landmarks),
            landmarks: landmarks, head: head, confidence: min(1, votes / (2 * CatDetector.shownVotes)))
    }
}

/// The One-Euro filter (see `Smoothing`) over a cat's two eyes, from which its face is derived. The cascades' boxes are
/// noisier than fitted landmarks, so the cut-off rises less with speed.
struct CatSmoothing: Sendable {
    /// Cut-off frequency at rest, hertz.
    private static let restCutoff: Float = 0.5
    /// Cut-off gained per unit of speed, hertz per eye distance per second.
    private static let speedGain: Float = 6

    /// The right eye's x and y, then the left eye's; pixels.
    private(set) var eyes: SIMD4<Float>
    private var speeds = SIMD4<Float>.zero
    private var time: Double

    init(_ detection: Detection, at seconds: Double) {
        eyes = Self.eyes(detection)
        time = seconds
    }

    mutating func update(_ detection: Detection, at seconds: Double) {
        let elapsed = Float(seconds - time)
        guard elapsed > 0 else { return }
        time = seconds
        let change = Self.eyes(detection) - eyes
        speeds +=
            (change / (elapsed * max(detection.eyeDistance, 1)) - speeds)
            * lowPassWeight(cutoff: Smoothing.speedCutoff, elapsed: elapsed)
        // One cut-off for both eyes, so that the face does not shear.
        let speed = max(speeds.lowHalf.length, speeds.highHalf.length)
        eyes += change * lowPassWeight(cutoff: Self.restCutoff + Self.speedGain * speed, elapsed: elapsed)
    }

    private static func eyes(_ detection: Detection) -> SIMD4<Float> {
        SIMD4(lowHalf: detection.pair.right, highHalf: detection.pair.left)
    }
}
