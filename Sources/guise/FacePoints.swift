import Frames
import JSON
import SystemKit
import Track

/// The parts of a face by their names in files of points, with the numbers of their landmarks. Right and left are the
/// subject's own.
private let parts: KeyValuePairs<String, ClosedRange<Int>> = [
    "jaw": 0...16, "right_brow": 17...21, "left_brow": 22...26, "nose": 27...35, "right_eye": 36...41,
    "left_eye": 42...47, "mouth": 48...67,
]

/// Reads a file of landmarks placed by hand: the line that `guise track --json --landmarks` prints, or one with only
/// some parts of a face.
/// - Parameter layout: the layout of the photo.
/// - Throws: `Problem` of kind `invalid` with file, line, key and what is allowed, or for a file that can't be read.
func readFacePoints(_ path: String, for layout: FrameLayout) throws -> [FaceCorrection] {
    let corrections = try faceCorrections(in: JSON(contents(of: path), file: path), file: path, for: layout)
    guard !corrections.isEmpty else {
        throw Problem(
            .invalid, "\(path): 'faces' is empty or missing",
            fix: "allowed: the faces, as `guise track --json --landmarks` prints them")
    }
    return corrections
}

/// Reads landmarks placed by hand, as `readFacePoints` does.
/// - Parameter file: the file's name for messages.
/// - Returns: the corrections; none if there are no faces.
/// - Throws: `Problem` of kind `invalid` with file, line, key and what is allowed.
func faceCorrections(in json: JSON, file: String, for layout: FrameLayout) throws -> [FaceCorrection] {
    var fields = try Fields(json, file: file)
    // What `guise track` prints beside the landmarks.
    for key in ["frame", "time"] { _ = fields.has(key) }
    let faces = try fields.objects("faces")
    try fields.finish()
    return try faces.map { face in
        var face = face
        for key in ["id", "kind", "points", "pose", "state", "basis"] { _ = face.has(key) }
        let box = face.has("box") ? try face.numbers("box", count: 4, in: -1e6...1e6).map { Float($0) } : []
        guard let landmarks = face.json("landmarks") else {
            throw face.wrong(
                "landmarks", "missing", allowed: "68 points as `guise track --json --landmarks` prints them, or parts")
        }
        try face.finish()
        var correction = FaceCorrection(points: [:])
        if box.count == 4 { correction.box = Rect(x: box[0], y: box[1], width: box[2], height: box[3]) }
        if case .object = landmarks.value {
            var named = try Fields(landmarks, file: file, path: "landmarks")
            for (name, numbers) in parts {
                guard let list = named.json(name) else { continue }
                correction.points.merge(try points(list, name, numbers, in: named, layout)) { $1 }
            }
            try named.finish()
            guard !correction.points.isEmpty else {
                throw face.wrong("landmarks", "empty", allowed: parts.map(\.key).joined(separator: ", "))
            }
        } else {
            correction.points = try points(landmarks, "landmarks", 0...67, in: face, layout)
        }
        if correction.isComplete, eyeDistance(correction) < 1 {
            throw face.wrong("landmarks", "a face without a size: both eyes are at the same place", allowed: "a face")
        }
        return correction
    }
}

/// The distance between the outer corners of the eyes, in pixels.
private func eyeDistance(_ correction: FaceCorrection) -> Float {
    guard let right = correction.points[36], let left = correction.points[45] else { return 0 }
    return (left - right).length
}

private func points(
    _ list: JSON, _ key: String, _ numbers: ClosedRange<Int>, in fields: Fields, _ layout: FrameLayout
) throws -> [Int: Point] {
    // A face may be cut off by the picture's edge.
    let (width, height) = (Double(layout.width), Double(layout.height))
    let wanted = "\(numbers.count) points [x, y] in pixels, at most a picture's size outside of it"
    guard list.elements.count == numbers.count else {
        throw fields.wrong(
            key, "\(list.elements.isEmpty ? list.kindName : "\(list.elements.count) points")", allowed: wanted)
    }
    var found: [Int: Point] = [:]
    for (number, pair) in zip(numbers, list.elements) {
        guard pair.elements.count == 2, let x = pair.elements[0].number, let y = pair.elements[1].number,
            (-width...2 * width).contains(x), (-height...2 * height).contains(y)
        else { throw fields.wrong(key, "a list with \(brief(pair.text)) in line \(pair.line)", allowed: wanted) }
        found[number] = Point(Float(x), Float(y))
    }
    return found
}
