import ArgumentParser
import Capture
import Compose
import Frames
import SystemKit

/// `guise masks`: lists the masks, or draws a contact sheet of them.
struct MasksCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "masks", abstract: "List the masks, or draw a contact sheet of them.")

    @Argument(help: "The masks (default: all).")
    var names: [String] = []
    @Option(help: "Write a contact sheet (PNG): every mask on a face, a row for each with several poses.")
    var sheet: String?
    @Option(help: "The photo or clip for the sheet (default: the sample).")
    var on: String?
    @Option(help: "Poses for each mask, or frames of a clip; 1 makes a grid of masks.")
    var poses = 5

    func validate() throws {
        guard (1...ContactSheet.maxPoses).contains(poses) else {
            throw ValidationError("--poses must be from 1 to \(ContactSheet.maxPoses)")
        }
        guard sheet?.lowercased().hasSuffix(".png") != false else {
            throw ValidationError("--sheet writes a PNG: give it a name that ends in .png")
        }
    }

    func run() throws {
        let context = try AppContext()
        let library = context.library
        let wanted = names.isEmpty ? library.names : names
        let contactSheet =
            try sheet.map { _ in
                try ContactSheet(context, on: on ?? context.paths.sample, poses: poses, masks: wanted.count)
            }
        // Without a sheet, only the descriptions matter, so the art is loaded at a small size.
        let small = ArtTarget(FrameLayout(width: 64, height: 64, format: .i444))
        var found = 0
        for name in wanted {
            do {
                var target = contactSheet?.target ?? small
                target.choices = library.summary(of: name)?.example ?? [:]
                let mask = try library.load(name, for: target)
                let tags = mask.tags.isEmpty ? "" : "  (\(mask.tags.joined(separator: ", ")))"
                let name = column(name + " ", width: 24)
                print(terminalSafe(name + mask.title + tags))
                try contactSheet?.add(mask)
                found += 1
            } catch {
                logError(error)
            }
        }
        ArtReader.shutDownRenderer()
        if found == 0 {
            throw Problem(.missing, "no mask could be read in \(context.paths.masks.joined(separator: " or "))")
        }
        if let sheet { try contactSheet?.write(to: sheet) }
    }
}
