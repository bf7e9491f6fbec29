import Capture
import Compose
import Frames
import JPEG
import Page
import Synchronization
import SystemKit

/// The user's own pictures for backgrounds: a folder of JPEGs, and of clips as JPEGs one after the other. Guise has
/// encoded them itself, from files that its decoders, bounded children, could read.
final class BackgroundStore: Sendable {
    /// The folder; nil without a home folder.
    private let folder: String?
    private let worker = Worker("pictures", maxQueued: 4, patience: 3)
    /// Held while a picture gets its name.
    private let naming = Mutex<Void>(())

    /// The most pictures. A list of more is of no use on the page.
    static let maxPictures = 32
    /// The longer side in pixels to which a larger picture is reduced: more than the frames of calls have.
    private static let maxSide = 2048
    private static let quality = 92
    /// The extension of a picture's name.
    private static let pictureExtension = "jpg"

    init(folder: String?) { self.folder = folder }

    /// The names of all pictures, sorted.
    var names: [String] { folder.map { entries(of: $0).filter(\.isFileName) } ?? [] }

    /// Adds a picture, or a clip: its first seconds, or its first picture if it is short.
    /// - Returns: its name. A picture that is already there keeps its name.
    /// - Throws: `Problem` that names the file; in this case nothing has changed.
    func add(file path: String) throws -> String {
        try add(path, named: fileName(of: path))
    }

    /// Adds a picture or clip from a file's bytes.
    /// - Parameter name: the file's name.
    /// - Returns: the picture's name; nil if too many pictures are waiting.
    /// - Throws: `Problem`; in this case nothing has changed.
    func add(bytes: [UInt8], named name: String) async throws -> String? {
        try await worker.run { [self] in
            let file = try MemoryFile(bytes, what: "a picture")
            return try add(file.path, called: "the picture", named: name)
        }
    }

    /// - Parameter source: what messages call the file; nil: its path.
    private func add(_ path: String, called source: String? = nil, named name: String) throws -> String {
        guard let folder else {
            throw Problem(
                .missing, "there is no folder for pictures: neither HOME nor XDG_CONFIG_HOME is set", fix: "set HOME")
        }
        let encoded = try Self.encode(path, called: source)
        return try naming.withLock { _ in try save(encoded, as: Self.stem(of: name), in: folder) }
    }

    /// A picture or clip in the form in which it is kept, and the extension of its name.
    private static func encode(_ path: String, called name: String?) throws -> (bytes: [UInt8], fileExtension: String) {
        var clip = try Clip(path: path, named: name, within: .background)
        var clipEncoder: MotionJPEGEncoder?
        if !clip.isPhoto { clipEncoder = try MotionJPEGEncoder(clip.layout) }
        var first: [UInt8]?
        while first == nil || clipEncoder?.isFull == false {
            let isFrame = try clip.withNextFrame { view, time in
                if first == nil { first = try picture(view) }
                clipEncoder?.add(view, at: time.seconds)
            }
            guard isFrame else { break }
        }
        if let bytes = clipEncoder.take()?.finish() { return (bytes, MotionJPEG.fileExtension) }
        guard let first else { throw Problem(.unusable, "cannot read \(path): it contains no picture") }
        return (first, Self.pictureExtension)
    }

    private static func picture(_ view: borrowing FrameView) throws -> [UInt8]? {
        let (width, height) = (view.layout.width, view.layout.height)
        let largest = max(1, width * maxSide / max(width, height))
        var encoder = try JPEGEncoder(layout: view.layout, maxWidth: largest, quality: quality)
        return encoder.encode(view)
    }

    /// Saves a picture under a name that no other one has.
    private func save(
        _ encoded: (bytes: [UInt8], fileExtension: String), as stem: String, in folder: String
    ) throws -> String {
        let names = names
        for name in names where name.hasPrefix(stem) && name.hasSuffix(".\(encoded.fileExtension)") {
            let path = "\(folder)/\(name)"
            guard FileVersion(path)?.size == encoded.bytes.count else { continue }
            if let known = try? contents(of: path), known == encoded.bytes { return name }
        }
        guard names.count < Self.maxPictures else {
            throw Problem(
                .invalid, "there are already \(names.count) pictures in \(folder), the limit is \(Self.maxPictures)",
                fix: "delete some of them")
        }
        try makeOwnFolders(folder)
        var (free, number) = (stem, 1)
        // The page shows names without their endings.
        while [Self.pictureExtension, MotionJPEG.fileExtension].contains(where: { isTaken("\(folder)/\(free).\($0)") })
        {
            number += 1
            free = "\(stem) \(number)"
        }
        let name = "\(free).\(encoded.fileExtension)"
        try writeOwnFile(encoded.bytes, to: "\(folder)/\(name)", isDurable: true)
        return name
    }

    /// A file's name without its extension, and without what would be a nuisance in a list or in a shell.
    private static func stem(of name: String) -> String {
        let stem = name.lastIndex(of: ".").map { name[..<$0] } ?? name[...]
        let kept = stem.map { $0.isLetter || $0.isNumber || "-_".contains($0) ? $0 : " " }.prefix(40)
        let words = String(kept).split(separator: " ").joined(separator: " ")
        return words.isEmpty ? "picture" : words
    }
}
