import Frames

/// The One-Euro filter (Casiez, Roussel and Vogel, "1€ Filter", CHI 2012) over a face's landmarks: a low pass whose
/// cut-off rises with speed, so that what rests is still and what moves does not lag. It works on elapsed time, so
/// frame rates may vary; lengths are in eye distances, so faces of all sizes are alike.
struct Smoothing: Sendable {
    /// Cut-off at rest, hertz. Lower: stiller.
    static let restCutoff: Float = 0.4
    /// Hertz gained per eye distance a second. Higher: less lag. The second where the face's motion is known by its
    /// look, so that what is left is expression and the fits' own shake.
    static let speedGain: Float = 30
    static let restGain: Float = 100
    /// Cut-off of the speed's own low pass, hertz (the paper's default is 1).
    static let speedCutoff: Float = 1.5

    /// A mean way of so many eye distances from where the points should be is no shake: they were wrong.
    static let jump: Float = 0.15

    private(set) var landmarks: Face.Landmarks
    private var speeds: Face.Landmarks
    private var time: Double

    init(_ landmarks: Face.Landmarks, at seconds: Double) {
        self.landmarks = landmarks
        speeds = Face.Landmarks(repeating: .zero)
        time = seconds
    }

    /// Moves the points as the face moved, in a frame without others.
    mutating func move(to base: borrowing Face.Landmarks) { landmarks = copy base }

    /// Takes the next frame's points.
    /// - Parameters:
    ///   - base: where the last ones are now, if the face's own motion is known; else as they were.
    ///   - isMoved: whether it is.
    ///   - eyeDistance: pixels.
    mutating func update(
        _ next: borrowing Face.Landmarks, from base: borrowing Face.Landmarks, isMoved: Bool, eyeDistance: Float,
        at seconds: Double
    ) {
        let elapsed = Float(seconds - time)
        guard elapsed > 0 else { return }
        time = seconds
        let unit = max(eyeDistance, 1)
        let gain = isMoved ? Self.restGain : Self.speedGain
        var way: Float = 0
        for i in 0..<68 { way += (next[i] - base[i]).length }
        guard way / 68 < Self.jump * unit else {
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
