import Frames
import Track

/// The picture of a face that skin and make-up are drawn on, and how it is bent to a face that is seen.
///
/// A mean head from the front, 100 units from eye to eye, origin between the eyes, x to the right of the picture (the
/// subject's left), y down. Its points are the 68 landmarks and some more between and above them; the triangles between
/// them are warped each by itself. docs/face-chart.svg shows it.
enum CanonicalFaceUV {
    /// Units of the chart for one of head space.
    static let unit: Float = 100
    /// Landmarks and those between.
    static let count = 68 + 37
    /// Positions on one face.
    typealias Places = [105 of Point]

    /// In head space.
    static let head: [SIMD3<Float>] = HeadPlacement.meanHead + between
    /// In units of the chart.
    static let points: [Point] = head.map { Point($0.x, $0.y) * unit }
    /// The chart's edge: the jaw from the subject's right ear, then over the hairline back.
    static let outline: [Int] = Array(0...16) + [69, 71, 73, 75, 100, 74, 72, 70, 68]
    /// The lids' edges.
    static let rightEye = Array(36...41)
    /// The lids' edges.
    static let leftEye = Array(42...47)
    /// The lips' inner edge.
    static let innerLips = Array(60...67)

    /// The pieces that a layer draws.
    static func triangles(eyes hasEyes: Bool, mouth hasMouth: Bool) -> [SIMD4<UInt8>] {
        (skin + (hasEyes ? eyes : []) + (hasMouth ? mouth : [])).map { SIMD4($0[0], $0[1], $0[2], 0) }
    }

    /// Of each point, outward from the head, of length 1: the mean over its triangles, by their areas.
    static let normals: [SIMD3<Float>] = {
        var sums = [SIMD3<Float>](repeating: .zero, count: count)
        for t in skin + eyes + mouth {
            let (a, b, c) = (head[Int(t[0])], head[Int(t[1])], head[Int(t[2])])
            let (u, v) = (b - a, c - a)
            // Clockwise as seen: the cross product points away from the camera.
            let area = SIMD3(u.z * v.y - u.y * v.z, u.x * v.z - u.z * v.x, u.y * v.x - u.x * v.y)
            for i in t { sums[Int(i)] += area }
        }
        return sums.map { $0 / max(($0 * $0).sum().squareRoot(), 1e-6) }
    }()

    /// How far each point between goes along with each landmark's deviation from the mean head: by the inverse cube of
    /// their distance (Shepard, 1968), so that it belongs to its neighbours. 68 numbers a point.
    private static let pull: [Float] = between.flatMap { point in
        let weights = HeadPlacement.meanHead.map { landmark in
            let distance = ((point - landmark) * (point - landmark)).sum().squareRoot()
            return 1 / max(distance * distance * distance, 1e-4)
        }
        let total = weights.reduce(0, +)
        return weights.map { $0 / total }
    }

    /// Where the chart's points lie on a face: landmarks as they are seen, the others by the head's pose and as far off
    /// the mean head as the landmarks round them.
    static func place(on face: borrowing Face) -> Places {
        var places = Places(repeating: .zero)
        var off = [68 of Point](repeating: .zero)
        for i in 0..<68 {
            places[i] = face.landmarks[i]
            off[i] = places[i] - face.head(head[i])
        }
        let table = Self.pull
        let pull = table.span
        for i in 68..<count {
            var shift = Point.zero
            for j in 0..<68 { shift += off[j] * pull[(i - 68) * 68 + j] }
            places[i] = face.head(head[i]) + shift
        }
        closeLips(&places, face.head.scale)
        return places
    }

    /// Where the lips' opening is thinner than landmarks are sure of, its edges are drawn together: lips that touch have
    /// no gap of bare skin between them, and it opens steadily, without flicker.
    private static func closeLips(_ places: inout Places, _ scale: Float) {
        let gap = (places[66] - places[62]).length / max(scale, 1e-6)
        // Eye distances: as landmarks have it, closed lips are some 0.03 apart.
        let t = max(0, min(1, (gap - 0.035) / 0.05))
        let open = t * t * (3 - 2 * t)
        guard open < 1 else { return }
        for i in 0..<3 {
            let (upper, lower) = (61 + i, 67 - i)
            let middle = (places[upper] + places[lower]) / 2
            places[upper] = middle + (places[upper] - middle) * open
            places[lower] = middle + (places[lower] - middle) * open
        }
    }
}

/// Art on the face chart, ready to be bent to faces: its edges are soft and its size is that of the largest face.
struct FaceUVArt: Sendable {
    private let art: Art
    /// For each of the art's levels, those that show any of it.
    private let triangles: [[SIMD4<UInt8>]]

    /// The cosine between a point's normal and the way to the camera at which art is gone, and from which on it is
    /// whole: a turned cheek's edge is foreshortened, and landmarks are least sure there.
    private static let (grazing, facing): (Float, Float) = (0.02, 0.3)

    /// - Parameter triangles: three points of the chart each.
    init(art: Art, triangles: [SIMD4<UInt8>]) {
        self.art = art
        self.triangles = art.levels.map { level in
            let points = CanonicalFaceUV.points.map(level.map.callAsFunction)
            return triangles.filter {
                level.sprite.holdsArt(near: points[Int($0.x)], points[Int($0.y)], points[Int($0.z)])
            }
        }
    }

    /// The chart's sides face away even on a head that looks into the camera; the art is drawn to end there.
    private static let frontal: [Float] = CanonicalFaceUV.normals.map { -$0.z }

    /// The piece of the picture round a face; nil for one that is a speck or out of all bounds.
    static func region(_ places: borrowing CanonicalFaceUV.Places) -> PixelRect? {
        var (low, high) = (places[0], places[0])
        for i in CanonicalFaceUV.outline {
            low = pointwiseMin(low, places[i])
            high = pointwiseMax(high, places[i])
        }
        // Keeps conversions to whole numbers defined, and what is a speck away.
        guard low.x > -1e5, low.y > -1e5, high.x < 1e5, high.y < 1e5, high.x - low.x > 4 else { return nil }
        let (x, y) = (Int(low.x.rounded(.down)), Int(low.y.rounded(.down)))
        return PixelRect(x: x, y: y, width: Int(high.x) + 2 - x, height: Int(high.y) + 2 - y)
    }

    /// Makes the canvas's tile a transparent piece of the picture round a face.
    /// - Returns: false where nothing of it lies in the picture.
    static func beginLayer(_ places: borrowing CanonicalFaceUV.Places, on canvas: inout Canvas) -> Bool {
        guard let piece = region(places) else { return false }
        return canvas.layer.begin(piece, in: canvas.frame.layout)
    }

    /// Draws the art as the face bends it.
    /// - Parameter map: from the frame's pixels to those of the tile's own picture.
    func draw(
        _ face: borrowing Face, _ places: borrowing CanonicalFaceUV.Places, by map: Affine = .identity,
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
            // A side that faces the camera no less than it does from the front is whole.
            let limit = min(Self.facing, max(Self.frontal[i], Self.grazing + 0.05))
            let fade = max(0, min(1, (seen - Self.grazing) / (limit - Self.grazing)))
            vertices[i] = WarpVertex(source: level.map(CanonicalFaceUV.points[i]), target: map(places[i]), fade: fade)
        }
        warp(level.sprite, vertices.span, pieces.span, onto: &layer)
    }
}

/// The places of a face whose skin is neither hidden nor lips, for the mean of it.
enum FaceBackdrop {
    /// Cheeks, nose, forehead, beside the chin: points of the chart; dark and bright sides alike.
    private static let points: [Int] = [27, 28, 29, 76, 77, 78, 79, 101, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 103]
    /// Between each and the face's middle too.
    private static let shares: [Float] = [0, 0.12, 0.24]

    /// What the frame shows of a face's skin.
    static func samples(_ places: borrowing CanonicalFaceUV.Places, in frame: borrowing Frame) -> BackdropSamples? {
        var spots = [57 of Point](repeating: .zero)
        var count = 0
        for i in points {
            for share in shares {
                spots[count] = places[i] + (places[28] - places[i]) * share
                count += 1
            }
        }
        return frame.meanSamples(at: spots.span)
    }
}
