import Compose
import Control
import Synchronization
import SystemKit

/// The changes of masks and settings that can be taken back, for all clients together. Whatever is taken back, faces
/// that are hidden now stay hidden: a mask that hides them is only taken off by name.
final class ChangeHistory: Sendable {
    /// The state that `undo` restores.
    private struct Snapshot {
        let masks: [MaskSelection]
        let configuration: ConfigurationText

        func isSame(as other: Snapshot) -> Bool {
            masks == other.masks && configuration.value == other.configuration.value
        }
    }

    private struct Step {
        /// The change, for people: "wear crown".
        let name: String
        /// Steps with the same key in quick succession are one, such as those of a slider; nil: never.
        let key: String?
        /// The time of the last change of the step, nanoseconds.
        var time: UInt64
        /// What to go back to.
        let snapshot: Snapshot
    }

    private struct State {
        var done: [Step] = []
        var undone: [Step] = []
        /// Counts the changes of both lists.
        var revision = 0
    }

    private let configuration: ConfigurationStore
    private let masks: MaskCatalog
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
    ///   - now: the monotonic clock, nanoseconds.
    ///   - onChange: called after each change, to store it.
    init(
        _ configuration: ConfigurationStore, _ masks: MaskCatalog,
        now: @escaping @Sendable () -> UInt64 = monotonicTime, onChange: @escaping @Sendable () -> Void = {}
    ) {
        (self.configuration, self.masks, self.now, self.onChange) = (configuration, masks, now, onChange)
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
            let time = now()
            if let key, let last = state.done.indices.last, state.done[last].key == key,
                time < state.done[last].time + Self.mergeWindow
            {
                state.done[last].time = time
            } else {
                state.done.append(Step(name: name, key: key, time: time, snapshot: before))
                if state.done.count > Self.maxSteps { state.done.removeFirst() }
            }
            state.undone = []
            state.revision += 1
            onChange()
            return result
        }
    }

    /// Takes back the last change.
    /// - Returns: the change, and what is worn now, with the masks that stayed because they hide faces.
    /// - Throws: `RequestError` if there is no such change, or the masks cannot be worn; then nothing has changed.
    func undo() throws -> HistoryReply { try move(from: \.done, to: \.undone, "there is nothing to undo") }

    /// Makes the change again that was taken back last.
    func redo() throws -> HistoryReply { try move(from: \.undone, to: \.done, "there is nothing to redo") }

    private func move(
        from: WritableKeyPath<State, [Step]>, to: WritableKeyPath<State, [Step]>, _ emptyMessage: String
    ) throws -> HistoryReply {
        try state.withLock { state in
            let before = snapshot
            while let step = state[keyPath: from].last {
                // A step that no longer changes anything is skipped, such as a mask that could not be loaded.
                let isSame = step.snapshot.isSame(as: before)
                let (kept, notes) = isSame ? ([], []) : try apply(step.snapshot)
                state[keyPath: from].removeLast()
                state.revision += 1
                guard !isSame else { continue }
                if !before.isSame(as: snapshot) {
                    state[keyPath: to].append(Step(name: step.name, key: nil, time: 0, snapshot: before))
                    onChange()
                }
                return HistoryReply(
                    change: step.name, worn: WornReply(masks.loader.selections, kept: kept), notes: notes)
            }
            throw RequestError(.notNow, emptyMessage)
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
