import Glibc

/// An open folder. What is done in it by name reaches it wherever it was moved in the meantime.
@safe public struct OpenFolder: ~Copyable, Sendable {
    private let descriptor: CInt
    private let opened: String

    /// Linux's O_PATH, with which a folder need not be readable.
    private static let pathOnly: CInt = 0o10_000_000

    /// Opens the folder that contains a file, which need not exist.
    /// - Throws: as `unwritable`.
    public init(containing file: String) throws(Problem) {
        // Bytes are searched, because a letter may combine with the slash before it.
        opened = file.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(Substring(file.utf8[...$0])) } ?? "."
        descriptor = unsafe open(opened, Self.pathOnly | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unwritable(file, errno) }
    }

    /// Opens an open folder once more, wherever it is now.
    /// - Throws: `Problem` of kind `system` if no descriptor is left.
    public init(again other: borrowing OpenFolder) throws(Problem) {
        opened = other.opened
        descriptor = fcntl(other.descriptor, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else {
            throw Problem(.system, "could not open \(opened) once more: \(errorMessage(of: errno))")
        }
    }

    deinit { close(descriptor) }

    /// Where the folder is now, for programs that take paths; as it was opened if that cannot be found out.
    public var path: String {
        linkTarget(of: "/proc/self/fd/\(descriptor)").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? opened
    }

    /// Whether the folder is no longer where it was opened.
    public var wasMoved: Bool {
        var (there, here) = (stat(), stat())
        return unsafe stat(opened, &there) != 0 || fstat(descriptor, &here) != 0 || !Self.areSame(there, here)
    }

    /// Whether a name in the folder is that of an open file; that of a link to it is not.
    public func isName(_ name: String, of file: CInt) -> Bool {
        var (there, here) = (stat(), stat())
        return unsafe fstatat(descriptor, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && fstat(file, &here) == 0
            && Self.areSame(there, here)
    }

    private static func areSame(_ a: stat, _ b: stat) -> Bool { (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino) }

    /// Creates an empty file, and opens it for writing. No pipe is opened, and no link followed.
    /// - Returns: its descriptor, which the caller closes; negative if it cannot be created, or exists: `errno` gives
    ///   the reason.
    public func create(_ name: String, _ mode: mode_t) -> CInt {
        unsafe openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
    }

    /// Renames an open file within the folder. If another file has its name, that one stays as it is.
    /// - Parameter replacing: whether an existing file is replaced.
    /// - Returns: false on failure, for example if the new name is taken; `errno` gives the reason.
    public func rename(_ name: String, of file: CInt, to new: String, replacing: Bool) -> Bool {
        guard isName(name, of: file) else {
            errno = ENOENT
            return false
        }
        if replacing { return unsafe renameat(descriptor, name, descriptor, new) == 0 }
        // Whatever has the name by now, the link is to this very file.
        if unsafe linkat(AT_FDCWD, "/proc/self/fd/\(file)", descriptor, new, AT_SYMLINK_FOLLOW) == 0 {
            return !isName(name, of: file) || remove(name)
        }
        // Some file systems don't support hard links.
        guard [EPERM, EOPNOTSUPP, EMLINK].contains(errno) else { return false }
        var status = stat()
        guard unsafe fstatat(descriptor, new, &status, AT_SYMLINK_NOFOLLOW) != 0, errno == ENOENT else { return false }
        return unsafe renameat(descriptor, name, descriptor, new) == 0
    }

    /// Removes a file.
    /// - Returns: false on failure; `errno` gives the reason.
    @discardableResult
    public func remove(_ name: String) -> Bool { unsafe unlinkat(descriptor, name, 0) == 0 }
}

/// A name for a file while it is being written, which nobody can guess: "clip.0123456789abcdef.part.mp4" for
/// "clip.mp4". Short enough for every file system, whatever the length of the file's own name.
/// - Parameters:
///   - ending: what follows the random part, such as "part.mp4".
public func temporaryName(for file: String, ending: String) -> String {
    var stem = fileName(of: file)[...]
    if let dot = stem.lastIndex(of: "."), dot != stem.startIndex { stem = stem[..<dot] }
    return "\(shortened(stem, toBytes: 100)).\(randomFileName()).\(ending)"
}

/// The start of a text, of at most this many bytes.
public func shortened(_ text: Substring, toBytes bytes: Int) -> Substring {
    var text = text
    while text.utf8.count > bytes { text.removeLast() }
    return text
}
