import Capture
import Compose
import Engine
import Publish
import SystemKit
import V4L2

/// The factory of sources. To add a kind, add a file to Capture, and a case and a form to `SourceSpec`.
extension AppContext {
    /// Opens a source.
    /// - Parameter loop: whether a file starts again at its end.
    /// - Throws: `Problem` with a fix.
    func openSource(_ spec: SourceSpec, loop: Bool) throws -> any FrameSource & ~Copyable {
        let wanted = configuration.camera
        switch spec {
        case .automatic:
            return try openSource(automaticSource(in: listDevices()), loop: loop)
        case .camera:
            return try Camera(path: nil, width: wanted.width, height: wanted.height, rate: wanted.rate)
        case .device(let node):
            return try Camera(path: node, width: wanted.width, height: wanted.height, rate: wanted.rate)
        case .sample:
            return try openSample()
        case .file(let path):
            return try Clip(path: path, loop: loop)
        }
    }

    func openSample() throws -> Sample {
        guard isReadable(paths.sample) else {
            throw Problem(.missing, "the sample picture \(paths.sample) is missing", fix: "run `make sample`")
        }
        let output = configuration.output
        return try Sample(path: paths.sample, width: output.width, height: output.height, rate: output.rate)
    }

    /// What `auto` stands for: the camera, or the sample if there is none. With neither, a placeholder says so until a
    /// camera is plugged in.
    func automaticSource(in devices: [DeviceListing]) -> SourceSpec {
        devices.contains(where: \.isCamera) || !isReadable(paths.sample) ? .camera : .sample
    }

    /// Resolves `auto` on this machine.
    /// - Returns: the source, the sinks, and notes for the user on the choice and its alternatives.
    func resolveAuto(
        source: SourceSpec, sinks: [SinkSpec]
    ) -> (source: SourceSpec, sinks: [SinkSpec], notes: [String]) {
        let devices = source == .automatic || sinks.contains(.automatic) ? listDevices() : []
        var notes: [String] = []
        var source = source
        if source == .automatic {
            source = automaticSource(in: devices)
            notes.append(
                source == .camera
                    ? "source: the camera (for another: --source /dev/videoN, see `guise devices`)"
                    : "source: the sample, because there is no camera (plug one in, or choose a clip: --source FILE)")
        }
        let choice: SinkSpec
        if !sinks.contains(.automatic) {
            return (source, sinks, notes)
        } else if mayExist(USBCameraSink.servicePath) || USBCameraSink.isSetUp() {
            choice = .usb
            notes.append("sink: the USB camera (to see it in a browser too: --sink usb --sink page)")
        } else if !devices.loopbacksForGuise.isEmpty {
            choice = .loopback
            notes.append("sink: the virtual camera (to see it in a browser too: --sink loopback --sink page)")
        } else {
            choice = .page
            notes.append(
                "sink: a page, because there is no virtual camera (to get one: guise install; or sudo apt install "
                    + "v4l2loopback-dkms; \(Loopback.loadCommand))")
        }
        return (source, sinks.map { $0 == .automatic ? choice : $0 }, notes)
    }
}
