import Compose
import Control
import JSON

/// Answers requests for the active masks.
struct MaskHandler {
    let masks: MaskCatalog
    let pictures: BackgroundStore

    private var worn: [MaskSelection] { masks.loader.selections }

    func handle(_ request: MaskRequest) throws -> Answer {
        switch request {
        case .masks: .immediate(list)
        case .remove(let name): .immediate(try takeOff(name))
        case .toggle(let name): .immediate(try worn.contains { $0.mask == name } ? takeOff(name) : putOn([name]))
        case .only(let name): .immediate(try only(name))
        case .next: .immediate(try selectNeighbor(1))
        case .previous: .immediate(try selectNeighbor(-1))
        case .clear: .immediate(try replace(with: []))
        case .wear(let names): .immediate(try putOn(names))
        case .add(let names): .immediate(try putOn(names, replacesKind: false))
        case .order(let names): .immediate(try order(names))
        case .random(let all): .immediate(try selectRandom(all: all))
        case .surprise(let all): .immediate(try assignRandom(all: all))
        }
    }

    private var list: MaskListReply {
        let (worn, own) = (worn, pictures.names)
        return MaskListReply(
            masks: masks.summaries.map { summary in
                let selection = worn.first { $0.mask == summary.name }
                return MaskDescription(summary, selection, worn: selection != nil, ownPictures: own)
            })
    }

    private func takeOff(_ name: String) throws -> WornReply {
        let worn = worn
        guard worn.contains(where: { $0.mask == name }) || masks.contains(name) else { throw masks.unknown(name) }
        let selections = worn.filter { $0.mask != name }
        try masks.select(selections, changing: worn)
        return WornReply(selections)
    }

    /// Puts masks on. Masks that are on already keep their options and their place.
    /// - Parameter replacesKind: whether the active masks of the same kinds are taken off, except those that hide
    ///   faces or bystanders. One that hides the room gives way only to another that does, or to another background.
    ///   The new mask takes the place of the first one that it replaces.
    /// - Returns: the active masks, those that were `replaced`, and those of the same kind that were `kept`.
    private func putOn(_ names: [String], replacesKind: Bool = true) throws -> WornReply {
        let summaries = Dictionary(uniqueKeysWithValues: masks.summaries.map { ($0.name, $0) })
        let (worn, parts) = (worn, masks.selectedParts)
        var selections = worn
        var (replaced, kept): ([String], [String]) = ([], [])
        for name in names {
            if let index = selections.firstIndex(where: { $0.mask == name }) {
                selections[index] = wornByName(selections[index])
                continue
            }
            let kinds = replacesKind ? summaries[name]?.kinds ?? [] : []
            let sameKind = selections.filter {
                !names.contains($0.mask) && !kinds.isDisjoint(with: summaries[$0.mask]?.kinds ?? [])
            }
            let added = masks.remembered(name)
            let isRoomHidden = parts(added).contains(.room)
            let displaced = sameKind.filter { other in
                let isBackground =
                    kinds.contains(.background) && summaries[other.mask]?.kinds.contains(.background) == true
                return parts(other).isDisjoint(
                    with: isRoomHidden || isBackground ? .people : .people.union(.room))
            }.map(\.mask)
            kept += sameKind.map(\.mask).filter { !displaced.contains($0) && !kept.contains($0) }
            let index = selections.firstIndex { displaced.contains($0.mask) } ?? selections.endIndex
            selections.insert(added, at: index)
            selections.removeAll { displaced.contains($0.mask) }
            replaced += displaced
        }
        try masks.select(selections, changing: worn, naming: Set(names))
        return WornReply(selections, kept: kept, replaced: replaced)
    }

    private func only(_ name: String) throws -> WornReply {
        try replace(with: [wornByName(worn.first { $0.mask == name } ?? masks.remembered(name))], naming: [name])
    }

    /// A mask that is put on by name is for everybody, and if it hides something, opaque.
    private func wornByName(_ selection: MaskSelection) -> MaskSelection {
        var selection = selection
        selection.personSlot = nil
        if !masks.hiddenParts(selection.mask).isEmpty { selection.opacity = 1 }
        return selection
    }

    /// Changes the drawing order. Masks that are not named stay on top.
    private func order(_ names: [String]) throws -> WornReply {
        let worn = worn
        for name in names where !worn.contains(where: { $0.mask == name }) {
            throw masks.notWorn(name)
        }
        let first = names.indices.compactMap { index in
            names[..<index].contains(names[index]) ? nil : worn.first { $0.mask == names[index] }
        }
        let selections = first + worn.filter { !names.contains($0.mask) }
        try masks.select(selections, changing: worn)
        return WornReply(selections)
    }

    /// Replaces the active masks, except those that hide something: they stay until a request names them.
    /// - Parameter named: the masks that the request names.
    func replace(with selections: [MaskSelection], naming named: Set<String> = []) throws -> WornReply {
        let (now, kept) = masks.keepingHidingMasks(selections)
        try masks.select(now, naming: named)
        return WornReply(now, kept: kept)
    }

    /// The names of the masks that a random request chooses from.
    /// - Parameters:
    ///   - request: the request's name, for the error.
    ///   - all: whether masks that aren't marked as fit for work count too.
    /// - Throws: `RequestError` if there is none.
    private func candidates(
        for request: MaskRequest.Name, all: Bool, _ isWanted: (MaskSummary) -> Bool
    ) throws -> [String] {
        let wanted = masks.summaries.filter(isWanted)
        let found = all ? wanted : wanted.filter(\.isFitForWork)
        guard found.isEmpty else { return found.map(\.name) }
        throw RequestError(
            .notNow,
            wanted.isEmpty
                ? "there is no mask left; see `guise masks`"
                : "no mask left is marked as fit for work; to choose from all: `guise \(request.rawValue) --all`")
    }

    private func selectRandom(all: Bool) throws -> WornReply {
        let worn = Set(self.worn.map(\.mask))
        let names = try candidates(for: .random, all: all) { $0.hidden.isEmpty && !worn.contains($0.name) }
        return try replace(with: names.randomElement().map { [MaskSelection($0)] } ?? [])
    }

    /// Gives successive people different masks; the sequence repeats after the last mask.
    private func assignRandom(all: Bool) throws -> WornReply {
        let worn = Set(self.worn.map(\.mask))
        let personal = try candidates(for: .surprise, all: all, \.isPersonal)
        // Active masks would be no surprise, so they are used only if there are too few others.
        let fresh = personal.filter { !worn.contains($0) }
        let names = (fresh.count >= Self.maxSurpriseMasks ? fresh : personal).shuffled().prefix(Self.maxSurpriseMasks)
        return try replace(
            with: names.enumerated().map { number, name in
                var selection = MaskSelection(name)
                selection.personSlot = PersonSlot(number, of: names.count)
                return selection
            })
    }

    /// The most masks that `surprise` gives: there are rarely more faces in front of a camera, and each mask takes
    /// memory and time to load.
    private static let maxSurpriseMasks = 4

    /// Selects the next or previous mask in the order of names, cyclically. Masks that hide something are selected and
    /// removed only by name.
    /// - Parameter step: 1 for the next mask, -1 for the previous one.
    private func selectNeighbor(_ step: Int) throws -> WornReply {
        let names = masks.summaries.filter(\.hidden.isEmpty).map(\.name)
        guard !names.isEmpty else { throw RequestError(.notNow, "there are no masks; see `guise masks`") }
        let last = self.worn.compactMap { names.firstIndex(of: $0.mask) }.last
        let next = last.map { ($0 + step + names.count) % names.count } ?? (step > 0 ? 0 : names.count - 1)
        return try replace(with: [MaskSelection(names[next])])
    }
}
