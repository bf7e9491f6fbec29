import Compose
import Control

/// Answers requests for the active masks.
struct MaskHandler {
    let masks: MaskCatalog
    let pictures: PictureStore

    private var worn: [MaskSelection] { masks.loader.selections }

    func handle(_ request: MaskRequest) throws -> Handling {
        switch request {
        case .masks: .now(list)
        case .show(let name):
            .now(try update(name) { $0.contains { $0.mask == name } ? $0 : $0 + [MaskSelection(name)] })
        case .hide(let name): .now(try update(name) { $0.filter { $0.mask != name } })
        case .toggle(let name):
            .now(
                try update(name) { selections in
                    let others = selections.filter { $0.mask != name }
                    return others.count < selections.count ? others : selections + [MaskSelection(name)]
                })
        case .only(let name): .now(try replace(with: [name]))
        case .next: .now(try selectNeighbor(1))
        case .previous: .now(try selectNeighbor(-1))
        case .clear: .now(try replace(with: [] as [MaskSelection]))
        case .wear(let names): .now(try replace(with: names))
        case .random: .now(try selectRandom())
        case .surprise: .now(try assignRandom())
        }
    }

    private var list: MaskListReply {
        let (worn, own) = (worn, pictures.names)
        return MaskListReply(
            masks: masks.summaries.map { summary in
                MaskDescription(summary, worn.first { $0.mask == summary.name }, ownPictures: own)
            })
    }

    private func update(_ name: String, _ body: ([MaskSelection]) -> [MaskSelection]) throws -> WornReply {
        guard worn.contains(where: { $0.mask == name }) || masks.contains(name) else {
            throw masks.unknown(name)
        }
        let selections = body(worn)
        try masks.select(selections)
        return WornReply(selections)
    }

    /// Replaces the active masks. A mask that hides faces stays active until a request names it, so that no face is
    /// shown by mistake.
    /// - Returns: the active masks, and the masks that were `kept`, if any.
    private func replace(with selections: [MaskSelection]) throws -> WornReply {
        let hiding = Set(masks.summaries.filter(\.isHiding).map(\.name))
        let kept = self.worn.filter { worn in
            hiding.contains(worn.mask) && !selections.contains { $0.mask == worn.mask }
        }
        try masks.select(kept + selections)
        return WornReply(kept + selections, kept: kept.map(\.mask))
    }

    private func replace(with names: [String]) throws -> WornReply {
        let worn = self.worn
        var selections: [MaskSelection] = []
        for name in names where !selections.contains(where: { $0.mask == name }) {
            // A mask selected by name applies to everybody.
            var shared = worn.first { $0.mask == name } ?? MaskSelection(name)
            shared.personSlot = nil
            selections.append(shared)
        }
        return try replace(with: selections)
    }

    private func selectRandom() throws -> WornReply {
        let worn = Set(self.worn.map(\.mask))
        guard let name = masks.summaries.filter({ !$0.isHiding && !worn.contains($0.name) }).randomElement()?.name
        else {
            throw RequestError(.notNow, "there is no other mask; see `guise masks`")
        }
        return try replace(with: [MaskSelection(name)])
    }

    /// Gives successive people different masks; the sequence repeats after the last mask.
    private func assignRandom() throws -> WornReply {
        let worn = Set(self.worn.map(\.mask))
        let personal = masks.summaries.filter(\.isPersonal).map(\.name)
        // Active masks would be no surprise, so they are used only if there are too few others.
        let fresh = personal.filter { !worn.contains($0) }
        let names = (fresh.count >= Self.rounds ? fresh : personal).shuffled().prefix(Self.rounds)
        guard !names.isEmpty else { throw RequestError(.notNow, "there is no mask that a single person can wear") }
        return try replace(
            with: names.enumerated().map { number, name in
                var selection = MaskSelection(name)
                selection.personSlot = PersonSlot(number, of: names.count)
                return selection
            })
    }

    /// The number of masks, as many as there are often faces in front of a camera. Each mask takes memory and time to
    /// load.
    private static let rounds = 4

    /// Selects the next or previous mask in the order of names, cyclically. Masks that hide faces are selected and
    /// removed only by name.
    /// - Parameter way: 1 for the next mask, -1 for the previous one.
    private func selectNeighbor(_ way: Int) throws -> WornReply {
        let names = masks.summaries.filter { !$0.isHiding }.map(\.name)
        guard !names.isEmpty else { throw RequestError(.notNow, "there are no masks; see `guise masks`") }
        let last = self.worn.compactMap { names.firstIndex(of: $0.mask) }.last
        let next = last.map { ($0 + way + names.count) % names.count } ?? (way > 0 ? 0 : names.count - 1)
        return try replace(with: [MaskSelection(names[next])])
    }
}
