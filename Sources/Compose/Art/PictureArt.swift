import Frames
import JSON
import SystemKit

/// How art is fitted to the picture's size.
enum PictureFit: String, CaseIterable, Sendable {
    /// Stretch both sides to the picture's, whatever the art's shape.
    case stretch
    /// Scale the art to cover the picture, and crop the rest.
    case cover
    /// Scale the art to fit inside the picture.
    case contain
    /// Nine-patch: corners keep their shape, edges are stretched along, the centre in both directions.
    case border
}

extension PictureFit {
    /// The part of a picture without borders that is shown, and its place in the frame. Both start on even pixels.
    func fittedRects(of picture: FrameSize, on frame: FrameSize) -> (part: PixelRect, region: PixelRect) {
        /// A fraction of a length, on even pixels in the middle.
        func centered(_ length: Int, _ fraction: Double) -> (start: Int, length: Int) {
            let kept = min(length, max(min(2, length), Int((Double(length) * min(1, fraction) / 2).rounded()) * 2))
            return ((length - kept) / 4 * 2, kept)
        }
        let all = (PixelRect(picture), PixelRect(frame))
        let (across, down) = (
            Double(frame.width) / Double(picture.width), Double(frame.height) / Double(picture.height)
        )
        switch self {
        case .stretch, .border: return all
        case .cover:
            let (x, y) = (centered(picture.width, across / down), centered(picture.height, down / across))
            return (PixelRect(x: x.start, y: y.start, width: x.length, height: y.length), all.1)
        case .contain:
            let (x, y) = (centered(frame.width, down / across), centered(frame.height, across / down))
            return (all.0, PixelRect(x: x.start, y: y.start, width: x.length, height: y.length))
        }
    }
}

extension PixelRect {
    fileprivate init(_ size: FrameSize) { self.init(x: 0, y: 0, width: size.width, height: size.height) }
}

/// The position of art that is smaller than the picture.
enum PicturePlace: String, CaseIterable, Sendable {
    case topLeft = "top left"
    case top
    case topRight = "top right"
    case left, center, right
    case bottomLeft = "bottom left"
    case bottom
    case bottomRight = "bottom right"

    /// The part of the free space that is to the art's left (x) and above it (y).
    var fraction: Point {
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

/// Art for the whole picture, rendered once at the picture's own size.
struct PictureArt {
    /// A piecewise linear mapping between the picture and the art along one axis.
    private struct AxisMap {
        /// Coordinates at which pieces begin and end, in art pixels.
        let art: [Float]
        /// The coordinates of `art` in picture pixels.
        let picture: [Float]

        /// The art coordinate at a picture coordinate; nil outside the art.
        func artCoordinate(at position: Float) -> Float? {
            guard let first = picture.first, let last = picture.last, position >= first, position <= last else {
                return nil
            }
            for i in 1..<picture.count where position <= picture[i] {
                let length = picture[i] - picture[i - 1]
                let part = length > 0 ? (position - picture[i - 1]) / length : 0
                return art[i - 1] + (art[i] - art[i - 1]) * part
            }
            return art.last
        }
    }

    private let raster: RGBAImage
    private let target: ArtTarget
    private let across: AxisMap
    private let down: AxisMap

    /// Reads art and fits it to the picture.
    /// - Parameters:
    ///   - border: for `.border`, the thickness of the art's left, top, right and bottom edges, in art units.
    ///   - place: the position of art that has a `size`.
    ///   - size: the art's height relative to the picture's; nil: it fills the picture according to `fit`.
    ///   - margin: the distance of art that has a `size` from the picture's edge, relative to the picture's height.
    /// - Throws: `Problem` that names the file, also if the borders are thicker than the art.
    init(
        file: String, folder: String, target: ArtTarget, fit: PictureFit, border: SIMD4<Float> = .zero,
        place: PicturePlace = .center, size: Float? = nil, margin: Float = 0
    ) throws {
        let path = try Art.resolvePath(folder, file)
        // The art's shape is known only after reading, so it is first read at a small size.
        let draft = try ArtReader.load(path: path, maxDimension: 64)
        guard border.x + border.z <= draft.size.x, border.y + border.w <= draft.size.y else {
            let size = "\(Int(draft.size.x)) x \(Int(draft.size.y)) units"
            throw Problem(
                .invalid, "the borders of \(path) are thicker than the art, which has \(size)",
                fix: "make 'border' (left, top, right, bottom) smaller")
        }
        let scale = Self.scale(of: draft.size, on: target, fit: fit, size: size)
        // The art is also kept at the picture's size.
        try ArtBudget.current?.countPixels(target.width * target.height, path)
        self.init(
            try ArtReader.load(path: path, density: max(scale.x, scale.y), maxDimension: ArtLimits.largestSide),
            target: target, fit: fit, border: border, place: place, size: size, margin: margin)
    }

    /// Picture pixels per art unit.
    private static func scale(of art: SIMD2<Float>, on target: ArtTarget, fit: PictureFit, size: Float?) -> Point {
        let ratio = Point(Float(target.width), Float(target.height)) / art
        if let size { return Point(repeating: size * ratio.y) }
        switch fit {
        case .stretch: return ratio
        case .cover: return Point(repeating: max(ratio.x, ratio.y))
        case .contain, .border: return Point(repeating: min(ratio.x, ratio.y))
        }
    }

    /// Fits a raster to the picture.
    init(
        _ raster: RGBAImage, target: ArtTarget, fit: PictureFit, border: SIMD4<Float> = .zero,
        place: PicturePlace = .center, size: Float? = nil, margin: Float = 0
    ) {
        (self.raster, self.target) = (raster, target)
        let (art, picture) = (raster.size, Point(Float(target.width), Float(target.height)))
        let scale = Self.scale(of: art, on: target, fit: fit, size: size)
        let pixels = Point(Float(raster.width), Float(raster.height))
        if size == nil, fit == .border {
            across = Self.ninePatch(
                low: border.x, high: border.z, artLength: art.x, artPixels: pixels.x, scale: scale.x, picture: picture.x
            )
            down = Self.ninePatch(
                low: border.y, high: border.w, artLength: art.y, artPixels: pixels.y, scale: scale.y, picture: picture.y
            )
            return
        }
        let drawn = art * scale
        let edge = margin * picture.y
        let origin = size == nil ? (picture - drawn) / 2 : edge + (picture - drawn - 2 * edge) * place.fraction
        across = AxisMap(art: [0, pixels.x], picture: [origin.x, origin.x + drawn.x])
        down = AxisMap(art: [0, pixels.y], picture: [origin.y, origin.y + drawn.y])
    }

    /// Divides one axis into a fixed beginning, a stretched middle and a fixed end.
    /// - Parameters:
    ///   - low: length of the fixed beginning in art units.
    ///   - high: length of the fixed end in art units.
    ///   - artLength: length of the whole art in art units.
    ///   - artPixels: length of the whole art in art pixels.
    ///   - scale: picture pixels per art unit in the fixed parts.
    ///   - picture: length of the picture in pixels.
    private static func ninePatch(
        low: Float, high: Float, artLength: Float, artPixels: Float, scale: Float, picture: Float
    ) -> AxisMap {
        let pixelsPerUnit = artPixels / artLength
        return AxisMap(
            art: [0, low * pixelsPerUnit, artPixels - high * pixelsPerUnit, artPixels],
            picture: [0, low * scale, max(low * scale, picture - high * scale), picture])
    }

    /// Renders the overlay.
    /// - Parameter backdrop: the colour behind transparent art; nil: the art stays transparent over the frame.
    func overlay(over backdrop: Color? = nil) -> FrameOverlay {
        FrameOverlay(width: target.width, height: target.height, pixels: pixels(over: backdrop))
    }

    /// Renders the art as YUVA pixels of the picture's size, row by row.
    /// - Parameter backdrop: the colour behind transparent art; nil: the art stays transparent.
    func pixels(over backdrop: Color? = nil) -> [UInt32] {
        var result = [UInt32](repeating: backdrop?.pixel(target.range) ?? 0, count: target.width * target.height)
        let columns = (0..<target.width).map { across.artCoordinate(at: Float($0) + 0.5) }
        for y in 0..<target.height {
            guard let v = down.artCoordinate(at: Float(y) + 0.5) else { continue }
            for x in 0..<target.width {
                guard let u = columns[x] else { continue }
                var rgba = sample(u - 0.5, v - 0.5)
                if let backdrop { rgba += SIMD4(backdrop.rgb, 255) * (1 - rgba.w / 255) }
                guard rgba.w > 0.5 else { continue }
                // The SIMD type's own conversion to integers is a slow generic function.
                let p = pointwiseMin(pointwiseMax(rgba, .zero), SIMD4(repeating: 255)) + 0.5
                let yuva =
                    Art.yuva(
                        UInt8(min(255, p.x)), UInt8(min(255, p.y)), UInt8(min(255, p.z)), UInt8(min(255, p.w)),
                        target.range)
                result[y * target.width + x] = Art.pixel(yuva)
            }
        }
        return result
    }

    /// Samples the art bilinearly, clamped to its edge pixels.
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
