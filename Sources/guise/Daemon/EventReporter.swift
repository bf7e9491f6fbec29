import Compose
import Control
import Engine
import JSON
import Synchronization
import SystemKit

/// An event for subscribers.
enum Event: Encodable {
    case masks([WornMask])
    case looks(LooksReply)
    case history(HistoryNames)
    case faces(Int, predicted: Int)
    /// Somebody started or stopped watching. `cameraInUse` is nil without a virtual camera.
    case viewers(watched: Bool, cameraInUse: Bool?)
    case camera(LoopStatus.Camera, source: String)
    case error(message: String)
    case metrics(MetricsReply)

    var topic: Topic {
        switch self {
        case .masks: .masks
        case .looks: .looks
        case .history: .history
        case .faces: .faces
        case .viewers: .viewers
        case .camera: .camera
        case .error: .errors
        case .metrics: .metrics
        }
    }

    private enum Key: String, CodingKey {
        case event, masks, faces, predicted, watched, cameraInUse, camera, source, message
    }

    func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        if case .error = self {
            try object.encode("error", forKey: .event)
        } else {
            try object.encode(topic.rawValue, forKey: .event)
        }
        switch self {
        case .masks(let masks): try object.encode(masks, forKey: .masks)
        case .looks(let looks): try looks.encode(to: encoder)
        case .history(let names): try names.encode(to: encoder)
        case .faces(let faces, let predicted):
            try object.encode(faces, forKey: .faces)
            try object.encode(predicted, forKey: .predicted)
        case .viewers(let watched, let cameraInUse):
            try object.encode(watched, forKey: .watched)
            try object.encode(cameraInUse, forKey: .cameraInUse)
        case .camera(let camera, let source):
            try object.encode(camera.rawValue, forKey: .camera)
            try object.encode(source, forKey: .source)
        case .error(let message): try object.encode(message, forKey: .message)
        case .metrics(let metrics): try metrics.encode(to: encoder)
        }
    }
}

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
    /// Nanoseconds: the age up to which a warning is news, and the time between two reports of the metrics.
    private static let second: UInt64 = 1_000_000_000

    /// The reported state, used to report only changes.
    private struct ReportedState {
        var selections: [MaskSelection]
        var history = 0
        var looks = 0
        var loopStatus = LoopStatus()
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
        log("guise: \(line)", .warning)
        warnings.withLock { warnings in
            if warnings.count == Self.maxWarnings { warnings.removeFirst() }
            warnings.append((monotonicTime(), line))
        }
    }

    /// Returns the events since the last call.
    /// - Parameter now: the time, nanoseconds. Other threads may report and read events at the same moment, so times
    ///   may be later than this.
    func pendingEvents(at now: UInt64 = monotonicTime()) -> [Event] {
        var events: [Event] = []
        let (selections, loopStatus) = (loader.selections, mailbox.lastStatus)
        let (names, looks) = (history.names, looks.current)
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
        if loopStatus.camera != before.loopStatus.camera {
            events.append(.camera(loopStatus.camera, source: status.camera))
        }
        if (loopStatus.faces, loopStatus.predicted) != (before.loopStatus.faces, before.loopStatus.predicted) {
            events.append(.faces(loopStatus.faces, predicted: loopStatus.predicted))
        }
        if now >= before.metrics + Self.second { events.append(.metrics(status.metrics)) }
        return events
    }
}
