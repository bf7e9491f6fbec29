import Compose
import Publish
import Track

/// The settings of the frame loop. They are passed as a whole, between two frames.
package struct LoopSettings: Sendable {
    /// The condition for opening the camera.
    package var cameraUse = CameraUse.watched
    /// Whether a placeholder is shown and the camera is closed.
    package var isPaused = false
    /// Whether the output stays at the last picture.
    package var isFrozen = false
    /// The source; nil if it was opened at the start and can't be changed.
    package var source: SourceSpec?
    /// Whether the source can be changed while Guise runs.
    package var isSourceSwitchable: Bool { source != nil }
    /// The requested camera mode.
    package var cameraFormat = VideoFormat()
    /// The tracker's settings.
    package var faces = Tracker.Settings()
    /// The policy for a face that is lost; nil for each mask's own.
    package var onLostFace: LostFacePolicy?
    /// The mirroring, rotation, crop and zoom of the picture.
    package var view = ViewTransform()
    /// The recording that is running; nil for none.
    package var recorder: Recorder?

    /// The defaults.
    package init() {}
}

/// The condition for opening the camera: while somebody is watching, or always.
package enum CameraUse: String, CaseIterable, Sendable { case watched, always }

/// The size and rate of video.
package struct VideoFormat: Equatable, Sendable {
    /// The width in pixels.
    package var width = 1280
    /// The height in pixels.
    package var height = 720
    /// The rate in frames per second.
    package var rate = 30.0

    /// 1280x720 at 30 frames per second.
    package init() {}
}
