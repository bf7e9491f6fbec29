import Foundation
import TestSupport

typealias Place = SIMD2<Double>

extension Place {
    var length: Double { (self * self).sum().squareRoot() }

    /// Rotated about the origin, clockwise as seen.
    func turned(by degrees: Double) -> Place {
        let (c, s) = (cos(degrees * .pi / 180), sin(degrees * .pi / 180))
        return Place(x * c - y * s, x * s + y * c)
    }
}

/// The four compared points of a face, pixels.
struct Marks {
    var rightEye, leftEye, nose, mouth: Place

    /// Nil if a point is missing.
    init?(_ points: [String: [Double]]) {
        let places = ["right_eye", "left_eye", "nose", "mouth"].compactMap { points[$0] }.map { Place($0[0], $0[1]) }
        guard places.count == 4 else { return nil }
        (rightEye, leftEye, nose, mouth) = (places[0], places[1], places[2], places[3])
    }

    func moved(_ move: (Place) -> Place) -> Marks {
        var marks = self
        (marks.rightEye, marks.leftEye) = (move(rightEye), move(leftEye))
        (marks.nose, marks.mouth) = (move(nose), move(mouth))
        return marks
    }

    /// Mean distance of the points from the label's, in the label's eye distances.
    func error(from label: Marks) -> Double {
        let pairs = [
            (rightEye, label.rightEye), (leftEye, label.leftEye), (nose, label.nose), (mouth, label.mouth),
        ]
        return pairs.map { ($0 - $1).length }.reduce(0, +) / 4 / label.eyeDistance
    }

    var middle: Place { (rightEye + leftEye + nose + mouth) / 4 }
    var eyeDistance: Double { (leftEye - rightEye).length }
    /// Roll in degrees, clockwise.
    var tilt: Double { atan2(leftEye.y - rightEye.y, leftEye.x - rightEye.x) * 180 / .pi }

    /// How far the head is turned to a side, degrees. The nose's tip is 0.64 eye distances in front of the eyes
    /// (`HeadPlacement.meanHead`), so its distance from their midpoint is 0.64 tan(turn) of the visible distance. For
    /// eight photos with a known turn the estimates are within 8 degrees, rather too low than too high.
    var turn: Double {
        let along = (leftEye - rightEye) / eyeDistance
        let off = ((nose - (leftEye + rightEye) / 2) * along).sum() / eyeDistance
        return atan2(abs(off), 0.642) * 180 / .pi
    }

    /// Whether this is the labelled face: the points' mean is within half an eye distance of the label's, as
    /// everywhere, and the eyes' line within 15 degrees, because rotating a face about its middle does not move the
    /// mean.
    func isRight(_ label: Marks) -> Bool {
        let off = abs(tilt - label.tilt).truncatingRemainder(dividingBy: 360)
        return (middle - label.middle).length < 0.5 * label.eyeDistance && min(off, 360 - off) < 15
    }
}

/// Labelled pictures, stored outside the project: the points of each face that has any.
struct Labels: Decodable {
    struct Face: Decodable {
        var right_eye, left_eye, nose, mouth: [Double]?

        /// The points by the names that `guise track` gives them.
        var points: [String: [Double]] {
            let named = ["right_eye": right_eye, "left_eye": left_eye, "nose": nose, "mouth": mouth]
            return named.compactMapValues { $0 }
        }
        /// Nil if a point is missing or the eyes are too close together to be scored, as in evaluate.py.
        var marks: Marks? { Marks(points).flatMap { $0.eyeDistance < 8 ? nil : $0 } }
    }
    struct Photo: Decodable { var width, height: Int, faces: [Face] }
    struct Clip: Decodable { var width, height: Int, ignore_frames: [[Int]]?, frames: [[Face]] }
    struct Item: Decodable {
        var type, name: String, kind, annotations: String?
        /// Size in pixels.
        var width, height: Int
        /// Number of frames, and their rate; nil for pictures.
        var frames: Int?, fps: Double?
        /// Number of labelled faces.
        var faces: Int
    }

    /// Reads labels. Photos and cats are labelled by name in one file, each clip in its own.
    static func read<Value: Decodable>(_ name: String, as type: Value.Type) throws -> Value {
        try JSONDecoder().decode(
            type, from: Data(contentsOf: URL(fileURLWithPath: Fixtures.labelledFaces).appending(path: name)))
    }
}
