import Capture
import Engine
import Synchronization
import SystemKit
import V4L2

/// The identities and control settings of opened cameras. A camera that was unplugged is found again by its name and
/// location, because its number may belong to another camera by then. Its controls, such as brightness, are restored to
/// their last values; otherwise Guise does not change them.
final class CameraSettingsStore: Sendable {
    private struct Known {
        let identity: Camera.Identity
        /// The camera's last device node.
        let path: String
        /// The version of the device node. It differs after the camera was unplugged, because the node is created anew.
        let nodeVersion: FileVersion?
        /// The control settings when they were last read.
        var settings: [ControlSetting]
    }

    /// The known cameras, by requested source.
    private let known = Mutex<[String: Known]>([:])

    /// Opens a source. A camera that was unplugged meanwhile gets its settings back.
    /// - Throws: `Problem` of kind `missing` if the camera is not there, and the errors of `openSource`.
    func open(_ wanted: CameraController.CameraRequest, _ context: AppContext) throws -> any FrameSource & ~Copyable {
        var path: String?
        switch SourceSpec(wanted.source) {
        case .camera: path = nil
        case .device(let node): path = node
        case let other: return try context.openSource(other, loop: true)
        }
        let before = known.withLock { $0[wanted.source] }
        if let identity = before?.identity {
            // A request for any camera may get another one; a request for this camera waits for it.
            guard identity.path != nil || path == nil else {
                throw Problem(
                    .missing, "\(identity.card) is no longer connected",
                    fix: "plug it in; it is opened again automatically")
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

    /// Stores the settings of the known cameras. Called before a camera is closed, because programs may have changed
    /// its settings.
    func saveSettings() {
        for (source, camera) in known.withLock({ $0 }) where camera.nodeVersion == FileVersion(camera.path) {
            // If the camera is unplugged but its node still exists, the settings stored before are kept.
            guard let device = try? Device(path: camera.path) else { continue }
            let settings = device.settings
            if !settings.isEmpty { known.withLock { $0[source]?.settings = settings } }
        }
    }
}
