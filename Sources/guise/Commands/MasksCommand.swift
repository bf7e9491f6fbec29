import ArgumentParser
import Capture
import Compose
import Foundation
import Frames

/// `guise masks`: the masks that were found, and a contact sheet of them.
struct MasksCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "masks", abstract: "List the masks, or draw a contact sheet of them.")

    @Option(help: "Write a contact sheet (PNG): every mask on a face.")
    var sheet: String?
    @Option(help: "The photo for the sheet; else the sample.")
    var on: String?

    func run() throws {
        let session = try Session()
        // Small: only the descriptions matter here.
        let small = FrameLayout(width: 64, height: 64, format: .i444)
        var names: [String] = []
        for name in session.wardrobe.names {
            do {
                let mask = try session.wardrobe.load(name, for: ArtTarget(small))
                let tags = mask.tags.isEmpty ? "" : "  (\(mask.tags.joined(separator: ", ")))"
                print(name.padding(toLength: max(24, name.count + 1), withPad: " ", startingAt: 0) + mask.title + tags)
                names.append(name)
            } catch {
                complain(error)
            }
        }
        if names.isEmpty {
            throw Problem(.missing, "no mask could be read in \(session.places.masks.joined(separator: " or "))")
        }
        if let sheet { try ContactSheet(session).write(names, on: on, to: sheet) }
    }
}
