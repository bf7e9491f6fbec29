import SystemKit

extension String {
    /// Whether the text may be the name of one of the user's own files, such as a picture: without a folder.
    public var isFileName: Bool {
        !isEmpty && utf8.count <= 128 && !hasPrefix(".") && !utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
    }
}

/// The levels of folders in a mask's folder that are looked at, and the most files and folders of all levels together:
/// no real mask's art is nested deeper, or has more. Links may lead back to where they are.
private let (maxDepth, maxVersions) = (3, 1024)

/// The versions of the files and folders in a mask's folder, itself first.
func treeVersions(in folder: String) -> [FileVersion] {
    guard let own = FileVersion(folder) else { return [] }
    var found = [own]
    var level = [own]
    for depth in 0...maxDepth {
        var next: [FileVersion] = []
        for folder in level where found.count < maxVersions {
            let versions = entries(of: folder.path).prefix(maxVersions).compactMap {
                FileVersion("\(folder.path)/\($0)")
            }
            let allowed = versions.filter { !$0.isFolder || depth < maxDepth }.prefix(maxVersions - found.count)
            found += allowed
            next += allowed.filter(\.isFolder)
        }
        level = next
    }
    return found
}
