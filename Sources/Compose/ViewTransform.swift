import Frames

/// How the source's picture is shown: rotated, then mirrored, then cropped, then zoomed.
public struct ViewTransform: Equatable, Sendable {
    /// Clockwise rotation in degrees, for cameras that aren't mounted upright.
    public enum Rotation: Int, CaseIterable, Sendable {
        case none = 0
        case quarter = 90
        case half = 180
        case threeQuarters = 270

        /// Whether width and height are swapped.
        var isAcross: Bool { self == .quarter || self == .threeQuarters }
    }

    /// What the picture is zoomed to.
    public enum Zoom: String, CaseIterable, Sendable { case off, face }

    /// Whether the picture is mirrored horizontally.
    public var isMirrored = false
    /// Rotation, before mirroring.
    public var rotation = Rotation.none
    /// Crop of the rotated and mirrored picture at the left, top, right and bottom: parts of its width and height, at
    /// most `maxCrop` each.
    public var crop = SIMD4<Double>.zero
    /// What the picture is zoomed to, within the cropped part.
    public var zoom = Zoom.off
    /// The largest zoom factor.
    public var maxZoom = 2.0

    /// The largest crop at one side. A tenth of the picture always remains.
    public static let maxCrop = 0.45

    /// Shows the whole picture as it is.
    public init() {}

    /// Whether the picture is neither rotated nor mirrored.
    public var isUpright: Bool { rotation == .none && !isMirrored }

    /// The map from a picture's pixels to those of the same picture, rotated and mirrored.
    /// - Parameter size: of the picture before.
    public func map(of size: FrameSize) -> Affine {
        let (width, height) = (Float(size.width), Float(size.height))
        let rotated =
            switch rotation {
            case .none: Affine.identity
            case .quarter: Affine(a: 0, b: -1, c: 1, d: 0, tx: height, ty: 0)
            case .half: Affine(a: -1, b: 0, c: 0, d: -1, tx: width, ty: height)
            case .threeQuarters: Affine(a: 0, b: 1, c: -1, d: 0, tx: 0, ty: width)
            }
        guard isMirrored else { return rotated }
        return Affine(a: -1, b: 0, c: 0, d: 1, tx: rotation.isAcross ? height : width, ty: 0).after(rotated)
    }

    /// The cropped part of a picture that was rotated and mirrored, in pixels: on even pixels, so that chroma has the
    /// same place.
    public func part(of layout: FrameLayout) -> PixelRect {
        func side(_ length: Int, _ first: Double, _ last: Double) -> (start: Int, length: Int) {
            let start = Int(Double(length) * first / 2) * 2
            let end = last > 0 ? Int(Double(length) * (1 - last) / 2) * 2 : length
            return (start, max(end - start, min(2, length - start)))
        }
        let (x, width) = side(layout.width, crop[0], crop[2])
        let (y, height) = side(layout.height, crop[1], crop[3])
        return PixelRect(x: x, y: y, width: width, height: height)
    }
}
