import Compose
import Control
import Engine
import FoundationEssentials
import JSON
import Synchronization
import SystemKit

/// The current configuration: read from its file and watched, changed by requests, and saved.
final class ConfigurationStore: Sendable {
    private let paths: Paths
    private let mailbox: Mailbox
    private let masks: MaskCatalog
    private let latest: Mutex<ConfigurationText>
    /// Wakes the watching thread.
    private let reloadEvent: WakeEvent

    init(_ text: ConfigurationText, _ paths: Paths, _ mailbox: Mailbox, _ masks: MaskCatalog) throws {
        (self.paths, self.mailbox, self.masks) = (paths, mailbox, masks)
        latest = Mutex(text)
        reloadEvent = try WakeEvent()
    }

    /// The configuration, without changes of the masks.
    var value: Configuration { latest.withLock { $0.value } }

    /// The configuration with the current masks, which may differ from the file.
    var current: ConfigurationReply {
        var (file, value) = latest.withLock { ($0.file, $0.value) }
        value.masks = masks.loader.selections
        return ConfigurationReply(file: file, values: value.json)
    }

    // MARK: - the file

    /// Requests a reload of the configuration, after SIGHUP. The watching thread performs it.
    func requestReload() { reloadEvent.signal() }

    /// Starts a thread that reloads the configuration whenever its file changes. An invalid file is reported, and the
    /// last valid configuration stays active.
    func watch(report: @escaping @Sendable (String) -> Void) {
        startThread(named: "configuration") { [self] in
            var watch = FolderWatch(wakeEvent: reloadEvent.descriptor)
            var version = latest.withLock { $0.file }.flatMap { FileVersion($0) }
            while true {
                // `save` may have created a file if there was none.
                let file = latest.withLock { $0.file }
                let folders = file.map { path in [path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."] } ?? []
                watch.set(files: folders, names: [])
                let isAsked = watch.wait(quiet: 100).contains(.wakeEvent)
                let now = file.flatMap { FileVersion($0) }
                guard isAsked || now != version else { continue }
                version = now
                do {
                    let before = latest.withLock { $0.value }
                    let notes = try reload()
                    // The configuration that `save` wrote is active already.
                    let isNew = latest.withLock { $0.value } != before
                    if !notes.isEmpty || !isAsked && isNew {
                        report((["the configuration was reloaded"] + notes).joined(separator: "; "))
                    }
                } catch { report("the configuration is unchanged: \(error)") }
            }
        }
    }

    /// Reads the configuration file again. An invalid file changes nothing.
    /// - Returns: notes for the user.
    /// - Throws: `Problem` if the file is invalid.
    func reload() throws -> [String] {
        let path = latest.withLock { $0.file }
        guard let path else { return ["there is no configuration file: defaults apply"] }
        let fresh = try ConfigurationText(text: try contents(of: path), file: path)
        return try apply { _ in fresh }
    }

    /// Writes the current configuration to its file. If that is the installed file, or there is none, writes the user's
    /// own file.
    /// - Returns: the file's path.
    /// - Throws: `RequestError` if there is no folder for it, `Problem` if it cannot be written.
    func save() throws -> String {
        let selections = JSON(masks.loader.selections.map(\.setting))
        let (text, path) = try latest.withLock { text -> (String, String) in
            let own = paths.user.map { "\($0)/config.json" }
            guard let path = text.file.flatMap({ paths.isShared($0) ? nil : $0 }) ?? own else {
                throw RequestError(
                    .notNow, "there is no folder for config.json: neither HOME nor XDG_CONFIG_HOME is set")
            }
            // The configuration is updated before the file, so that the watching thread finds no change.
            text = try text.setting("masks", selections).moved(to: path)
            return (text.text, path)
        }
        let file = URL(fileURLWithPath: path)
        do {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file, options: .atomic)
        } catch {
            let code = ((error as? CocoaError)?.underlying as? POSIXError)?.code.rawValue
            throw Problem(
                .system, "could not write \(path): \(code.map { errorMessage(of: $0) } ?? "\(error)")",
                fix: "check the owner of its folder, and the free space")
        }
        // There may be a file to watch for the first time.
        reloadEvent.signal()
        return path
    }

    // MARK: - changes

    /// Sets a key. Writes no file.
    /// - Returns: notes for the user.
    /// - Throws: `RequestError` that names the allowed values; in this case nothing has changed.
    func set(_ key: String, to value: JSON) throws -> [String] { try apply { try $0.setting(key, value) } }

    /// Sets the source that `save` writes, after a change of the camera.
    func setSource(_ source: String) throws {
        try latest.withLock { $0 = try $0.setting("source", JSON(source)) }
    }

    /// Applies a configuration, as far as that is possible while frames flow.
    /// - Returns: notes for the user.
    /// - Throws: the errors of `change`, and of `check` for its masks. In this case nothing has changed.
    private func apply(_ change: (ConfigurationText) throws -> ConfigurationText) throws -> [String] {
        let (old, new) = try latest.withLock { text in
            let (old, fresh) = (text.value, try change(text))
            if fresh.value.masks != old.masks { try masks.check(fresh.value.masks) }
            text = fresh
            return (old, fresh.value)
        }
        guard new != old else { return [] }
        if new.masks != old.masks { masks.loader.select(new.masks) }
        mailbox.change { settings in
            settings.apply(new)
            if new.source != old.source, settings.isSourceSwitchable {
                settings.source = new.source == "auto" ? "camera" : new.source
            }
        }
        var later: [String] = []
        if new.source != old.source, !mailbox.now.isSourceSwitchable { later.append("source") }
        if new.output != old.output { later.append("output") }
        if new.sinks != old.sinks { later.append("sinks") }
        if new.port != old.port { later.append("page.port") }
        if new.cats != old.cats { later.append("faces.cats") }
        return later.map { "'\($0)' takes effect at the next start" }
    }
}
