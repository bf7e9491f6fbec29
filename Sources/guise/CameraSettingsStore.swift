import Capture
import Frames
import Synchronization
import V4L2

/// Finds a camera again that was unplugged: by its name and place, not by its number, which may be another one's by then.
/// Its brightness and the like are then what the user had set before; otherwise nobody here touches them.
final class CameraSettingsStore: Sendable {
    private struct Known {
        let identity: Camera.Identity
        /// Where it was last.
        let path: String
        /// Another one after it was unplugged: its node was made anew.
        let nodeVersion: FileVersion?
        /// As they were last seen.
        var settings: [ControlSetting]
    }

    /// By what was asked for.
    private let known = Mutex<[String: Known]>([:])

    /// - Throws: `missing` where the camera is not there, and what `openSource` throws.
    func open(_ wanted: CameraController.CameraRequest, _ context: AppContext) throws -> any FrameSource & ~Copyable {
        guard wanted.source == "camera" || wanted.source.hasPrefix("/dev/video") else {
            return try context.openSource(wanted.source, loop: true)
        }
        var path: String? = wanted.source == "camera" ? nil : wanted.source
        let before = known.withLock { $0[wanted.source] }
        if let identity = before?.identity {
            // Who wants any camera is given another one; who wants this one waits for it.
            guard identity.path != nil || path == nil else {
                throw Problem(
                    .missing, "\(identity.card) is not there any more",
                    fix: "plug it in; it is taken back by itself")
            }
            path = identity.path ?? path
        }
        let size = wanted.camera
        let camera = try Camera(path: path, width: size.width, height: size.height, rate: size.rate)
        let nodeVersion = FileVersion(camera.path)
        if let before, before.identity == camera.identity, before.nodeVersion != nodeVersion {
            camera.set(ControlSetting.lost(of: before.settings, now: camera.settings))
        }
        let now = Known(
            identity: camera.identity, path: camera.path, nodeVersion: nodeVersion, settings: camera.settings)
        known.withLock { $0[wanted.source] = now }
        return camera
    }

    /// A camera is about to be closed: how it is set may have been changed since it was opened.
    func saveSettings() {
        for (source, camera) in known.withLock({ $0 }) where camera.nodeVersion == FileVersion(camera.path) {
            // One that is gone for good, with its node still there, keeps what was seen before.
            guard let device = try? Device(path: camera.path) else { continue }
            let settings = device.settings
            if !settings.isEmpty { known.withLock { $0[source]?.settings = settings } }
        }
    }
}
