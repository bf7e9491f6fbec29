import Capture
import Compose
import Frames
import Track

/// A square picture of a head before anything is worn, and the face that was found in it: what masks are shown on.
struct Pose: ~Copyable {
    /// How a photo is shown: about its face, so that what masks do on tilted, far and turned heads is seen.
    struct View {
        /// Degrees by which the head is leaned to the picture's right.
        var roll: Float = 0
        /// Shows the other side of a head that is turned.
        var isMirrored = false
        /// Eye distances that the square is wide: hats and beards have room in 7.5.
        var width: Float = 7.5
        /// The head alone, for small pictures.
        static let near = View(width: 6.3)
    }

    /// I444, full range.
    let picture: Frame
    let faces: [Face]
    /// Seconds, by the source's clock.
    let time: Double

    /// Cuts a face out of a picture, which is in full range.
    /// - Parameters:
    ///   - side: pixels.
    ///   - tracker: finds the faces in what was cut out.
    init(
        of face: Face, in picture: borrowing FrameView, _ view: View, side: Int, _ tracker: inout Tracker,
        time: Double = 0
    ) {
        let cell = Self.cut(picture, face, view, Self.layout(side: side))
        faces = Self.faces(in: cell, atLeast: Self.smallestBox * Float(side) / view.width, &tracker)
        self.time = time
        self.picture = cell
    }

    /// The smallest box to look for, in eye distances. A face's box is about 2 wide, and the smallest step of sizes is
    /// searched upright only: the face must lie above `ScanScheduler.levelFactor` times this, at any of `Tracker.photoSizes`.
    private static let smallestBox: Float = 0.9

    /// The one that the picture was cut out for: who stands beside, or seems to, has a picture of their own.
    /// - Parameter smallest: side of the smallest box to look for, in pixels.
    private static func faces(
        in picture: borrowing Frame, atLeast smallest: Float, _ tracker: inout Tracker
    ) -> [Face] {
        tracker.searchWhole(picture.view.luma, smallest: smallest)
        // Turned far, a face may be found only by a part of it.
        if tracker.faces.isEmpty { tracker.searchWhole(picture.view.luma) }
        let middle = Point(Float(picture.layout.width), Float(picture.layout.height)) / 2
        let face = tracker.faces.min { ($0.head.origin - middle).length < ($1.head.origin - middle).length }
        return face.map { [$0] } ?? []
    }

    /// Of a square of so many pixels a side.
    static func layout(side: Int) -> FrameLayout {
        FrameLayout(width: side, height: side, format: .i444, range: .full)
    }

    /// The picture with masks on, lent.
    func withMasks(_ masks: [Mask], _ body: (borrowing Frame) throws -> Void) rethrows {
        var canvas = Canvas(picture.layout)
        var compositor = Compositor(masks: masks)
        // A second goes by before the picture, in which what fades in or swings comes to rest.
        for before in [1, 0.75, 0.5, 0.25, 0] {
            convert(picture, into: &canvas.frame)
            compositor.compose(&canvas, faces, placement: .identity, at: time + 1 - before)
        }
        try body(canvas.frame)
    }

    /// A square about the head; beyond the picture its edge goes on, for portraits leave little room for hats.
    private static func cut(
        _ picture: borrowing FrameView, _ face: Face, _ view: View, _ layout: FrameLayout
    ) -> Frame {
        let side = Float(layout.width)
        let scale = face.head.scale * view.width / side
        // Above the eyes: hats are taller than beards.
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
