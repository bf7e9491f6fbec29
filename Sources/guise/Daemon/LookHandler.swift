import Compose
import Control
import JSON

/// Answers requests for looks and favourites.
struct LookHandler {
    let looks: LookStore
    let catalog: MaskCatalog
    let masks: MaskHandler
    let configuration: ConfigurationStore

    func handle(_ request: LookRequest) throws -> Answer {
        switch request {
        case .looks: return .immediate(try list)
        case .look(let name, .wear): return .immediate(try masks.replace(with: looks.look(name).masks))
        case .look(let name, .save):
            // What a surprise gave to single people can't be given again by name.
            let worn = catalog.loader.selections.filter { $0.personSlot == nil }
            guard !worn.isEmpty else {
                throw RequestError(.notNow, "no mask is worn that a look could have; put one on first")
            }
            return storing { try looks.save(LookStore.Look(name: name, masks: worn)) }
        case .look(let name, .delete):
            // Without it, Guise would not start.
            guard configuration.value.start != .look(name) else {
                throw RequestError(
                    .notNow,
                    "Guise starts with the look '\(brief(name))'; choose another start first, such as "
                        + "`guise set start masks`")
            }
            return storing { try looks.delete(name) }
        case .favourite(let mask, let isOn):
            guard !isOn || catalog.contains(mask) else { throw catalog.unknown(mask) }
            return storing { try looks.setFavourite(mask, isOn) }
        }
    }

    /// Answers with the list after a change of it.
    private func storing(_ change: @escaping @Sendable () throws -> Void) -> Answer {
        .stored { [self] in
            try change()
            return try list
        }
    }

    private var list: LooksReply { get throws { LooksReply(try looks.content) } }
}
