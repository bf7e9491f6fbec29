import Capture
import Frames
import Synchronization

/// Finds a camera again that was unplugged: by its name and place, not by its number, which may be another one's by then.
final class CameraMemory: Sendable {
    /// By what was asked for.
    private let known = Mutex<[String: Camera.Identity]>([:])

    /// - Throws: `missing` where the camera is not there, and what `openSource` throws.
    func open(_ wanted: SourceKeeper.Wanted, _ session: Session) throws -> any FrameSource & ~Copyable {
        guard wanted.source == "camera" || wanted.source.hasPrefix("/dev/video") else {
            return try session.openSource(wanted.source, loop: true)
        }
        var path: String? = wanted.source == "camera" ? nil : wanted.source
        if let identity = known.withLock({ $0[wanted.source] }) {
            // Who wants any camera is given another one; who wants this one waits for it.
            guard identity.path != nil || path == nil else {
                throw Problem(
                    .missing, "\(identity.card) is not there any more", cure: "plug it in; it is taken back by itself")
            }
            path = identity.path ?? path
        }
        let size = wanted.camera
        let camera = try Camera(path: path, width: size.width, height: size.height, rate: size.rate)
        let identity = camera.identity
        known.withLock { $0[wanted.source] = identity }
        return camera
    }
}
