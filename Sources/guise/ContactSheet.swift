import Capture
import Compose
import Foundation
import Frames
import Track

/// Masks on faces, as one picture: for each mask a row of poses of one face, or of frames of a clip; with one pose, a
/// grid of masks.
final class ContactSheet {
    /// One cell's picture before anything is worn, and the faces that were found in it.
    private struct Pose: ~Copyable {
        let picture: Frame
        var faces: [Face]
        /// Seconds, by the source's clock.
        let time: Double
    }

    /// How a photo is shown: about its face, so that what masks do on tilted, far and turned heads is seen.
    private struct View {
        /// Degrees by which the head is leaned to the picture's right.
        var roll: Float = 0
        /// Shows the other side of a head that is turned.
        var isMirrored = false
        /// Eye distances that the cell is wide: hats and beards have room in 7.5.
        var width: Float = 7.5
    }

    private static let views = [
        View(), View(roll: -25), View(roll: 25), View(isMirrored: true), View(roll: 8, isMirrored: true, width: 18),
    ]
    /// Poses that a sheet may have at most.
    static let mostPoses = 12
    /// Pixels; cairo writes no taller pictures.
    private static let tallest = 32767
    /// Pixels below each cell for the name.
    private static let label = 24
    /// Masks in a row where each has one pose.
    private static let columns = 6
    /// Cells are drawn so many times larger and brought down, as a screen does with a video.
    private static let fine = 2

    private let session: Session
    private let poses: Poses
    /// Pixels.
    private let cell: Int
    private let file: String
    /// What masks are to be loaded for.
    let target: ArtTarget
    private var sheet: RasterRGBA
    private let columns: Int
    private var count = 0

    /// A list, for arrays hold no frames.
    private final class Poses {
        private var poses: [Int: Slot] = [:]
        private final class Slot {
            let pose: Pose
            init(_ pose: consuming Pose) { self.pose = pose }
        }
        var count: Int { poses.count }
        func add(_ pose: consuming Pose) { poses[poses.count] = Slot(pose) }
        func with(_ index: Int, _ body: (borrowing Pose) throws -> Void) rethrows {
            if let slot = poses[index] { try body(slot.pose) }
        }
    }

    /// Finds the faces.
    /// - Parameters:
    ///   - file: a photo or clip.
    ///   - most: poses for each mask, at most.
    ///   - masks: how many there will be.
    /// - Throws: `Problem` where no face is found in it.
    init(_ session: Session, on file: String, poses most: Int, masks: Int) throws {
        (self.session, self.file) = (session, file)
        cell = most == 1 ? 220 : 280
        let side = cell * Self.fine
        let layout = FrameLayout(width: side, height: side, format: .i444, range: .full)
        target = ArtTarget(layout)
        let (poses, isGrid) = (Poses(), most == 1)
        self.poses = poses
        var tracker = try session.tracker()
        try Self.read(file) { picture, time, isPhoto in
            guard poses.count < most else { return }
            tracker.searchWhole(picture.luma)
            guard let face = tracker.faces.max(by: { $0.head.scale < $1.head.scale }) else { return }
            let views = isGrid ? [View(width: 6.3)] : isPhoto ? Array(Self.views.prefix(most)) : [View()]
            for view in views {
                poses.add(Self.pose(picture, face, view, layout, &tracker, time))
            }
        } choosing: {
            Self.evenly(of: $0, at: most)
        }
        guard poses.count > 0 else {
            throw Problem(.unusable, "no face was found in \(file)", cure: "name another photo or clip")
        }
        columns = isGrid ? min(Self.columns, max(1, masks)) : poses.count
        let rows = isGrid ? (masks + columns - 1) / columns : masks
        let (width, height) = (columns * cell, max(1, rows) * (cell + Self.label))
        guard height <= Self.tallest else {
            throw Problem(.invalid, "\(masks) masks are too many for one sheet", cure: "name some of them")
        }
        sheet = RasterRGBA(width: width, height: height, bytes: [UInt8](repeating: 255, count: width * height * 4))
    }

    /// Adds a mask's row, or its cell where it has one pose.
    func add(_ mask: Mask) throws {
        let first = count
        for pose in 0..<poses.count {
            let place = columns == poses.count ? (pose, first) : (first % columns, first / columns)
            let corner = (x: place.0 * cell, y: place.1 * (cell + Self.label))
            try draw(mask, pose, at: corner)
            if pose == 0 { write(mask.name, at: corner.x, corner.y + cell) }
        }
        count += 1
    }

    /// - Throws: `system` where the file cannot be written.
    func write(to path: String) throws { try sheet.write(png: path) }

    /// A name below a cell.
    private func write(_ name: String, at x: Int, _ y: Int) {
        var strip = RasterRGBA(
            width: cell, height: Self.label, bytes: [UInt8](repeating: 255, count: cell * Self.label * 4))
        strip.write(text: name, x: 6, y: Self.label * 2 / 3, size: Self.label / 2)
        let (row, stride) = (cell * 4, sheet.width * 4)
        for line in 0..<Self.label {
            let start = (y + line) * stride + x * 4
            sheet.bytes.replaceSubrange(start..<start + row, with: strip.bytes[line * row..<(line + 1) * row])
        }
    }

    private func draw(_ mask: Mask, _ index: Int, at corner: (x: Int, y: Int)) throws {
        let side = cell * Self.fine
        var canvas = Canvas(FrameLayout(width: side, height: side, format: .i444, range: .full))
        var dresser = Dresser(masks: [mask])
        poses.with(index) { pose in
            // A second goes by before the picture, in which what fades in or swings comes to rest.
            for before in [1, 0.75, 0.5, 0.25, 0] {
                convert(pose.picture, into: &canvas.frame)
                dresser.dress(&canvas, pose.faces, placement: .identity, at: pose.time + 1 - before)
            }
        }
        let view = canvas.frame.view
        for y in 0..<cell {
            for x in 0..<cell {
                let i = ((corner.y + y) * sheet.width + corner.x + x) * 4
                let rgb = Self.color(view, x * Self.fine, y * Self.fine)
                for c in 0..<3 { sheet.bytes[i + c] = rgb[c] }
            }
        }
    }

    // MARK: - pictures

    /// Lends the pictures of a file, in full range.
    /// - Parameter choosing: of a number of frames, those to lend.
    private static func read(
        _ path: String, _ body: (borrowing FrameView, Double, Bool) throws -> Void, choosing: (Int) -> Set<Int>
    ) throws {
        let isPhoto = try Clip(path: path).isPhoto
        // Once to count, for few files say how many frames they have.
        let all = isPhoto ? 1 : try count(path)
        let chosen = choosing(all)
        var clip = try Clip(path: path)
        var whole = Frame(
            FrameLayout(width: clip.layout.width, height: clip.layout.height, format: .i444, range: .full))
        while true {
            let arrival = try clip.withFrame { view, time in
                guard chosen.contains(time.number) else { return }
                convert(view, into: &whole)
                try body(whole.view, time.seconds, isPhoto)
            }
            switch arrival {
            case .frame: continue
            case .nothing: clip.wait()
            case .end: return
            }
        }
    }

    private static func count(_ path: String) throws -> Int {
        var clip = try Clip(path: path)
        var count = 0
        while true {
            switch try clip.withFrame({ _, _ in count += 1 }) {
            case .frame: continue
            case .nothing: clip.wait()
            case .end: return count
            }
        }
    }

    /// Frames that are spread over a clip. One that shows no face is passed over.
    private static func evenly(of all: Int, at wanted: Int) -> Set<Int> {
        guard all > wanted else { return Set(0..<all) }
        return Set((0..<wanted).map { (2 * $0 + 1) * all / (2 * wanted) })
    }

    private static func pose(
        _ picture: borrowing FrameView, _ face: Face, _ view: View, _ layout: FrameLayout, _ tracker: inout Tracker,
        _ time: Double
    ) -> Pose {
        var pose = Pose(picture: cut(picture, face, view, layout), faces: [], time: time)
        pose.faces = faces(pose.picture, &tracker)
        return pose
    }

    private static func faces(_ picture: borrowing Frame, _ tracker: inout Tracker) -> [Face] {
        tracker.searchWhole(picture.view.luma)
        return tracker.faces
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

    /// The mean of four pixels, by JFIF's formulas.
    private static func color(_ view: borrowing FrameView, _ x: Int, _ y: Int) -> SIMD4<UInt8> {
        var sums = SIMD4<Float>.zero
        for (index, plane) in view.layout.planes.enumerated() {
            let i = plane.offset + y * plane.stride + x
            let (a, b) = (Float(view.bytes[i]) + Float(view.bytes[i + 1]), i + plane.stride)
            sums[index] = (a + Float(view.bytes[b]) + Float(view.bytes[b + 1])) / 4
        }
        let (luma, u, v) = (sums.x, sums.y - 128, sums.z - 128)
        let rgb = SIMD4(luma + 1.402 * v, luma - 0.344136 * u - 0.714136 * v, luma + 1.772 * u, 255)
        return SIMD4<UInt8>(
            pointwiseMin(pointwiseMax(rgb.rounded(.toNearestOrAwayFromZero), .zero), SIMD4(repeating: 255)))
    }
}
