import Frames
import Track

/// The UV chart of a face, on which skin art and make-up are drawn, and its mapping to a tracked face.
///
/// The chart is a mean head from the front: 100 units from eye to eye, origin between the eyes, x to the right of the
/// picture (the subject's left), y down. Its points are the 68 landmarks and more points between and above them. Each
/// triangle between them is warped by itself. docs/face-chart.svg shows the chart.
enum CanonicalFaceUV {
    /// Chart units per unit of head space.
    static let unit: Float = 100
    /// Number of points: landmarks and points between them.
    static let count = 68 + 37
    /// The positions of all points on one face, in pixels.
    typealias Positions = [105 of Point]

    /// The points in head space.
    static let head: [SIMD3<Float>] = HeadPlacement.meanHead + between
    /// The points in chart units.
    static let points: [Point] = head.map { Point($0.x, $0.y) * unit }
    /// The chart's outline: the jaw from the subject's right ear to the left, then back over the hairline.
    static let outline: [Int] = Array(0...16) + [69, 71, 73, 75, 100, 74, 72, 70, 68]
    /// The edge of the right eye's lids.
    static let rightEye = Array(36...41)
    /// The edge of the left eye's lids.
    static let leftEye = Array(42...47)
    /// The inner edge of the lips.
    static let innerLips = Array(60...67)

    /// The triangles that a layer draws. The last lane is unused.
    static func triangles(eyes hasEyes: Bool, mouth hasMouth: Bool) -> [SIMD4<UInt8>] {
        (skin + (hasEyes ? eyes : []) + (hasMouth ? mouth : [])).map { SIMD4($0[0], $0[1], $0[2], 0) }
    }

    /// The unit normal of each point, outward from the head: the mean over its triangles, weighted by area.
    static let normals: [SIMD3<Float>] = {
        var sums = [SIMD3<Float>](repeating: .zero, count: count)
        for t in skin + eyes + mouth {
            let (a, b, c) = (head[Int(t[0])], head[Int(t[1])], head[Int(t[2])])
            let (u, v) = (b - a, c - a)
            // Clockwise as seen: u x v points away from the camera, so this is its negative.
            let area = SIMD3(u.z * v.y - u.y * v.z, u.x * v.z - u.z * v.x, u.y * v.x - u.x * v.y)
            for i in t { sums[Int(i)] += area }
        }
        return sums.map { $0 / max(($0 * $0).sum().squareRoot(), 1e-6) }
    }()

    /// For each point between landmarks, its weight for each landmark's deviation from the mean head: the inverse cube
    /// of their distance (Shepard, 1968), normalized, so that points move with their neighbours. 68 numbers per point.
    private static let pull: [Float] = between.flatMap { point in
        let weights = HeadPlacement.meanHead.map { landmark in
            let distance = ((point - landmark) * (point - landmark)).sum().squareRoot()
            return 1 / max(distance * distance * distance, 1e-4)
        }
        let total = weights.reduce(0, +)
        return weights.map { $0 / total }
    }

    /// The positions of the chart's points on a face: landmarks as tracked, the others by the head's pose, plus the
    /// deviation of the landmarks around them from the mean head.
    static func positions(on face: borrowing Face) -> Positions {
        var positions = Positions(repeating: .zero)
        var off = [68 of Point](repeating: .zero)
        for i in 0..<68 {
            positions[i] = face.landmarks[i]
            off[i] = positions[i] - face.head(head[i])
        }
        let table = Self.pull
        let pull = table.span
        for i in 68..<count {
            var shift = Point.zero
            for j in 0..<68 { shift += off[j] * pull[(i - 68) * 68 + j] }
            positions[i] = face.head(head[i]) + shift
        }
        closeLips(&positions, face.head.scale)
        return positions
    }

    /// Closes the lips if the gap between them is below the landmarks' accuracy. Closed lips have no gap of bare skin
    /// between them, and they open steadily, without flicker.
    private static func closeLips(_ positions: inout Positions, _ scale: Float) {
        let lipDistance = (positions[66] - positions[62]).length / max(scale, 1e-6)
        // In eye distances. The landmarks of closed lips are about 0.03 apart.
        let open = smoothstep((lipDistance - 0.035) / 0.05)
        guard open < 1 else { return }
        for i in 0..<3 {
            let (upper, lower) = (61 + i, 67 - i)
            let middle = (positions[upper] + positions[lower]) / 2
            positions[upper] = middle + (positions[upper] - middle) * open
            positions[lower] = middle + (positions[lower] - middle) * open
        }
    }
}

/// Art on the UV chart, ready to be warped to faces.
struct FaceUVArt: Sendable {
    private let art: Art
    /// For each of the art's levels, the triangles that contain art.
    private let triangles: [[SIMD4<UInt8>]]

    /// Cosines between a point's normal and the direction to the camera: art is invisible at the first, and opaque from
    /// the second on. The edge of a turned cheek is foreshortened, and landmarks are least accurate there.
    private static let (grazing, facing): (Float, Float) = (0.02, 0.3)

    /// - Parameter triangles: indices of three chart points each.
    init(art: Art, triangles: [SIMD4<UInt8>]) {
        self.art = art
        self.triangles = art.levels.map { level in
            let points = CanonicalFaceUV.points.map(level.map.callAsFunction)
            return triangles.filter {
                level.sprite.containsArt(near: points[Int($0.x)], points[Int($0.y)], points[Int($0.z)])
            }
        }
    }

    /// For each point, the cosine on a head that looks into the camera. The chart's sides face away even then; the art
    /// is drawn to end there.
    private static let frontal: [Float] = CanonicalFaceUV.normals.map { -$0.z }

    /// The bounding box of a face in pixels; nil if it is tiny or far outside the picture.
    static func region(_ positions: borrowing CanonicalFaceUV.Positions) -> PixelRect? {
        var (low, high) = (positions[0], positions[0])
        for i in CanonicalFaceUV.outline {
            low = pointwiseMin(low, positions[i])
            high = pointwiseMax(high, positions[i])
        }
        // Keeps conversions to Int defined, and skips tiny faces.
        guard low.x > -1e5, low.y > -1e5, high.x < 1e5, high.y < 1e5, high.x - low.x > 4 else { return nil }
        let (x, y) = (Int(low.x.rounded(.down)), Int(low.y.rounded(.down)))
        return PixelRect(x: x, y: y, width: Int(high.x) + 2 - x, height: Int(high.y) + 2 - y)
    }

    /// Clears the canvas's layer buffer for the part of the picture around a face.
    /// - Returns: false if none of it is inside the picture.
    static func beginLayer(_ positions: borrowing CanonicalFaceUV.Positions, on canvas: inout Canvas) -> Bool {
        guard let piece = region(positions) else { return false }
        return canvas.layer.begin(piece, in: canvas.frame.layout)
    }

    /// Draws the art, warped to a face.
    /// - Parameter map: from the frame's pixels to the layer buffer's.
    func draw(
        _ face: borrowing Face, _ positions: borrowing CanonicalFaceUV.Positions, by map: Affine = .identity,
        on layer: inout LayerBuffer
    ) {
        let index = art.levelIndex(forScale: face.head.scale * map.a / CanonicalFaceUV.unit)
        let (level, pieces) = (art.levels[index], triangles[index])
        let scale = max(face.head.scale, 1e-6)
        let away = cross(face.head.x / scale, face.head.y / scale)
        var vertices = [105 of WarpVertex](repeating: WarpVertex(source: .zero, target: .zero, fade: 0))
        for i in 0..<CanonicalFaceUV.count {
            let normal = CanonicalFaceUV.normals[i]
            let seen = -(normal * away).sum()
            // A side that faces the camera at least as much as from the front is opaque.
            let limit = min(Self.facing, max(Self.frontal[i], Self.grazing + 0.05))
            let fade = max(0, min(1, (seen - Self.grazing) / (limit - Self.grazing)))
            vertices[i] = WarpVertex(
                source: level.map(CanonicalFaceUV.points[i]), target: map(positions[i]), fade: fade)
        }
        warp(level.sprite, vertices.span, pieces.span, onto: &layer)
    }
}

/// Samples of a face's bare skin, to average its colour.
enum FaceBackdrop {
    /// Chart points on cheeks, nose, forehead and beside the chin, on both the dark and the bright side.
    private static let points: [Int] = [27, 28, 29, 76, 77, 78, 79, 101, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 103]
    /// Parts of the way from each point to the face's centre at which the skin is sampled too.
    private static let fractions: [Float] = [0, 0.12, 0.24]

    /// The mean samples of a face's skin in a frame; nil if they can't be measured.
    static func samples(_ positions: borrowing CanonicalFaceUV.Positions, in frame: borrowing Frame) -> BackdropSamples?
    {
        var spots = [57 of Point](repeating: .zero)
        var count = 0
        for i in points {
            for fraction in fractions {
                spots[count] = positions[i] + (positions[28] - positions[i]) * fraction
                count += 1
            }
        }
        return frame.meanSamples(at: spots.span)
    }
}
