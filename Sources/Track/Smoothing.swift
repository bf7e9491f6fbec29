import Frames

/// The One-Euro filter (Casiez, Roussel and Vogel, "1€ Filter", CHI 2012) over a face's landmarks: a low pass whose
/// cut-off rises with speed, so that what rests is still and what moves does not lag. It works on elapsed time, so
/// frame rates may vary; lengths are in eye distances, so faces of all sizes are alike.
struct Smoothing: Sendable {
    /// Cut-off at rest, hertz. Lower: stiller.
    static let restCutoff: Float = 0.4
    /// Hertz gained per eye distance a second. Higher: less lag.
    static let speedGain: Float = 30
    /// Cut-off of the speed's own low pass, hertz (the paper's default is 1).
    static let speedCutoff: Float = 1.5

    private(set) var landmarks: Face.Landmarks
    private var speeds: Face.Landmarks
    private var time: Double

    init(_ landmarks: Face.Landmarks, at seconds: Double) {
        self.landmarks = landmarks
        speeds = Face.Landmarks(repeating: .zero)
        time = seconds
    }

    /// Takes the next frame's points.
    /// - Parameter eyeDistance: pixels.
    mutating func update(_ next: borrowing Face.Landmarks, eyeDistance: Float, at seconds: Double) {
        let elapsed = Float(seconds - time)
        guard elapsed > 0 else { return }
        time = seconds
        let unit = max(eyeDistance, 1)
        let speedWeight = Self.weight(cutoff: Self.speedCutoff, elapsed: elapsed)
        for i in 0..<68 {
            let speed = (next[i] - landmarks[i]) / (elapsed * unit)
            speeds[i] += (speed - speeds[i]) * speedWeight
            let cutoff = Self.restCutoff + Self.speedGain * speeds[i].length
            landmarks[i] += (next[i] - landmarks[i]) * Self.weight(cutoff: cutoff, elapsed: elapsed)
        }
    }

    /// The weight of a new sample in a first-order low pass: the paper's alpha.
    private static func weight(cutoff: Float, elapsed: Float) -> Float {
        let r = 2 * .pi * cutoff * elapsed
        return r / (r + 1)
    }
}
