import Glibc

/// A read-only view of a file's bytes, or of bytes of our own where there is no file. Unmapped with the value.
@safe public struct MappedFile: ~Copyable, @unchecked Sendable {
    private let base: UnsafeMutableRawPointer
    /// What was mapped: `base` may lie behind its first byte.
    private let start: UnsafeMutableRawPointer
    private let mapped: Int
    /// Bytes.
    public let count: Int
    /// When the file's contents last changed: nanoseconds since 1970; 0 where there is no file.
    public let modified: Int64

    /// Maps a whole file.
    /// - Throws: `missing`, `forbidden` or `system` where it cannot be opened, `unusable` where it is empty or no file.
    public init(path: String) throws(Problem) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Problem(errno: errno, opening: path) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Problem(errno: errno, opening: path) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            throw Problem(.unusable, "\(path) is empty or not a regular file")
        }
        let address = unsafe mmap(nil, Int(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0)
        guard let address = unsafe address, unsafe address != MAP_FAILED else {
            throw Problem(errno: errno, opening: path)
        }
        unsafe (base, start) = (address, address)
        mapped = Int(status.st_size)
        count = Int(status.st_size)
        modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }

    /// Keeps a copy of `bytes`, on pages of its own: on large ones where there are enough bytes and the system has such
    /// pages, for tables that are read here and there are then found without a walk through the page tables.
    public init(copying bytes: Span<UInt8>) throws(Problem) {
        let page = bytes.count < Self.largePage ? 1 : Self.largePage
        let size = (max(1, bytes.count) + page - 1) & ~(page - 1)
        let all = unsafe mmap(nil, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let all = unsafe all, unsafe all != MAP_FAILED else {
            throw Problem(.system, "no memory for a table of \(bytes.count) bytes")
        }
        let address = unsafe all.alignedUp(toMultipleOf: page)
        if page > 1 {
            // Refused, it is as before.
            unsafe madvise(address, size, Self.adviseLargePages)
        }
        unsafe bytes.withUnsafeBytes { source in
            if let from = source.baseAddress { unsafe address.copyMemory(from: from, byteCount: source.count) }
        }
        unsafe (base, start) = (address, all)
        mapped = size + page
        count = bytes.count
        modified = 0
    }

    /// Of x86-64 and most others, bytes; others find no use in the advice.
    private static let largePage = 2 << 20
    /// MADV_HUGEPAGE of linux/mman.h, which Glibc's module leaves out.
    private static let adviseLargePages: CInt = 14

    deinit { unsafe munmap(start, mapped) }

    /// All of them, where they lie.
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self) get { table(of: UInt8.self, at: 0, count: count) }
    }

    /// Part of the bytes as a table of elements for which every bit pattern is a value.
    /// - Precondition: the table lies within the file, and `offset` is a multiple of the element's alignment.
    @_lifetime(borrow self)
    public func table<Element: BitwiseCopyable>(of type: Element.Type, at offset: Int, count: Int) -> Span<Element> {
        precondition(offset >= 0 && count >= 0 && offset % MemoryLayout<Element>.alignment == 0)
        precondition(offset <= self.count && count <= (self.count - offset) / MemoryLayout<Element>.stride)
        let start = unsafe UnsafeRawPointer(base + offset).assumingMemoryBound(to: Element.self)
        let span = unsafe Span(_unsafeElements: UnsafeBufferPointer(start: start, count: count))
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    /// Gives back the memory of the file's first bytes, which were read and are not wanted again soon.
    public func forget(first bytes: Int) {
        let pages = min(max(0, bytes), count) & ~4095
        if pages > 0 { unsafe madvise(base, pages, MADV_DONTNEED) }
    }

    /// Writes a whole file under a name of its own and then puts it in place, so that whoever opens `path` finds
    /// either the old file or the new one, whole, also when two processes write at once or the power fails.
    public static func write(_ bytes: Span<UInt8>, to path: String) throws(Problem) {
        let draft = "\(path).\(getpid()).\(UInt32.random(in: 0...UInt32.max)).new"
        let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Problem(errno: errno, writing: path) }
        let reason = unsafe bytes.withUnsafeBytes { source -> CInt in
            var done = 0
            while done < source.count {
                let n = unsafe Glibc.write(descriptor, source.baseAddress.map { unsafe $0 + done }, source.count - done)
                if n < 0 && errno == EINTR { continue }
                if n <= 0 { return n < 0 ? errno : EIO }
                done += n
            }
            return fsync(descriptor) == 0 ? 0 : errno
        }
        close(descriptor)
        guard reason == 0 else {
            unsafe unlink(draft)
            throw Problem(errno: reason, writing: path)
        }
        guard unsafe rename(draft, path) == 0 else {
            let reason = errno
            unsafe unlink(draft)
            throw Problem(errno: reason, writing: path)
        }
    }

    /// Makes a directory, and those above it that are missing, for this user alone.
    public static func makeDirectory(_ path: String) throws(Problem) {
        var made = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            made += "/" + part
            guard unsafe mkdir(made, 0o700) == 0 || errno == EEXIST else { throw Problem(errno: errno, writing: made) }
        }
    }
}

extension Problem {
    fileprivate init(errno code: CInt, opening path: String) {
        self.init(Self.kind(code), "cannot open \(path): \(errorMessage(of: code))")
    }

    fileprivate init(errno code: CInt, writing path: String) {
        self.init(Self.kind(code), "cannot write \(path): \(errorMessage(of: code))")
    }

    private static func kind(_ code: CInt) -> Kind {
        switch code {
        case ENOENT, ENOTDIR: .missing
        case EACCES, EPERM, EROFS: .forbidden
        default: .system
        }
    }
}
