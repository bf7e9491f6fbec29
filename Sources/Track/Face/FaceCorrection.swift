import Frames

/// Landmarks of a face in a photo that somebody has placed by hand.
public struct FaceCorrection: Equatable, Sendable {
    /// The landmarks by their numbers in `Face.Landmarks`, in pixels of the photo; the others stay as they were found.
    public var points: [Int: Point]
    /// The bounding box of the face that was found, pixels of the photo: this face is corrected, however far its
    /// landmarks were moved. Nil: the nearest one.
    public var box: Rect?

    /// A correction of some landmarks.
    public init(points: [Int: Point], box: Rect? = nil) { (self.points, self.box) = (points, box) }

    /// Whether it has all landmarks, so that it needs no face that was found.
    public var isComplete: Bool { points.count == 68 }

    /// Whether a face has these landmarks.
    public func matches(_ face: borrowing Face) -> Bool {
        for (number, point) in points where face.landmarks[number] != point { return false }
        return true
    }

    /// The mean distance of the points from those of a face, relative to the face's width.
    private func distance(from face: Face) -> Float {
        let sum = points.reduce(Float(0)) { $0 + ($1.value - face.landmarks[$1.key]).length }
        return sum / Float(max(points.count, 1)) / max(face.box.width, 1)
    }

    /// The distance up to which a correction is one of that face, and not another face's.
    private static let maxDistance: Float = 0.75
    /// The intersection of two boxes, relative to their union, from which on they are those of one face.
    private static let minOverlap: Float = 0.5

    /// The index of the face that is corrected; nil if there is none.
    fileprivate func index(in faces: [Face], besides matched: Set<Int>) -> Int? {
        let free = faces.indices.filter { faces[$0].kind == .human && !matched.contains($0) }
        if let box {
            return free.first { index in
                let (other, overlap) = (faces[index].box, box.overlap(faces[index].box))
                return overlap > Self.minOverlap * (box.area + other.area - overlap)
            }
        }
        let likely = free.filter { distance(from: faces[$0]) <= Self.maxDistance }
        return likely.min { distance(from: faces[$0]) < distance(from: faces[$1]) }
    }

    fileprivate func apply(to face: inout Face) {
        for (number, point) in points { face.landmarks[number] = point }
        face.box = Rect(around: face.landmarks)
        face.head = HeadPlacement(fitting: face.landmarks)
        (face.state, face.confidence) = (.tracked, 1)
    }
}

extension [Face] {
    /// Applies corrections, as `Tracker.correct` says.
    mutating func correct(_ corrections: [FaceCorrection], nextID: inout Int) -> [Int] {
        var (matched, left): (Set<Int>, [Int]) = ([], [])
        for (number, correction) in corrections.enumerated() {
            if let index = correction.index(in: self, besides: matched) {
                correction.apply(to: &self[index])
                matched.insert(index)
            } else if correction.isComplete {
                var face = Face.mean
                face.id = nextID
                nextID += 1
                correction.apply(to: &face)
                matched.insert(count)
                append(face)
            } else {
                left.append(number)
            }
        }
        return left
    }
}
