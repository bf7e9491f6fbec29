import Glibc

/// Files larger than this are not what they are taken for (art, config, cascades).
public let sizeLimit = 64 << 20

/// The whole of a small file.
/// - Parameter limit: bytes; a file that has more is not what it is taken for.
/// - Throws: `Problem` that says why the file cannot be read.
public func contents(of path: String, limit: Int = sizeLimit) throws -> [UInt8] {
    // A pipe in a file's place would be waited for.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw unreadable(path, errno) }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else {
        throw Problem(.unusable, "\(path) is no plain file", fix: "put a plain file in its place")
    }
    var bytes: [UInt8] = []
    while true {
        let chunk = 1 << 16
        let from = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: chunk))
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe read(descriptor, $0.baseAddress?.advanced(by: from), chunk)
        }
        guard count >= 0 else {
            if errno == EINTR {
                bytes.removeLast(chunk)
                continue
            }
            throw unreadable(path, errno)
        }
        bytes.removeLast(chunk - count)
        if count == 0 { return bytes }
        guard bytes.count <= limit else {
            let most = limit < 1 << 20 ? "\(limit >> 10) KiB" : "\(limit >> 20) MiB"
            throw Problem(.unusable, "\(path) has more than \(most)", fix: "is it the right file?")
        }
    }
}

/// What the system said of a file that could not be read.
public func unreadable(_ path: String, _ error: CInt) -> Problem {
    switch error {
    case ENOENT, ENOTDIR: Problem(.missing, "\(path) does not exist", fix: "check the name")
    case EACCES, EPERM: Problem(.forbidden, "\(path) may not be read", fix: "check its permissions: ls -l \(path)")
    case EISDIR: Problem(.unusable, "\(path) is a folder", fix: "name a file")
    default: Problem(.system, "\(path) cannot be read: \(errorMessage(of: error))")
    }
}

/// The system's words for an error number.
public func errorMessage(of error: CInt) -> String {
    unsafe String(cString: strerror(error))
}

/// True where that file is there and may be read.
public func isReadable(_ path: String) -> Bool { unsafe access(path, R_OK) == 0 }

/// Whether something may be at a path: dangling links count, and so do files in a folder without search permission.
public func mayExist(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 || ![ENOENT, ENOTDIR].contains(errno)
}

/// The path without links and dots; nil where nothing is there.
public func realPath(of path: String) -> String? {
    guard let real = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(real) }
    return unsafe String(cString: real)
}

/// The names in a folder, without the hidden ones, sorted; none where it is no folder.
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

/// True where that folder is there.
public func isFolder(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
}

/// What tells a file from the same one after an edit: an editor changes the time, or puts another file in its place.
public struct FileVersion: Equatable, Sendable {
    /// As it was asked for.
    public let path: String
    /// True for a folder.
    public let isFolder: Bool
    private let device: UInt
    private let inode: UInt
    /// Bytes; 0 for a folder.
    public let size: Int
    private let seconds: Int
    private let nanoseconds: Int

    /// Nil where nothing is there.
    public init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.path = path
        isFolder = status.st_mode & S_IFMT == S_IFDIR
        (device, inode) = (UInt(status.st_dev), UInt(status.st_ino))
        // A folder's own change says nothing that its files do not.
        size = isFolder ? 0 : Int(status.st_size)
        (seconds, nanoseconds) = isFolder ? (0, 0) : (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
    }
}

/// Writes a file that only this user may read. It grows under a name that nobody can guess, and takes its own at the end.
/// - Parameter overwrites: a file that exists is replaced.
/// - Throws: `system` if the folder cannot be written, or the file exists and must not be replaced.
public func writeOwnFile(_ bytes: [UInt8], to path: String, overwrites: Bool = false) throws(Problem) {
    let part = path + "." + randomFileName() + ".part"
    func problem() -> Problem {
        Problem(
            .system, "cannot write \(path): \(errorMessage(of: errno))",
            fix: "is the disk full? see with df, or name another place")
    }
    let descriptor = unsafe open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw problem() }
    var written = 0
    while written < bytes.count {
        let count = unsafe bytes.withUnsafeBufferPointer {
            unsafe write(descriptor, $0.baseAddress?.advanced(by: written), $0.count - written)
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        written += count
    }
    guard written == bytes.count, overwrites ? unsafe rename(part, path) == 0 : renameToNew(part, path) else {
        let failure = problem()
        close(descriptor)
        _ = unsafe unlink(part)
        throw failure
    }
    close(descriptor)
}

/// Renames a file.
/// - Returns: false where that could not be done; `errno` says why: the new name is taken, for example.
public func renameToNew(_ file: String, _ name: String) -> Bool {
    if unsafe link(file, name) == 0 { return unsafe unlink(file) == 0 }
    // Some file systems know no second name.
    guard [EPERM, EOPNOTSUPP, EMLINK].contains(errno), !mayExist(name) else { return false }
    return unsafe rename(file, name) == 0
}

/// 16 hexadecimal digits of the system's random numbers, for names that nobody can guess.
public func randomFileName() -> String {
    let digits = String(UInt64.random(in: 0...UInt64.max), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}

/// Makes a folder for this user alone, or finds it made.
/// - Throws: `system` where there is none, and none can be made, that belongs to this user and is no link: some parents
///   belong to all.
public func makeOwnFolder(_ folder: String) throws(Problem) {
    let made = unsafe mkdir(folder, 0o700) == 0
    let code = errno
    var status = stat()
    let isOurs = unsafe lstat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR && status.st_uid == getuid()
    guard made || isOurs else {
        throw Problem(
            .system,
            "could not use the folder \(folder): \(code == EEXIST ? "it is not ours" : errorMessage(of: code))",
            fix: "set XDG_RUNTIME_DIR to a folder of this user")
    }
}

/// Of a small file, as the kernel's; nil where it cannot be read, or the line is empty.
public func firstLine(ofFile path: String) -> String? {
    guard let bytes = try? contents(of: path) else { return nil }
    let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    return line.isEmpty ? nil : line
}

/// "firefox (1234)".
/// - Parameter processes: where the kernel shows them.
public func processName(_ id: CInt, processes: String = "/proc") -> String {
    let name = firstLine(ofFile: "\(processes)/\(id)/comm")
    return "\(name ?? "process") (\(id))"
}
