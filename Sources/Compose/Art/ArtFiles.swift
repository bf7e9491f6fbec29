import SystemKit

extension String {
    /// Whether the text may be the name of one of the user's own files, such as a picture: without a folder.
    public var isFileName: Bool {
        !isEmpty && utf8.count <= 128 && !hasPrefix(".") && !utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
    }
}

/// The versions of the files and folders in a mask's folder, itself first. Bounded: no real mask's art is nested
/// deeper, or has more files.
func treeVersions(in folder: String, recursionDepth: Int = 0) -> [FileVersion] {
    guard let own = FileVersion(folder) else { return [] }
    var found = [own]
    for name in entries(of: folder).prefix(256) {
        guard let version = FileVersion("\(folder)/\(name)") else { continue }
        if !version.isFolder {
            found.append(version)
        } else if recursionDepth < 3 {
            found += treeVersions(in: version.path, recursionDepth: recursionDepth + 1)
        }
    }
    return found
}
