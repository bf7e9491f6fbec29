import Frames
import Synchronization

/// A mask that somebody wants to wear, and how.
public struct MaskSelection: Equatable, Sendable {
    /// The mask's name.
    public var mask: String
    /// 0...1.
    public var opacity: Float = 1
    /// By the names that the mask's layers give to what may be chosen: colours ("#rrggbb"), texts, palettes.
    public var choices: [String: String] = [:]

    /// Who wears it; nil: everybody.
    public var personSlot: PersonSlot?

    /// As its author made it.
    public init(_ mask: String) { self.mask = mask }
}

/// Loads masks beside the frame loop: reads, decodes and draws their art on a thread of its own, and hands over whole
/// masks, which the loop puts on between two frames. If one of the requested masks can't be loaded, nothing changes, so that
/// a mistake never takes off a mask that hides a face. Watches the folders of the masks in use: an edit shows at once; an
/// invalid one is reported once and leaves the last valid mask on.
///
/// The loop's part, `news`, is one atomic load while nothing is new; it neither waits nor allocates then.
public final class MaskLoader: Sendable {
    private struct State {
        var selections: [MaskSelection]
        /// What is to be worn now.
        var fresh: [Mask]
        /// What the loop gave back: freed here, for that takes its time.
        var spent: [[Mask]] = []
        var isOpen = true
    }

    private let log: @Sendable (String) -> Void
    private let wakeEvent: WakeEvent
    private let state: Mutex<State>
    /// Counts what was put on the shelf.
    private let generation = Atomic<Int>(0)
    /// Until the thread has it.
    private let loaded: Mutex<LoadedMasks?>

    /// An editor's save is over when nothing changed for so many milliseconds.
    private static let quiet: CInt = 100

    /// Loads all that is wished for, and returns when it is there.
    /// - Parameters:
    ///   - searchPaths: folders of mask folders; where two hold the same name, the first has it.
    ///   - log: says one line to the user; called by the room's thread too.
    /// - Throws: `Problem` if one of the masks can't be loaded.
    public init(
        searchPaths: [String], target: ArtTarget, selections: [MaskSelection], log: @escaping @Sendable (String) -> Void
    ) throws {
        self.log = log
        wakeEvent = try WakeEvent()
        var loaded = LoadedMasks(searchPaths: searchPaths, target: target)
        let lines = loaded.load(selections)
        if let problem = loaded.loadError { throw problem }
        lines.forEach(log)
        state = Mutex(State(selections: selections, fresh: loaded.masks))
        self.loaded = Mutex(loaded)
    }

    // MARK: - for those who choose

    /// Changes what is worn, in the order in which it is drawn. Returns at once: it shows when it is loaded. If
    /// one of them can't be loaded, that is reported, and `selections` returns to the current masks.
    public func select(_ selections: [MaskSelection]) {
        state.withLock { $0.selections = selections }
        wakeEvent.signal()
    }

    /// What was asked for last.
    public var selections: [MaskSelection] { state.withLock { $0.selections } }

    // MARK: - for the frame loop

    /// True where `news` has something.
    public func hasUpdate(since seen: Int) -> Bool { generation.load(ordering: .acquiring) != seen }

    /// What is to be worn now, if that has changed.
    /// - Parameter seen: the caller's count of changes; 0 at first.
    public func update(since seen: inout Int) -> [Mask]? {
        let now = generation.load(ordering: .acquiring)
        guard now != seen else { return nil }
        seen = now
        return state.withLock { $0.fresh }
    }

    /// What is worn at first.
    public var masks: [Mask] { state.withLock { $0.fresh } }

    /// Takes what is no longer worn, to free it beside the loop.
    public func recycle(_ masks: consuming [Mask]) {
        // Moved onto the shelf: no reference stays here, that might be the last one.
        var giving: [Mask]? = consume masks
        state.withLock { state in
            if let given = giving.take() { state.spent.append(given) }
        }
        wakeEvent.signal()
    }

    // MARK: - the thread

    /// Begins to listen to wishes, and to watch the folders of what is worn.
    /// - Parameter wake: rung when there is news.
    public func start(signaling wake: WakeEvent? = nil) {
        guard let loaded = loaded.withLock({ $0.take() }) else { return }
        // As a main thread's: what reads strangers' files goes some levels deep.
        startThread(named: "dressing room", stackSize: 8 << 20) { [self] in run(loaded, wake) }
    }

    /// Ends the thread.
    public func close() {
        state.withLock { $0.isOpen = false }
        wakeEvent.signal()
    }

    private func run(_ loaded: consuming LoadedMasks, _ wake: WakeEvent?) {
        lowerThreadPriority()
        var loaded = loaded
        var watch = FolderWatch(wakeEvent: wakeEvent.descriptor)
        while true {
            let (selections, isOpen, spent) = state.withLock { state in
                defer { state.spent = [] }
                return (state.selections, state.isOpen, state.spent)
            }
            // Megabytes are freed here, not while the frame loop may wait for the lock.
            _ = consume spent
            guard isOpen else { return }
            // Watched before it is read, so that no edit falls between; what is included is known after reading only.
            var folders = loaded.folders(for: selections)
            while true {
                watch.set(files: folders.files, names: folders.names)
                let now = loaded.folders(for: selections)
                if now == folders { break }
                folders = now
            }
            let before = loaded.masks
            // On a copy: the current masks stay if one can't be loaded.
            var fresh = loaded
            let lines = fresh.load(selections)
            if let problem = fresh.loadError {
                let worn = loaded.selections
                state.withLock { if $0.selections == selections { $0.selections = worn } }
                log("\(problem) (the current masks stay on)")
                continue
            }
            loaded = fresh
            let masks = loaded.masks
            let isSame = before.elementsEqual(masks) {
                ($0.edition, $0.opacity, $0.personSlot) == ($1.edition, $1.opacity, $1.personSlot)
            }
            if !isSame {
                let last = state.withLock { state in
                    defer { state.fresh = masks }
                    return state.fresh
                }
                _ = consume last
                generation.add(1, ordering: .releasing)
                wake?.signal()
            }
            lines.forEach(log)
            // What may be wished for next is made ready meanwhile, piece by piece: a wish goes first.
            while state.withLock({ $0.selections == selections && $0.isOpen }), loaded.preloadNext() {}
            guard state.withLock({ $0.selections == selections && $0.isOpen }) else { continue }
            watch.wait(quiet: Self.quiet)
        }
    }
}

/// What is worn, mask by mask, with what its files were when it was loaded. Knows nothing of threads.
struct LoadedMasks: Sendable {
    private struct LoadedMask {
        var selection: MaskSelection
        let fileVersions: [FileVersion]
        /// Nil: none could ever be loaded.
        var mask: Mask?
        /// What is wrong with it as it is now.
        let problem: (any Error)?
    }

    private let searchPaths: [String]
    private let target: ArtTarget
    private var loaded: [LoadedMask] = []
    /// What was worn, or may be next, the newest last.
    private var cached: [LoadedMask] = []
    /// Masks that could not be made ready, with their files' marks: not tried again as they are.
    private var failedPreloads: [String: [FileVersion]] = [:]
    /// Counts masks that were loaded.
    private var editions = 0

    /// Masks kept ready beside what is worn: what a hot key is likely to ask for. Their art takes a megabyte each.
    private static let maxCached = 6

    init(searchPaths: [String], target: ArtTarget) { (self.searchPaths, self.target) = (searchPaths, target) }

    /// In the order in which they are drawn.
    var masks: [Mask] { loaded.compactMap(\.mask) }

    var selections: [MaskSelection] { loaded.map(\.selection) }

    /// The error of the first mask that could never be loaded; nil if all are on, at least in an older version.
    var loadError: (any Error)? { loaded.first { $0.mask == nil }?.problem }

    /// Loads what is wished for, and not there or no longer as it was.
    /// - Returns: what the user should know, and has not been told.
    mutating func load(_ selections: [MaskSelection]) -> [String] {
        let library = MaskLibrary(searchPaths: searchPaths)
        var lines: [String] = []
        var now: [LoadedMask] = []
        for selection in selections {
            let fileVersions = library.fileVersions(of: selection.mask)
            let same = loaded.firstIndex { $0.selection.mask == selection.mask }
            // Each rail is taken once: the same mask may be worn twice.
            let before = same.map { loaded.remove(at: $0) } ?? takeCached(selection, fileVersions)
            if var kept = before, kept.fileVersions == fileVersions, kept.selection.choices == selection.choices {
                kept.selection = selection
                kept.mask?.opacity = selection.opacity
                kept.mask?.personSlot = selection.personSlot
                now.append(kept)
                continue
            }
            now.append(load(selection, fileVersions, library, before: before, &lines))
        }
        for loadedMask in loaded { cache(loadedMask) }
        loaded = now
        ArtReader.shutDownRenderer()
        return lines
    }

    /// Loads one of the masks beside the one that was put on last, by name, where it is not at hand: `next` and
    /// `previous` lead there.
    /// - Returns: true where there may be more to do.
    mutating func preloadNext() -> Bool {
        guard let last = loaded.last?.selection.mask else { return false }
        let library = MaskLibrary(searchPaths: searchPaths)
        let names = library.names
        guard let place = names.firstIndex(of: last) else { return false }
        for step in [1, names.count - 1] {
            let name = names[(place + step) % names.count]
            let isThere = (loaded + cached).contains { $0.selection.mask == name }
            guard !isThere else { continue }
            let fileVersions = library.fileVersions(of: name)
            guard failedPreloads[name] != fileVersions else { continue }
            var lines: [String] = []
            let loadedMask = load(MaskSelection(name), fileVersions, library, before: nil, &lines)
            // Told when somebody wants to wear it.
            if loadedMask.problem == nil { cache(loadedMask) } else { failedPreloads[name] = fileVersions }
            ArtReader.shutDownRenderer()
            return true
        }
        return false
    }

    private mutating func cache(_ loadedMask: LoadedMask) {
        guard loadedMask.problem == nil, loadedMask.mask != nil else { return }
        cached.removeAll { $0.selection.mask == loadedMask.selection.mask }
        cached.append(loadedMask)
        if cached.count > Self.maxCached { cached.removeFirst() }
    }

    /// What was kept of a mask, if it is what is wished for.
    private mutating func takeCached(_ selection: MaskSelection, _ fileVersions: [FileVersion]) -> LoadedMask? {
        guard let place = cached.firstIndex(where: { $0.selection.mask == selection.mask }) else { return nil }
        let loadedMask = cached.remove(at: place)
        return loadedMask.fileVersions == fileVersions && loadedMask.selection.choices == selection.choices
            ? loadedMask : nil
    }

    private mutating func load(
        _ selection: MaskSelection, _ fileVersions: [FileVersion], _ library: MaskLibrary, before: LoadedMask?,
        _ lines: inout [String]
    ) -> LoadedMask {
        do {
            var target = target
            target.choices = selection.choices
            var mask = try library.load(selection.mask, for: target)
            editions += 1
            (mask.edition, mask.opacity, mask.personSlot) = (editions, selection.opacity, selection.personSlot)
            if let before, before.fileVersions != fileVersions {
                lines.append("the mask '\(selection.mask)' was read again")
            }
            return LoadedMask(selection: selection, fileVersions: fileVersions, mask: mask, problem: nil)
        } catch {
            let words = "\(error)"
            if before?.problem.map({ "\($0)" }) != words {
                lines.append(words + (before?.mask == nil ? "" : " (its last valid version stays on)"))
            }
            var old = before?.mask
            old?.opacity = selection.opacity
            old?.personSlot = selection.personSlot
            return LoadedMask(selection: selection, fileVersions: fileVersions, mask: old, problem: error)
        }
    }

    /// The folders in which a change may change what is worn: those of the masks and of what they include, wherever they
    /// are or would be, and those in which they would be found.
    func folders(for selections: [MaskSelection]) -> (files: [String], names: [String]) {
        let library = MaskLibrary(searchPaths: searchPaths)
        let family = Set(selections.flatMap { library.includeClosure(of: $0.mask) })
            .filter { !$0.isEmpty && !$0.hasPrefix(".") && !$0.contains("/") }.sorted()
        let files = family.flatMap { name in
            searchPaths.flatMap { treeVersions(in: "\($0)/\(name)").filter(\.isFolder).map(\.path) }
        }
        return (files, searchPaths.compactMap(Self.nearestExisting))
    }

    /// The folder itself, or the nearest one above it that is there.
    private static func nearestExisting(_ folder: String) -> String? {
        var folder = folder[...]
        while !folder.isEmpty, !isFolder(String(folder)) {
            folder = folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)]
        }
        return folder.isEmpty ? nil : String(folder)
    }
}
