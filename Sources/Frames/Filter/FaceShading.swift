/// An ellipse with a soft edge.
public struct SoftEllipse: Sendable {
    /// The centre, pixels of the frame.
    public let center: Point
    /// (xx, xy, yy): the squared distance of (x, y) from the centre, xx x² + 2 xy x y + yy y², which is 1 on the
    /// ellipse.
    public let matrix: SIMD3<Float>
    /// The squared distances up to which the ellipse covers fully, and from which it covers nothing.
    public let (full, none): (Float, Float)

    /// An ellipse by its parts.
    public init(center: Point, matrix: SIMD3<Float>, full: Float, none: Float) {
        (self.center, self.matrix, self.full, self.none) = (center, matrix, full, none)
    }
}

/// The strength with which a face's own light and shade show in art laid over it.
public struct FaceShading: Sendable {
    /// The face's mean luma, samples.
    public var mean: Float
    /// The luma of black, samples.
    public var black: Float
    /// The darkest and brightest luma that count, as factors of the mean; luma is clamped to them.
    public var (darkest, brightest): (Float, Float)
    /// 0...1.5: the part of darkening below the mean that is transferred, and of brightening above it.
    public var (shade, shine): (Float, Float)

    /// A shading by its parts.
    public init(mean: Float, black: Float, darkest: Float, brightest: Float, shade: Float, shine: Float) {
        (self.mean, self.black) = (mean, black)
        (self.darkest, self.brightest, self.shade, self.shine) = (darkest, brightest, shade, shine)
    }
}

extension LayerBuffer {
    /// Multiplies the luma of the drawn art by the face's luma relative to its mean. Allocates nothing.
    /// - Parameters:
    ///   - shading: the strength and limits of the transfer.
    ///   - face: the frame's own pixels; beyond them nothing changes.
    ///   - ellipse: where the face is.
    public mutating func transferShading(
        _ shading: FaceShading, by face: borrowing LayerBuffer, within ellipse: SoftEllipse
    ) {
        let (seen, piece, seenWords, rowStride) = (face.region, region, face.stride, stride)
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
                    let to = unsafe target + (y - piece.y) * rowStride + columns.lowerBound - piece.x
                    let start = Point(Float(columns.lowerBound), Float(y)) - ellipse.center
                    unsafe transferShadingRow(shading, from, to, columns.count, ellipse, start)
                }
            }
        }
    }
}

/// - Parameter start: the first pixel's offset from the ellipse's centre.
@unsafe private func transferShadingRow(
    _ shading: FaceShading, _ face: UnsafePointer<UInt32>, _ art: UnsafeMutablePointer<UInt32>, _ count: Int,
    _ ellipse: SoftEllipse, _ start: Point
) {
    let (across, slope) = (ellipse.matrix.x, 2 * ellipse.matrix.y * start.y)
    let down = ellipse.matrix.z * start.y * start.y
    let perSquare = 1 / max(ellipse.none - ellipse.full, 1e-6)
    let perLuma = 1 / max(8, shading.mean - shading.black)
    let (low, high) = (shading.darkest - 1, shading.brightest - 1)
    let perAlpha = shading.black / 255
    // Branch-free, so that the compiler vectorizes it.
    for i in 0..<count {
        let x = start.x + Float(Int32(truncatingIfNeeded: i))
        let square = (across * x + slope) * x + down
        let cover = smoothstep((ellipse.none - square) * perSquare)
        let pixel = unsafe art[i]
        let luma = unsafe Float(Int32(truncatingIfNeeded: face[i] & 255))
        let light = max(low, min(high, (luma - shading.black) * perLuma - 1))
        let change = (min(light, 0) * shading.shade + max(light, 0) * shading.shine) * cover
        // The part of the luma that is alpha's share of the black level is not light.
        let own = Float(Int32(truncatingIfNeeded: pixel & 255))
        let floor = Float(Int32(truncatingIfNeeded: pixel >> 24)) * perAlpha
        let lit = max(0, min(255, own + (own - floor) * change))
        // Adding 2^23 leaves the nearest integer in the lowest bits.
        unsafe art[i] = pixel & 0xffff_ff00 | (lit + 8_388_608).bitPattern & 255
    }
}
