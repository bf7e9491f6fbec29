import Frames

/// What is around a face, in a mirror: trees and cascades, which have no symmetry, see something else there. Allocates
/// nothing after it was made.
struct MirroredPart {
    /// Its side, and the distance between the eyes of larger faces, pixels: twice as many as the patches have in which
    /// landmarks are fitted, so that whole heads are inside, however they are tilted.
    private static let (side, distance): (Int, Float) = (360, 60)

    private var samples = [UInt8](repeating: 0, count: side * side)
    /// The eyes of the face in the mirror.
    private(set) var eyes = EyePair(middle: .zero, distance: 1, roll: 0)

    /// Copies what is around a face. Small ones keep their size.
    /// - Parameter eyes: the face's eyes, pixels of the picture.
    mutating func copy(_ luma: borrowing LumaView, around eyes: EyePair) {
        let scale = max(1, eyes.distance / Self.distance)
        let (corner, half) = (eyes.middle.rounded(.toNearestOrAwayFromZero), Float(Self.side / 2))
        let map = Affine(
            a: 0 - scale, b: 0, c: 0, d: scale, tx: corner.x + half * scale, ty: corner.y - half * scale)
        var target = samples.mutableSpan
        resample(luma, by: map, into: &target, width: Self.side, height: Self.side)
        let off = (eyes.middle - corner) / scale
        self.eyes = EyePair(
            middle: Point(half - off.x, half + off.y), distance: eyes.distance / scale, roll: 0 - eyes.roll)
    }

    /// The picture in the mirror.
    var luma: LumaView {
        @_lifetime(borrow self) get {
            LumaView(samples: samples.span, width: Self.side, height: Self.side, rowStride: Self.side)
        }
    }
}
