import Frames

/// A landmark fitter for machines without the trees' data. Detects the eyes with their own cascade where they should be
/// in the face, and derives all other landmarks from the mean head. Follows position, size and tilt, but neither turns
/// nor expressions.
struct EyeDetector: ~Copyable {
    private var eye: CascadeClassifier

    /// Fit residuals by the number of eyes detected (0, 1, 2), as fractions of the face's side. An eye that is not
    /// detected keeps its predicted position.
    private static let fitResiduals: [Float] = [0.06, 0.03, 0.015]

    /// - Throws: `Problem` if the eye cascade is missing or damaged.
    init(_ entry: CascadeCatalog.Entry) throws { eye = try CascadeClassifier(entry, side: ScanScheduler.side) }

    /// Fits landmarks to a face.
    /// - Parameter eyes: the predicted eyes.
    mutating func fit(_ luma: borrowing LumaView, at eyes: EyePair) -> Fit {
        let right = locate(luma, at: eyes.right, eyes)
        let left = locate(luma, at: eyes.left, eyes)
        let seen = (right == nil ? 0 : 1) + (left == nil ? 0 : 1)
        let (r, l) = (right ?? eyes.right, left ?? eyes.left)
        let x = l - r
        let head = HeadPlacement(x: [x.x, -x.y, 0], y: [x.y, x.x, 0], origin: (r + l) / 2)
        return Fit(landmarks: head.landmarks, fitResidual: Self.fitResiduals[seen], basis: .eyes)
    }

    /// One eye's centre, or nil if it is farther from its predicted position than a fifth of the eye distance.
    private mutating func locate(_ luma: borrowing LumaView, at expected: Point, _ eyes: EyePair) -> Point? {
        // The eye cascade's windows have one eye in the middle.
        var window = eyes
        window.middle = expected
        let found = eye.verify(
            luma, at: window, maxOffset: 6, sizes: [1, 1.2, 0.83], minStages: eye.stages, enoughWindows: 4)
        guard let found, (found.detection.eyes - expected).length < 0.2 * eyes.distance else { return nil }
        return found.detection.eyes
    }
}
