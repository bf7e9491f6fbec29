import JSON
import SystemKit
import V4L2

extension System {
    /// What `guise` without a command prints, one line each: the camera, the virtual camera, and what to do next.
    public var firstSteps: [String] {
        ["camera: \(cameraStep)", "virtual camera: \(virtualCameraStep)", nextStep]
    }

    private var cameraStep: String {
        guard let camera = devices.first(where: \.isCamera) else {
            return "none, so Guise shows a sample portrait; a camera is used as soon as it is plugged in"
        }
        return "\(camera.label ?? "a camera") (\(camera.path))"
    }

    private var virtualCameraStep: String {
        if let device = usbCamera ?? loopback {
            return "\(DeviceListing.ownLabel) (\(device.path)); choose it as the camera in your call"
        }
        let findings = [Check.usbCamera, Check.module, Check.kernel].compactMap { $0.probe(self) }
        let fix = findings.first { $0.state != .ok }?.fix ?? "guise install"
        return "none, so calls can't see the masks yet; fix: \(fix)"
    }

    private var nextStep: String {
        isDaemonRunning
            ? "Guise is running: `guise page` shows it, `guise next` changes the mask; all commands: guise --help"
            : "next: `guise page` shows you with masks in the browser; all commands: guise --help"
    }

    /// Whether a daemon answers.
    var isDaemonRunning: Bool { daemonStatus != nil }

    /// What the daemon feeds, as it calls it; nil if none answers, or if it does not say.
    var daemonOutputs: [String]? {
        guard let status = daemonStatus, let reply = try? JSON(Array(status.utf8), file: "status") else { return nil }
        return reply["ok"]?["outputs"]?.elements.compactMap(\.string)
    }

    /// The daemon's reply to a request for its status; nil if none answers. Never starts one: a socket on which only
    /// systemd listens is not asked.
    private var daemonStatus: String? {
        guard let socket, has(socket) else { return nil }
        let isListening = unit("guise.socket")?.isActive ?? false
        if isListening, !(unit("guise.service")?.isActive ?? false) { return nil }
        guard case .line(let line) = query(socket, "{\"request\": \"status\"}") else { return nil }
        return line
    }

    /// Starts the socket on which systemd starts the daemon. A session that began before Guise was installed must first
    /// learn of its units.
    /// - Returns: false if no user manager answers, or it has no such unit.
    public func startSocket() -> Bool {
        [["daemon-reload"], ["start", "guise.socket"]].allSatisfy { run(["systemctl", "--user"] + $0).text != nil }
    }
}
