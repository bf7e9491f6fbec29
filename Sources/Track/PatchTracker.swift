import Frames

/// A tracker of each face's motion between frames, by image alignment of its patch. It is steadier than landmarks
/// fitted to each frame alone, which jitter independently. Keeps each face's last patch in a slot of its own.
struct PatchTracker: ~Copyable {
    /// A frame-to-frame motion, pixels of the frame.
    struct Motion {
        var map: Affine
        /// The correlation of the aligned patches, 0 to 1.
        var correlation: Float
    }

    /// Sides of the patches that are aligned: half and a quarter of the landmarks' patch, so that an eye distance is 20
    /// and 10 pixels. The coarse patch catches jumps of a third of it; the fine one refines.
    private static let fine = PatchFitter.side / 2
    private static let coarse = PatchFitter.side / 4
    private static let maxIterations = (coarse: 3, fine: 3)
    /// The step length, in coarse pixels, that ends the coarse alignment; the fine one does the rest. The fine
    /// alignment always runs all of them, because with fewer the landmarks jitter.
    private static let enough: Float = 0.05
    /// If the coarse patches correlate by less than this, the face may have jumped, and the search covers
    /// `searchRadius` coarse pixels around: six tenths of the eye distance.
    private static let settled: Float = 0.9
    private static let searchRadius = 6
    private static let size = fine * fine + coarse * coarse

    private var imageAligner = ImageAligner(capacity: 800)
    private var current: [UInt8]
    private var small: [UInt8]
    /// The map of this frame's patch, from the fine patch's pixels to the frame's.
    private var map = Affine.identity
    /// The fine and coarse patch of each slot, one after the other.
    private var kept: [UInt8]
    private var keptMaps: [Affine?]

    /// - Parameter slots: the number of faces tracked at once.
    init(slots: Int) {
        current = Array(repeating: 0, count: Self.fine * Self.fine)
        small = Array(repeating: 0, count: Self.coarse * Self.coarse)
        kept = Array(repeating: 0, count: slots * Self.size)
        keptMaps = Array(repeating: nil, count: slots)
    }

    /// Sets the patch of a face in this frame.
    /// - Parameter patchMap: the map from the patch's pixels to the frame's.
    mutating func setPatch(_ patch: borrowing [UInt8], map patchMap: Affine) {
        Self.halve(patch, side: PatchFitter.side, into: &current)
        Self.halve(current, side: Self.fine, into: &small)
        map = patchMap.after(Self.doubling)
    }

    private static func halve(_ source: borrowing [UInt8], side: Int, into target: inout [UInt8]) {
        var half = target.mutableSpan
        Frames.halve(source.span, side: side, into: &half)
    }

    /// Maps from a half-size picture's pixels to the full-size one's: sample 0 is the mean of samples 0 and 1.
    private static let doubling = Affine(a: 2, b: 0, c: 0, d: 2, tx: 0.5, ty: 0.5)
    private static let halving = Affine(a: 0.5, b: 0, c: 0, d: 0.5, tx: -0.25, ty: -0.25)

    /// The motion of a slot's face from its stored patch to this frame's.
    /// - Parameters:
    ///   - guess: the initial motion, pixels of the frame.
    ///   - width: width of the frame, pixels.
    ///   - height: height of the frame, pixels.
    /// - Returns: nil if the slot is empty or the alignment fails.
    mutating func motion(slot: Int, guess: Affine, width: Int, height: Int) -> Motion? {
        guard let from = keptMaps[slot], let forth = from.inverse, let back = map.inverse else { return nil }
        let start = back.after(guess).after(from)
        let low = Self.halving.after(start).after(Self.doubling)
        let lowFrom = from.after(Self.doubling)
        let limit = Point(Float(width - 1), Float(height - 1))
        // Outside the frame a patch shows nothing of the face: neither the old patch nor, most likely, the new one.
        func inside(_ p: Point) -> Bool {
            let q = guess(p)
            return min(p.x, p.y) >= 0 && min(q.x, q.y) >= 0 && max(p.x, q.x) <= limit.x && max(p.y, q.y) <= limit.y
        }
        let first = slot * Self.size
        let second = first + Self.fine * Self.fine
        var coarse = Self.align(
            &imageAligner, small, to: kept, second, side: Self.coarse, step: 1, visible: { inside(lowFrom($0)) },
            from: low,
            maxIterations: Self.maxIterations.coarse, enough: Self.enough)
        if coarse?.correlation ?? 0 < Self.settled {
            let jump = Self.search(
                &imageAligner, small, for: kept, second, visible: { inside(lowFrom($0)) }, from: low)
            let again = jump.flatMap {
                Self.align(
                    &imageAligner, small, to: kept, second, side: Self.coarse, step: 1,
                    visible: { inside(lowFrom($0)) },
                    from: $0.map, maxIterations: Self.maxIterations.coarse, enough: Self.enough)
            }
            if let again, again.correlation > coarse?.correlation ?? 0 { coarse = again }
        }
        guard let coarse else { return nil }
        let fine = Self.align(
            &imageAligner, current, to: kept, first, side: Self.fine, step: 2, visible: { inside(from($0)) },
            from: Self.doubling.after(coarse.map).after(Self.halving), maxIterations: Self.maxIterations.fine)
        guard let fine else { return nil }
        return Motion(map: map.after(fine.map).after(forth), correlation: fine.correlation)
    }

    private static func search(
        _ imageAligner: inout ImageAligner, _ picture: borrowing [UInt8], for kept: borrowing [UInt8], _ first: Int,
        visible: (Point) -> Bool, from start: Affine
    ) -> Alignment? {
        imageAligner.search(
            picture.span, for: kept.span.extracting(first..<first + coarse * coarse), side: coarse, step: 2,
            visible: visible, from: start, radius: searchRadius)
    }

    private static func align(
        _ imageAligner: inout ImageAligner, _ picture: borrowing [UInt8], to kept: borrowing [UInt8], _ first: Int,
        side: Int,
        step: Int, visible: (Point) -> Bool, from start: Affine, maxIterations: Int, enough: Float = 0
    ) -> Alignment? {
        imageAligner.align(
            picture.span, to: kept.span.extracting(first..<first + side * side), side: side, step: step,
            visible: visible, from: start, maxIterations: maxIterations, enough: enough)
    }

    /// Stores this frame's patch in a slot, for the next frame.
    mutating func storePatch(slot: Int) {
        keptMaps[slot] = map
        let first = slot * Self.size
        for i in current.indices { kept[first + i] = current[i] }
        for i in small.indices { kept[first + current.count + i] = small[i] }
    }
}
