import Frames
import JSON

/// How art is brought to the picture's size.
enum PictureFit: String, CaseIterable, Sendable {
    /// Each side to the picture's, whatever its shape.
    case stretch
    /// As large as it must be to cover the picture; what is too much is cut off.
    case cover
    /// As large as it can be within the picture.
    case contain
    /// Corners keep their shape, edges are stretched along, the middle both ways: a nine-patch.
    case border
}

/// Where art that is smaller than the picture lies.
enum PicturePlace: String, CaseIterable, Sendable {
    case topLeft = "top left"
    case top
    case topRight = "top right"
    case left, center, right
    case bottomLeft = "bottom left"
    case bottom
    case bottomRight = "bottom right"

    /// Parts of the room beside the art that lie to its left and above it.
    var share: Point {
        let x: Float =
            switch self {
            case .topLeft, .left, .bottomLeft: 0
            case .top, .center, .bottom: 0.5
            case .topRight, .right, .bottomRight: 1
            }
        let y: Float =
            switch self {
            case .topLeft, .top, .topRight: 0
            case .left, .center, .right: 0.5
            case .bottomLeft, .bottom, .bottomRight: 1
            }
        return Point(x, y)
    }
}

/// Art for the whole picture, drawn once at the picture's own size.
struct PictureArt {
    /// Where one side's art lies in the picture: pieces of the art, each stretched to its piece of the picture.
    private struct Side {
        /// Art pixels and picture pixels where pieces begin and end.
        let art: [Float]
        let picture: [Float]

        /// The art's place for one of the picture's; nil beside the art.
        func place(_ at: Float) -> Float? {
            guard let first = picture.first, let last = picture.last, at >= first, at <= last else { return nil }
            for i in 1..<picture.count where at <= picture[i] {
                let length = picture[i] - picture[i - 1]
                let part = length > 0 ? (at - picture[i - 1]) / length : 0
                return art[i - 1] + (art[i] - art[i - 1]) * part
            }
            return art.last
        }
    }

    private let raster: RGBAImage
    private let target: ArtTarget
    private let across: Side
    private let down: Side

    /// - Parameters:
    ///   - border: with `.border`, art units that its left, top, right and bottom edges are thick.
    ///   - place: of art that does not fill the picture, with the next two.
    ///   - size: its height, as a part of the picture's; nil: it fills the picture by `fit`.
    ///   - margin: between it and the picture's edge, as a part of the picture's height.
    /// - Throws: `Problem` that names the file.
    init(
        file: String, folder: String, target: ArtTarget, fit: PictureFit, border: SIMD4<Float> = .zero,
        place: PicturePlace = .center, size: Float? = nil, margin: Float = 0
    ) throws {
        let path = try Art.resolvePath(folder, file)
        let picture = Point(Float(target.width), Float(target.height))
        // The art's shape is known once it is read: first at a size that suits art as high as the picture.
        let draft = try ArtReader.load(path: path, maxDimension: 64)
        let art = draft.size
        let ratio = picture / art
        let scale: Point
        if let size {
            scale = Point(repeating: size * picture.y / art.y)
        } else {
            switch fit {
            case .stretch: scale = ratio
            case .cover: scale = Point(repeating: max(ratio.x, ratio.y))
            case .contain: scale = Point(repeating: min(ratio.x, ratio.y))
            case .border: scale = Point(repeating: min(ratio.x, ratio.y))
            }
        }
        raster = try ArtReader.load(path: path, density: max(scale.x, scale.y), maxDimension: ArtLimits.largestSide)
        self.target = target
        let pixels = Point(Float(raster.width), Float(raster.height))
        if size == nil, fit == .border {
            let thick = (low: Point(border.x, border.y), high: Point(border.z, border.w))
            across = Self.pieces(thick.low.x, thick.high.x, art.x, pixels.x, scale.x, picture.x)
            down = Self.pieces(thick.low.y, thick.high.y, art.y, pixels.y, scale.y, picture.y)
            return
        }
        let drawn = art * scale
        let edge = margin * picture.y
        let origin = size == nil ? (picture - drawn) / 2 : edge + (picture - drawn - 2 * edge) * place.share
        across = Side(art: [0, pixels.x], picture: [origin.x, origin.x + drawn.x])
        down = Side(art: [0, pixels.y], picture: [origin.y, origin.y + drawn.y])
    }

    /// - Parameters:
    ///   - low: art units that are not stretched at the beginning, `high` at the end, of `art` units.
    ///   - pixels: of the art, `scale` its size in the picture, `picture` the picture's own pixels.
    private static func pieces(
        _ low: Float, _ high: Float, _ art: Float, _ pixels: Float, _ scale: Float, _ picture: Float
    ) -> Side {
        let perUnit = pixels / art
        return Side(
            art: [0, low * perUnit, pixels - high * perUnit, pixels],
            picture: [0, low * scale, max(low * scale, picture - high * scale), picture])
    }

    /// - Parameter backdrop: what shines through where the art is not opaque; nil: the frame.
    func overlay(over backdrop: Color? = nil) -> FrameOverlay {
        var words = [UInt32](repeating: backdrop?.word(target.range) ?? 0, count: target.width * target.height)
        let columns = (0..<target.width).map { across.place(Float($0) + 0.5) }
        for y in 0..<target.height {
            guard let v = down.place(Float(y) + 0.5) else { continue }
            for x in 0..<target.width {
                guard let u = columns[x] else { continue }
                var rgba = sample(u - 0.5, v - 0.5)
                if let backdrop { rgba += SIMD4(backdrop.rgb, 255) * (1 - rgba.w / 255) }
                guard rgba.w > 0.5 else { continue }
                // Rounded: the vector's own conversion to integers is a slow generic one.
                let p = pointwiseMin(pointwiseMax(rgba, .zero), SIMD4(repeating: 255)) + 0.5
                let yuva =
                    Art.yuva(
                        UInt8(min(255, p.x)), UInt8(min(255, p.y)), UInt8(min(255, p.z)), UInt8(min(255, p.w)),
                        target.range) + 0.5
                words[y * target.width + x] =
                    UInt32(max(0, yuva.x)) | UInt32(max(0, yuva.y)) << 8 | UInt32(max(0, yuva.z)) << 16
                    | UInt32(min(255, yuva.w)) << 24
            }
        }
        return FrameOverlay(width: target.width, height: target.height, pixels: words)
    }

    /// Bilinear; beyond the edge the outermost pixels go on.
    private func sample(_ u: Float, _ v: Float) -> SIMD4<Float> {
        let (u, v) = (max(0, min(Float(raster.width - 1), u)), max(0, min(Float(raster.height - 1), v)))
        let (x, y) = (Int(u), Int(v))
        let (right, below) = (min(x + 1, raster.width - 1), min(y + 1, raster.height - 1))
        let (fu, fv) = (u - Float(x), v - Float(y))
        func pixel(_ x: Int, _ y: Int) -> SIMD4<Float> {
            let i = (y * raster.width + x) * 4
            let bytes = raster.bytes
            return [Float(bytes[i]), Float(bytes[i + 1]), Float(bytes[i + 2]), Float(bytes[i + 3])]
        }
        let upper = pixel(x, y) * (1 - fu) + pixel(right, y) * fu
        let lower = pixel(x, below) * (1 - fu) + pixel(right, below) * fu
        return upper * (1 - fv) + lower * fv
    }
}
