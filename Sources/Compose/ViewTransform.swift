import Frames

/// How the source's picture is shown: turned, then mirrored, then cropped, then zoomed.
public struct ViewTransform: Equatable, Sendable {
    /// How far the picture is turned clockwise, degrees: for cameras that hang otherwise.
    public enum Rotation: Int, CaseIterable, Sendable {
        case none = 0
        case quarter = 90
        case half = 180
        case threeQuarters = 270

        /// The picture's height becomes its width.
        var isAcross: Bool { self == .quarter || self == .threeQuarters }
    }

    /// What is zoomed to.
    public enum Zoom: String, CaseIterable, Sendable { case off, face }

    /// Left and right are changed over, as in a mirror.
    public var isMirrored = false
    /// Before it is mirrored.
    public var rotation = Rotation.none
    /// What is cut off at the left, the top, the right and the bottom of the turned and mirrored picture: parts of its
    /// width and height, at most `mostCrop` each.
    public var crop = SIMD4<Double>.zero
    /// What is zoomed to, within what is left.
    public var zoom = Zoom.off
    /// The largest zoom.
    public var most = 2.0

    /// A tenth of the picture is always left.
    public static let mostCrop = 0.45

    /// The whole picture as it comes.
    public init() {}

    /// Neither turned nor mirrored.
    public var isUpright: Bool { rotation == .none && !isMirrored }

    /// What the crop leaves of a picture that was turned and mirrored: on even pixels, so that chroma has the same place.
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
