import JPEG
import Synchronization

/// A clip of the user's, for a background.
struct BackgroundClip: Sendable {
    let pictures: MotionJPEG
    let fit: PictureFit
    /// A number that no other clip has had. The frame loop remembers it instead of the pictures, which it would have to
    /// free.
    let id = BackgroundClip.loaded.add(1, ordering: .relaxed).newValue

    private static let loaded = Atomic<Int>(0)
}
