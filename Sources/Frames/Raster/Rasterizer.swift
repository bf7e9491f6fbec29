import CScale

/// A transformed and lit vertex of a triangle.
public struct RasterVertex: Sendable {
    /// x and y in pixels of the frame (integers are pixel centres), then the depth: less is nearer, in a unit that is
    /// linear in screen space, such as -1 / distance. The last lane is unused.
    public var position: SIMD4<Float>
    /// The lit colour: luma above black, U and V relative to 128, all in samples of the frame's range; then the light
    /// alone, by which a texture's colour is multiplied.
    public var color: SIMD4<Float>
    /// The texture coordinates, in texels of the finest level.
    public var texture: SIMD2<Float>

    /// A vertex by its parts.
    public init(position: SIMD4<Float>, color: SIMD4<Float>, texture: SIMD2<Float>) {
        (self.position, self.color, self.texture) = (position, color, texture)
    }
}

/// The surface of triangles.
public enum RasterSurface {
    /// The vertices' colours only.
    case plain
    /// The vertices' colours, modulated by a repeating pattern.
    case grain(Grain, level: Int)
    /// A texture's colours times the vertices' light; transparent texels are not drawn.
    /// `shrink` and `shift` map the finest level's texels to the sprite's.
    case picture(Sprite, shrink: Float, shift: SIMD2<Float>)
    /// The vertices' colours, blended: 0 is clear, 1 is opaque.
    case glass(opacity: Float)
}

/// A repeating pattern of light and dark, as of cloth or felt: a square of 2^n samples and its mipmaps. 128 leaves a
/// colour unchanged, 255 doubles it.
public struct Grain: Sendable {
    /// The mipmap levels, the finest first, each half as wide as the one before, down to 8.
    let levels: [[UInt8]]
    /// The binary logarithm of the finest level's side.
    let sizeLog: Int

    /// Creates a pattern and its mipmaps.
    /// - Parameter samples: a square of 2^`sizeLog` (3...9) on a side.
    public init(samples: [UInt8], sizeLog: Int) {
        precondition((3...9).contains(sizeLog) && samples.count == 1 << (2 * sizeLog))
        var levels = [samples]
        var side = 1 << sizeLog
        while side > 8, let last = levels.last {
            let half = side / 2
            levels.append(
                (0..<half * half).map { i in
                    let at = i / half * 2 * side + i % half * 2
                    let sum = Int(last[at]) + Int(last[at + 1]) + Int(last[at + side]) + Int(last[at + side + 1])
                    return UInt8((sum + 2) / 4)
                })
            side = half
        }
        (self.levels, self.sizeLog) = (levels, sizeLog)
    }

    /// The mipmap level with about one sample per pixel (at most 1.2, if there is such a level), so that nothing
    /// flickers.
    /// - Parameter samplesPerPixel: samples of the finest level per pixel.
    public func level(samplesPerPixel: Float) -> Int {
        var (level, density) = (0, samplesPerPixel)
        while density > 1.2, level < levels.count - 1 {
            density /= 2
            level += 1
        }
        return level
    }
}

/// A CPU rasterizer of triangles with depth and four samples per pixel. Its memory grows to the largest picture and is
/// kept; after that it allocates nothing.
///
/// Coverage is exact in fixed point of 1/16 pixel (Pineda, "A parallel algorithm for polygon rasterization", 1988),
/// with the top-left rule: a sample on an edge that two triangles share belongs to one of them. Colour is evaluated
/// once per triangle and pixel, at the pixel's centre.
@safe public struct Rasterizer: ~Copyable {
    /// The region of the frame that is drawn, pixels.
    public private(set) var region = PixelRect(x: 0, y: 0, width: 0, height: 0)
    /// The rows of the region that are currently drawn.
    private var band = 0..<0
    /// Four depths for each pixel of a band; infinite where nothing was drawn. Reset after every band.
    var depth: [SIMD4<Float>] = []
    /// Four premultiplied YUVA samples per pixel.
    var color: [SIMD4<UInt32>] = []
    /// The range of columns drawn in each of the band's rows.
    var touched: [Touched] = []
    /// The depth of the occluders, one per pixel, with a border of one row and column on each side; infinite where
    /// there is none.
    var occluders: [Float] = []
    /// The farthest occluder of each block of 8 x 8.
    var farthestOccluders: [Float] = []
    /// The shadow on the occluders, 0...255, one cell for 8 x 8 pixels; `scratch` is for blurring it.
    var shadow: [UInt8] = []
    var scratch: [UInt8] = []
    private var black: SIMD4<Float> = [0, 128, 128, 0]

    struct Touched {
        var begin = Int32.max
        var end: Int32 = 0
    }

    /// The largest side of a triangle, pixels. Larger ones are split, so that edge functions, 2 * (16 * side)^2 at
    /// most, stay exact in floats.
    fileprivate static let largestSide: Float = 170
    /// Triangles with a corner farther away than this are not drawn, pixels.
    fileprivate static let farthest: Float = 20_000

    /// A rasterizer of an empty region.
    public init() {}

    /// The rows of a band: so many that its samples (32 bytes per pixel) fit in a core's second-level cache, which is
    /// mostly 1 MB.
    public var bandHeight: Int { max(16, 24_576 / max(region.width, 1)) }

    /// Starts a picture of a region of a frame; `select` comes next.
    /// - Parameter range: the range of the frame.
    public mutating func begin(_ region: PixelRect, range: ColorRange) {
        self.region = region
        black.x = Float(range.black)
        let room = (region.width + 2) * (region.height + 2)
        // A quarter more, so that an approaching face doesn't cause an allocation in every frame.
        if occluders.count < room + Self.blockSide {
            occluders = Array(repeating: .infinity, count: room + room / 4 + Self.blockSide)
        }
        unsafe occluders.withUnsafeMutableBufferPointer {
            unsafe $0.extracting(0..<room).update(repeating: .infinity)
        }
        let blocks = blocksAcross * ((region.height + 2 + Self.blockSide - 1) / Self.blockSide)
        if farthestOccluders.count < blocks {
            farthestOccluders = Array(repeating: .infinity, count: blocks + blocks / 4)
        }
        unsafe farthestOccluders.withUnsafeMutableBufferPointer {
            unsafe $0.extracting(0..<blocks).update(repeating: .infinity)
        }
    }

    /// The side of a block in pixels, as a power of two.
    static let blockShift = 3
    /// The side of a block in pixels.
    static let blockSide = 1 << blockShift
    /// The number of blocks in a row.
    var blocksAcross: Int { (region.width + 2 + Self.blockSide - 1) / Self.blockSide }

    /// Selects the rows that are drawn until `resolve`, counted from the region's top.
    public mutating func select(_ rows: Range<Int>) {
        precondition(rows.lowerBound >= 0 && rows.upperBound <= region.height, "a band must be inside the region")
        band = rows
        let count = region.width * rows.count
        if depth.count < count {
            depth = Array(repeating: SIMD4(repeating: .infinity), count: count + count / 4)
            color = Array(repeating: .zero, count: count + count / 4)
        }
        if touched.count < rows.count { touched = Array(repeating: Touched(), count: rows.count + rows.count / 4) }
    }

    /// Draws triangles.
    /// - Parameters:
    ///   - triangles: three indices of `vertices` each, clockwise on screen if the front is seen.
    ///   - faces: the sides that are drawn.
    public mutating func draw(
        _ vertices: Span<RasterVertex>, _ triangles: Span<UInt16>, faces: RasterFaces, _ surface: RasterSurface
    ) {
        switch surface {
        case .plain: draw(vertices, triangles, faces: faces, FlatShader(black: black))
        case .glass(let opacity): draw(vertices, triangles, faces: faces, GlassShader(black: black, opacity: opacity))
        case .grain(let grain, let level):
            unsafe grain.levels[level].withUnsafeBufferPointer {
                guard let samples = $0.baseAddress else { return }
                let shader = unsafe GrainShader(
                    black: black, samples: samples, sizeLog: grain.sizeLog - level,
                    scale: 1 / Float(1 << level))
                draw(vertices, triangles, faces: faces, shader)
            }
        case .picture(let sprite, let shrink, let shift):
            unsafe sprite.pixels.withUnsafeBufferPointer {
                guard let pixels = $0.baseAddress else { return }
                let shader = unsafe TextureShader(
                    black: black, pixels: pixels, width: sprite.width, height: sprite.height, scale: shrink,
                    shift: shift)
                draw(vertices, triangles, faces: faces, shader)
            }
        }
    }

    private mutating func draw(
        _ vertices: Span<RasterVertex>, _ triangles: Span<UInt16>, faces: RasterFaces, _ shader: some FragmentShader
    ) {
        let origin = SIMD4<Float>(Float(region.x), Float(region.y + band.lowerBound), 0, 0)
        let rows = (low: origin.y - 1, high: origin.y + Float(band.count))
        withTarget { target in
            // Back faces are drawn second: most are hidden by then, and cheap.
            for side in 0..<(faces == .both ? 2 : 1) {
                for i in stride(from: 0, to: triangles.count - 2, by: 3) {
                    let first = Int(triangles[i])
                    let second = Int(triangles[i + 1 + side])
                    let third = Int(triangles[i + 2 - side])
                    // Most triangles are in other bands.
                    let y = vertices[first].position.y
                    let (y2, y3) = (vertices[second].position.y, vertices[third].position.y)
                    guard max(y, y2, y3) > rows.low, min(y, y2, y3) < rows.high else { continue }
                    // Snapped before the origin is subtracted, so that a vertex has the same position in all of its
                    // triangles, whatever region is drawn.
                    let p = snapped(vertices[first].position) - origin
                    let q = snapped(vertices[second].position) - origin
                    let r = snapped(vertices[third].position) - origin
                    // Half of the triangles face away.
                    guard (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x) > 0 else { continue }
                    var (a, b, c) = (vertices[first], vertices[second], vertices[third])
                    (a.position, b.position, c.position) = (p, q, r)
                    target.draw(a, b, c, shader, recursionDepth: 0)
                }
            }
        }
    }

    /// Lends the memory of the band.
    @inline(__always)
    private mutating func withTarget(_ body: (Target) -> Void) {
        let (width, height, firstRow, across) = (region.width, band.count, band.lowerBound, blocksAcross)
        let hidden = firstRow * (width + 2)
        unsafe depth.withUnsafeMutableBufferPointer { depth in
            unsafe color.withUnsafeMutableBufferPointer { color in
                unsafe touched.withUnsafeMutableBufferPointer { touched in
                    unsafe occluders.withUnsafeBufferPointer { occluders in
                        unsafe farthestOccluders.withUnsafeBufferPointer { farthestOccluders in
                            guard let depth = depth.baseAddress, let color = color.baseAddress,
                                let touched = touched.baseAddress, let occluders = occluders.baseAddress,
                                let farthestOccluders = farthestOccluders.baseAddress
                            else { return }
                            body(
                                unsafe Target(
                                    depth: depth, color: color, occluders: occluders + hidden, touched: touched,
                                    width: width, height: height, farthestOccluders: farthestOccluders,
                                    blocksAcross: across, firstRow: firstRow))
                        }
                    }
                }
            }
        }
    }

    /// The nearest depths at the four samples of a pixel of the frame; infinite where nothing was drawn.
    public func depths(x: Int, y: Int) -> SIMD4<Float> {
        depth[(y - region.y - band.lowerBound) * region.width + x - region.x]
    }

    /// The band that is being drawn, pixels of the frame.
    public var drawnRegion: PixelRect {
        PixelRect(x: region.x, y: region.y + band.lowerBound, width: region.width, height: band.count)
    }

    /// Averages the band's samples into `layer`, which must have the same region, and resets the samples.
    public mutating func resolve(into layer: inout LayerBuffer) {
        precondition(layer.region == region, "the layer must have the same region")
        let (width, height, rowStride) = (region.width, band.count, layer.stride)
        let first = band.lowerBound * rowStride
        var pixels = layer.pixels
        unsafe depth.withUnsafeMutableBufferPointer { depth in
            unsafe color.withUnsafeMutableBufferPointer { color in
                unsafe pixels.withUnsafeMutableBufferPointer { pixels in
                    for y in 0..<height {
                        let row = touched[y]
                        guard row.begin < row.end else { continue }
                        touched[y] = Touched()
                        for x in Int(row.begin)..<Int(row.end) {
                            let samples = unsafe color[y &* width &+ x]
                            let pairs = unsafe unsafeBitCast(samples, to: SIMD2<UInt64>.self)
                            // Inside and outside of triangles all four samples are equal.
                            let isEven = pairs.x == pairs.y && pairs.x >> 32 == pairs.x & 0xffff_ffff
                            let pixel = isEven ? UInt32(truncatingIfNeeded: pairs.x) : mean(samples)
                            unsafe pixels[first &+ y &* rowStride &+ x] = pixel
                        }
                        let span = y &* width + Int(row.begin)..<y &* width + Int(row.end)
                        unsafe depth.extracting(span).update(repeating: SIMD4(repeating: .infinity))
                        unsafe color.extracting(span).update(repeating: .zero)
                    }
                }
            }
        }
    }
}

/// The sides of triangles that are drawn.
public enum RasterFaces: Sendable {
    /// Front faces, whose corners are clockwise on screen: for closed meshes.
    case front
    /// Both sides: for open surfaces.
    case both
}

/// The mean of four samples, channel by channel, rounded.
@inline(__always)
private func mean(_ samples: SIMD4<UInt32>) -> UInt32 {
    let even = samples & 0x00ff_00ff
    let odd = samples &>> 8 & 0x00ff_00ff
    let evenSum = even.x &+ even.y &+ even.z &+ even.w &+ 0x0002_0002
    let oddSum = odd.x &+ odd.y &+ odd.z &+ odd.w &+ 0x0002_0002
    return (evenSum >> 2 & 0x00ff_00ff) | (oddSum >> 2 & 0x00ff_00ff) << 8
}

/// Rounds x and y to the nearest 1/16 pixel: adding 1.5 * 2^23 leaves an integer.
@inline(__always)
private func snapped(_ position: SIMD4<Float>) -> SIMD4<Float> {
    var snapped = ((position * 16 + 12_582_912) - 12_582_912) * 0.0625
    snapped.z = position.z
    return snapped
}

/// The colour computation for the pixels of a triangle.
private protocol FragmentShader {
    static var writesDepth: Bool { get }
    /// Whether pixels may be transparent, so that their alpha decides how many samples are drawn.
    static var usesAlphaToCoverage: Bool { get }
    static var isTextured: Bool { get }
    /// A pixel's premultiplied colour.
    /// - Parameter texture: only its first two lanes are used.
    func pixel(_ color: SIMD4<Float>, _ texture: SIMD4<Float>) -> UInt32
}

extension FragmentShader {
    static var writesDepth: Bool { true }
    static var usesAlphaToCoverage: Bool { false }
    static var isTextured: Bool { false }
}

@inline(__always)
private func bits(_ a: SIMD4<Float>) -> SIMD4<UInt32> { unsafe unsafeBitCast(a, to: SIMD4<UInt32>.self) }

/// A mask with all bits set in the lanes whose sign bit is set. Masks are made and used as bits throughout: for the
/// library's own masks the compiler generates several times as many instructions.
@inline(__always)
private func signMask(_ a: SIMD4<UInt32>) -> SIMD4<UInt32> {
    unsafe unsafeBitCast(unsafeBitCast(a, to: SIMD4<Int32>.self) &>> 31, to: SIMD4<UInt32>.self)
}

/// Selects lanes of `b` where the mask is set, else of `a`.
@inline(__always)
private func select(_ a: SIMD4<UInt32>, _ b: SIMD4<UInt32>, _ mask: SIMD4<UInt32>) -> SIMD4<UInt32> {
    (a & ~mask) | (b & mask)
}

@inline(__always)
private func select(_ a: SIMD4<Float>, _ b: SIMD4<Float>, _ mask: SIMD4<UInt32>) -> SIMD4<Float> {
    unsafe unsafeBitCast(select(bits(a), bits(b), mask), to: SIMD4<Float>.self)
}

/// The absolute values.
@inline(__always)
private func absolute(_ a: SIMD4<Float>) -> SIMD4<Float> {
    unsafe unsafeBitCast(bits(a) & 0x7fff_ffff, to: SIMD4<Float>.self)
}

@inline(__always)
private func widened(_ a: SIMD2<Float>) -> SIMD4<Float> { SIMD4(a.x, a.y, 0, 0) }

private struct FlatShader: FragmentShader {
    let black: SIMD4<Float>
    @inline(__always) func pixel(_ color: SIMD4<Float>, _ texture: SIMD4<Float>) -> UInt32 {
        cscale_pack(color + black) | 0xff00_0000
    }
}

private struct GlassShader: FragmentShader {
    let black: SIMD4<Float>
    let opacity: Float
    static var writesDepth: Bool { false }
    @inline(__always) func pixel(_ color: SIMD4<Float>, _ texture: SIMD4<Float>) -> UInt32 {
        // Not above white, for a premultiplied colour is never above its alpha.
        var shown = laneMin(color + black, SIMD4(repeating: 255)) * opacity
        shown.w = 255 * opacity
        return cscale_pack(shown)
    }
}

@safe private struct GrainShader: FragmentShader {
    static var isTextured: Bool { true }
    let black: SIMD4<Float>
    let samples: UnsafePointer<UInt8>
    let sizeLog: Int
    let scale: Float
    @inline(__always) func pixel(_ color: SIMD4<Float>, _ texture: SIMD4<Float>) -> UInt32 {
        // The sample it lies in, since levels are about as fine as pixels; wrapped.
        let snapped = roundedLanes(texture * scale - 0.5)
        let (u, v) = (Int(snapped.x), Int(snapped.y))
        let mask = 1 << sizeLog - 1
        let gain = unsafe Float(samples[(v & mask) &<< sizeLog | u & mask]) * (1 / 128)
        return cscale_pack(color * gain + black) | 0xff00_0000
    }
}

@safe private struct TextureShader: FragmentShader {
    static var usesAlphaToCoverage: Bool { true }
    static var isTextured: Bool { true }
    let black: SIMD4<Float>
    let pixels: UnsafePointer<UInt32>
    let width: Int
    let height: Int
    let scale: Float
    let shift: SIMD2<Float>
    @inline(__always) func pixel(_ color: SIMD4<Float>, _ texture: SIMD4<Float>) -> UInt32 {
        let (s, t) = (texture.x * scale + shift.x, texture.y * scale + shift.y)
        guard s > 0, t > 0, s < Float(width - 1), t < Float(height - 1) else { return 0 }
        // In 1/256 of a pixel, rounded down.
        let snapped = roundedLanes(SIMD4(s, t, 0, 0) * 256 - 0.5)
        let (u, v) = (Int(snapped.x), Int(snapped.y))
        let upper = unsafe pixels + ((v &>> 8) &* width &+ u &>> 8)
        let mixed = unsafe cscale_interpolate(
            upper, upper + width, CInt(truncatingIfNeeded: u & 255), CInt(truncatingIfNeeded: v & 255))
        // Premultiplied: the constant part of a colour is scaled by alpha.
        let constant = black * (mixed.w * (1 / 255))
        return cscale_pack((mixed - constant) * SIMD4(color.w, color.w, color.w, 1) + constant)
    }
}

/// The samples' positions relative to the pixel's centre: a rotated grid, in which no two share a row or column.
/// Computed from the lanes: a literal would be an array that is created and read each time.
private var sampleX: SIMD4<Float> { SIMD4(-0.125, 0.375, -0.375, 0.125) }
private var sampleY: SIMD4<Float> { SIMD4(-0.375, -0.125, 0.125, 0.375) }

@safe private struct Target {
    let depth: UnsafeMutablePointer<SIMD4<Float>>
    let color: UnsafeMutablePointer<SIMD4<UInt32>>
    let occluders: UnsafePointer<Float>
    let touched: UnsafeMutablePointer<Rasterizer.Touched>
    let width: Int
    let height: Int
    let farthestOccluders: UnsafePointer<Float>
    let blocksAcross: Int
    /// The band's first row, in the region.
    let firstRow: Int

    /// Draws one triangle, clockwise on screen, and splits it if it is too large.
    func draw<I: FragmentShader>(
        _ a: RasterVertex, _ b: RasterVertex, _ c: RasterVertex, _ shader: I, recursionDepth: Int
    ) {
        let (p, q, r) = (a.position, b.position, c.position)
        let area = (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x)
        guard area.isFinite, area > 0 else { return }
        let low = (x: min(p.x, q.x, r.x), y: min(p.y, q.y, r.y))
        let high = (x: max(p.x, q.x, r.x), y: max(p.y, q.y, r.y))
        guard low.x < Float(width), low.y < Float(height), high.x > -1, high.y > -1,
            low.x > -Rasterizer.farthest, low.y > -Rasterizer.farthest,
            high.x < Rasterizer.farthest, high.y < Rasterizer.farthest
        else { return }
        if max(high.x - low.x, high.y - low.y) > Rasterizer.largestSide {
            // Enough: twice the farthest corner / 2^8 is less than the largest side.
            guard recursionDepth < 8 else { return }
            let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a))
            draw(a, ab, ca, shader, recursionDepth: recursionDepth + 1)
            draw(ab, b, bc, shader, recursionDepth: recursionDepth + 1)
            draw(ca, bc, c, shader, recursionDepth: recursionDepth + 1)
            draw(ab, bc, ca, shader, recursionDepth: recursionDepth + 1)
            return
        }
        fill(a, b, c, low: low, high: high, shader)
    }

    private func middle(_ a: RasterVertex, _ b: RasterVertex) -> RasterVertex {
        RasterVertex(
            position: (a.position + b.position) / 2, color: (a.color + b.color) / 2,
            texture: (a.texture + b.texture) / 2)
    }

    /// The edge functions of a triangle, one per lane; the last lane is unused. They are integers in units of 1/256
    /// pixel's area, positive inside; triangles are small enough that floats represent them exactly.
    private struct Edges {
        let stepX: SIMD4<Float>
        let stepY: SIMD4<Float>
        /// The values at the centre of the start pixel.
        let value: SIMD4<Float>
        /// The largest difference between the value at a sample and at the pixel's centre, to either side.
        let sampleMargin: SIMD4<Float>
        /// Columns per unit of the edge functions, for left edges and for right edges; 0 for the others.
        let leftSlope: SIMD4<Float>
        let rightSlope: SIMD4<Float>
        /// Offsets of an edge's column: for rounding it to an integer, or beyond all columns for edges of the other
        /// side.
        let leftOffset: SIMD4<Float>
        let rightOffset: SIMD4<Float>

        /// The largest error of a column, since the quotient is rounded.
        static let hair: Float = 0.01
        /// A column beyond all others.
        private static let far: Float = 1e6

        /// Edges from (x, y) to (nextX, nextY), lane by lane, in 1/16 pixel relative to the start pixel.
        @inline(__always)
        init(_ x: SIMD4<Float>, _ y: SIMD4<Float>, _ nextX: SIMD4<Float>, _ nextY: SIMD4<Float>) {
            let (dx, dy) = (nextX - x, nextY - y)
            (stepX, stepY) = (dy * -16, dx * 16)
            let (zero, one) = (SIMD4<Float>(repeating: 0), SIMD4<Float>(repeating: 1))
            // Clockwise with y down: a top edge goes right, a left edge goes up. A sample on any other edge is outside.
            let (goesUp, goesDown) = (signMask(bits(dy)), signMask(bits(zero - dy)))
            let isLevel = ~(goesUp | goesDown)
            let owns = goesUp | (isLevel & signMask(bits(zero - dx)))
            value = dy * x - dx * y - select(one, zero, owns)
            sampleMargin = laneMax(absolute(dx * 6 - dy * 2), absolute(dx * 2 + dy * 6))
            // A horizontal edge keeps all columns or none.
            let isLeft = ~goesDown
            let columns = select(one / (dy * 16), SIMD4(repeating: -Self.far), isLevel)
            leftSlope = select(zero, columns, isLeft)
            rightSlope = select(columns, zero, isLeft)
            // Rounds down and adds one, by rounding to the nearest.
            leftOffset = select(SIMD4(repeating: -Self.far), SIMD4(repeating: 0.5 - Self.hair), isLeft)
            rightOffset = select(SIMD4(repeating: -0.5 + Self.hair), SIMD4(repeating: Self.far), isLeft)
        }

        /// The column ranges of four rows: first, from the first to the last column in which no edge has all four
        /// samples outside (contiguous, since each edge bounds a half line); second, the columns in which all samples
        /// are inside of all edges. An empty range ends before it begins.
        /// - Parameter last: the last column considered, at most 2^20.
        @inline(__always)
        func columns(rows: SIMD4<Float>, last: Float) -> RowColumns {
            var begins = SIMD4<Float>(repeating: 0)
            var (fulls, ends) = (begins, SIMD4(repeating: last))
            var fullEnds = ends
            @inline(__always)
            func narrow(_ at: SIMD4<Float>, _ margin: Float, _ left: (Float, Float), _ right: (Float, Float)) {
                let (outer, inner) = (at + margin, at - margin)
                begins = laneMax(begins, outer * left.0 + left.1)
                ends = laneMin(ends, outer * right.0 + right.1)
                fulls = laneMax(fulls, inner * left.0 + (left.1 + 2 * Self.hair))
                fullEnds = laneMin(fullEnds, inner * right.0 + (right.1 - 2 * Self.hair))
            }
            narrow(
                rows * stepY.x + value.x, sampleMargin.x, (leftSlope.x, leftOffset.x), (rightSlope.x, rightOffset.x))
            narrow(
                rows * stepY.y + value.y, sampleMargin.y, (leftSlope.y, leftOffset.y), (rightSlope.y, rightOffset.y))
            narrow(
                rows * stepY.z + value.z, sampleMargin.z, (leftSlope.z, leftOffset.z), (rightSlope.z, rightOffset.z))
            // Values too small for `roundedLanes` stay below 0, and values too large stay large: the bits of floats are
            // in the order of the floats.
            return RowColumns(
                begin: roundedLanes(begins), end: roundedLanes(ends), full: roundedLanes(fulls),
                fullEnd: roundedLanes(fullEnds))
        }
    }

    /// The result of `Edges.columns`, one row per lane.
    private struct RowColumns {
        let begin: SIMD4<Int32>
        let end: SIMD4<Int32>
        let full: SIMD4<Int32>
        let fullEnd: SIMD4<Int32>
    }

    @inline(__always)
    private func fill<I: FragmentShader>(
        _ a: RasterVertex, _ b: RasterVertex, _ c: RasterVertex, low: (x: Float, y: Float), high: (x: Float, y: Float),
        _ shader: I
    ) {
        // Samples are up to 3/8 pixel from the centre, and rounding adds 1/32.
        let left = max(0, Int(low.x + 1) &- 1)
        let top = max(0, Int(low.y + 1) &- 1)
        let right = min(width - 1, Int(high.x + 1))
        let bottom = min(height - 1, Int(high.y + 1))
        guard left <= right, top <= bottom else { return }
        let nearest = min(a.position.z, b.position.z, c.position.z)
        guard !isHidden(left, top, right, bottom, nearest: nearest) else { return }
        let origin = SIMD4<Float>(Float(left), Float(top), 0, 0)
        // Snapped again: the midpoints of split sides are between sixteenths.
        let (p, q, r) = (snapped(a.position) - origin, snapped(b.position) - origin, snapped(c.position) - origin)
        let area = (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x)
        guard area > 0 else { return }
        let edges = Edges(
            SIMD4(p.x, q.x, r.x, 0) * 16, SIMD4(p.y, q.y, r.y, 0) * 16, SIMD4(q.x, r.x, p.x, 0) * 16,
            SIMD4(q.y, r.y, p.y, 0) * 16)

        // Planes through the values at the snapped corners, whose smallest area bounds the slopes.
        let inverse = 1 / area
        let (ux, uy) = ((r.y - p.y) * inverse, (p.x - r.x) * inverse)
        let (vx, vy) = ((p.y - q.y) * inverse, (q.x - p.x) * inverse)
        let (dq, dr) = (q.z - p.z, r.z - p.z)
        let (zx, zy) = (dq * ux + dr * vx, dq * uy + dr * vy)
        let sampleZ = sampleX * zx + sampleY * zy + (p.z - p.x * zx - p.y * zy)
        let (colorQ, colorR) = (b.color - a.color, c.color - a.color)
        let (colorX, colorY) = (colorQ * ux + colorR * vx, colorQ * uy + colorR * vy)
        let color0 = a.color - colorX * p.x - colorY * p.y
        let (textureA, textureB, textureC) = (widened(a.texture), widened(b.texture), widened(c.texture))
        let (textureQ, textureR) = I.isTextured ? (textureB - textureA, textureC - textureA) : (.zero, .zero)
        let (textureX, textureY) = (textureQ * ux + textureR * vx, textureQ * uy + textureR * vy)
        let texture0 = textureA - textureX * p.x - textureY * p.y

        // Pixel centres may be outside a triangle that covers a sample: clamp the values there to those of its corners.
        let lowest = laneMin(laneMin(a.color, b.color), c.color)
        let highest = laneMax(laneMax(a.color, b.color), c.color)
        let (firstZ, secondZ, thirdZ) = (
            SIMD4(repeating: p.z), SIMD4<Float>(repeating: q.z), SIMD4<Float>(repeating: r.z)
        )
        let nearestZ = laneMin(laneMin(firstZ, secondZ), thirdZ)
        let farthestZ = laneMax(laneMax(firstZ, secondZ), thirdZ)
        let textureLow = laneMin(laneMin(textureA, textureB), textureC)
        let textureHigh = laneMax(laneMax(textureA, textureB), textureC)
        // The differences between the edge functions at the four samples and at the pixel's centre.
        let (first, second, third) = (
            sampleY * edges.stepY.x + sampleX * edges.stepX.x, sampleY * edges.stepY.y + sampleX * edges.stepX.y,
            sampleY * edges.stepY.z + sampleX * edges.stepX.z
        )
        var drawn = (begin: right &+ 1, end: left)
        let columns = right &- left
        var spans = edges.columns(rows: SIMD4(0, 1, 2, 3), last: Float(columns))
        for y in 0...bottom &- top {
            let fy = Float(y)
            let lane = y & 3
            if lane == 0 && y > 0 { spans = edges.columns(rows: fy + SIMD4(0, 1, 2, 3), last: Float(columns)) }
            let (begin, end) = (Int(spans.begin[lane]), Int(spans.end[lane]))
            guard begin <= end else { continue }
            let (full, fullEnd) = (Int(spans.full[lane]), Int(spans.fullEnd[lane]))
            drawn = (min(drawn.begin, left &+ begin), max(drawn.end, left &+ end &+ 1))
            let row = (y &+ top) &* width &+ left
            let occluderRow = (y &+ top &+ 1) &* (width &+ 2) &+ left &+ 1
            let rowZ = sampleZ + zy * fy
            let (rowShade, rowTexture) = (color0 + colorY * fy, texture0 + textureY * fy)
            let middle = edges.value + edges.stepY * fy

            // The row's ends, tested sample by sample: before and after its inside.
            var x = begin == full && full <= fullEnd ? fullEnd &+ 1 : begin
            while x <= end {
                let stop = x < full && full <= fullEnd ? full &- 1 : end
                let fx = Float(x)
                let start = middle + edges.stepX * fx
                var (e0, e1, e2) = (first + start.x, second + start.y, third + start.z)
                var slope = rowZ + zx * fx
                var shade = rowShade + colorX * fx
                var texture = rowTexture + textureX * fx
                while x <= stop {
                    let at = row &+ x
                    // Slivers are so steep that rounding errors alone would put them in front of nearer surfaces.
                    let z = laneMin(laneMax(slope, nearestZ), farthestZ)
                    let outside = bits(e0) | bits(e1) | bits(e2)
                    let shown = signMask(isNearer(z, at, occluderRow &+ x) & ~outside)
                    // Opaque pixels are mixed without a test: at edges, whether any sample is visible is unpredictable.
                    if (I.writesDepth && !I.usesAlphaToCoverage) || cscale_signs(shown) != 0 {
                        let bounded = I.isTextured ? laneMin(laneMax(texture, textureLow), textureHigh) : texture
                        let pixel = shader.pixel(laneMin(laneMax(shade, lowest), highest), bounded)
                        mix(shader, pixel, shown, z, at)
                    }
                    x &+= 1
                    e0 += edges.stepX.x
                    e1 += edges.stepX.y
                    e2 += edges.stepX.z
                    slope += zx
                    shade += colorX
                    if I.isTextured { texture += textureX }
                }
                if stop != end { x = fullEnd &+ 1 }
            }
            guard full <= fullEnd else { continue }

            // The inside, which is fully covered.
            let fx = Float(full)
            var z = rowZ + zx * fx
            var shade = rowShade + colorX * fx
            var texture = rowTexture + textureX * fx
            x = full
            while x <= fullEnd {
                let at = row &+ x
                let shown = signMask(isNearer(z, at, occluderRow &+ x))
                let signs = cscale_signs(shown)
                if signs == 15 && !I.usesAlphaToCoverage && I.writesDepth {
                    unsafe color[at] = SIMD4(repeating: shader.pixel(shade, texture))
                    unsafe depth[at] = z
                } else if signs != 0 {
                    mix(shader, shader.pixel(shade, texture), shown, z, at)
                }
                x &+= 1
                z += zx
                shade += colorX
                if I.isTextured { texture += textureX }
            }
        }
        guard drawn.begin < drawn.end else { return }
        for y in top...bottom {
            unsafe touched[y].begin = min(touched[y].begin, Int32(truncatingIfNeeded: drawn.begin))
            unsafe touched[y].end = max(touched[y].end, Int32(truncatingIfNeeded: drawn.end))
        }
    }

    /// Whether occluders hide a depth in all of these columns and rows; conservative, since it tests whole blocks.
    @inline(__always)
    private func isHidden(_ left: Int, _ top: Int, _ right: Int, _ bottom: Int, nearest z: Float) -> Bool {
        // Samples test the occluders of neighbouring pixels, which have a border of one row and column on each side.
        let shift = Rasterizer.blockShift
        let (firstX, lastX) = (left &>> shift, (right &+ 2) &>> shift)
        var row = ((top &+ firstRow) &>> shift) &* blocksAcross
        let lastRow = ((bottom &+ firstRow &+ 2) &>> shift) &* blocksAcross
        while row <= lastRow {
            for x in firstX...lastX where unsafe z < farthestOccluders[row &+ x] { return false }
            row &+= blocksAcross
        }
        return true
    }

    /// Whether samples are nearer than everything drawn there: the sign bit is set. Each sample tests the occluder of a
    /// neighbouring pixel on its own side, so that outlines, which have one sample per pixel, fade over three pixels.
    @inline(__always)
    private func isNearer(_ z: SIMD4<Float>, _ at: Int, _ occluder: Int) -> SIMD4<UInt32> {
        let around = unsafe SIMD4(
            occluders[occluder &- width &- 2], occluders[occluder &+ 1], occluders[occluder &- 1],
            occluders[occluder &+ width &+ 2])
        return unsafe bits(z - depth[at]) & bits(z - around)
    }

    /// Writes a pixel's colour to its visible samples.
    @inline(__always)
    private func mix<I: FragmentShader>(
        _ shader: I, _ pixel: UInt32, _ shown: SIMD4<UInt32>, _ z: SIMD4<Float>, _ at: Int
    ) {
        var mask = shown
        if I.usesAlphaToCoverage && pixel >> 24 < 255 {
            // Alpha to coverage: the alpha selects how many of the four samples are drawn.
            guard pixel >> 24 >= 32 else { return }
            mask = shown & ~signMask(SIMD4(repeating: pixel >> 24) &- SIMD4(32, 224, 96, 160))
            unsafe color[at] = select(color[at], SIMD4(repeating: opaque(pixel)), mask)
        } else if I.writesDepth {
            unsafe color[at] = select(color[at], SIMD4(repeating: pixel), mask)
        } else {
            unsafe color[at] = select(color[at], over(pixel, color[at]), mask)
        }
        if I.writesDepth { unsafe depth[at] = select(depth[at], z, mask) }
    }

    /// A pixel's colour with full opacity.
    @inline(never)
    private func opaque(_ pixel: UInt32) -> UInt32 {
        let alpha = pixel >> 24
        guard alpha > 0 else { return 0 }
        let y = min(255, (pixel & 255) * 255 / alpha)
        let u = min(255, (pixel >> 8 & 255) * 255 / alpha)
        let v = min(255, (pixel >> 16 & 255) * 255 / alpha)
        return y | u << 8 | v << 16 | 0xff00_0000
    }

    /// A premultiplied pixel composited over four others.
    @inline(__always)
    private func over(_ pixel: UInt32, _ under: SIMD4<UInt32>) -> SIMD4<UInt32> {
        let rest = 255 - pixel >> 24
        let even = (under & 0x00ff_00ff) &* rest &+ 0x0080_0080
        let odd = (under &>> 8 & 0x00ff_00ff) &* rest &+ 0x0080_0080
        let evenPart = (even &+ (even &>> 8 & 0x00ff_00ff)) &>> 8 & 0x00ff_00ff
        let oddPart = (odd &+ (odd &>> 8 & 0x00ff_00ff)) & 0xff00_ff00
        return (evenPart | oddPart) &+ pixel
    }
}
