import Frames

/// Landmarks fitted to a face, pixels of the frame, and the fit residual: the mean distance between two fits from
/// opposite sides, as a fraction of the face's side. It is small on faces and large elsewhere.
struct Fit: Sendable {
    var landmarks: Face.Landmarks
    var fitResidual: Float
    var basis = Face.Basis.landmarks
}

/// A landmark fitter that works on a small upright patch of a face cut from the frame: that averages out noise, and a
/// fit touches little memory. Owns its scratch buffers, so a fit allocates nothing.
struct PatchFitter: ~Copyable {
    /// Side of the patch, and the distance between the eyes in it, pixels.
    static let side = 136
    private static let eyes: Float = 40
    /// The smallest face, as the side of the trees' box in pixels. Smaller ones show too little.
    private static let smallest: Float = 8

    private var fitter: LandmarkFitter
    private var patch: [UInt8]
    /// The patch with stretched contrast, for the trees only: patches to be aligned must not differ by a gain of ours.
    private var lit: [UInt8]
    /// Whether the patch was dim or flat, so that `lit` is used.
    private var isLit = false
    /// The maps from the patch's pixels to the frame's, and back.
    private var map = Affine.identity
    private var back = Affine.identity

    init(_ model: LandmarkModel) {
        fitter = LandmarkFitter(model)
        patch = Array(repeating: 0, count: Self.side * Self.side)
        lit = patch
    }

    var model: LandmarkModel { fitter.model }

    /// Passes the last patch to the patch tracker for alignment.
    func passPatch(to patchTracker: inout PatchTracker) { patchTracker.setPatch(patch, map: map) }

    /// Cuts the patch of the face that has these landmarks (pixels of the frame).
    /// - Returns: false if they cannot be a face's.
    mutating func extractPatch(_ luma: borrowing LumaView, around landmarks: borrowing Face.Landmarks) -> Bool {
        guard let box = model.box(around: landmarks) else { return false }
        let size = abs(box.determinant).squareRoot()
        guard size > Self.smallest else { return false }
        let region = PatchTransform(
            center: box(Point(0.5, 0.5)), scale: size * EyePair(model.meanShape).distance / Self.eyes,
            roll: degrees(atan2(box.c, box.a)))
        let map = region.map(side: Self.side)
        guard let back = map.inverse else { return false }
        (self.map, self.back) = (map, back)
        var samples = patch.mutableSpan
        resample(luma, by: map, into: &samples, width: Self.side, height: Self.side)
        isLit = Self.light(patch, into: &lit)
        return true
    }

    /// - Returns: false if the patch has enough contrast.
    private static func light(_ patch: borrowing [UInt8], into lit: inout [UInt8]) -> Bool {
        guard let stretch = ContrastStretch.face.mapping(of: patch.span, side: side) else { return false }
        for i in patch.indices { lit[i] = patch[i] }
        var samples = lit.mutableSpan
        Frames.adjustLevels(&samples, count: samples.count, gain: stretch.gain, from: stretch.from, to: stretch.to)
        return true
    }

    /// Fits in the last patch.
    /// - Parameters:
    ///   - landmarks: the estimated landmarks, pixels of the frame.
    ///   - start: the side from which the fit starts.
    mutating func fit(from landmarks: borrowing Face.Landmarks, _ start: LandmarkFitter.Start) -> Face.Landmarks? {
        guard let box = model.box(around: landmarks) else { return nil }
        let placed = back.after(box)
        let landmarks = isLit ? Self.run(&fitter, lit, placed, start) : Self.run(&fitter, patch, placed, start)
        return landmarks.map { map($0) }
    }

    /// Fits twice from opposite sides: on a face both converge to the same shape, elsewhere they do not. This separates
    /// faces from a cascade's false detections.
    /// - Returns: the mean of both, and their mean distance.
    mutating func fit(
        from landmarks: borrowing Face.Landmarks, _ start: LandmarkFitter.Start, and other: LandmarkFitter.Start
    ) -> Fit? {
        guard let first = fit(from: landmarks, start), let second = fit(from: landmarks, other) else { return nil }
        return Self.join(first, second, model)
    }

    /// The mean of two fits, and their mean distance as a fraction of the face's side.
    static func join(
        _ first: borrowing Face.Landmarks, _ second: borrowing Face.Landmarks, _ model: LandmarkModel
    ) -> Fit? {
        var mean = Face.Landmarks(repeating: .zero)
        var distance: Float = 0
        for i in 0..<68 {
            mean[i] = (first[i] + second[i]) / 2
            distance += (first[i] - second[i]).length
        }
        guard let side = model.box(around: mean)?.determinant.squareRoot() else { return nil }
        return Fit(landmarks: mean, fitResidual: distance / 68 / side)
    }

    private static func run(
        _ fitter: inout LandmarkFitter, _ patch: borrowing [UInt8], _ box: Affine, _ start: LandmarkFitter.Start
    ) -> Face.Landmarks? {
        fitter.fit(LumaView(samples: patch.span, width: side, height: side, rowStride: side), around: box, from: start)
    }
}
