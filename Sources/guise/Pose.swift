import Capture
import Compose
import Frames
import Track

/// A square picture of an unmasked head and the face found in it, for drawing masks on.
struct Pose: ~Copyable {
    /// A view of a photo's face. Different views show the effect of masks on tilted, distant and turned heads.
    struct View {
        /// The tilt of the head towards the picture's right, in degrees.
        var roll: Float = 0
        /// Whether the picture is mirrored, which shows the other side of a turned head.
        var isMirrored = false
        /// The width of the square in eye distances. Hats and beards fit in 7.5.
        var width: Float = 7.5
        /// The head only, for small pictures.
        static let near = View(width: 6.3)
    }

    /// The picture: I444, full range.
    let picture: Frame
    let faces: [Face]
    /// The frame's time in seconds of the source's clock.
    let time: Double

    /// Crops a face from a full-range picture.
    /// - Parameters:
    ///   - face: the face.
    ///   - picture: the picture, full range.
    ///   - view: the view of the face.
    ///   - side: the side of the square in pixels.
    ///   - tracker: the tracker that finds the face in the crop.
    ///   - time: the frame's time in seconds.
    init(
        of face: Face, in picture: borrowing FrameView, _ view: View, side: Int, _ tracker: inout Tracker,
        time: Double = 0
    ) {
        let cell = Self.cut(picture, face, view, Self.layout(side: side))
        faces = Self.faces(in: cell, atLeast: Self.smallestBox * Float(side) / view.width, &tracker)
        self.time = time
        self.picture = cell
    }

    /// The size of the smallest face box to search for, in eye distances. A face's box is about 2 eye distances wide.
    /// The smallest level of sizes is searched for upright faces only, so a face must be larger than
    /// `ScanScheduler.levelFactor` times this value, at each of `Tracker.photoSizes`.
    private static let smallestBox: Float = 0.9

    /// The face that the picture was cropped to. Other faces in it are ignored: they have their own pictures.
    /// - Parameter smallest: the side of the smallest face box to search for, in pixels.
    private static func faces(
        in picture: borrowing Frame, atLeast smallest: Float, _ tracker: inout Tracker
    ) -> [Face] {
        tracker.searchWhole(picture.view.luma, smallest: smallest)
        // Only a part of a face that is turned far may be found.
        if tracker.faces.isEmpty { tracker.searchWhole(picture.view.luma) }
        let middle = Point(Float(picture.layout.width), Float(picture.layout.height)) / 2
        let face = tracker.faces.min { ($0.head.origin - middle).length < ($1.head.origin - middle).length }
        return face.map { [$0] } ?? []
    }

    /// The layout of a square picture.
    /// - Parameter side: in pixels.
    static func layout(side: Int) -> FrameLayout {
        FrameLayout(width: side, height: side, format: .i444, range: .full)
    }

    /// Draws masks on the picture and passes the result to `body`.
    func withMasks(_ masks: [Mask], _ body: (borrowing Frame) throws -> Void) rethrows {
        var canvas = Canvas(picture.layout)
        var compositor = Compositor(masks: masks)
        // The masks are composed over one second before the picture, so that fades and swinging parts come to rest.
        for before in [1, 0.75, 0.5, 0.25, 0] {
            convert(picture, into: &canvas.frame)
            compositor.compose(&canvas, faces, placement: .identity, at: time + 1 - before)
        }
        try body(canvas.frame)
    }

    /// Crops a square around the head. Beyond the picture its border is repeated, because portraits leave little room
    /// for hats.
    private static func cut(
        _ picture: borrowing FrameView, _ face: Face, _ view: View, _ layout: FrameLayout
    ) -> Frame {
        let side = Float(layout.width)
        let scale = face.head.scale * view.width / side
        // The centre is above the eyes, because hats are taller than beards.
        let center = face.head.origin + Point(0, -0.4 * face.head.scale)
        var map = Affine(scale: scale, angle: radians(-view.roll), origin: .zero)
        if view.isMirrored { (map.a, map.c) = (-map.a, -map.c) }
        let middle = map.linear(Point(side, side) / 2)
        (map.tx, map.ty) = (center.x - middle.x, center.y - middle.y)
        var frame = Frame(layout)
        var patch = [UInt8](repeating: 0, count: layout.width * layout.height)
        for (from, to) in zip(picture.layout.planes, layout.planes) {
            let plane = LumaView(
                samples: picture.bytes.extracting(
                    from.offset..<from.offset + (from.rows - 1) * from.stride + from.rowBytes),
                width: from.rowBytes, height: from.rows, rowStride: from.stride)
            var span = patch.mutableSpan
            resample(plane, by: map, into: &span, width: layout.width, height: layout.height)
            var bytes = frame.mutableBytes
            for y in 0..<to.rows {
                for x in 0..<to.rowBytes { bytes[to.offset + y * to.stride + x] = patch[y * layout.width + x] }
            }
        }
        return frame
    }
}
