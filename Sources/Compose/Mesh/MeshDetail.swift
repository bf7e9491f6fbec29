import Frames

/// The resolution at which a mesh is drawn, before it is enlarged to the frame's, and how finely its shapes are
/// divided: no finer than what the frame can show.
struct MeshDetail: Sendable {
    /// Drawn pixels for each pixel of the frame, across and down: 0.4...1.
    let pixels: Float
    let division: Division

    /// How finely shapes are divided into triangles.
    enum Division { case fine, coarse }

    /// The frame's own resolution.
    static let full = MeshDetail(pixels: 1, division: .fine)
    /// Below it single pixels show as squares.
    private static let minPixels: Float = 0.4
    /// Frames that are enlarged by less than this are as sharp as others.
    private static let minEnlargement: Float = 1.2
    /// Pixels of motion between two frames from which on a mesh is drawn at half resolution or less. A camera that
    /// exposes for half of the frame's time blurs the face over more than a pixel then.
    private static let fastMotion: Float = 2.5
    /// The motion, in drawn pixels, of a head that moves faster.
    private static let drawnMotion: Float = 1.25

    /// The fewest drawn pixels between the eyes: smaller meshes cost little, and the blur of a hat's shadow, a sixth of
    /// this, is as wide as a cell of shadow.
    private static let minEyeDistance: Float = 50
    /// The detail from which on enlarging costs as much as it saves.
    private static let maxReducedPixels: Float = 0.85

    /// Drawn pixels between the eyes up to which shapes are divided coarsely: the edge of a hat is nowhere farther than
    /// a pixel from where it would be with any finer division, or 1.3 pixels in a picture that is enlarged, whose edges
    /// are softer than that.
    private static let (maxCoarseEyeDistance, maxCoarseEnlarged): (Float, Float) = (92, 116)

    private init(pixels: Float, division: Division) { (self.pixels, self.division) = (pixels, division) }

    /// The detail of a frame that was enlarged from a smaller one.
    init(enlargement: Float) {
        self.init(
            pixels: enlargement > Self.minEnlargement ? max(Self.minPixels, 1 / enlargement) : 1, division: .fine)
    }

    /// The detail on a head.
    /// - Parameters:
    ///   - motion: pixels of the frame from one frame to the next.
    ///   - scale: pixels of the frame between the eyes.
    ///   - blur: the standard deviation of the frame's blur, pixels.
    func reduced(by motion: Float, scale: Float, blur: Float) -> MeshDetail {
        let visible = max(Self.minPixels, min(pixels, BlurEstimator.sharp / blur))
        let moving = motion > Self.fastMotion ? max(Self.minPixels, Self.drawnMotion / motion) : 1
        let wanted = max(min(visible, moving), Self.minEyeDistance / max(scale, 1))
        let pixels = wanted < Self.maxReducedPixels ? wanted : 1
        let maxCoarse = pixels < 1 ? Self.maxCoarseEnlarged : Self.maxCoarseEyeDistance
        return MeshDetail(pixels: pixels, division: scale * pixels < maxCoarse ? .coarse : .fine)
    }

    /// Whether a picture of this detail may be shown where another one is wanted. A small lack is invisible, and a head
    /// that changes its size a little needs no new picture.
    func suffices(for wanted: MeshDetail) -> Bool {
        pixels >= 0.9 * wanted.pixels && (division == .fine || wanted.division == .coarse)
    }

    /// Whether pictures are enlarged after they were drawn.
    var isEnlarged: Bool { pixels < 1 }

    /// The most variance by which a picture is softened, pixels of the frame squared.
    private static let maxSoftening: Float = 1

    /// The variance by which a picture is softened to be as blurred as the frame, drawn pixels squared. One that is
    /// enlarged is soft already.
    /// - Parameter blur: the standard deviation of the frame's blur, pixels.
    func softening(for blur: Float) -> Float {
        let own = BlurEstimator.sharp / pixels
        return max(0, min(Self.maxSoftening, blur * blur - own * own)) * pixels * pixels
    }

    /// Where the centre of the frame's first pixel is, in drawn pixels.
    private var shift: Float { (pixels - 1) / 2 }

    /// A position in drawn pixels; the depth stays.
    @inline(__always)
    func drawn(_ position: SIMD4<Float>) -> SIMD4<Float> {
        position * SIMD4(pixels, pixels, 1, 1) + SIMD4(shift, shift, 0, 0)
    }

    /// A position in pixels of the frame.
    func shown(_ drawn: Point) -> Point { (drawn - shift) / pixels }

    /// A region of the frame in drawn pixels.
    func drawn(_ region: PixelRect) -> PixelRect {
        func scaled(_ position: Int) -> Float { Float(position) * pixels }
        let (x, y) = (Int(scaled(region.x).rounded(.down)), Int(scaled(region.y).rounded(.down)))
        return PixelRect(
            x: x, y: y, width: Int(scaled(region.x + region.width).rounded(.up)) - x,
            height: Int(scaled(region.y + region.height).rounded(.up)) - y)
    }

    /// The map from drawn pixels to the frame's.
    var enlargement: Affine {
        let scale = 1 / pixels
        return Affine(a: scale, b: 0, c: 0, d: scale, tx: 0 - shift * scale, ty: 0 - shift * scale)
    }
}
