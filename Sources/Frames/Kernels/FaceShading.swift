/// An ellipse with a soft edge.
public struct SoftEllipse: Sendable {
    /// Pixels.
    public let center: Point
    /// (xx, xy, yy): a place's squared distance, 1 on the ellipse, is xx x² + 2 xy x y + yy y² from the centre.
    public let matrix: SIMD3<Float>
    /// Up to this squared distance all is covered, and from the other on nothing.
    public let (full, none): (Float, Float)

    /// From its parts.
    public init(center: Point, matrix: SIMD3<Float>, full: Float, none: Float) {
        (self.center, self.matrix, self.full, self.none) = (center, matrix, full, none)
    }
}

/// How strongly a face's own light and shade show in art that is laid over it.
public struct FaceShading: Sendable {
    /// The face's mean luma, samples.
    public var mean: Float
    /// The luma of black, samples.
    public var black: Float
    /// What is darker or brighter than these parts of the mean counts as they do.
    public var (darkest, brightest): (Float, Float)
    /// 0...1.5: how much of what is darker than the mean shows, and of what is brighter.
    public var (shade, shine): (Float, Float)

    /// From its parts.
    public init(mean: Float, black: Float, darkest: Float, brightest: Float, shade: Float, shine: Float) {
        (self.mean, self.black) = (mean, black)
        (self.darkest, self.brightest, self.shade, self.shine) = (darkest, brightest, shade, shine)
    }
}

extension LayerBuffer {
    /// Multiplies the light of what was drawn by a face's, taken relative to its mean. Allocates nothing.
    /// - Parameters:
    ///   - face: the frame's own pixels; beyond them nothing changes.
    ///   - place: where the face is.
    public mutating func transferShading(
        _ relief: FaceShading, by face: borrowing LayerBuffer, within place: SoftEllipse
    ) {
        let (seen, piece, seenWords, rowWords) = (face.region, region, face.stride, stride)
        let columns = max(seen.x, piece.x)..<min(seen.x + seen.width, piece.x + piece.width)
        let rows = max(seen.y, piece.y)..<min(seen.y + seen.height, piece.y + piece.height)
        guard !columns.isEmpty, !rows.isEmpty else { return }
        let source = face.readPixels
        var target = pixels
        unsafe source.withUnsafeBufferPointer { source in
            unsafe target.withUnsafeMutableBufferPointer { target in
                guard let source = source.baseAddress, let target = target.baseAddress else { return }
                for y in rows {
                    let from = unsafe source + (y - seen.y) * seenWords + columns.lowerBound - seen.x
                    let to = unsafe target + (y - piece.y) * rowWords + columns.lowerBound - piece.x
                    let start = Point(Float(columns.lowerBound), Float(y)) - place.center
                    unsafe transferShadingRow(relief, from, to, columns.count, place, start)
                }
            }
        }
    }
}

/// - Parameter start: of the first pixel from the ellipse's centre.
@unsafe private func transferShadingRow(
    _ relief: FaceShading, _ face: UnsafePointer<UInt32>, _ art: UnsafeMutablePointer<UInt32>, _ count: Int,
    _ place: SoftEllipse, _ start: Point
) {
    let (across, slope) = (place.matrix.x, 2 * place.matrix.y * start.y)
    let down = place.matrix.z * start.y * start.y
    let perSquare = 1 / max(place.none - place.full, 1e-6)
    let perLuma = 1 / max(8, relief.mean - relief.black)
    let (low, high) = (relief.darkest - 1, relief.brightest - 1)
    let perAlpha = relief.black / 255
    // Without a branch, so that the compiler makes vectors of it.
    for i in 0..<count {
        let x = start.x + Float(Int32(truncatingIfNeeded: i))
        let square = (across * x + slope) * x + down
        let part = max(0, min(1, (place.none - square) * perSquare))
        let cover = part * part * (3 - 2 * part)
        let word = unsafe art[i]
        let luma = unsafe Float(Int32(truncatingIfNeeded: face[i] & 255))
        let light = max(low, min(high, (luma - relief.black) * perLuma - 1))
        let change = (min(light, 0) * relief.shade + max(light, 0) * relief.shine) * cover
        // What alpha has taken of black is no light.
        let own = Float(Int32(truncatingIfNeeded: word & 255))
        let floor = Float(Int32(truncatingIfNeeded: word >> 24)) * perAlpha
        let lit = max(0, min(255, own + (own - floor) * change))
        // Adding 2^23 leaves the nearest whole number in the lowest bits.
        unsafe art[i] = word & 0xffff_ff00 | (lit + 8_388_608).bitPattern & 255
    }
}
