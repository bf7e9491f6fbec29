import Capture
import Compose
import Frames
import SystemKit
import Track

/// A picture of masks on faces. Each mask has a row with several poses of one face, or several frames of a clip. With
/// one pose, the sheet is a grid of masks.
final class ContactSheet {
    private static let views = [
        Pose.View(), Pose.View(roll: -25), Pose.View(roll: 25), Pose.View(isMirrored: true),
        Pose.View(roll: 8, isMirrored: true, width: 18),
    ]
    /// The maximum number of poses.
    static let maxPoses = 12
    /// The maximum height in pixels, given by cairo, and the maximum number of pixels, which `guise-art` can encode.
    private static let (maxHeight, maxPixels) = (32767, 64 << 20)
    /// The height in pixels of the name below each cell.
    private static let label = 24
    /// The number of masks in a row of the grid.
    private static let columns = 6
    /// The supersampling factor: cells are drawn this many times larger and scaled down, as a screen does with a video.
    private static let fine = 2

    private let poses: Poses
    /// The side of a cell in pixels.
    private let cell: Int
    /// The render target that masks must be loaded for.
    let target: ArtTarget
    private var sheet: RGBAImage
    private let columns: Int
    private var count = 0

    /// A list of poses. Arrays cannot contain noncopyable values.
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

    /// Finds the faces and creates an empty sheet.
    /// - Parameters:
    ///   - context: the configuration and the paths.
    ///   - file: a photo or clip.
    ///   - maxPoses: the maximum number of poses for each mask.
    ///   - masks: the number of masks.
    /// - Throws: `Problem` if no face is found in the file, or the sheet would be too tall.
    init(_ context: AppContext, on file: String, poses maxPoses: Int, masks: Int) throws {
        cell = maxPoses == 1 ? 220 : 280
        let side = cell * Self.fine
        var target = context.artTarget(Pose.layout(side: side))
        // Things that the user has taught are not in the picture. Without them, masks show an example.
        target.things = nil
        self.target = target
        let (poses, isGrid) = (Poses(), maxPoses == 1)
        self.poses = poses
        var tracker = try context.tracker()
        try Self.read(file) { picture, time, isPhoto in
            guard poses.count < maxPoses else { return }
            tracker.searchWhole(picture.luma)
            guard let face = tracker.faces.max(by: { $0.head.scale < $1.head.scale }) else { return }
            let views = isGrid ? [.near] : isPhoto ? Array(Self.views.prefix(maxPoses)) : [Pose.View()]
            for view in views {
                poses.add(Pose(of: face, in: picture, view, side: side, &tracker, time: time))
            }
        } choosing: {
            Self.evenly(of: $0, at: maxPoses)
        }
        guard poses.count > 0 else {
            throw Problem(.unusable, "no face was found in \(file)", fix: "name another photo or clip")
        }
        columns = isGrid ? min(Self.columns, max(1, masks)) : poses.count
        let rows = isGrid ? (masks + columns - 1) / columns : masks
        let (width, height) = (columns * cell, max(1, rows) * (cell + Self.label))
        guard height <= Self.maxHeight, width * height <= Self.maxPixels else {
            throw Problem(.invalid, "\(masks) masks are too many for one sheet", fix: "name some of them")
        }
        sheet = RGBAImage(width: width, height: height, bytes: [UInt8](repeating: 255, count: width * height * 4))
    }

    /// Adds a mask: a row, or a cell of the grid.
    func add(_ mask: Mask) throws {
        let first = count
        for pose in 0..<poses.count {
            let cellIndex = columns == poses.count ? (pose, first) : (first % columns, first / columns)
            let corner = (x: cellIndex.0 * cell, y: cellIndex.1 * (cell + Self.label))
            try draw(mask, pose, at: corner)
            if pose == 0 { try write(mask.name, at: corner.x, corner.y + cell) }
        }
        count += 1
    }

    /// Writes the sheet as a PNG.
    /// - Throws: `Problem` of kind `system` if the file cannot be written.
    func write(to path: String, overwrites: Bool) throws { try sheet.write(png: path, overwrites: overwrites) }

    /// Draws a name below a cell.
    private func write(_ name: String, at x: Int, _ y: Int) throws {
        let strip = try ArtReader.label(name, width: cell, height: Self.label)
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

    /// Passes pictures of a file to `body`, converted to full range.
    /// - Parameters:
    ///   - path: a photo or clip.
    ///   - body: receives the picture, its time in seconds, and whether the file is a photo.
    ///   - choosing: chooses the indices of the frames, given the number of frames.
    private static func read(
        _ path: String, _ body: (borrowing FrameView, Double, Bool) throws -> Void, choosing: (Int) -> Set<Int>
    ) throws {
        let isPhoto = try Clip(path: path).isPhoto
        // The frames are counted first, because few files contain their number.
        let all = isPhoto ? 1 : try count(path)
        let selected = choosing(all)
        var clip = try Clip(path: path)
        var whole = Frame(
            FrameLayout(width: clip.layout.width, height: clip.layout.height, format: .i444, range: .full))
        try clip.forEachFrame { view, time in
            guard selected.contains(time.number) else { return }
            convert(view, into: &whole)
            try body(whole.view, time.seconds, isPhoto)
        }
    }

    private static func count(_ path: String) throws -> Int {
        var clip = try Clip(path: path)
        var count = 0
        try clip.forEachFrame { _, _ in count += 1 }
        return count
    }

    /// The indices of frames spread evenly over a clip.
    private static func evenly(of all: Int, at wanted: Int) -> Set<Int> {
        guard all > wanted else { return Set(0..<all) }
        return Set((0..<wanted).map { (2 * $0 + 1) * all / (2 * wanted) })
    }

    /// The mean of four pixels, as opaque RGBA.
    private static func color(_ view: borrowing FrameView, _ x: Int, _ y: Int) -> SIMD4<UInt8> {
        var means = SIMD3<Float>.zero
        for (index, plane) in view.layout.planes.enumerated() {
            let i = plane.offset + y * plane.stride + x
            let (a, b) = (Float(view.bytes[i]) + Float(view.bytes[i + 1]), i + plane.stride)
            means[index] = (a + Float(view.bytes[b]) + Float(view.bytes[b + 1])) / 4
        }
        return SIMD4(rgb(means), 255)
    }
}
