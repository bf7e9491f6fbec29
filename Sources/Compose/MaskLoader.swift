import Frames
import Synchronization
import SystemKit

/// A mask that the user selected, with its options.
public struct MaskSelection: Equatable, Sendable {
    /// The mask's name.
    public var mask: String
    /// The opacity of the whole mask, 0...1.
    public var opacity: Float = 1
    /// Values of the mask's options, by the names that its layers give them: colours ("#rrggbb"), texts, palettes.
    public var choices: [String: String] = [:]

    /// Which people wear it; nil: everybody.
    public var personSlot: PersonSlot?

    /// Selects a mask as its author made it.
    public init(_ mask: String) { self.mask = mask }

    /// Whether one of these selections has the same art.
    fileprivate func isLoaded(in others: [MaskSelection]) -> Bool {
        others.contains { $0.mask == mask && $0.choices == choices }
    }
}

/// Masks that were loaded together, for frames of one size.
public struct MaskSet: Sendable {
    /// The masks, in drawing order.
    public var masks: [Mask]
    /// The size of the frames in pixels.
    public var size: FrameSize
}

/// Loads masks on a thread of its own: reads, decodes and renders their art, and hands complete masks to the frame
/// loop, which replaces its masks between two frames. If one of the selected masks can't be loaded, nothing changes, so
/// that a mistake never removes a mask that hides a face. Watches the folders of the masks in use: an edit takes effect
/// at once, and an invalid one is reported once and leaves the last valid mask in use. So does one that hides less, or
/// a folder of the same name that comes before: it takes effect when a request names the mask.
///
/// In the frame loop, `hasUpdate(since:)` and `update(since:)` are one atomic load while nothing has changed. They
/// neither wait nor allocate then.
public final class MaskLoader: Sendable {
    private struct State {
        var selections: [MaskSelection]
        /// The masks that requests have named since the thread last read the selections.
        var named: Set<String> = []
        /// Requests that were followed by others before they could be loaded, the oldest first.
        var superseded: [PendingSelections] = []
        /// The size of the frames to load masks for.
        var size: FrameSize
        /// The masks to use now.
        var fresh: MaskSet
        /// Masks that the frame loop no longer uses. The loader's thread frees them, because that takes time.
        var spent: [[Mask]] = []
        var isOpen = true
        /// Whether the thread was started.
        var isRunning = false
        /// Whether `selections` are not loaded yet.
        var isLoading = false
        /// The selections that were loaded last.
        var worn: [MaskSelection]
        /// The number of calls of `select`.
        var requests = 0
        /// The first request since those of `superseded`: with those after it, it has led to `selections`.
        var firstRequest = 1
        /// The last requests whose masks could not be loaded.
        var refused: [(requests: ClosedRange<Int>, problem: any Error)] = []
        /// What is called once the masks of a request are loaded or refused, with the request's number.
        var waiting: [(request: Int, body: @Sendable ((any Error)?) -> Void)] = []

        /// Whether selected masks must be read, decoded and rendered first.
        var mustLoad: Bool {
            isLoading && selections.contains { !$0.isLoaded(in: worn) }
        }
    }

    /// The selections of requests that are not loaded yet.
    private struct PendingSelections {
        /// The requests that have led to them from the ones before: one, unless there were too many.
        let requests: ClosedRange<Int>
        var selections: [MaskSelection]
        /// What they promise to hide.
        let hidden: HiddenParts
    }

    /// The most requests that are kept apart until they are loaded, and refused ones that are remembered: nobody
    /// changes masks faster. Those that come then are refused together if one of them brings a broken mask.
    private static let maxSuperseded = 64

    private let log: @Sendable (String) -> Void
    private let searchPaths: [String]
    private let target: ArtTarget
    private let wakeEvent: WakeEvent
    private let state: Mutex<State>
    /// Number of changes of `State.fresh`.
    private let generation = Atomic<Int>(0)
    /// What the masks of `State.fresh` hide.
    private let hiddenParts: Atomic<Int>
    /// The radius by which the masks of `State.fresh` blur the room, as the bits of a number.
    private let roomBlurBits: Atomic<UInt32>
    /// What the masks of `State.selections` hide, until they are loaded. Written while `state` is locked.
    private let requestedParts = Atomic<Int>(0)
    /// The loaded masks, until the thread takes them over.
    private let loaded: Mutex<LoadedMasks?>

    /// Milliseconds without a change after which an editor has finished saving.
    private static let quiet: CInt = 100

    /// Loads the selected masks, and returns when they are ready.
    /// - Parameters:
    ///   - searchPaths: folders that contain mask folders; if several contain the same name, the first one wins.
    ///   - log: reports one line to the user; called from the loader's thread too, unless `start` replaces it.
    /// - Throws: `Problem` if one of the masks can't be loaded.
    public init(
        searchPaths: [String], target: ArtTarget, selections: [MaskSelection], log: @escaping @Sendable (String) -> Void
    ) throws {
        (self.log, self.searchPaths, self.target) = (log, searchPaths, target)
        wakeEvent = try WakeEvent()
        var loaded = LoadedMasks(searchPaths: searchPaths, target: target)
        let lines = loaded.load(selections)
        if let problem = loaded.failure?.problem { throw problem }
        lines.forEach(log)
        state = Mutex(
            State(selections: selections, size: loaded.set.size, fresh: loaded.set, worn: selections))
        hiddenParts = Atomic(HiddenParts(hiddenBy: loaded.set.masks).rawValue)
        roomBlurBits = Atomic(Concealment.roomBlur(of: loaded.set.masks).bitPattern)
        self.loaded = Mutex(loaded)
    }

    // MARK: - Selecting masks

    /// Selects masks, in drawing order. Returns at once; the masks change when all are loaded. If one of them can't be
    /// loaded, the error is logged and `selections` returns to the masks that were selected before.
    /// - Parameters:
    ///   - hidden: what the masks promise to hide; until they are loaded, pictures that show it are withheld.
    ///   - named: the masks that the user has put on by name, so that their present versions are worn, even if those
    ///     hide less than the worn ones.
    ///   - base: what was changed. If a mask of it has turned out to be broken meanwhile, it is left out.
    public func select(
        _ selections: [MaskSelection], changing base: [MaskSelection]? = nil, hiding hidden: HiddenParts = [],
        naming named: Set<String> = []
    ) {
        state.withLock { state in
            var now = selections
            if let base, base != state.selections { now = selections.rebased(from: base, to: state.selections) }
            if !state.isLoading {
                state.firstRequest = state.requests + 1
            } else if state.superseded.count < Self.maxSuperseded {
                let before = HiddenParts(rawValue: requestedParts.load(ordering: .relaxed))
                state.superseded.append(
                    PendingSelections(
                        requests: state.firstRequest...state.requests, selections: state.selections, hidden: before))
                state.firstRequest = state.requests + 1
            }
            (state.selections, state.isLoading) = (now, true)
            state.requests += 1
            state.named.formUnion(named)
            requestedParts.store(hidden.rawValue, ordering: .releasing)
        }
        wakeEvent.signal()
    }

    /// The number of calls of `select`.
    public var requests: Int { state.withLock { $0.requests } }

    /// Calls `body` once the masks that were selected last are loaded, or were replaced by a later selection; with the
    /// error if they can't be loaded, so that those before stay on. Called on the loader's thread, or at once if that
    /// is known already, none must be loaded, or nobody loads them.
    public func afterLoading(_ body: @escaping @Sendable ((any Error)?) -> Void) {
        let (isKnown, problem) = state.withLock { state -> (Bool, (any Error)?) in
            // The thread may have refused them before anybody asked.
            if let refused = state.refused.last(where: { $0.requests.contains(state.requests) }) {
                return (true, refused.problem)
            }
            guard state.mustLoad, state.isRunning, state.isOpen else { return (true, nil) }
            state.waiting.append((state.requests, body))
            return (false, nil)
        }
        if isKnown { body(problem) }
    }

    /// Loads masks that are not worn, and drops them again, to find out whether they can be worn. Takes as long as
    /// loading them.
    /// - Throws: `Problem` for the first one that can't be loaded.
    public func verify(_ selections: [MaskSelection]) throws {
        let (worn, size) = state.withLock { ($0.worn, $0.size) }
        let library = MaskLibrary(searchPaths: searchPaths)
        var target = target.resized(to: size)
        defer { ArtReader.shutDown() }
        for wanted in selections where !wanted.isLoaded(in: worn) {
            target.choices = wanted.choices
            _ = try library.load(wanted.mask, for: target)
        }
    }

    /// The masks that were selected last.
    public var selections: [MaskSelection] { state.withLock { $0.selections } }

    /// Loads the masks for frames of another size. Returns at once; the masks change when all are loaded. If one of
    /// them can't be loaded, the error is logged and `size` returns to that of the current masks.
    public func resize(to size: FrameSize) {
        state.withLock { $0.size = size }
        wakeEvent.signal()
    }

    /// The size of the frames that masks were requested for last, in pixels.
    public var size: FrameSize { state.withLock { $0.size } }

    // MARK: - For the frame loop

    /// Whether `update(since:)` has new masks.
    /// - Parameter seen: the count of changes that `update(since:)` has set.
    public func hasUpdate(since seen: Int) -> Bool { generation.load(ordering: .acquiring) != seen }

    /// The masks to use now; nil if they haven't changed.
    /// - Parameter seen: the caller's count of changes; 0 at first. Updated.
    public func update(since seen: inout Int) -> MaskSet? {
        let now = generation.load(ordering: .acquiring)
        guard now != seen else { return nil }
        seen = now
        return state.withLock { $0.fresh }
    }

    /// What the current masks promise to hide, also before `update(since:)` has been called for them, and what those
    /// do that were selected and are not loaded yet.
    public var hidden: HiddenParts {
        // In this order: what is loaded meanwhile is in one of them.
        let requested = HiddenParts(rawValue: requestedParts.load(ordering: .acquiring))
        return requested.union(HiddenParts(rawValue: hiddenParts.load(ordering: .acquiring)))
    }

    /// The radius by which the current masks blur the room, as `Concealment.roomBlur`.
    public var roomBlur: Float { Float(bitPattern: roomBlurBits.load(ordering: .acquiring)) }

    /// The current masks.
    public var masks: [Mask] { state.withLock { $0.fresh.masks } }

    /// Takes masks that are no longer used, to free them outside the frame loop.
    public func recycle(_ masks: consuming [Mask]) {
        // Moved into the state: a reference that stays here could be the last one.
        var outgoing: [Mask]? = consume masks
        state.withLock { state in
            if let given = outgoing.take() { state.spent.append(given) }
        }
        wakeEvent.signal()
    }

    // MARK: - The loader's thread

    /// Starts the thread, which loads selected masks and watches the folders of the masks in use.
    /// - Parameters:
    ///   - wake: signalled when there are new masks.
    ///   - log: reports one line to the user from now on; nil: as before.
    public func start(signaling wake: WakeEvent? = nil, log: (@Sendable (String) -> Void)? = nil) {
        guard let loaded = loaded.withLock({ $0.take() }) else { return }
        state.withLock { $0.isRunning = true }
        // A stack as large as the main thread's: parsers of strangers' files recurse some levels deep.
        startThread(named: "mask loader", stackSize: 8 << 20) { [self] in run(loaded, wake, log ?? self.log) }
    }

    /// Ends the thread. Returns at once.
    public func close() {
        state.withLock { $0.isOpen = false }
        wakeEvent.signal()
    }

    private func run(_ loaded: consuming LoadedMasks, _ wake: WakeEvent?, _ log: @Sendable (String) -> Void) {
        lowerThreadPriority()
        var loaded = loaded
        var watch = FolderWatch(wakeEvent: wakeEvent.descriptor)
        while true {
            let (selections, named, size, isOpen, spent, request) = state.withLock { state in
                // A name counts for what is there now, and not for a later edit.
                defer { (state.spent, state.named) = ([], []) }
                return (state.selections, state.named, state.size, state.isOpen, state.spent, state.requests)
            }
            // Frees megabytes here, outside the lock that the frame loop may wait for.
            _ = consume spent
            guard isOpen else { return answer({ $0 <= request }, nil) }
            // Watch before reading, so that no edit is missed in between. The included masks are known only after
            // reading.
            var folders = loaded.folders(for: selections)
            while true {
                watch.set(files: folders.files, names: folders.names)
                let now = loaded.folders(for: selections)
                if now == folders { break }
                folders = now
            }
            let before = loaded.set
            // Load into a copy: the current masks stay if one can't be loaded.
            var fresh = loaded
            fresh.resize(to: size)
            let lines = fresh.load(selections, naming: named)
            if let (failed, problem) = fresh.failure {
                let refused = state.withLock { state -> ClosedRange<Int>? in
                    // What is worn fits frames of the size before.
                    guard failed.isLoaded(in: state.worn), size != before.size else {
                        return takeBack(failed, problem, &state)
                    }
                    if state.size == size { state.size = before.size }
                    return nil
                }
                if let refused { answer({ refused.contains($0) }, problem) }
                log("\(problem) (the current masks stay on)")
                continue
            }
            loaded = fresh
            let set = loaded.set
            let areSame = before.masks.elementsEqual(set.masks) {
                ($0.revision, $0.opacity, $0.personSlot) == ($1.revision, $1.opacity, $1.personSlot)
            }
            if !areSame || before.size != set.size {
                let last = state.withLock { state in
                    defer { state.fresh = set }
                    return state.fresh
                }
                _ = consume last
                hiddenParts.store(HiddenParts(hiddenBy: set.masks).rawValue, ordering: .releasing)
                roomBlurBits.store(Concealment.roomBlur(of: set.masks).bitPattern, ordering: .releasing)
                generation.add(1, ordering: .releasing)
                wake?.signal()
            }
            state.withLock { state in
                state.worn = selections
                guard state.selections == selections, state.size == size else { return }
                state.isLoading = false
                state.superseded.removeAll()
                requestedParts.store(0, ordering: .releasing)
            }
            lines.forEach(log)
            answer({ $0 <= request }, nil)
            // Preload what may be selected next, mask by mask, until something else is requested.
            func isIdle() -> Bool {
                state.withLock {
                    $0.selections == selections && $0.named.isEmpty && $0.size == size && $0.isOpen
                }
            }
            while isIdle(), loaded.preloadNext() {}
            guard isIdle() else { continue }
            watch.wait(quiet: Self.quiet)
        }
    }
}

extension MaskLoader {
    /// Tells those who wait for these requests what became of them.
    private func answer(_ isMeant: (_ request: Int) -> Bool, _ problem: (any Error)?) {
        let ended = state.withLock { state in
            let ended = state.waiting.filter { isMeant($0.request) }
            state.waiting.removeAll { isMeant($0.request) }
            return ended
        }
        for waiting in ended { waiting.body(problem) }
    }

    /// Takes back the request that has brought a mask which can't be loaded. What others have changed after it stays
    /// requested: one that fails takes no other along.
    /// - Returns: the request, or those with which it was kept.
    private func takeBack(
        _ failed: MaskSelection, _ problem: any Error, _ state: inout State
    ) -> ClosedRange<Int>? {
        guard state.isLoading else { return nil }
        let newest = PendingSelections(
            requests: state.firstRequest...state.requests, selections: state.selections,
            hidden: HiddenParts(rawValue: requestedParts.load(ordering: .relaxed)))
        var pending = state.superseded + [newest]
        // Later requests may have taken it off already.
        let index = pending.firstIndex { failed.isLoaded(in: $0.selections) } ?? pending.endIndex - 1
        let refused = pending.remove(at: index)
        let base = index > 0 ? pending[index - 1] : nil
        for later in pending[index...].indices {
            pending[later].selections = pending[later].selections.rebased(
                from: refused.selections, to: base?.selections ?? state.worn)
        }
        let last = pending.popLast()
        state.superseded = pending
        (state.selections, state.isLoading) = (last?.selections ?? state.worn, last != nil)
        if let last { state.firstRequest = last.requests.lowerBound }
        // What the refused request has taken off is requested again.
        let hidden = (last?.hidden ?? []).union(base?.hidden ?? [])
        requestedParts.store(hidden.rawValue, ordering: .releasing)
        state.refused.append((refused.requests, problem))
        if state.refused.count > Self.maxSuperseded { state.refused.removeFirst() }
        return refused.requests
    }
}

extension [MaskSelection] {
    /// The changes that have led from one list of masks to this one, made to another list.
    func rebased(from before: [MaskSelection], to base: [MaskSelection]) -> [MaskSelection] {
        var result = base.compactMap { selection -> MaskSelection? in
            let (old, new) = (before.first { $0.mask == selection.mask }, first { $0.mask == selection.mask })
            // What was neither there before nor now was taken off by the change that is left out.
            guard old != nil || new != nil else { return selection }
            return old == new ? selection : new
        }
        for (index, added) in enumerated()
        where !before.contains(where: { $0.mask == added.mask }) && !result.contains(where: { $0.mask == added.mask }) {
            let above = self[(index + 1)...].lazy.compactMap { next in
                result.firstIndex { $0.mask == next.mask }
            }.first
            result.insert(added, at: above ?? result.endIndex)
        }
        return result
    }
}

/// The masks in use, with the versions of the files that each was loaded from. Knows nothing of threads.
struct LoadedMasks: Sendable {
    private struct LoadedMask {
        var selection: MaskSelection
        let fileVersions: [FileVersion]
        /// The size of the frames that it was loaded for, in pixels.
        let size: FrameSize
        /// The last valid version; nil if there is none.
        var mask: Mask?
        /// The error of the current version; nil if it is valid.
        let problem: (any Error)?
        /// Whether the current version is valid but hides less than `mask`, which stays on until a request names it.
        var isHeldBack: Bool { problem is HidesLess }
    }

    /// The error of a version that hides less than the one that is worn.
    private struct HidesLess: Error, CustomStringConvertible {
        let mask: String

        var description: String {
            "the mask '\(mask)' has changed and would hide less than before; to wear it as it is now, run "
                + "`guise wear \(mask)`"
        }
    }

    private let searchPaths: [String]
    private var target: ArtTarget
    private var loaded: [LoadedMask] = []
    /// Masks that were in use or may be next, from the oldest to the newest.
    private var cached: [LoadedMask] = []
    /// Masks that couldn't be preloaded, with the versions of their files. They aren't tried again until the files
    /// change.
    private var failedPreloads: [String: [FileVersion]] = [:]
    /// Number of masks loaded so far.
    private var revisions = 0

    /// The most masks kept ready in addition to those in use: those that a hot key is likely to request. The art of
    /// each takes a megabyte.
    private static let maxCached = 6

    init(searchPaths: [String], target: ArtTarget) { (self.searchPaths, self.target) = (searchPaths, target) }

    /// The masks in use.
    var set: MaskSet { MaskSet(masks: loaded.compactMap(\.mask), size: target.size) }

    var selections: [MaskSelection] { loaded.map(\.selection) }

    /// The first selected mask that was never valid, and its error; nil if a version of each is loaded, even if an
    /// older one.
    var failure: (mask: MaskSelection, problem: any Error)? {
        loaded.first { $0.mask == nil }.flatMap { entry in entry.problem.map { (entry.selection, $0) } }
    }

    /// Has the next `load` load all masks for frames of another size.
    mutating func resize(to size: FrameSize) {
        guard size != target.size else { return }
        target = target.resized(to: size)
        (cached, failedPreloads) = ([], [:])
    }

    /// Loads the selected masks that aren't loaded yet, or have changed.
    /// - Parameter named: the masks whose present versions are wanted even if they hide less than the loaded ones.
    /// - Returns: lines for the user that weren't reported before.
    mutating func load(_ selections: [MaskSelection], naming named: Set<String> = []) -> [String] {
        let library = MaskLibrary(searchPaths: searchPaths)
        var lines: [String] = []
        var now: [LoadedMask] = []
        for selection in selections {
            let fileVersions = fileVersions(of: selection.mask, library)
            let same = loaded.firstIndex { $0.selection.mask == selection.mask }
            // Each loaded mask is taken only once: the same mask may be selected twice.
            let before = same.map { loaded.remove(at: $0) } ?? takeCached(selection, fileVersions)
            if var kept = before, kept.size == target.size, kept.fileVersions == fileVersions,
                kept.selection.choices == selection.choices, !kept.isHeldBack || !named.contains(selection.mask)
            {
                kept.selection = selection
                kept.mask?.opacity = selection.opacity
                kept.mask?.personSlot = selection.personSlot
                now.append(kept)
                continue
            }
            now.append(load(selection, fileVersions, library, before: before, named, &lines))
        }
        for loadedMask in loaded where loadedMask.size == target.size { cache(loadedMask) }
        loaded = now
        ArtReader.shutDown()
        return lines
    }

    /// Preloads one of the neighbours, by name, of the last mask in use: the commands `next` and `previous` select
    /// those.
    /// - Returns: true if there may be more to preload.
    mutating func preloadNext() -> Bool {
        guard let last = loaded.last?.selection.mask else { return false }
        let library = MaskLibrary(searchPaths: searchPaths)
        let names = library.names
        guard let index = names.firstIndex(of: last) else { return false }
        for step in [1, names.count - 1] {
            let name = names[(index + step) % names.count]
            let isThere = (loaded + cached).contains { $0.selection.mask == name }
            guard !isThere else { continue }
            let fileVersions = fileVersions(of: name, library)
            guard failedPreloads[name] != fileVersions else { continue }
            var lines: [String] = []
            let loadedMask = load(MaskSelection(name), fileVersions, library, before: nil, [], &lines)
            // An error is reported when the mask is selected.
            if loadedMask.problem == nil { cache(loadedMask) } else { failedPreloads[name] = fileVersions }
            ArtReader.shutDown()
            return true
        }
        return false
    }

    /// The versions of all files that a mask is made of, the pictures of taught things among them.
    private func fileVersions(of name: String, _ library: MaskLibrary) -> [FileVersion] {
        let family = library.family(of: name)
        let versions = library.fileVersions(of: family)
        guard let things = target.things, family.usesThings else { return versions }
        return versions + things.fileVersions
    }

    private mutating func cache(_ loadedMask: LoadedMask) {
        guard loadedMask.problem == nil, loadedMask.mask != nil else { return }
        cached.removeAll { $0.selection.mask == loadedMask.selection.mask }
        cached.append(loadedMask)
        if cached.count > Self.maxCached { cached.removeFirst() }
    }

    /// Removes a mask from the cache, and returns it if it has the wanted files and options.
    private mutating func takeCached(_ selection: MaskSelection, _ fileVersions: [FileVersion]) -> LoadedMask? {
        guard let index = cached.firstIndex(where: { $0.selection.mask == selection.mask }) else { return nil }
        let loadedMask = cached.remove(at: index)
        return loadedMask.fileVersions == fileVersions && loadedMask.selection.choices == selection.choices
            ? loadedMask : nil
    }

    private mutating func load(
        _ selection: MaskSelection, _ fileVersions: [FileVersion], _ library: MaskLibrary, before: LoadedMask?,
        _ named: Set<String>, _ lines: inout [String]
    ) -> LoadedMask {
        do {
            var target = target
            target.choices = selection.choices
            var mask = try library.load(selection.mask, for: target)
            if let before, let worn = before.mask, before.fileVersions != fileVersions || before.isHeldBack,
                !named.contains(selection.mask), mask.concealment.isLess(than: worn.concealment)
            {
                throw HidesLess(mask: selection.mask)
            }
            if let before, before.size != target.size, before.fileVersions == fileVersions,
                before.selection.choices == selection.choices, let resized = before.mask
            {
                // It stays the same mask, which goes on where it is, and whose warnings are known.
                mask.revision = resized.revision
            } else {
                revisions += 1
                mask.revision = revisions
                lines += mask.warnings
            }
            (mask.opacity, mask.personSlot) = (selection.opacity, selection.personSlot)
            if let before, before.fileVersions != fileVersions || before.isHeldBack {
                lines.append("the mask '\(selection.mask)' was reloaded")
            }
            return LoadedMask(
                selection: selection, fileVersions: fileVersions, size: target.size, mask: mask, problem: nil)
        } catch {
            let words = "\(error)"
            // Art for frames of another size doesn't fit, nor does that of other options, which may hide more.
            let fits = before?.size == target.size && before?.selection.choices == selection.choices
            var old = fits ? before?.mask : nil
            if before?.problem.map({ "\($0)" }) != words {
                lines.append(words + (old == nil ? "" : " (its last valid version stays on)"))
            }
            old?.opacity = selection.opacity
            old?.personSlot = selection.personSlot
            return LoadedMask(
                selection: selection, fileVersions: fileVersions, size: target.size, mask: old, problem: error)
        }
    }

    /// The folders to watch: those of the selected masks and of the masks that they include, wherever they are or would
    /// be, and those in which masks are searched for.
    func folders(for selections: [MaskSelection]) -> (files: [String], names: [String]) {
        let library = MaskLibrary(searchPaths: searchPaths)
        let families = selections.map { library.family(of: $0.mask) }
        let names = Set(families.flatMap { $0.members.map(\.name) })
            .filter { !$0.isEmpty && !$0.hasPrefix(".") && !$0.contains("/") }.sorted()
        let files = names.flatMap { name in
            searchPaths.flatMap { treeVersions(in: "\($0)/\(name)").filter(\.isFolder).map(\.path) }
        }
        let isTaught = target.things != nil && families.contains(where: \.usesThings)
        let things = isTaught ? target.things?.folders ?? [] : []
        return (files + things.filter(isFolder), (searchPaths + things.prefix(1)).compactMap { nearestFolder(to: $0) })
    }
}

extension MaskSelection {
    /// The user's choice of who is not part of the background; nil: as the mask has it.
    public var people: String? {
        get { choices["people"] }
        set { choices["people"] = newValue }
    }

    /// What the user's choices hide, if the mask hides the room.
    public var partsHiddenByChoice: HiddenParts {
        people == BackgroundLayer.People.largest.rawValue ? .bystanders : []
    }
}
