import Frames
import Privacy
import Track

/// What shows the frames in addition to the outputs, such as the previews of the page: the published picture, and the
/// picture without masks. The frame loop calls it for each frame, so no method waits, or allocates once warm.
package protocol FrameMonitor: Sendable {
    /// Whether either picture has a viewer.
    var hasViewers: Bool { get }

    /// Shows the published picture, unless the viewers want fewer pictures.
    /// - Parameters:
    ///   - faces: the tracked faces, in pixels of the picture.
    ///   - bypassesRateLimit: whether the picture replaces the last one, and is shown regardless of the viewers' rate.
    ///   - now: nanoseconds of the monotonic clock.
    func update(_ frame: borrowing PublishableFrame, faces: borrowing [Face], bypassesRateLimit: Bool, at now: UInt64)

    /// Shows the picture without masks, unless the viewers want fewer pictures.
    func updateUnmasked(_ view: borrowing FrameView, faces: borrowing [Face], at now: UInt64)

    /// Shows a placeholder as the picture without masks, unless the viewers want fewer pictures.
    func updateUnmasked(placeholder: borrowing PublishableFrame, at now: UInt64)
}
