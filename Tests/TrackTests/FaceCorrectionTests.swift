import Frames
import Testing

@testable import Track

/// Landmarks of photos that were placed by hand.
struct FaceCorrectionTests {
    /// A face whose eyes are 40 pixels apart.
    private static func face(at place: Point, id: Int) -> Face {
        var face = Face.mean
        let head = HeadPlacement(x: [40, 0, 0], y: [0, 40, 0], origin: place)
        (face.id, face.landmarks, face.head) = (id, head.landmarks, head)
        face.box = Rect(around: face.landmarks)
        return face
    }

    private static func all(of face: Face, moved by: Point) -> FaceCorrection {
        FaceCorrection(points: Dictionary(uniqueKeysWithValues: (0..<68).map { ($0, face.landmarks[$0] + by) }))
    }

    private let two = [face(at: Point(100, 100), id: 1), face(at: Point(300, 100), id: 2)]

    @Test func `a part moves on the nearest face, and the head follows`() {
        var (faces, nextID) = (two, 3)
        let eyes = FaceCorrection(
            points: Dictionary(uniqueKeysWithValues: (36...47).map { ($0, two[1].landmarks[$0] + Point(0, 6)) }))
        #expect(faces.correct([eyes], nextID: &nextID).isEmpty)
        #expect(faces.count == 2 && nextID == 3 && faces[1].id == 2 && faces[1].confidence == 1)
        #expect(faces[1].landmarks[36] == two[1].landmarks[36] + Point(0, 6))
        #expect(faces[1].landmarks[8] == two[1].landmarks[8] && faces[0].landmarks[36] == two[0].landmarks[36])
        #expect(faces[1].head.origin.y > two[1].head.origin.y + 1)
    }

    @Test func `all landmarks where no face was found are one more face, and a part of one belongs to none`() {
        var (faces, nextID) = (two, 3)
        let new = Self.all(of: two[0], moved: Point(0, 300))
        let part = FaceCorrection(points: [48: Point(900, 900)])
        #expect(faces.correct([part, new], nextID: &nextID) == [0])
        #expect(faces.map(\.id) == [1, 2, 3] && nextID == 4)
        #expect(abs(faces[2].head.origin.y - 400) < 1 && faces[2].box.y > 300 && faces[2].state == .tracked)
    }

    @Test func `with the box where a face was found, it is corrected however far its landmarks are moved`() {
        var (faces, nextID) = (two, 3)
        // Over the other face.
        var moved = Self.all(of: two[1], moved: Point(-200, 0))
        moved.box = two[1].box
        #expect(faces.correct([moved], nextID: &nextID).isEmpty)
        #expect(faces.map(\.id) == [1, 2] && (faces[1].landmarks[0] - two[0].landmarks[0]).length < 0.1)
        // An empty box is one more face, although one was found there.
        moved.box = Rect(x: 0, y: 0, width: 0, height: 0)
        (faces, nextID) = (two, 3)
        #expect(faces.correct([moved], nextID: &nextID).isEmpty)
        #expect(faces.map(\.id) == [1, 2, 3] && faces[0].landmarks[0] == two[0].landmarks[0])
    }

    @Test func `two corrections are of two faces`() {
        var (faces, nextID) = ([two[0]], 2)
        let corrections = [Self.all(of: two[0], moved: Point(2, 0)), Self.all(of: two[0], moved: Point(30, 0))]
        #expect(faces.correct(corrections, nextID: &nextID).isEmpty)
        #expect(faces.count == 2)
    }

    @Test func `a cat is not corrected`() {
        var (faces, nextID) = ([two[0]], 2)
        faces[0].kind = .cat
        #expect(faces.correct([FaceCorrection(points: [36: faces[0].landmarks[36]])], nextID: &nextID) == [0])
    }
}
