import Compose
import Control
import Engine
import Synchronization
import SystemKit

/// The changes of masks, settings and cameras' controls that can be taken back, for all clients together. Whatever is
/// taken back, faces that are hidden now stay hidden: a mask that hides them is only taken off by name.
final class ChangeHistory: Sendable {
    /// The state that `undo` restores.
    fileprivate struct Snapshot {
        let masks: [MaskSelection]
        let configuration: ConfigurationText
        let source: SourceSpec?

        func isSame(as other: Snapshot) -> Bool {
            masks == other.masks && configuration.value == other.configuration.value && source == other.source
        }
    }

    /// What a step goes back to.
    fileprivate enum Earlier {
        case state(Snapshot)
        case camera(CameraSettingsStore.Earlier)
    }

    fileprivate struct Step {
        /// The change, for people: "wear crown".
        let name: String
        /// Steps with the same key in quick succession are one, such as those of a slider; nil: never.
        let key: String?
        /// The time of the last change of the step, nanoseconds.
        var time: UInt64
        let earlier: Earlier

        /// Whether going back changes anything: a mask that could not be loaded has changed nothing.
        func changes(_ now: Snapshot) -> Bool {
            if case .state(let earlier) = earlier { !earlier.isSame(as: now) } else { true }
        }
    }

    fileprivate struct State {
        var done: [Step] = []
        var undone: [Step] = []
        /// Counts the modifications of both lists.
        var revision = 0
        /// Counts the new changes, which are those that were neither undone nor redone.
        var changes = 0
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
        state.withLock { state in
            let now = snapshot
            return HistoryNames(
                undo: state.done.last { $0.changes(now) }?.name, redo: state.undone.last { $0.changes(now) }?.name,
                revision: state.revision)
        }
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
        state.changes += 1
        onChange()
    }

    /// Takes back the last change, or makes the one again that was taken back last.
    /// - Returns: the change, and what is worn now, with the masks that stayed because they hide faces.
    /// - Throws: `RequestError` if there is no such change, or it cannot be made; then nothing has changed.
    func move(_ direction: HistoryRequest) throws -> HistoryReply {
        while true {
            if let reply = try moveCamera(direction) { return reply }
            if let reply = try moveState(direction) { return reply }
        }
    }

    /// As `move`, but without waiting for a camera.
    /// - Returns: nil, and nothing has changed, if the next step is of a camera.
    func moveState(_ direction: HistoryRequest) throws -> HistoryReply? {
        try state.withLock { state in
            let before = snapshot
            while let step = state[keyPath: direction.from].last {
                guard case .state(let earlier) = step.earlier else { return nil }
                // A step that no longer changes anything is skipped, such as a mask that could not be loaded.
                let isSame = earlier.isSame(as: before)
                let (kept, notes) = isSame ? ([], []) : try apply(earlier)
                state[keyPath: direction.from].removeLast()
                state.revision += 1
                guard !isSame else { continue }
                if !before.isSame(as: snapshot) {
                    let reverse = Step(name: step.name, key: nil, time: 0, earlier: .state(before))
                    state[keyPath: direction.to].append(reverse)
                    onChange()
                }
                return HistoryReply(
                    change: step.name, worn: WornReply(masks.loader.selections, kept: kept), notes: notes)
            }
            throw RequestError(.notNow, direction.emptyMessage)
        }
    }

    /// Other requests need not wait for the camera, so that the list is not locked meanwhile.
    /// - Returns: nil if the next step is of no camera.
    private func moveCamera(_ direction: HistoryRequest) throws -> HistoryReply? {
        let next = state.withLock { state -> (step: Step, index: Int, changes: Int)? in
            guard case .camera = state[keyPath: direction.from].last?.earlier else { return nil }
            let step = state[keyPath: direction.from].removeLast()
            return (step, state[keyPath: direction.from].count, state.changes)
        }
        guard let (step, index, changes) = next, case .camera(let earlier) = step.earlier else { return nil }
        do {
            let (before, isSet) = try cameras.restore(earlier, of: source())
            state.withLock { state in
                state.revision += 1
                // What was taken back is not made again after a new change.
                guard direction == .redo || changes == state.changes else { return }
                let reverse = Step(name: step.name, key: nil, time: 0, earlier: .camera(before))
                state[keyPath: direction.to].append(reverse)
            }
            onChange()
            let notes = isSet ? [] : ["\(earlier.name) is not in use; it is set so when it is opened again"]
            return HistoryReply(change: step.name, worn: WornReply(masks.loader.selections), notes: notes)
        } catch {
            state.withLock { state in
                guard direction == .undo || changes == state.changes else { return }
                // Below the changes that came meanwhile.
                state[keyPath: direction.from].insert(step, at: min(index, state[keyPath: direction.from].count))
            }
            throw error
        }
    }

    private var snapshot: Snapshot {
        Snapshot(
            masks: masks.loader.selections, configuration: configuration.text, source: configuration.sourceInUse)
    }

    private func apply(_ snapshot: Snapshot) throws -> (kept: [String], notes: [String]) {
        // A mask whose folder was deleted meanwhile is left out.
        let wearable = snapshot.masks.filter { selection in
            masks.contains(selection.mask) || masks.loader.selections.contains { $0.mask == selection.mask }
        }
        let (selections, kept) = masks.keepingHidingMasks(wearable)
        try masks.check(selections)
        let notes = try configuration.restore(snapshot.configuration, source: snapshot.source)
        try masks.select(selections)
        return (kept, notes)
    }
}

extension HistoryRequest {
    /// The list that the next step is taken from.
    fileprivate var from: WritableKeyPath<ChangeHistory.State, [ChangeHistory.Step]> {
        self == .undo ? \.done : \.undone
    }
    /// The list that takes the step back.
    fileprivate var to: WritableKeyPath<ChangeHistory.State, [ChangeHistory.Step]> {
        self == .undo ? \.undone : \.done
    }
    fileprivate var emptyMessage: String { "there is nothing to \(self == .undo ? "undo" : "redo")" }
}
