import SystemKit

/// Thumbnails of masks on the sample's face, in files that outlive a restart: drawing those of a page takes seconds.
/// A file has the mask's name, and contains the versions of the files that it was drawn from, a zero byte, and the
/// JPEG.
struct ThumbnailCache {
    /// The folder of the files; nil: nothing is stored.
    private let folder: String?
    /// The versions of what all thumbnails have in common: this program, and the files that it needs for them.
    private let commonVersions: String

    /// A cache in a folder, which is created when needed.
    /// - Parameter files: the paths of the files that each thumbnail needs.
    init(folder: String?, files: [String]) {
        self.folder = folder
        commonVersions = (["/proc/self/exe"] + files).map { FileVersion($0)?.description ?? "no \($0)" }.joined(
            separator: "\n")
    }

    /// The stored thumbnail of a mask; nil if there is none from these versions of the mask's files.
    func read(_ mask: String, _ versions: [FileVersion]) -> [UInt8]? {
        guard let path = path(of: mask), mayExist(path), let bytes = try? contents(of: path),
            let end = bytes.firstIndex(of: 0), bytes[..<end].elementsEqual(header(versions).utf8)
        else { return nil }
        return Array(bytes[(end + 1)...])
    }

    /// Stores a thumbnail. If that is not possible, it is drawn again next time.
    func write(_ jpeg: [UInt8], of mask: String, _ versions: [FileVersion]) {
        guard let folder, let path = path(of: mask) else { return }
        try? makeOwnFolders(folder)
        try? writeOwnFile(Array(header(versions).utf8) + [0] + jpeg, to: path, overwrites: true)
    }

    /// A mask's name is that of its folder, so it has no slash.
    private func path(of mask: String) -> String? { folder.map { "\($0)/\(mask)" } }

    private func header(_ versions: [FileVersion]) -> String {
        ([commonVersions] + versions.map(\.description)).joined(separator: "\n")
    }
}
