import Capture
import Compose
import Frames

/// Every mask on the same face, as one picture.
struct ContactSheet {
    private let session: Session
    /// Pixels; each cell is cut from the picture round the face.
    private static let cell = 360
    private static let columns = 3

    init(_ session: Session) { self.session = session }

    /// - Parameter photo: whose face; nil: the sample's.
    /// - Throws: `Problem` where no face is found in it or the sheet cannot be written.
    func write(_ names: [String], on photo: String?, to path: String) throws {
        let picture = try load(photo ?? session.places.sample)
        let rows = (names.count + Self.columns - 1) / Self.columns
        var sheet = RasterRGBA(
            width: Self.columns * Self.cell, height: rows * Self.cell,
            bytes: [UInt8](repeating: 255, count: Self.columns * Self.cell * rows * Self.cell * 4))
        for (index, name) in names.enumerated() {
            let masks = try session.masks([name], for: picture.layout)
            var pipeline = Pipeline(tracker: try session.tracker(), masks: masks, output: picture.layout)
            try pipeline.dress(picture.view, at: FrameTime(number: 0, seconds: 0), whole: true)
            guard let face = pipeline.tracker.faces.first else {
                throw Problem(
                    .unusable, "no face was found in \(photo ?? session.places.sample)", cure: "name another photo")
            }
            // Head and hat: six eye distances round a point above the eyes.
            let center = face.head.origin + Point(0, face.head.scale * -0.25)
            let scale = face.head.scale * 6 / Float(Self.cell)
            let origin = center - Point(Float(Self.cell) / 2, Float(Self.cell) / 2) * scale
            copy(
                pipeline.canvas.frame.view, from: origin, scale: scale, into: &sheet,
                at: (index % Self.columns * Self.cell, index / Self.columns * Self.cell))
        }
        try sheet.write(png: path)
    }

    /// The photo with its first row going on upward for half its height: portraits leave little room for hats.
    private func load(_ path: String) throws -> Frame {
        var clip = try Clip(path: path)
        let room = clip.layout.height / 2
        var picture = Frame(
            FrameLayout(width: clip.layout.width, height: clip.layout.height + room, format: .i444, range: .full))
        var arrival = Arrival.nothing
        while arrival == .nothing {
            arrival = try clip.withFrame { view, _ in
                guard view.layout.format == .i444 else { return }
                let layout = picture.layout
                var bytes = picture.mutableBytes
                for (from, to) in zip(view.layout.planes, layout.planes) {
                    for row in 0..<to.rows {
                        let source = from.offset + max(0, row - room) * from.stride
                        for x in 0..<to.rowBytes { bytes[to.offset + row * to.stride + x] = view.bytes[source + x] }
                    }
                }
            }
            if arrival == .nothing { clip.wait() }
        }
        guard clip.isPhoto else { throw Problem(.unusable, "\(path) is no photo", cure: "name a photo for the sheet") }
        return picture
    }

    private func copy(
        _ view: borrowing FrameView, from origin: Point, scale: Float, into sheet: inout RasterRGBA,
        at corner: (x: Int, y: Int)
    ) {
        let layout = view.layout
        for y in 0..<Self.cell {
            for x in 0..<Self.cell {
                let p = origin + Point(Float(x), Float(y)) * scale
                let sx = min(max(Int(p.x.rounded()), 0), layout.width - 1)
                let sy = min(max(Int(p.y.rounded()), 0), layout.height - 1)
                let rgb = color(view, sx, sy)
                let i = ((corner.y + y) * sheet.width + corner.x + x) * 4
                for c in 0..<3 { sheet.bytes[i + c] = rgb[c] }
            }
        }
    }

    /// JFIF's formulas; photos come as full-range 4:4:4.
    private func color(_ view: borrowing FrameView, _ x: Int, _ y: Int) -> SIMD4<UInt8> {
        let planes = view.layout.planes
        let luma = Float(view.bytes[planes[0].offset + y * planes[0].stride + x])
        let u = Float(view.bytes[planes[1].offset + y * planes[1].stride + x]) - 128
        let v = Float(view.bytes[planes[2].offset + y * planes[2].stride + x]) - 128
        let rgb = SIMD4(luma + 1.402 * v, luma - 0.344136 * u - 0.714136 * v, luma + 1.772 * u, 255)
        return SIMD4<UInt8>(
            pointwiseMin(pointwiseMax(rgb.rounded(.toNearestOrAwayFromZero), .zero), SIMD4(repeating: 255)))
    }
}
