import Foundation
import TestSupport

typealias Place = SIMD2<Double>

extension Place {
    var length: Double { (self * self).sum().squareRoot() }

    /// Turned about the origin, clockwise as seen.
    func turned(by degrees: Double) -> Place {
        let (c, s) = (cos(degrees * .pi / 180), sin(degrees * .pi / 180))
        return Place(x * c - y * s, x * s + y * c)
    }
}

/// The four points of a face that are compared, pixels.
struct Marks {
    var rightEye, leftEye, nose, mouth: Place

    /// Nil where not all are there.
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
    /// Degrees, clockwise.
    var tilt: Double { atan2(leftEye.y - rightEye.y, leftEye.x - rightEye.x) * 180 / .pi }

    /// How far the head is turned to a side, degrees. The nose's tip lies 0.64 eye distances before the eyes
    /// (`HeadPlacement.meanHead`) and so leaves their middle by 0.64 tan(turn) of the distance that is seen. Of eight
    /// photos with a known turn the estimates lie within 8 degrees, too low rather than too high.
    var turn: Double {
        let along = (leftEye - rightEye) / eyeDistance
        let off = ((nose - (leftEye + rightEye) / 2) * along).sum() / eyeDistance
        return atan2(abs(off), 0.642) * 180 / .pi
    }

    /// True where this is the labelled face: the points' mean within half an eye distance of the label's, as
    /// everywhere, and the eyes' line within 15 degrees, since turning a face about its middle does not move that.
    func isRight(_ label: Marks) -> Bool {
        let off = abs(tilt - label.tilt).truncatingRemainder(dividingBy: 360)
        return (middle - label.middle).length < 0.5 * label.eyeDistance && min(off, 360 - off) < 15
    }
}

/// Labelled pictures, outside the project: each face's points, of those that have any.
struct Labels: Decodable {
    struct Face: Decodable {
        var right_eye, left_eye, nose, mouth: [Double]?

        /// By the names that `guise track` gives them.
        var points: [String: [Double]] {
            let named = ["right_eye": right_eye, "left_eye": left_eye, "nose": nose, "mouth": mouth]
            return named.compactMapValues { $0 }
        }
        /// Nil where a point is missing or the eyes are too near each other to be scored, as in evaluate.py.
        var marks: Marks? { Marks(points).flatMap { $0.eyeDistance < 8 ? nil : $0 } }
    }
    struct Photo: Decodable { var width, height: Int, faces: [Face] }
    struct Clip: Decodable { var width, height: Int, ignore_frames: [[Int]]?, frames: [[Face]] }
    struct Item: Decodable {
        var type, name: String, kind, annotations: String?
        /// Pixels.
        var width, height: Int
        /// Nil for pictures.
        var frames: Int?, fps: Double?
        /// How many are labelled.
        var faces: Int
    }

    /// Photos and cats are labelled by their names in one file, clips each in its own.
    static func read<Value: Decodable>(_ name: String, as type: Value.Type) throws -> Value {
        try JSONDecoder().decode(
            type, from: Data(contentsOf: URL(fileURLWithPath: Fixtures.labelledFaces).appending(path: name)))
    }
}
