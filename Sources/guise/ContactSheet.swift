import Capture
import Compose
import Frames
import Track

/// Masks on faces, as one picture: for each mask a row of poses of one face, or of frames of a clip; with one pose, a
/// grid of masks.
final class ContactSheet {
    private static let views = [
        Pose.View(), Pose.View(roll: -25), Pose.View(roll: 25), Pose.View(isMirrored: true),
        Pose.View(roll: 8, isMirrored: true, width: 18),
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

    private let context: AppContext
    private let poses: Poses
    /// Pixels.
    private let cell: Int
    private let file: String
    /// What masks are to be loaded for.
    let target: ArtTarget
    private var sheet: RGBAImage
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
    init(_ context: AppContext, on file: String, poses most: Int, masks: Int) throws {
        (self.context, self.file) = (context, file)
        cell = most == 1 ? 220 : 280
        let side = cell * Self.fine
        target = ArtTarget(Pose.layout(side: side))
        let (poses, isGrid) = (Poses(), most == 1)
        self.poses = poses
        var tracker = try context.tracker()
        try Self.read(file) { picture, time, isPhoto in
            guard poses.count < most else { return }
            tracker.searchWhole(picture.luma)
            guard let face = tracker.faces.max(by: { $0.head.scale < $1.head.scale }) else { return }
            let views = isGrid ? [.near] : isPhoto ? Array(Self.views.prefix(most)) : [Pose.View()]
            for view in views {
                poses.add(Pose(of: face, in: picture, view, side: side, &tracker, time: time))
            }
        } choosing: {
            Self.evenly(of: $0, at: most)
        }
        guard poses.count > 0 else {
            throw Problem(.unusable, "no face was found in \(file)", fix: "name another photo or clip")
        }
        columns = isGrid ? min(Self.columns, max(1, masks)) : poses.count
        let rows = isGrid ? (masks + columns - 1) / columns : masks
        let (width, height) = (columns * cell, max(1, rows) * (cell + Self.label))
        guard height <= Self.tallest else {
            throw Problem(.invalid, "\(masks) masks are too many for one sheet", fix: "name some of them")
        }
        sheet = RGBAImage(width: width, height: height, bytes: [UInt8](repeating: 255, count: width * height * 4))
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
        var strip = RGBAImage(
            width: cell, height: Self.label, bytes: [UInt8](repeating: 255, count: cell * Self.label * 4))
        strip.write(text: name, x: 6, y: Self.label * 2 / 3, size: Self.label / 2)
        let (row, stride) = (cell * 4, sheet.width * 4)
        for line in 0..<Self.label {
            let start = (y + line) * stride + x * 4
            sheet.bytes.replaceSubrange(start..<start + row, with: strip.bytes[line * row..<(line + 1) * row])
        }
    }

    private func draw(_ mask: Mask, _ index: Int, at corner: (x: Int, y: Int)) throws {
        poses.with(index) { pose in
            pose.withMasks([mask]) { frame in
                for y in 0..<cell {
                    for x in 0..<cell {
                        let i = ((corner.y + y) * sheet.width + corner.x + x) * 4
                        let rgb = Self.color(frame.view, x * Self.fine, y * Self.fine)
                        for c in 0..<3 { sheet.bytes[i + c] = rgb[c] }
                    }
                }
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
