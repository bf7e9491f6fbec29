import ArgumentParser
import Capture
import Compose
import Frames
import JSON
import Publish
import SystemKit

/// `guise masks`: lists the masks, or draws a contact sheet of them.
struct MasksCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "masks", abstract: "List the masks, or draw a contact sheet of them.")

    @Argument(help: "The masks, which are then checked with their art (default: all).")
    var names: [String] = []
    @Option(help: "Write a contact sheet (PNG): every mask on a face, a row for each with several poses.")
    var sheet: String?
    @Option(help: "The photo or clip for the sheet (default: the sample).")
    var on: String?
    @Option(help: "Poses for each mask, or frames of a clip; 1 makes a grid of masks.")
    var poses = 5
    @Flag(help: "Replace the sheet if it exists.")
    var overwrite = false
    @Flag(help: "Print one JSON object, as the reply of the socket's request `masks`, without `worn`.")
    var json = false
    @OptionGroup var logOptions: LogOptions

    func validate() throws {
        guard (1...ContactSheet.maxPoses).contains(poses) else {
            throw ValidationError("--poses must be from 1 to \(ContactSheet.maxPoses)")
        }
        guard sheet?.lowercased().hasSuffix(".png") != false else {
            throw ValidationError("--sheet writes a PNG: give it a name that ends in .png")
        }
    }

    func run() throws {
        if let sheet { try FileSink.check(sheet, overwrites: overwrite) }
        let context = try AppContext()
        let library = context.library
        let wanted = names.isEmpty ? library.names : names
        let contactSheet =
            try sheet.map { _ in
                try ContactSheet(context, on: on ?? context.paths.sample, poses: poses, masks: wanted.count)
            }
        // Drawing the art of all masks takes seconds, and the list needs only their descriptions. A mask that was named
        // is loaded, at a small size, so that a mistake in its art is an error too.
        let loadsAll = !names.isEmpty || sheet != nil
        let small = ArtTarget(FrameLayout(width: 64, height: 64, format: .i444))
        var found: [MaskSummary] = []
        for name in wanted {
            do {
                let summary = library.summary(of: name)
                var target = contactSheet?.target ?? small
                target.choices = summary?.example ?? [:]
                // Loading a mask without a readable description throws the reason.
                let mask = try loadsAll || summary == nil ? library.load(name, for: target) : nil
                guard let summary else { continue }
                if !json { print(terminalSafe(summary.line)) }
                if let mask { try contactSheet?.add(mask) }
                found.append(summary)
            } catch {
                logError(error)
            }
        }
        defer { ArtReader.shutDown() }
        if found.isEmpty {
            // The errors of the named masks were printed above.
            guard names.isEmpty else { throw ExitCode.failure }
            throw Problem(.missing, "no mask could be read in \(context.paths.masks.joined(separator: " or "))")
        }
        if json { print(JSON(encoding: MaskListReply(masks: found.map { MaskDescription($0) })).text) }
        if let sheet { try contactSheet?.write(to: sheet, overwrites: overwrite) }
        // Whoever names a mask wants it checked.
        if !names.isEmpty, found.count < wanted.count { throw ExitCode.failure }
    }
}

extension MaskSummary {
    /// Name, title and tags on one line.
    fileprivate var line: String {
        column(name + " ", width: 24) + title + (tags.isEmpty ? "" : "  (\(tags.joined(separator: ", ")))")
    }
}
