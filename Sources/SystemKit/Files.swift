import Glibc

/// The default size limit for a file that is read whole, in bytes; art, config and cascade files are smaller.
public let sizeLimit = 64 << 20

/// Reads the whole of a small file.
/// - Parameter limit: the largest allowed size, in bytes; a larger file is probably the wrong one.
/// - Throws: `Problem` that says why the file cannot be read.
public func contents(of path: String, limit: Int = sizeLimit) throws(Problem) -> [UInt8] {
    // Without O_NONBLOCK, opening a pipe in place of a file would block.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw unreadable(path, errno) }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else {
        throw Problem(.unusable, "\(path) is not a regular file", fix: "replace it with a regular file")
    }
    var bytes: [UInt8] = []
    while true {
        let chunk = 1 << 16
        let from = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: chunk))
        let count = unsafe bytes.withUnsafeMutableBytes {
            let target = unsafe $0.baseAddress?.advanced(by: from)
            return retryingInterrupted { unsafe read(descriptor, target, chunk) }
        }
        guard count >= 0 else { throw unreadable(path, errno) }
        bytes.removeLast(chunk - count)
        if count == 0 { return bytes }
        guard bytes.count <= limit else {
            let most = limit < 1 << 20 ? "\(limit >> 10) KiB" : "\(limit >> 20) MiB"
            throw Problem(.unusable, "\(path) is larger than \(most)", fix: "check that it is the right file")
        }
    }
}

/// The `Problem` for a file that could not be read.
/// - Parameter error: the `errno` of the failed call.
public func unreadable(_ path: String, _ error: CInt) -> Problem {
    switch error {
    case ENOENT, ENOTDIR: Problem(.missing, "\(path) does not exist", fix: "check the name")
    case EACCES, EPERM:
        Problem(.forbidden, "\(path) cannot be read: permission denied", fix: "check its permissions: ls -l \(path)")
    case EISDIR: Problem(.unusable, "\(path) is a folder", fix: "choose a file")
    default: Problem(.system, "\(path) cannot be read: \(errorMessage(of: error))")
    }
}

/// The `Problem` for a file that could not be created or written.
/// - Parameter error: the `errno` of the failed call.
public func unwritable(_ path: String, _ error: CInt) -> Problem {
    switch error {
    case ENOENT, ENOTDIR:
        Problem(.missing, "cannot write \(path): the folder does not exist", fix: "create it with mkdir -p")
    case EACCES, EPERM, EROFS:
        Problem(
            .forbidden, "cannot write \(path): no permission to write in its folder", fix: "choose another folder")
    case ENAMETOOLONG:
        Problem(
            .invalid, "cannot write \(path): its name is too long",
            fix: "choose a shorter name: most file systems allow 255 bytes, fewer letters if they are not ASCII")
    case EEXIST: Problem(.exists, "cannot write \(path): it exists", fix: "choose another name")
    case ENOSPC, EDQUOT, EFBIG:
        Problem(.system, "cannot write \(path): \(errorMessage(of: error))", fix: "check the free space with df")
    default:
        Problem(.system, "cannot write \(path): \(errorMessage(of: error))", fix: "choose another folder")
    }
}

/// The system's message for an error number.
public func errorMessage(of error: CInt) -> String {
    unsafe String(cString: strerror(error))
}

/// Whether a file exists and may be read.
public func isReadable(_ path: String) -> Bool { unsafe access(path, R_OK) == 0 }

/// Whether something may exist at a path. Dangling links count, and so do files in a folder without search permission.
public func mayExist(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 || ![ENOENT, ENOTDIR].contains(errno)
}

/// Whether a name is taken, for a search of a free one. Where nothing can be looked up, as in another user's folder or
/// under a name that is too long, no name is taken: creating the file tells why it can't be.
public func isTaken(_ path: String) -> Bool {
    var status = stat()
    // Behind a NUL the system reads nothing, so that every number after it would be taken.
    return unsafe lstat(path, &status) == 0 && !path.utf8.contains(0)
}

/// The absolute path without links and dots; nil if nothing exists there.
public func realPath(of path: String) -> String? {
    guard let real = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(real) }
    return unsafe String(cString: real)
}

/// The absolute path that a path leads to, whether something exists there or not: dangling links are followed too.
/// - Throws: `unusable` if links lead in a circle; it names one of them.
public func resolvedPath(of path: String) throws(Problem) -> String {
    if let real = realPath(of: path) { return real }
    var resolved = path.hasPrefix("/") ? "" : realPath(of: ".") ?? ""
    // What is still to be resolved, the next part last.
    var rest = Array(path.split(separator: "/").reversed())
    var links = 0
    while let part = rest.popLast() {
        if part == "." { continue }
        if part == ".." {
            resolved = String(resolved[..<(resolved.lastIndex(of: "/") ?? resolved.startIndex)])
            continue
        }
        let next = "\(resolved)/\(part)"
        guard let target = linkTarget(of: next) else {
            resolved = next
            continue
        }
        links += 1
        guard links <= maxLinks else {
            throw Problem(
                .unusable, "\(path) leads nowhere: the link \(next) leads to itself", fix: "correct or remove the link")
        }
        if target.hasPrefix("/") { resolved = "" }
        rest += target.split(separator: "/").reversed()
    }
    return resolved.isEmpty ? "/" : resolved
}

/// The links that are followed on one path, as many as Linux follows (path_resolution(7)).
private let maxLinks = 40

/// What a link contains; nil if there is no link.
func linkTarget(of path: String) -> String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink(path, &bytes, bytes.count)
    return count < 0 ? nil : String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// The names in a folder, sorted, without hidden ones; empty if the folder cannot be opened.
public func entries(of folder: String) -> [String] {
    guard let stream = unsafe opendir(folder) else { return [] }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
        let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
            unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
        }
        if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
}

/// Whether a folder exists at a path.
public func isFolder(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
}

/// Checks that a folder is there, or that nothing is. A link to a drive that isn't mounted is not taken for a folder
/// that nobody has made.
/// - Throws: `unusable` if it is a file, or if its path contains a link that leads to no folder.
public func checkFolder(_ path: String) throws(Problem) {
    var status = stat()
    var nearest = path
    while !nearest.isEmpty, unsafe lstat(nearest, &status) != 0 { nearest = parentFolder(of: nearest) }
    let target = linkTarget(of: nearest)
    // Below a file there is nothing: some users of the system have /dev/null for a home.
    guard nearest == path || target != nil else { return }
    let isReached = unsafe stat(nearest, &status) == 0
    let error = errno
    if isReached && status.st_mode & S_IFMT == S_IFDIR { return }
    let name = nearest == path ? "it" : nearest
    guard let target, !isReached else {
        throw Problem(.unusable, "\(path) cannot be read: \(name) is not a folder", fix: "replace it with a folder")
    }
    throw Problem(
        .unusable, "\(path) cannot be read: \(name) is a link to \(target): \(errorMessage(of: error))",
        fix: "create or mount the folder that it leads to, or remove the link")
}

/// The folder at a path, or the nearest one above it that exists; nil if that is the root, or no folder of a relative
/// path exists.
public func nearestFolder(to path: String) -> String? {
    var folder = path
    while !folder.isEmpty, !isFolder(folder) { folder = parentFolder(of: folder) }
    return folder.isEmpty ? nil : folder
}

/// The folders of the links among the parts of a path: where it comes to lead elsewhere if one of them is replaced.
public func foldersOfLinks(in path: String) -> [String] {
    var folders: [String] = []
    var part = path
    while !part.isEmpty {
        let folder = parentFolder(of: part)
        if linkTarget(of: part) != nil { folders.append(folder.isEmpty ? part.hasPrefix("/") ? "/" : "." : folder) }
        part = folder
    }
    return folders
}

/// A file's identity, size and modification time, which show whether an editor changed or replaced it.
public struct FileVersion: Equatable, Sendable, CustomStringConvertible {
    /// The path as given.
    public var path: String
    /// Whether the path is a folder.
    public let isFolder: Bool
    private let device: UInt
    private let inode: UInt
    /// Bytes; 0 for a folder.
    public let size: Int
    private let seconds: Int
    private let nanoseconds: Int

    /// Reads the version of a file or folder; nil if nothing exists there.
    public init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(path, status)
    }

    /// The version of an open file that has this path; nil if it can't be told.
    fileprivate init?(_ path: String, of descriptor: CInt) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(path, status)
    }

    private init(_ path: String, _ status: stat) {
        self.path = path
        isFolder = status.st_mode & S_IFMT == S_IFDIR
        (device, inode) = (UInt(status.st_dev), UInt(status.st_ino))
        // A folder's size and time are ignored: the versions of its files show every change that matters.
        size = isFolder ? 0 : Int(status.st_size)
        (seconds, nanoseconds) = isFolder ? (0, 0) : (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
    }

    /// Equal for equal versions, and in each run.
    public var description: String { "\(path) \(device) \(inode) \(size) \(seconds) \(nanoseconds)" }
}

/// Writes a file that only this user may read. It is written under a random temporary name, then renamed.
/// - Parameters:
///   - overwrites: whether an existing file is replaced.
///   - isDurable: whether the bytes are on the disk before the file has its name, so that it is complete even if the
///     power fails.
/// - Throws: as `unwritable`.
public func writeOwnFile(
    _ bytes: [UInt8], to path: String, overwrites: Bool = false, isDurable: Bool = false
) throws(Problem) {
    _ = try writeWhole(bytes, to: path, mode: 0o600, overwrites: overwrites, isDurable: isDurable)
}

/// Writes or replaces a file, which keeps its permissions. A new one has those that the process's mask leaves. It is
/// written to the disk under a random temporary name, then renamed.
/// - Parameter mayReplace: asked when all bytes are on the disk, which may take seconds, right before the renaming.
/// - Returns: what was written, whoever has changed it since; nil if the file might not be replaced, and was not.
/// - Throws: `system` if the folder cannot be written.
@discardableResult
public func replaceFile(
    _ bytes: [UInt8], at path: String, if mayReplace: () -> Bool = { true }
) throws(Problem) -> FileVersion? {
    var status = stat()
    let kept: mode_t? = unsafe stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    return try writeWhole(bytes, to: path, mode: kept, overwrites: true, isDurable: true, if: mayReplace)
}

/// - Parameters:
///   - mode: the file's permissions; nil: those that the process's mask leaves.
///   - mayWrite: asked before the renaming.
/// - Returns: what was written; nil if it might not be.
private func writeWhole(
    _ bytes: [UInt8], to path: String, mode: mode_t?, overwrites: Bool, isDurable: Bool,
    if mayWrite: () -> Bool = { true }
) throws(Problem) -> FileVersion? {
    let folder = try OpenFolder(containing: path)
    let part = temporaryName(for: path, ending: "part")
    // Until its permissions are set, nobody else may open it.
    let descriptor = folder.create(part, mode == nil ? 0o666 : 0o600)
    guard descriptor >= 0 else { throw unwritable(path, errno) }
    defer { close(descriptor) }
    guard mode.map({ fchmod(descriptor, $0) == 0 }) ?? true, writeAll(bytes.span, to: descriptor),
        !isDurable || fsync(descriptor) == 0, let version = FileVersion(path, of: descriptor)
    else { throw failure() }
    guard mayWrite() else {
        folder.remove(part)
        return nil
    }
    guard folder.rename(part, of: descriptor, to: fileName(of: path), replacing: overwrites) else { throw failure() }
    return version

    func failure() -> Problem {
        let problem = unwritable(path, errno)
        folder.remove(part)
        return problem
    }
}

/// Writes all bytes to a descriptor.
/// - Returns: false on failure; `errno` gives the reason.
public func writeAll(_ bytes: Span<UInt8>, to descriptor: CInt) -> Bool {
    unsafe bytes.withUnsafeBytes { bytes in
        var written = 0
        while written < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = retryingInterrupted { unsafe write(descriptor, rest.baseAddress, rest.count) }
            guard count > 0 else { return false }
            written += count
        }
        return true
    }
}

/// Removes a file, a socket, a link (not what it leads to), or an empty folder.
/// - Returns: false if nothing was removed; `errno` gives the reason.
@discardableResult
public func removeFile(_ path: String) -> Bool { unsafe remove(path) == 0 }

/// The last part of a path: a file's name, without its folder.
public func fileName(of path: String) -> String {
    // Bytes are searched, because a letter may combine with the slash before it.
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(Substring(path.utf8[path.utf8.index(after: $0)...])) }
        ?? path
}

/// The folder of a path; empty for one in the root, and for a relative path without a folder.
public func parentFolder(of path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(Substring(path.utf8[..<$0])) } ?? ""
}

/// Renames a file without replacing an existing one.
/// - Returns: false on failure, for example if the new name is taken; `errno` gives the reason.
public func renameToNew(_ file: String, _ name: String) -> Bool {
    if unsafe link(file, name) == 0 { return removeFile(file) }
    // Some file systems don't support hard links.
    guard [EPERM, EOPNOTSUPP, EMLINK].contains(errno), !mayExist(name) else { return false }
    return unsafe rename(file, name) == 0
}

/// A random file name that nobody can guess: 16 hexadecimal digits from the system's random number generator.
public func randomFileName() -> String {
    let digits = String(UInt64.random(in: 0...UInt64.max), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}

/// Creates a folder for this user alone, or accepts an existing one that belongs to this user.
/// - Throws: `system` if the folder cannot be created, and what exists there is a link or belongs to another user, as
///   is possible in a shared parent folder.
public func makeOwnFolder(_ folder: String) throws(Problem) {
    let made = unsafe mkdir(folder, 0o700) == 0
    let code = errno
    var status = stat()
    let isOurs = unsafe lstat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR && status.st_uid == getuid()
    guard made || isOurs else {
        let isFolder = status.st_mode & S_IFMT == S_IFDIR
        let reason =
            code != EEXIST
            ? errorMessage(of: code) : isFolder ? "it belongs to another user" : "a file or link of that name is there"
        throw Problem(
            .system, "could not use the folder \(folder): \(reason)",
            fix: code == EEXIST && !isFolder ? "remove or rename it" : "use a parent folder that you own")
    }
}

/// Creates a folder and its missing parents for this user alone.
/// - Throws: as `makeOwnFolder`.
public func makeOwnFolders(_ path: String) throws(Problem) {
    var missing: [String] = []
    var folder = path
    while !folder.isEmpty, !isFolder(folder) {
        missing.append(folder)
        folder = parentFolder(of: folder)
    }
    for folder in missing.reversed() { try makeOwnFolder(folder) }
}

/// The first line of a small file, such as those of /proc and /sys; nil if it cannot be read or the line is empty.
public func firstLine(ofFile path: String) -> String? {
    guard let bytes = try? contents(of: path) else { return nil }
    let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    return line.isEmpty ? nil : line
}
