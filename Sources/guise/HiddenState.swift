import Compose
import FoundationEssentials
import JSON
import Synchronization
import SystemKit

/// What must stay hidden if the daemon crashes or is upgraded during a call: `hidden.json` in the runtime folder, which
/// ends with the login session. A deliberate shutdown deletes the file, unless a program is reading the camera at that
/// moment.
struct HiddenState: Sendable {
    struct Content: Equatable {
        /// The worn masks that hide faces, bystanders or the room.
        var masks: [MaskSelection] = []
        /// What they hid, as far as they were loaded, by their names.
        var concealments: [String: Concealment] = [:]
        /// Whether the camera's picture was paused or frozen.
        var isPaused = false

        /// The masks for the start of the next process: those that hid something stay on, below the others, as opaque
        /// as they were and with the same choices.
        /// - Parameters:
        ///   - wanted: the masks that it would start with.
        ///   - known: the names of all masks that can be read and hide something.
        /// - Returns: the masks, and names. `kept`: masks added although not in `wanted`. `missing`: masks that no
        ///   longer exist, or hide nothing any more.
        func keeping(
            _ wanted: [MaskSelection], known: [String]
        ) -> (masks: [MaskSelection], kept: [String], missing: [String]) {
            let isWanted = { (name: String) in wanted.contains { $0.mask == name } }
            let kept = masks.filter { known.contains($0.mask) && !isWanted($0.mask) }
            let others = wanted.map { selection in
                var selection = selection
                // A configuration may name a mask twice, with two opacities.
                for hiding in masks where hiding.mask == selection.mask {
                    (selection.opacity, selection.personSlot) = (max(selection.opacity, hiding.opacity), nil)
                    // One of them may say who is hidden.
                    selection.choices.merge(hiding.choices) { $1 }
                }
                return selection
            }
            let missing = masks.map(\.mask).filter { !known.contains($0) }
            return (kept + others, kept.map(\.mask), missing)
        }

        /// The names of the masks that hide less now than they did: edited versions of them were not worn yet.
        /// - Parameter loaded: the masks of the next process.
        func hidingLess(_ loaded: [Mask]) -> [String] {
            concealments.filter { name, before in
                loaded.contains { $0.name == name }
                    && !loaded.contains { $0.name == name && !$0.concealment.isLess(than: before) }
            }.keys.sorted()
        }
    }

    /// The file; nil if there is no runtime folder.
    private let path: String?

    /// - Parameter folder: the runtime folder; nil if there is none.
    init(folder: String?) { path = folder.map { "\($0)/hidden.json" } }

    /// What was hidden.
    /// - Throws: `Problem` if the file cannot be read: a face might be shown that was hidden.
    func read() throws -> Content {
        guard let path, mayExist(path) else { return Content() }
        var fields = try Fields(try JSON(contents(of: path), file: path), file: path)
        var content = Content(masks: try fields.masks(), isPaused: try fields.bool("paused", default: false))
        for var entry in fields.has("concealments") ? try fields.objects("concealments") : [] {
            var concealment = Concealment(
                parts: HiddenParts(names: try entry.strings("parts", default: [])),
                roomBlur: Float(try entry.number("roomBlur", in: 0...1, default: 0)))
            // Written by earlier versions: Guise may be upgraded during a call.
            if try entry.bool("coversFaces", default: false) { concealment.parts.insert(.foundFaces) }
            _ = try entry.number("roomOpacity", in: 0...1, default: 0)
            content.concealments[try entry.string("mask")] = concealment
            try entry.finish()
        }
        try fields.finish()
        return content
    }

    /// Stores what is hidden.
    /// - Throws: `Problem` if the file cannot be written.
    func write(_ content: Content) throws {
        guard let path else { return }
        guard content != Content() else { return remove() }
        let concealments = content.concealments.sorted { $0.key < $1.key }.map { name, concealment in
            JSON([
                "mask": JSON(name), "parts": JSON(concealment.parts.names),
                "roomBlur": JSON(Double(concealment.roomBlur)),
            ])
        }
        let json = JSON([
            "masks": JSON(content.masks.map(\.setting)), "concealments": JSON(concealments),
            "paused": JSON(content.isPaused),
        ])
        try writeAtomically(json.prettyText + "\n", to: path)
    }

    /// Forgets it.
    func remove() { if let path { removeFile(path) } }
}

/// Stores what is hidden right after each change, since the next moment may be a crash or a kill.
final class HiddenStateWriter: Sendable {
    private let state: HiddenState
    private let current: @Sendable () -> HiddenState.Content
    private let stored = Mutex<HiddenState.Content?>(nil)

    /// - Parameter current: what must stay hidden now.
    init(_ state: HiddenState, current: @escaping @Sendable () -> HiddenState.Content) {
        (self.state, self.current) = (state, current)
    }

    /// Whether what is hidden now is not stored yet, or just being stored.
    var isDue: Bool { stored.withLockIfAvailable { $0 != current() } ?? true }

    /// Stores what is hidden now, unless it is stored already.
    /// - Throws: `Problem` if the file cannot be written.
    func write() throws {
        try stored.withLock { stored in
            let content = current()
            guard content != stored else { return }
            try state.write(content)
            stored = content
        }
    }
}

/// The right to keep `hidden.json`. Without XDG_RUNTIME_DIR there is no control socket, so that two daemons may run
/// beside each other, and one would remove what the other keeps.
final class HiddenStateLock: Sendable {
    private let lock: FileLock

    /// Milliseconds within which what a crashed daemon has started ends.
    private static let timeout = 1500

    /// - Parameter folder: the runtime folder.
    /// - Returns: nil if another process has it.
    init?(folder: String) {
        do throws(FileLock.Failure) {
            lock = try FileLock("\(folder)/hidden.lock", timeout: Self.timeout)
        } catch { return nil }
    }
}
