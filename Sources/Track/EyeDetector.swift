import Frames

/// Landmarks without the trees' data: the eyes by their own cascade, in the halves of the face where they must be, and
/// everything else by the mean head's proportions. Follows place, size and tilt, but no turn and no expression.
struct EyeDetector: ~Copyable {
    private var eye: CascadeClassifier

    /// Where an eye was not seen, the face's own place and the other eye must do; as a share of the face's side, in the
    /// manner of two fits' disagreement.
    private static let disagreements: [Float] = [0.06, 0.03, 0.015]

    /// - Throws: `Problem` where the eye cascade is missing or damaged.
    init(_ entry: CascadeCatalog.Entry) throws { eye = try CascadeClassifier(entry, side: ScanScheduler.side) }

    /// - Parameter eyes: where they should be.
    mutating func fit(_ luma: borrowing LumaView, at eyes: EyePair) -> Fit {
        let right = locate(luma, at: eyes.right, eyes)
        let left = locate(luma, at: eyes.left, eyes)
        let seen = (right == nil ? 0 : 1) + (left == nil ? 0 : 1)
        let (r, l) = (right ?? eyes.right, left ?? eyes.left)
        let x = l - r
        let head = HeadPlacement(x: [x.x, -x.y, 0], y: [x.y, x.x, 0], origin: (r + l) / 2)
        return Fit(landmarks: head.landmarks, fitResidual: Self.disagreements[seen])
    }

    /// One eye's centre, when it is no farther from its place than a fifth of the eyes' distance.
    private mutating func locate(_ luma: borrowing LumaView, at place: Point, _ eyes: EyePair) -> Point? {
        var near = eyes
        near.middle = place
        let found = eye.verify(luma, at: near, reach: 6, sizes: [1, 1.2, 0.83], stage: eye.stages, agree: 4)
        guard let found, (found.detection.eyes - place).length < 0.2 * eyes.distance else { return nil }
        return found.detection.eyes
    }
}
