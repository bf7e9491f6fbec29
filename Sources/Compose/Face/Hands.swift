import Frames
import Track

/// The hands before the heads of the largest faces in the picture.
struct Hands: Sendable {
    /// The faces that are watched: who sits before a camera, not a crowd behind.
    static let most = 4
    private(set) var segmenters = (0..<most).map { _ in HandSegmenter() }
    /// Whether there is a hand before any head in the frame.
    private(set) var areFound = false

    /// Looks for hands in a frame on which nothing is drawn yet.
    /// - Parameters:
    ///   - faces: from the smallest to the largest, in pixels of the frame.
    ///   - isRoomNew: whether the room is looked at, as it is every `roomInterval` seconds.
    ///   - elapsed: seconds since the last frame.
    ///   - time: seconds by the source's clock.
    mutating func update(
        _ pixels: borrowing PixelReader, _ faces: [TrackedFace], isRoomNew: Bool, roomInterval: Float, elapsed: Float,
        at time: Double
    ) {
        areFound = false
        for i in faces.indices.suffix(Self.most) where faces[i].face.kind == .human {
            let slot = slot(of: faces[i].face.id, among: faces)
            segmenters[slot].update(
                pixels, faces[i].face, isRoomNew: isRoomNew, elapsed: (elapsed, roomInterval), at: time)
            if !segmenters[slot].hand.isEmpty { areFound = true }
        }
        for i in segmenters.indices where segmenters[i].lastSeen != time { segmenters[i].clear() }
    }

    /// Sees no hands until the next update.
    mutating func clear() {
        guard areFound else { return }
        for i in segmenters.indices { segmenters[i].clear() }
        areFound = false
    }

    /// The index of the segmenter that watches a face. A new face takes the place of the one that has been away
    /// longest.
    private mutating func slot(of id: Int, among faces: [TrackedFace]) -> Int {
        if let known = segmenters.firstIndex(where: { $0.id == id }) { return known }
        var free: Int?
        for i in segmenters.indices {
            if faces.suffix(Self.most).contains(where: { $0.face.id == segmenters[i].id }) { continue }
            if free.map({ segmenters[i].lastSeen < segmenters[$0].lastSeen }) ?? true { free = i }
        }
        let slot = free ?? 0
        segmenters[slot].start(id)
        return slot
    }
}
