import Frames

/// The part of a picture around a face, in a mirror.
struct MirroredPart {
    private let samples: [UInt8]
    /// The part in the picture, pixels.
    private let part: PixelRect

    /// How far it reaches from the middle of the eyes, in eye distances: whole heads, however they are tilted, and what
    /// the cascades look at around them.
    private static let reach: Float = 4

    /// Copies what is around a pair of eyes; nil if that is outside of the picture.
    init?(_ luma: borrowing LumaView, around eyes: EyePair) {
        let reach = Self.reach * eyes.distance
        let corner = eyes.middle - reach
        let side = Int(2 * reach) + 1
        part = PixelRect(x: Int(corner.x), y: Int(corner.y), width: side, height: side)
            .clamped(width: luma.width, height: luma.height)
        guard !part.isEmpty else { return nil }
        var samples: [UInt8] = []
        samples.reserveCapacity(part.width * part.height)
        for y in part.y..<part.y + part.height {
            for x in stride(from: part.x + part.width - 1, through: part.x, by: -1) {
                samples.append(luma.samples[y * luma.rowStride + x * luma.pixelStride])
            }
        }
        self.samples = samples
    }

    /// The mirrored part.
    var luma: LumaView {
        @_lifetime(borrow self) get {
            LumaView(samples: samples.span, width: part.width, height: part.height, rowStride: part.width)
        }
    }

    /// Where eyes are in the mirrored part, which are given in the picture.
    func mirrored(_ eyes: EyePair) -> EyePair {
        let corner = Point(Float(part.x), Float(part.y))
        let place = eyes.middle - corner
        return EyePair(
            middle: Point(Float(part.width - 1) - place.x, place.y), distance: eyes.distance, roll: 0 - eyes.roll)
    }
}
