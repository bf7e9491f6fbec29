import Compose
import Control
import Engine
import Synchronization
import SystemKit

/// The changes of masks, settings and cameras' controls that can be taken back, for all clients together. Whatever is
/// taken back, faces that are hidden now stay hidden: a mask that hides them is only taken off by name.
final class ChangeHistory: Sendable {
    /// The state that `undo` restores.
    private struct Snapshot {
        let masks: [MaskSelection]
        let configuration: ConfigurationText

        func isSame(as other: Snapshot) -> Bool {
            masks == other.masks && configuration.value == other.configuration.value
        }
    }

    /// What a step goes back to.
    private enum Earlier {
        case state(Snapshot)
        case camera(CameraSettingsStore.Earlier)
    }

    private struct Step {
        /// The change, for people: "wear crown".
        let name: String
        /// Steps with the same key in quick succession are one, such as those of a slider; nil: never.
        let key: String?
        /// The time of the last change of the step, nanoseconds.
        var time: UInt64
        let earlier: Earlier

        var isCamera: Bool { if case .camera = earlier { true } else { false } }
    }

    private struct State {
        var done: [Step] = []
        var undone: [Step] = []
        /// Counts the changes of both lists.
        var revision = 0
    }

    private let configuration: ConfigurationStore
    private let masks: MaskCatalog
    private let cameras: CameraSettingsStore
    /// The source in use.
    private let source: @Sendable () -> SourceSpec?
    /// Returns the monotonic time, nanoseconds.
    private let now: @Sendable () -> UInt64
    /// Called after each change, to store it.
    private let onChange: @Sendable () -> Void
    /// Locked during a change, so that no other one comes between it and the snapshots.
    private let state = Mutex(State())

    /// The number of steps that are kept. A step takes less than a kilobyte.
    private static let maxSteps = 100
    /// Changes of one option within this time, in nanoseconds, are one step: a slider sends more than ten per second.
    private static let mergeWindow: UInt64 = 1_000_000_000

    /// - Parameters:
    ///   - source: returns the source in use.
    ///   - now: the monotonic clock, nanoseconds.
    ///   - onChange: called after each change, to store it.
    init(
        _ configuration: ConfigurationStore, _ masks: MaskCatalog, _ cameras: CameraSettingsStore,
        source: @escaping @Sendable () -> SourceSpec?, now: @escaping @Sendable () -> UInt64 = monotonicTime,
        onChange: @escaping @Sendable () -> Void = {}
    ) {
        (self.configuration, self.masks, self.cameras, self.source) = (configuration, masks, cameras, source)
        (self.now, self.onChange) = (now, onChange)
    }

    /// The names of the changes that `undo` and `redo` would undo and redo; nil for none.
    var names: HistoryNames {
        state.withLock { HistoryNames(undo: $0.done.last?.name, redo: $0.undone.last?.name, revision: $0.revision) }
    }

    /// Makes a change that can be taken back. A change that changes nothing leaves no step.
    /// - Parameters:
    ///   - name: the change, for people.
    ///   - key: joins it with the last change, if that has the same key and was made less than `mergeWindow` ago.
    func record<R>(_ name: String, key: String? = nil, _ change: () throws -> R) rethrows -> R {
        try state.withLock { state in
            let before = snapshot
            let result = try change()
            guard !before.isSame(as: snapshot) else { return result }
            add(name, key: key, .state(before), to: &state)
            return result
        }
    }

    /// Makes a change of a camera's controls that was made already one that can be taken back. Changes of the same name
    /// are joined, as those of a slider.
    func recordCamera(_ name: String, _ before: CameraSettingsStore.Earlier) {
        state.withLock { add(name, key: name, .camera(before), to: &$0) }
    }

    private func add(_ name: String, key: String?, _ earlier: Earlier, to state: inout State) {
        let time = now()
        if let key, let last = state.done.indices.last, state.done[last].key == key,
            time < state.done[last].time + Self.mergeWindow
        {
            state.done[last].time = time
        } else {
            state.done.append(Step(name: name, key: key, time: time, earlier: earlier))
            if state.done.count > Self.maxSteps { state.done.removeFirst() }
        }
        state.undone = []
        state.revision += 1
        onChange()
    }

    /// Whether `undo` waits for a camera.
    var undoesCamera: Bool { state.withLock { $0.done.last?.isCamera ?? false } }

    /// Whether `redo` waits for a camera.
    var redoesCamera: Bool { state.withLock { $0.undone.last?.isCamera ?? false } }

    /// Takes back the last change.
    /// - Returns: the change, and what is worn now, with the masks that stayed because they hide faces.
    /// - Throws: `RequestError` if there is no such change, or the masks cannot be worn; then nothing has changed.
    func undo() throws -> HistoryReply { try move(from: \.done, to: \.undone, "there is nothing to undo") }

    /// Makes the change again that was taken back last.
    func redo() throws -> HistoryReply { try move(from: \.undone, to: \.done, "there is nothing to redo") }

    private typealias Steps = WritableKeyPath<State, [Step]>

    private func move(from: Steps, to: Steps, _ emptyMessage: String) throws -> HistoryReply {
        while true {
            if let reply = try moveCamera(from: from, to: to) { return reply }
            if let reply = try moveState(from: from, to: to, emptyMessage) { return reply }
        }
    }

    /// - Returns: nil if the last step is of a camera.
    private func moveState(from: Steps, to: Steps, _ emptyMessage: String) throws -> HistoryReply? {
        try state.withLock { state in
            let before = snapshot
            while let step = state[keyPath: from].last {
                guard case .state(let earlier) = step.earlier else { return nil }
                // A step that no longer changes anything is skipped, such as a mask that could not be loaded.
                let isSame = earlier.isSame(as: before)
                let (kept, notes) = isSame ? ([], []) : try apply(earlier)
                state[keyPath: from].removeLast()
                state.revision += 1
                guard !isSame else { continue }
                if !before.isSame(as: snapshot) {
                    state[keyPath: to].append(Step(name: step.name, key: nil, time: 0, earlier: .state(before)))
                    onChange()
                }
                return HistoryReply(
                    change: step.name, worn: WornReply(masks.loader.selections, kept: kept), notes: notes)
            }
            throw RequestError(.notNow, emptyMessage)
        }
    }

    /// Other requests need not wait for the camera, so that the list is not locked meanwhile.
    /// - Returns: nil if the last step is of no camera.
    private func moveCamera(from: Steps, to: Steps) throws -> HistoryReply? {
        let last = state.withLock { state in
            state[keyPath: from].last?.isCamera == true ? state[keyPath: from].popLast() : nil
        }
        guard let step = last, case .camera(let earlier) = step.earlier else { return nil }
        do {
            let (before, isSet) = try cameras.restore(earlier, of: source())
            state.withLock { state in
                state[keyPath: to].append(Step(name: step.name, key: nil, time: 0, earlier: .camera(before)))
                state.revision += 1
            }
            onChange()
            let notes = isSet ? [] : ["\(earlier.name) is not in use; it is set so when it is opened again"]
            return HistoryReply(change: step.name, worn: WornReply(masks.loader.selections), notes: notes)
        } catch {
            state.withLock { $0[keyPath: from].append(step) }
            throw error
        }
    }

    private var snapshot: Snapshot { Snapshot(masks: masks.loader.selections, configuration: configuration.text) }

    private func apply(_ snapshot: Snapshot) throws -> (kept: [String], notes: [String]) {
        // A mask whose folder was deleted meanwhile is left out.
        let wearable = snapshot.masks.filter { selection in
            masks.contains(selection.mask) || masks.loader.selections.contains { $0.mask == selection.mask }
        }
        let (selections, kept) = masks.keepingHidingMasks(wearable)
        try masks.check(selections)
        let notes = try configuration.restore(snapshot.configuration)
        try masks.select(selections)
        return (kept, notes)
    }
}
