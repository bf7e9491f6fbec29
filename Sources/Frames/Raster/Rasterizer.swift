import CRaster

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
    /// A texture's colours times the vertices' light, with the U and V of the vertices, which are those of white;
    /// transparent texels are not drawn.
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
    /// Four depths for each pixel of a band: those of the occluders where nothing was drawn.
    private var depth: [SIMD4<Float>] = []
    /// Four premultiplied YUVA samples per pixel. Reset after every band.
    private(set) var color: [SIMD4<UInt32>] = []
    /// The range of columns drawn in each of the band's rows.
    private var drawn: [craster_span] = []
    /// The depth of the occluders, one per pixel, with a border of one row and column on each side; infinite where
    /// there is none.
    var occluders: [Float] = []
    /// The farthest occluder of each block of 8 x 8.
    var farthestOccluders: [Float] = []
    /// Whether `farthestOccluders` is computed again by `select`.
    var isFarthestOutdated = true
    /// The shadow on the occluders, 0...255, one cell for 8 x 8 pixels, and its nearer half; how much of each cell's
    /// surroundings is an occluder; `scratch` is for blurring them.
    var shadow: [UInt8] = []
    var nearShadow: [UInt8] = []
    var receivers: [UInt8] = []
    var scratch: [UInt8] = []
    private var black: SIMD4<Float> = [0, 128, 128, 0]
    /// The luma of white above black.
    private var white: Float = 255
    let kernels: UnsafePointer<craster_kernels>

    /// A rasterizer of an empty region.
    /// - Parameter mayBeWide: whether AVX2 may be used, with the same result.
    public init(mayBeWide: Bool = true) { unsafe kernels = craster_kernels(mayBeWide ? craster_is_wide() : 0) }

    /// The rows of a band: so many that its samples (32 bytes per pixel) fit in a core's second-level cache, which is
    /// mostly 1 MB.
    public var bandHeight: Int { max(16, 24_576 / max(region.width, 1)) }

    /// Starts a picture of a region of a frame; occluders and `select` come next.
    /// - Parameter range: the range of the frame.
    public mutating func begin(_ region: PixelRect, range: ColorRange) {
        self.region = region
        (black.x, white) = (Float(range.black), Float(range.lumaSpan))
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
        isFarthestOutdated = true
    }

    /// The side of a block in pixels, as a power of two.
    static let blockShift = craster_block_log
    /// The side of a block in pixels.
    static let blockSide = 1 << blockShift
    /// The number of blocks in a row.
    var blocksAcross: Int { (region.width + 2 + Self.blockSide - 1) / Self.blockSide }

    /// Selects the rows that are drawn until `resolve`, counted from the region's top. Later occluders don't count.
    public mutating func select(_ rows: Range<Int>) {
        precondition(rows.lowerBound >= 0 && rows.upperBound <= region.height, "a band must be inside the region")
        band = rows
        let count = region.width * rows.count
        // The kernels read two pixels at a time, the last one with one more.
        if depth.count <= count {
            depth = Array(repeating: SIMD4(repeating: .infinity), count: count + count / 4 + 1)
            color = Array(repeating: .zero, count: count + count / 4 + 1)
        }
        if drawn.count < rows.count { drawn = Array(repeating: Self.nothing, count: rows.count + rows.count / 4) }
        if isFarthestOutdated { updateFarthestOccluders() }
    }

    private static let nothing = craster_span(begin: .max, end: 0)

    /// Draws triangles.
    /// - Parameters:
    ///   - triangles: three indices of `vertices` each, clockwise on screen if the front is seen.
    ///   - faces: the sides that are drawn.
    public mutating func draw(
        _ vertices: Span<RasterVertex>, _ triangles: Span<UInt16>, faces: RasterFaces, _ surface: RasterSurface
    ) {
        var fill = unsafe craster_surface()
        unsafe fill.black = black
        switch surface {
        case .plain:
            unsafe fill.kind = craster_plain
            unsafe draw(vertices, triangles, faces, &fill)
        case .glass(let opacity):
            unsafe (fill.kind, fill.opacity) = (craster_glass, opacity)
            unsafe draw(vertices, triangles, faces, &fill)
        case .grain(let grain, let level):
            unsafe (fill.kind, fill.scale) = (craster_grain, 1 / Float(1 << level))
            unsafe fill.size_log = CInt(grain.sizeLog - level)
            unsafe grain.levels[level].withUnsafeBufferPointer {
                unsafe fill.grain = $0.baseAddress
                unsafe draw(vertices, triangles, faces, &fill)
            }
        case .picture(let sprite, let shrink, let shift):
            unsafe (fill.kind, fill.scale, fill.shift_x, fill.shift_y) = (craster_picture, shrink, shift.x, shift.y)
            unsafe (fill.width, fill.height, fill.cast) = (CInt(sprite.width), CInt(sprite.height), 1 / white)
            unsafe sprite.pixels.withUnsafeBufferPointer {
                unsafe fill.picture = $0.baseAddress
                unsafe draw(vertices, triangles, faces, &fill)
            }
        }
    }

    private mutating func draw(
        _ vertices: Span<RasterVertex>, _ triangles: Span<UInt16>, _ faces: RasterFaces, _ fill: inout craster_surface
    ) {
        let kernels = unsafe kernels
        unsafe vertices.withUnsafeBufferPointer { vertices in
            unsafe triangles.withUnsafeBufferPointer { triangles in
                guard let corners = vertices.baseAddress, let indices = triangles.baseAddress else { return }
                var mesh = unsafe craster_mesh(
                    vertices: UnsafeRawPointer(corners).assumingMemoryBound(to: craster_vertex.self),
                    vertex_count: CInt(vertices.count), triangles: indices, triangle_count: CInt(triangles.count / 3),
                    both_sides: faces == .both ? 1 : 0)
                unsafe withBand { unsafe kernels.pointee.draw(&$0, &mesh, &fill) }
            }
        }
    }

    /// Lends the memory of the band.
    private mutating func withBand(_ body: (inout craster_band) -> Void) {
        let (region, first, height, across) = (region, band.lowerBound, band.count, blocksAcross)
        unsafe depth.withUnsafeMutableBufferPointer { depth in
            unsafe color.withUnsafeMutableBufferPointer { color in
                unsafe drawn.withUnsafeMutableBufferPointer { drawn in
                    unsafe occluders.withUnsafeBufferPointer { occluders in
                        unsafe farthestOccluders.withUnsafeBufferPointer { farthest in
                            guard let depth = depth.baseAddress, let color = color.baseAddress,
                                let drawn = drawn.baseAddress, let occluders = occluders.baseAddress,
                                let farthest = farthest.baseAddress
                            else { return }
                            var band = unsafe craster_band(
                                x: CInt(region.x), y: CInt(region.y + first), width: CInt(region.width),
                                height: CInt(height), depth: depth, color: color, drawn: drawn,
                                occluders: occluders + ((first + 1) * (region.width + 2) + 1), farthest: farthest,
                                blocks_across: CInt(across), first_row: CInt(first))
                            unsafe body(&band)
                        }
                    }
                }
            }
        }
    }

    /// The nearest depths at the four samples of a pixel of the frame; infinite where nothing was drawn.
    public func depths(x: Int, y: Int) -> SIMD4<Float> {
        let (column, row) = (x - region.x, y - region.y)
        let span = drawn[row - band.lowerBound]
        guard column >= span.begin, column < span.end else { return SIMD4(repeating: .infinity) }
        let stride = region.width + 2
        let at = (row + 1) * stride + column + 1
        let hidden = SIMD4(occluders[at - stride], occluders[at + 1], occluders[at - 1], occluders[at + stride])
        let nearest = depth[(row - band.lowerBound) * region.width + column]
        return nearest.replacing(with: .infinity, where: nearest .>= hidden)
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
        unsafe color.withUnsafeMutableBufferPointer { color in
            unsafe pixels.withUnsafeMutableBufferPointer { pixels in
                guard let color = color.baseAddress, let pixels = pixels.baseAddress else { return }
                for y in 0..<height where drawn[y].begin < drawn[y].end {
                    let (begin, end) = (Int(drawn[y].begin), Int(drawn[y].end))
                    drawn[y] = Self.nothing
                    unsafe kernels.pointee.resolve_row(
                        color + (y * width + begin), CInt(end - begin), pixels + (first + y * rowStride + begin))
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
