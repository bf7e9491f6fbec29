import Compose
import Control
import Engine
import JSON
import Synchronization
import SystemKit

/// Collects the events for subscribers: warnings, and what has changed since the last call.
final class EventReporter: Sendable {
    private let mailbox: Mailbox
    private let loader: MaskLoader
    private let status: StatusReporter
    private let history: ChangeHistory
    private let looks: LookStore
    /// The state that was last reported to subscribers.
    private let reported: Mutex<ReportedState>
    /// Warnings for subscribers, the newest `maxWarnings`, with their time on the monotonic clock.
    private let warnings = Mutex<[(time: UInt64, line: String)]>([])
    private static let maxWarnings = 100
    /// A second in nanoseconds: the age up to which a warning is reported, and the time between two reports of the
    /// metrics.
    private static let second: UInt64 = 1_000_000_000

    /// The reported state, used to report only changes.
    private struct ReportedState {
        var selections: [MaskSelection]
        /// The revision of the history.
        var history = 0
        /// The revision of the looks.
        var looks = 0
        var loopStatus = LoopStatus()
        var source = ""
        /// When the metrics were reported, in nanoseconds of the monotonic clock.
        var metrics: UInt64 = 0
    }

    init(
        _ mailbox: Mailbox, _ loader: MaskLoader, _ status: StatusReporter, _ history: ChangeHistory,
        _ looks: LookStore
    ) {
        (self.mailbox, self.loader, self.status) = (mailbox, loader, status)
        (self.history, self.looks) = (history, looks)
        reported = Mutex(ReportedState(selections: loader.selections, looks: looks.current.revision))
    }

    /// Logs a warning and reports it to subscribers.
    func report(_ line: String) {
        logWarning(line)
        warnings.withLock { warnings in
            if warnings.count == Self.maxWarnings { warnings.removeFirst() }
            warnings.append((monotonicTime(), line))
        }
    }

    /// Returns the events since the last call.
    /// - Parameter now: the time, nanoseconds. Other threads may report warnings at the same moment, so a warning's
    ///   time may be later than this.
    func pendingEvents(at now: UInt64 = monotonicTime()) -> [Event] {
        var events: [Event] = []
        let (selections, loopStatus) = (loader.selections, mailbox.lastStatus)
        let (names, looks, source) = (history.names, looks.current, status.camera)
        let pending = warnings.withLock { warnings in
            defer { warnings = [] }
            return warnings
        }
        // Older ones are from a time without subscribers, who would mistake them for new ones.
        for warning in pending where now < warning.time + Self.second {
            events.append(.error(message: warning.line))
        }
        let before = reported.withLock { reported in
            let before = reported
            (reported.selections, reported.loopStatus) = (selections, loopStatus)
            (reported.history, reported.looks) = (names.revision, looks.revision)
            // If a file replaces another one between two calls, only the source differs.
            if loopStatus.camera == .open { reported.source = source }
            if now >= reported.metrics + Self.second { reported.metrics = now }
            return before
        }
        if selections != before.selections { events.append(.masks(selections.map(WornMask.init))) }
        if looks.revision != before.looks { events.append(.looks(LooksReply(looks.content))) }
        if names.revision != before.history { events.append(.history(names)) }
        if (loopStatus.hasViewers, loopStatus.hasReaders) != (
            before.loopStatus.hasViewers, before.loopStatus.hasReaders
        ) {
            events.append(.viewers(watched: loopStatus.hasViewers, cameraInUse: loopStatus.hasReaders))
        }
        let isOtherSource = loopStatus.camera == .open && source != before.source
        if loopStatus.camera != before.loopStatus.camera || isOtherSource {
            events.append(.camera(loopStatus.camera, source: source))
        }
        if (loopStatus.faces, loopStatus.predicted) != (before.loopStatus.faces, before.loopStatus.predicted) {
            events.append(.faces(loopStatus.faces, predicted: loopStatus.predicted))
        }
        if now >= before.metrics + Self.second { events.append(.metrics(status.metrics)) }
        return events
    }
}
