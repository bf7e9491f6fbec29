import Compose
import Control
import Engine
import FoundationEssentials
import Frames
import JSON
import Publish
import Synchronization
import SystemKit

/// Answers requests for the picture that others see.
struct PictureHandler {
    let mailbox: Mailbox
    let loader: MaskLoader
    let captures: CaptureStore
    let configuration: ConfigurationStore
    let events: EventReporter
    /// The layout of the published frames.
    let outputLayout: FrameLayout
    /// Requests that what has changed is stored.
    let onChange: @Sendable () -> Void
    /// The recordings that are being completed.
    let ending = EndingRecordings()

    func handle(_ request: PictureRequest) throws -> Answer {
        switch request {
        case .pause, .panic: .immediate(change { $0.isPaused = true })
        case .resume: .immediate(change { ($0.isPaused, $0.isFrozen) = (false, false) })
        case .freeze: .immediate(change { $0.isFrozen = true })
        case .snapshot(let path, let hasNote): try snapshot(path, hasNote: hasNote)
        case .startRecording(let path, let hasSound):
            // The disk or the sound server may take a while.
            .background { [self] in try startRecording(path, sound: hasSound ? .microphone : nil) }
        case .stopRecording: try stopRecording()
        case .album: .stored { [captures] in AlbumReply(captures: captures.all) }
        case .rename(let name, let new): .stored { [captures] in try captures.rename(name, to: new) }
        case .delete(let name): .stored { [captures] in try captures.delete(name) }
        }
    }

    private func change(_ body: (inout LoopSettings) -> Void) -> StateReply {
        let now = mailbox.change { (settings: inout sending LoopSettings) -> LoopSettings in
            body(&settings)
            return settings
        }
        onChange()
        return StateReply(now)
    }

    // MARK: - photos

    private func snapshot(_ path: String?, hasNote: Bool) throws -> Answer {
        guard !mailbox.settings.isPaused else {
            throw RequestError(.notNow, "there is no picture while Guise is paused; run `guise resume` first")
        }
        let worn = loader.selections.map(WornMask.init)
        return .deferred { [mailbox, captures] reply in
            mailbox.requestCapture(
                CaptureStore.Snapshot(
                    store: captures, path: path, texts: Self.texts(worn), note: hasNote ? Self.note(worn) : nil,
                    // Any reply is a reply: only the type is more general.
                    reply: { reply($0.map { $0 }) }))
        }
    }

    /// The texts that are embedded in a photo as PNG text chunks.
    private static func texts(_ worn: [WornMask]) -> [(keyword: String, text: String)] {
        [
            ("Software", "Guise \(guiseVersion)"), ("Creation Time", Date().formatted(.iso8601)),
            ("Guise", JSON(["masks": JSON(encoding: worn)]).ascii),
        ]
    }

    /// The text of the note file beside a photo.
    private static func note(_ worn: [WornMask]) -> String {
        let masks = worn.map { mask in
            let choices = mask.choices.sorted { $0.key < $1.key }.map { ", \($0.key) \($0.value)" }.joined()
            return "\(mask.name): opacity \(JSON(encoding: mask.opacity).text)\(choices)"
        }
        let lines = ["Guise \(guiseVersion), \(Date().formatted(.iso8601))"] + (masks.isEmpty ? ["no mask"] : masks)
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: - recordings

    private final class StartLock: Sendable { let mutex = Mutex<Void>(()) }
    /// Held while a recording starts.
    private let start = StartLock()

    private func startRecording(_ path: String?, sound: SoundInput?) throws -> RecordingReply {
        let reply = try start.mutex.withLockIfAvailable { _ in
            // A recording that has failed counts as ended.
            if let recorder = mailbox.settings.recorder, recorder.progress.problem == nil {
                throw RequestError(.notNow, "a recording is already running; end it with `guise record stop`")
            }
            let path = try path.map(freePath) ?? CaptureStore.newPath(in: "Videos", "mp4")
            let recorder = try Recorder(
                path: path, layout: outputLayout, rate: configuration.value.output.rate, sound: sound
            ) { [weak events, captures] problem in
                // What was written before the failure is kept, and found in the album; what somebody else has put there
                // is not.
                if problem.kind != .exists { _ = captures.add(path) }
                events?.report("the recording has ended: \(problem)")
            }
            mailbox.change { $0.recorder = recorder }
            return RecordingReply(recorder)
        }
        guard let reply else { throw RequestError(.notNow, "a recording is already being started") }
        return reply
    }

    private func stopRecording() throws -> Answer {
        let active = mailbox.change { (settings: inout sending LoopSettings) -> Recorder? in
            defer { settings.recorder = nil }
            return settings.recorder
        }
        guard let recorder = active else {
            throw RequestError(.notNow, "no recording is running; start one with `guise record start`")
        }
        ending.add(recorder)
        return .deferred { [captures, ending] reply in
            // The encoder may take a while to finish.
            startThread(named: "recording") {
                defer { ending.remove(recorder) }
                reply(
                    Result {
                        // If the encoder failed, the file with the frames before the failure may still exist.
                        do { try recorder.finish() } catch {
                            guard (error as? Problem)?.kind != .exists, isReadable(recorder.path) else { throw error }
                        }
                        let progress = recorder.progress
                        guard progress.frames > 0 || progress.problem != nil else {
                            throw RequestError(
                                .notNow,
                                "nothing was recorded to \(recorder.path): the recording ended before its first "
                                    + "picture; let it run longer")
                        }
                        return RecordingReply(recorder, album: captures.add(recorder.path))
                    })
            }
        }
    }
}

/// Recordings that were stopped and are not complete yet.
final class EndingRecordings: Sendable {
    private let recorders = Mutex<[Recorder]>([])

    fileprivate func add(_ recorder: Recorder) { recorders.withLock { $0.append(recorder) } }

    fileprivate func remove(_ recorder: Recorder) { recorders.withLock { $0.removeAll { $0 === recorder } } }

    /// Waits until all are complete.
    func wait() { for recorder in recorders.withLock({ $0 }) { try? recorder.finish() } }
}
