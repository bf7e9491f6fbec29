import Compose
import Control
import Engine
import JSON
import Synchronization
import SystemKit

/// The current configuration: read from its file and watched, changed by requests, and saved.
final class ConfigurationStore: Sendable {
    private let paths: Paths
    private let mailbox: Mailbox
    private let masks: MaskCatalog
    private let latest: Mutex<ConfigurationText>
    /// The keys that were set and are not in the file yet.
    private let unsaved = Mutex<Set<String>>([])
    /// Locked while the file is read again or written: what is being written is not among `unsaved`.
    private let fileAccess = Mutex(())
    /// The file as it was last written here, unless it then contained what is not active yet. Locked during writing.
    private let written = Mutex<FileVersion?>(nil)
    private let isReloadRequested = Atomic<Bool>(false)
    /// Wakes the watching thread.
    private let watchEvent: WakeEvent

    init(_ text: ConfigurationText, _ paths: Paths, _ mailbox: Mailbox, _ masks: MaskCatalog) throws {
        (self.paths, self.mailbox, self.masks) = (paths, mailbox, masks)
        latest = Mutex(text)
        watchEvent = try WakeEvent()
    }

    /// The configuration, without changes of the masks.
    var value: Configuration { latest.withLock { $0.value } }

    /// The configuration with its text, to `restore` it later.
    var text: ConfigurationText { latest.withLock { $0 } }

    /// The source in use, which the command line may have named; nil if it can't be replaced.
    var sourceInUse: SourceSpec? { mailbox.settings.source }

    /// The configuration with the current masks, which may differ from the file.
    var current: ConfigurationReply {
        var (file, value) = latest.withLock { ($0.file, $0.value) }
        value.masks = masks.loader.selections
        return ConfigurationReply(file: file, values: value.json)
    }

    // MARK: - the file

    /// Requests a reload of the configuration, after SIGHUP. The watching thread performs it.
    func requestReload() {
        isReloadRequested.store(true, ordering: .releasing)
        watchEvent.signal()
    }

    /// Starts a thread that reloads the configuration whenever its file changes. An invalid file is reported, and the
    /// last valid configuration stays active.
    /// - Parameter change: makes the change that it is given, so that it can be taken back.
    func watch(
        change: @escaping @Sendable (() throws -> [String]) throws -> [String] = { try $0() },
        report: @escaping @Sendable (String) -> Void
    ) {
        // Edits since then count, such as those while masks were being loaded.
        let first = latest.withLock { $0.version }
        startThread(named: "configuration") { [self] in
            var watch = FolderWatch(wakeEvent: watchEvent.descriptor)
            var version = first
            while true {
                let folders = watchedFolders
                watch.set(files: folders.files, names: folders.names)
                // A file that came before its folder was watched has caused no event.
                if version == self.file.flatMap({ FileVersion($0) }) { _ = watch.wait(quiet: 100) }
                // There may be a file of the user's now.
                let file = file
                let isAsked = isReloadRequested.exchange(false, ordering: .acquiring)
                let isEdited = isEdited(file, since: &version)
                guard isAsked || isEdited else { continue }
                do {
                    let before = latest.withLock { $0.value }
                    let notes = try reload(change: change)
                    let isNew = latest.withLock { $0.value } != before
                    if !notes.isEmpty || !isAsked && isNew {
                        report((["the configuration was reloaded"] + notes).joined(separator: "; "))
                    }
                } catch { report("the configuration is unchanged: \(error)") }
            }
        }
    }

    /// The file to read: the one that was read last, or the user's own as soon as there is one.
    private var file: String? {
        let read = latest.withLock { $0.file }
        guard read.map(paths.isShared) ?? true, let own = ownFile, mayExist(own) else { return read }
        return own
    }

    /// The user's own file, whether it exists or not; nil without a home folder.
    private var ownFile: String? { paths.user.map { "\($0)/config.json" } }

    /// The folders of the file, of the one that it links to, and of the user's own; and the one in which the user's own
    /// folder appears, if it doesn't exist yet, and those of links that lead to it.
    private var watchedFolders: (files: [String], names: [String]) {
        let file = file
        let linked = file.flatMap { try? resolvedPath(of: $0) }
        let files = [file, linked, ownFile].compactMap { $0 }.map { path in
            path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        }
        let nearest = paths.user.flatMap { nearestFolder(to: $0) }
        return (files, [nearest].compactMap { $0 } + [file, ownFile].compactMap { $0 }.flatMap(foldersOfLinks))
    }

    /// Whether the file was changed by others. What was written here is active, or was taken back since.
    /// - Parameter version: the file as it was last seen, which becomes its present one.
    func isEdited(_ file: String?, since version: inout FileVersion?) -> Bool {
        let now = file.flatMap { FileVersion($0) }
        let isOwn = now != nil && now == written.withLock { $0 }
        defer { version = now }
        return now != version && !isOwn
    }

    /// Reads the configuration file again. An invalid file changes nothing, and what was set and is not in the file yet
    /// stays.
    /// - Parameter change: makes the change that it is given, so that it can be taken back; called when the file was
    ///   read.
    /// - Returns: notes for the user.
    /// - Throws: `Problem` if the file is invalid.
    func reload(change: (() throws -> [String]) throws -> [String] = { try $0() }) throws -> [String] {
        // Masks that can't be loaded refuse the whole file. To find that out takes a while, in which it may change.
        var verified: [MaskSelection] = []
        while true {
            var unverified: [MaskSelection] = []
            let notes = try fileAccess.withLock { _ -> [String]? in
                guard let path = file else { return ["there is no configuration file: defaults apply"] }
                let fresh = try ConfigurationText(file: path)
                if fresh.namesMasks, ![verified, value.masks].contains(fresh.value.masks) {
                    unverified = fresh.value.masks
                    return nil
                }
                let keys = unsaved.withLock { $0 }
                return try change {
                    try apply { now in
                        try keys.sorted().reduce(fresh) { text, key in
                            try now.value.json[path: key].map { try text.setting(key, $0) } ?? text
                        }
                    }
                }
            }
            if let notes { return notes }
            // Nothing may be seen meanwhile that they hide.
            if masks.wouldHideMore(unverified) { try putOn(unverified) }
            try masks.verify(unverified)
            verified = unverified
        }
    }

    /// Writes the current masks to the file, as those of the next start, and what `saveChanges` would write.
    /// - Returns: the file's path.
    /// - Throws: `RequestError` if there is no folder for it, `Problem` if it is invalid or cannot be written; then
    ///   nothing has changed.
    func save() throws -> String {
        let selections = JSON(masks.loader.selections.map(\.setting))
        return try writeUnsavedKeys { text in
            let saved = try text.setting("masks", selections)
            guard saved.value.start != .masks else { return saved }
            return try saved.setting("start", JSON(StartMasks.masks.setting))
        }
    }

    /// Writes the keys that were set since the last call to the file, and nothing else: what the user edited in the
    /// file meanwhile stays, and so do the masks of the next start.
    /// - Throws: as `save`. Then the keys are written by the next call.
    func saveChanges() throws {
        guard unsaved.withLock({ !$0.isEmpty }) else { return }
        _ = try writeUnsavedKeys { $0 }
    }

    /// As `saveChanges`, if a key that hides something is among those that were set: after a crash at this moment, the
    /// next process hides it too.
    /// - Throws: as `save`. Then the keys are written by the next call.
    func saveHidingChanges() throws {
        // What is just being written is not among `unsaved`, and may fail.
        let isPending = fileAccess.withLock { _ in hasUnsavedHiding }
        if isPending { try saveChanges() }
    }

    /// Whether a key that hides something was set and is not in the file yet, or may just be being written.
    var mustSave: Bool { fileAccess.withLockIfAvailable { _ in hasUnsavedHiding } ?? true }

    private var hasUnsavedHiding: Bool { unsaved.withLock { $0.contains(where: Self.hides) } }

    /// Whether a key hides something, or shows it: what becomes of lost faces, and the parts of the picture that are
    /// cut off.
    private static func hides(_ key: String) -> Bool { key.hasPrefix("privacy.") || key == "view.crop" }

    /// Writes the unsaved keys, and a change, into the file as it is now. Keys that are set meanwhile remain for the
    /// next call, and so do all if the write fails. If the user's editor writes the file in the meantime, nothing of
    /// that is lost: its text is read again.
    /// - Returns: the file's path.
    private func writeUnsavedKeys(_ change: (ConfigurationText) throws -> ConfigurationText) throws -> String {
        try fileAccess.withLock { _ in
            let keys = unsaved.withLock { keys in
                defer { keys = [] }
                return keys
            }
            do {
                while true { if let path = try writeOnce(keys, change) { return path } }
            } catch {
                unsaved.withLock { $0.formUnion(keys) }
                throw error
            }
        }
    }

    /// - Returns: the file's path; nil if somebody else has written the file since it was read.
    private func writeOnce(
        _ keys: Set<String>, _ change: (ConfigurationText) throws -> ConfigurationText
    ) throws -> String? {
        let path = try fileToWrite(text)
        let version = FileVersion(path)
        // A link that has come to dangle counts as a file that is gone.
        let read = try version.map { _ in try ConfigurationText(file: path) }
        let (text, isActive) = try latest.withLock { text in
            var written = read ?? text
            for key in keys.sorted() {
                if let value = text.value.json[path: key] { written = try written.setting(key, value) }
            }
            written = try change(written)
            return (written.text, try written.value == change(text).value)
        }
        guard try write(text, to: path, isActive: isActive, replacing: version) else { return nil }
        try latest.withLock { $0 = try change($0).moved(to: path) }
        return path
    }

    /// - Parameters:
    ///   - isActive: whether the text is the current configuration, so that it need not be reloaded.
    ///   - version: the file that may be replaced; nil: none.
    /// - Returns: false if another one is there now.
    private func write(_ text: String, to path: String, isActive: Bool, replacing version: FileVersion?) throws -> Bool
    {
        let isWritten = try written.withLock { written in
            let own = try writeAtomically(text, to: path, if: { FileVersion(path) == version })
            guard let own else { return false }
            written = isActive ? own : nil
            return true
        }
        // There may be a file to watch for the first time.
        if isWritten { watchEvent.signal() }
        return isWritten
    }

    /// The file to write to: the one that was read, unless it was installed with Guise.
    private func fileToWrite(_ text: ConfigurationText) throws -> String {
        guard let path = text.file.flatMap({ paths.isShared($0) ? nil : $0 }) ?? ownFile else {
            throw RequestError(
                .notNow, "there is no folder for config.json: neither HOME nor XDG_CONFIG_HOME is set")
        }
        return path
    }

    // MARK: - changes

    /// Sets a key, which `saveChanges` writes to the file.
    /// - Returns: notes for the user.
    /// - Throws: `RequestError` that names the allowed values; in this case nothing has changed.
    func set(_ key: String, to value: JSON) throws -> [String] {
        let old = self.value
        let notes = try apply { try $0.setting(key, value) }
        noteChanges(since: old)
        return notes
    }

    /// Sets the source in the configuration, after a change of the camera.
    func setSource(_ source: SourceSpec) throws {
        let old = value
        try latest.withLock { $0 = try $0.setting("source", JSON(source.description)) }
        noteChanges(since: old)
    }

    /// Goes back to an earlier configuration, which `saveChanges` writes to the file. The active masks stay, and so
    /// does what is done with lost faces, if the earlier configuration showed more of them.
    /// - Parameter source: what `sourceInUse` was with it.
    /// - Returns: notes for the user.
    /// - Throws: `RequestError` if the earlier one is not valid any more; in this case nothing has changed.
    func restore(_ text: ConfigurationText, source: SourceSpec?) throws -> [String] {
        let old = value
        let notes = try apply(selectsMasks: false) { now in
            let key = "privacy.onLostFace"
            let showsMore = text.value.onLostFace.strictness < now.value.onLostFace.strictness
            var earlier = showsMore ? try text.setting(key, now.value.json[path: key] ?? "mask") : text
            // Nor does a start show more.
            let hiding = masks.hiddenParts
            let kept = now.value.masks.filter { mask in
                !hiding(mask.mask).isEmpty && !earlier.value.masks.contains { $0.mask == mask.mask }
            }
            if !kept.isEmpty {
                earlier = try earlier.setting("masks", JSON((kept + earlier.value.masks).map(\.setting)))
            }
            return now.file.map { earlier.moved(to: $0) } ?? earlier
        }
        if let source, sourceInUse != source { mailbox.change { $0.source = source } }
        noteChanges(since: old)
        return notes
    }

    /// Notes the keys that differ from an earlier configuration, for `saveChanges`.
    private func noteChanges(since old: Configuration) {
        let changed = old.json.differences(from: value.json)
        unsaved.withLock { $0.formUnion(changed) }
    }

    /// Puts masks on as if they were set, although they are not yet.
    /// - Throws: as `MaskCatalog.select`.
    func putOn(_ wanted: [MaskSelection]) throws {
        let text = text
        _ = try select(wanted, insteadOf: text.namesMasks ? text.value.masks : nil)
    }

    /// Puts on the masks of a list. Those of the list before that are not in it have been taken off by name.
    /// - Returns: the names of masks that stay because they hide something.
    private func select(_ wanted: [MaskSelection], insteadOf before: [MaskSelection]?) throws -> [String] {
        let named = Set(
            (before ?? []).filter { old in
                !wanted.contains { $0.mask == old.mask && $0.people == old.people }
            }.map(\.mask))
        let (selections, kept) = masks.keepingHidingMasks(wanted, except: named)
        try masks.select(selections)
        return kept
    }

    /// Applies a configuration, as far as that is possible while frames flow.
    /// - Parameter selectsMasks: whether its masks are put on, if it names them and they differ from those that the
    ///   current one names.
    /// - Returns: notes for the user.
    /// - Throws: the errors of `change`, and of `MaskCatalog.select` for its masks. In this case nothing has changed.
    private func apply(
        selectsMasks: Bool = true, _ change: (ConfigurationText) throws -> ConfigurationText
    ) throws -> [String] {
        let (old, new, kept) = try latest.withLock { text in
            let (old, fresh) = (text.value, try change(text))
            var kept: [String] = []
            // A file without the list is no edit of it: what is worn stays.
            let before = text.namesMasks ? old.masks : nil
            if selectsMasks, fresh.namesMasks, fresh.value.masks != before {
                kept = try select(fresh.value.masks, insteadOf: before)
            }
            text = fresh
            return (old, fresh.value, kept)
        }
        guard new != old else { return [] }
        mailbox.change { settings in
            settings.apply(new)
            if new.source != old.source, settings.isSourceSwitchable {
                settings.source = new.source
            }
        }
        var later: [String] = []
        if new.source != old.source, !mailbox.settings.isSourceSwitchable { later.append("source") }
        if new.output != old.output { later.append("output") }
        if new.sinks != old.sinks { later.append("sinks") }
        if new.port != old.port { later.append("page.port") }
        if new.cats != old.cats { later.append("faces.cats") }
        if new.start != old.start { later.append("start") }
        return kept.map { "\($0) stays on; take it off with `guise remove \($0)`" }
            + later.map { "'\($0)' takes effect at the next start" }
    }
}

extension LostFacePolicy? {
    /// The order of what is shown of lost faces: everything, what the masks say, nothing.
    fileprivate var strictness: Int { self == .show ? 0 : self == nil ? 1 : 2 }
}

extension JSON {
    /// The value at the end of a path of keys: "faces.max".
    fileprivate subscript(path path: String) -> JSON? {
        path.split(separator: ".").reduce(self) { json, key in json?[String(key)] }
    }

    /// The paths of the values, not objects, that another object has otherwise.
    fileprivate func differences(from other: JSON) -> Set<String> {
        guard case .object(let members) = value, case .object = other.value else { return [] }
        var found: Set<String> = []
        for member in members {
            let (own, theirs) = (member.value, other[member.key])
            if case .object = own.value, let theirs {
                found.formUnion(own.differences(from: theirs).map { "\(member.key).\($0)" })
            } else if own.text != theirs?.text {
                found.insert(member.key)
            }
        }
        return found
    }
}
