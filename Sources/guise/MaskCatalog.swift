import Compose
import Control
import JSON
import Synchronization
import SystemKit

/// The masks that can be selected, and those that are.
final class MaskCatalog: Sendable {
    let loader: MaskLoader
    private let searchPaths: [String]
    /// The colours and texts of masks that were worn, by name.
    private let lastChoices = Mutex<[String: [String: String]]>([:])
    private let known = Mutex(MaskLibrary.SummaryCache())

    /// - Parameter searchPaths: folders that contain mask folders.
    init(_ loader: MaskLoader, searchPaths: [String]) { (self.loader, self.searchPaths) = (loader, searchPaths) }

    private var library: MaskLibrary { MaskLibrary(searchPaths: searchPaths) }

    /// The summaries of all masks. Only those whose files have changed are read again, because clients may ask often.
    var summaries: [MaskSummary] {
        let library = library
        return known.withLock { library.summaries(&$0) }
    }

    /// Whether there is a mask of this name; it may be invalid.
    func contains(_ name: String) -> Bool { library.names.contains(name) }

    /// The error for a mask that does not exist.
    func unknown(_ name: String) -> RequestError {
        let names = library.names
        let hint =
            nearest(to: name, among: names).map { "did you mean '\($0)'?" }
            ?? "there are: \(names.joined(separator: ", "))"
        return RequestError(.unknownMask, "no mask '\(brief(name))'; \(hint)")
    }

    /// The error for a mask that is not active, or does not exist.
    func notWorn(_ name: String) -> RequestError {
        guard contains(name) else { return unknown(name) }
        return RequestError(.notNow, "'\(brief(name))' is not worn; put it on with `guise wear \(brief(name))`")
    }

    /// Checks that masks can be selected: they are active already, or their description can be read.
    /// - Throws: `RequestError` for the first mask that does not exist or cannot be read.
    func check(_ selections: [MaskSelection]) throws {
        let wearable = Set(loader.selections.map(\.mask) + summaries.map(\.name))
        for selection in selections where !wearable.contains(selection.mask) {
            guard contains(selection.mask) else { throw unknown(selection.mask) }
            throw RequestError(
                .failed,
                "the mask '\(selection.mask)' cannot be read; run `guise masks \(selection.mask)` for the reason")
        }
    }

    /// Checks that masks can be worn, which takes as long as loading those that aren't. Must not be called on a thread
    /// that others wait for.
    /// - Throws: the error of `check`, or `Problem` for the first that can't be loaded.
    func verify(_ selections: [MaskSelection]) throws {
        try check(selections)
        try loader.verify(selections)
    }

    /// Selects masks.
    /// - Parameters:
    ///   - base: the selected masks that were changed; nil if they were replaced.
    ///   - named: the masks that a request has put on by name: only they change to a version that hides less.
    /// - Throws: the error of `check`; in this case nothing has changed.
    func select(
        _ selections: [MaskSelection], changing base: [MaskSelection]? = nil, naming named: Set<String> = []
    ) throws {
        try check(selections)
        lastChoices.withLock { lastChoices in
            for worn in loader.selections where !worn.choices.isEmpty { lastChoices[worn.mask] = worn.choices }
        }
        let parts = selectedParts
        let hidden = selections.filter { $0.opacity > 0 }.reduce(HiddenParts()) { $0.union(parts($1)) }
        loader.select(selections, changing: base, hiding: hidden, naming: named)
    }

    /// Tells what a mask hides with its user's choices, unless it is transparent.
    var selectedParts: (_ selection: MaskSelection) -> HiddenParts {
        let hiding = hiddenParts
        return { hiding($0.mask).union($0.partsHiddenByChoice) }
    }

    /// Whether the masks of a list would hide something that the selected ones don't hide.
    func wouldHideMore(_ list: [MaskSelection]) -> Bool {
        let (selected, parts) = (loader.selections.filter { $0.opacity > 0 }, selectedParts)
        return list.contains { mask in
            mask.opacity > 0 && !parts(mask).isEmpty
                && !selected.contains { $0.mask == mask.mask && parts($0).isSuperset(of: parts(mask)) }
        }
    }

    /// Tells what a mask hides: by its description, and as it is loaded, which may be an earlier version. A mask that
    /// can't be read any more may be one that hides faces.
    var hiddenParts: (_ mask: String) -> HiddenParts {
        let described = Dictionary(summaries.map { ($0.name, $0.hidden) }) { first, _ in first }
        let loaded = Dictionary(loader.masks.map { ($0.name, $0.hidden) }) { $0.union($1) }
        return { (described[$0] ?? .faces).union(loaded[$0] ?? []) }
    }

    /// A mask with the colours and texts that it had when it was last worn.
    func remembered(_ name: String) -> MaskSelection {
        var selection = MaskSelection(name)
        selection.choices = lastChoices.withLock { $0[name] } ?? [:]
        return selection
    }

    /// Masks that replace the active ones, below them the active masks that hide something and are not among them: no
    /// face, bystander or room is shown unless a request names the mask that hides it. A mask that hides the room gives
    /// way to another one that does.
    /// - Parameter named: masks that the request names, so that they may go.
    /// - Returns: the masks, and the names of those that stayed, or stayed as opaque or with the people whom they hide.
    func keepingHidingMasks(
        _ selections: [MaskSelection], except named: Set<String> = []
    ) -> (selections: [MaskSelection], kept: [String]) {
        let parts = selectedParts
        let hidesRoom = selections.contains { $0.opacity > 0 && parts($0).contains(.room) }
        let worn = loader.selections.filter {
            !named.contains($0.mask) && !parts($0).subtracting(hidesRoom ? .room : []).isEmpty
        }
        let kept = worn.filter { worn in !selections.contains { $0.mask == worn.mask } }
        let others = selections.map { selection in
            // It neither fades nor leaves anybody. A configuration may name it twice.
            var selection = selection
            for shown in worn where shown.mask == selection.mask {
                (selection.opacity, selection.personSlot) = (max(selection.opacity, shown.opacity), nil)
                if parts(shown).contains(.bystanders), selection.partsHiddenByChoice.isEmpty {
                    selection.people = shown.people
                }
            }
            return selection
        }
        let changed = zip(selections, others).filter { ($0.opacity, $0.people) != ($1.opacity, $1.people) }
        return (kept + others, kept.map(\.mask) + changed.map(\.1.mask))
    }
}
