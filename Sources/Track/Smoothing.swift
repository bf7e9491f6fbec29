import Frames

/// The One-Euro filter (Casiez, Roussel and Vogel, "1€ Filter", CHI 2012) over a face's landmarks: a low-pass filter
/// whose cut-off rises with speed, so that landmarks are steady at rest and do not lag in motion. It uses elapsed time,
/// so frame rates may vary; lengths are in eye distances, so faces of all sizes are treated alike.
struct Smoothing: Sendable {
    /// Cut-off frequency at rest, hertz. Lower: steadier.
    static let restCutoff: Float = 0.4
    /// Cut-off gained per unit of speed, hertz per eye distance per second. Higher: less lag.
    static let speedGain: Float = 30
    /// The same for a face whose motion is known from its patch, so that only expressions and the fits' own jitter
    /// remain.
    static let alignedSpeedGain: Float = 100
    /// Cut-off of the speed's own low-pass filter, hertz (the paper's default is 1).
    static let speedCutoff: Float = 1.5

    /// The mean deviation from the predicted landmarks, in eye distances, above which the filter restarts: that is no
    /// jitter, the landmarks were wrong.
    static let jump: Float = 0.15

    private(set) var landmarks: Face.Landmarks
    private var speeds: Face.Landmarks
    private var time: Double

    init(_ landmarks: Face.Landmarks, at seconds: Double) {
        self.landmarks = landmarks
        speeds = Face.Landmarks(repeating: .zero)
        time = seconds
    }

    /// Moves the landmarks with the face's motion, in a frame without a fit.
    mutating func move(to base: borrowing Face.Landmarks) { landmarks = copy base }

    /// Filters the next frame's landmarks.
    /// - Parameters:
    ///   - base: the last landmarks moved by the face's own motion, if that is known; otherwise unmoved.
    ///   - isMoved: whether the motion is known.
    ///   - eyeDistance: pixels.
    mutating func update(
        _ next: borrowing Face.Landmarks, from base: borrowing Face.Landmarks, isMoved: Bool, eyeDistance: Float,
        at seconds: Double
    ) {
        let elapsed = Float(seconds - time)
        guard elapsed > 0 else { return }
        time = seconds
        let unit = max(eyeDistance, 1)
        let gain = isMoved ? Self.alignedSpeedGain : Self.speedGain
        var distance: Float = 0
        for i in 0..<68 { distance += (next[i] - base[i]).length }
        guard distance / 68 < Self.jump * unit else {
            (landmarks, speeds) = (copy next, Face.Landmarks(repeating: .zero))
            return
        }
        let speedWeight = lowPassWeight(cutoff: Self.speedCutoff, elapsed: elapsed)
        for i in 0..<68 {
            let speed = (next[i] - base[i]) / (elapsed * unit)
            speeds[i] += (speed - speeds[i]) * speedWeight
            let cutoff = Self.restCutoff + gain * speeds[i].length
            landmarks[i] = base[i] + (next[i] - base[i]) * lowPassWeight(cutoff: cutoff, elapsed: elapsed)
        }
    }
}
