import Compose
import Engine
import Glibc
import Synchronization
import SystemKit

/// Describes what the daemon is doing.
final class StatusReporter: Sendable {
    private let mailbox: Mailbox
    private let loader: MaskLoader
    private let history: ChangeHistory
    private let outputs: [String]
    /// When the daemon started, nanoseconds of the monotonic clock.
    private let began = monotonicTime()
    private let description = Mutex("")
    private let lastOpened = Mutex("")

    /// - Parameter outputs: descriptions of the outputs.
    init(_ mailbox: Mailbox, _ loader: MaskLoader, _ history: ChangeHistory, outputs: [String]) {
        (self.mailbox, self.loader, self.history, self.outputs) = (mailbox, loader, history, outputs)
    }

    // MARK: - the camera

    /// The description of the camera, or the reason that there is none.
    var camera: String { description.withLock { $0 } }

    /// Sets the description of the camera, or the reason that there is none. Called from several threads.
    func setCamera(_ text: String) { description.withLock { $0 = text } }

    /// Sets the description of a camera that was opened, and logs it if it differs from the last one.
    func cameraOpened(_ text: String) {
        setCamera(text)
        let isNew = lastOpened.withLock { last in
            defer { last = text }
            return last != text
        }
        if isNew { log("source: \(text)") }
    }

    // MARK: - replies

    var status: StatusReply {
        let (now, loopStatus) = (mailbox.settings, mailbox.lastStatus)
        let state =
            now.isPaused
            ? "paused" : now.isFrozen ? "frozen" : loopStatus.camera == .open ? "running" : loopStatus.camera.rawValue
        let summary = StatusReply.Summary(
            state: state, version: guiseVersion, pid: Int(getpid()),
            seconds: rounded(Double(monotonicTime() - began) / 1e9, 10), masks: loader.selections.map(WornMask.init),
            history: history.names, source: camera, outputs: outputs)
        return StatusReply(summary, metrics)
    }

    var metrics: MetricsReply {
        // For the next reply, since a loop at rest reports nothing.
        defer { mailbox.refresh() }
        let (now, loopStatus, metrics) = (mailbox.settings, mailbox.lastStatus, mailbox.lastMetrics)
        return MetricsReply(
            paused: now.isPaused, frozen: now.isFrozen, camera: loopStatus.camera.rawValue,
            watched: loopStatus.hasViewers, cameraInUse: loopStatus.hasReaders, faces: loopStatus.faces,
            rate: rounded(loopStatus.rate, 10), frames: loopStatus.frames,
            dropped: MetricsReply.Dropped(
                overRate: loopStatus.overRate, damaged: loopStatus.damaged, repeated: loopStatus.repeated),
            latency: MetricsReply.Percentiles(metrics.latency),
            cpu: MetricsReply.CPU(
                process: rounded(loopStatus.load / 10, 100), frame: MetricsReply.Percentiles(metrics.frame),
                search: MetricsReply.Percentiles(metrics.search),
                landmarks: MetricsReply.Percentiles(metrics.landmarks),
                transform: MetricsReply.Percentiles(metrics.transform),
                segmentation: MetricsReply.Percentiles(metrics.segmentation),
                compose: MetricsReply.Percentiles(metrics.compose),
                publish: MetricsReply.Percentiles(metrics.publish)),
            memory: Int(residentBytes() / 1_000_000), recording: now.recorder.map { RecordingReply($0) })
    }
}
