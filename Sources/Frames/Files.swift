import Glibc

/// Files larger than this are not what they are taken for (art, config, cascades).
private let sizeLimit = 64 << 20

/// The whole of a small file.
/// - Throws: `Problem` that says why the file cannot be read.
public func contents(of path: String) throws -> [UInt8] {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw unreadable(path, errno) }
    defer { close(descriptor) }
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
        guard bytes.count <= sizeLimit else {
            throw Problem(.unusable, "\(path) has more than \(sizeLimit >> 20) MiB", cure: "is it the right file?")
        }
    }
}

/// What the system said of a file that could not be read.
public func unreadable(_ path: String, _ error: CInt) -> Problem {
    switch error {
    case ENOENT, ENOTDIR: Problem(.missing, "\(path) does not exist", cure: "check the name")
    case EACCES, EPERM: Problem(.forbidden, "\(path) may not be read", cure: "check its permissions: ls -l \(path)")
    case EISDIR: Problem(.unusable, "\(path) is a folder", cure: "name a file")
    default: Problem(.system, "\(path) cannot be read: \(message(of: error))")
    }
}

/// The system's words for an error number.
public func message(of error: CInt) -> String {
    unsafe String(cString: strerror(error))
}

/// True where that file is there and may be read.
public func isReadable(_ path: String) -> Bool { unsafe access(path, R_OK) == 0 }

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
