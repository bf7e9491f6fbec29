import Glibc

/// A read-only memory mapping of a file, or a copy of bytes in anonymous memory. Unmapped when it is destroyed.
@safe public struct MappedFile: ~Copyable, @unchecked Sendable {
    private let base: UnsafeMutableRawPointer
    /// The start of the whole mapping; `base` may be at an aligned address after it.
    private let start: UnsafeMutableRawPointer
    /// The length of the whole mapping, bytes.
    private let mapped: Int
    /// The number of bytes in the view.
    public let count: Int
    /// The file's modification time, nanoseconds since 1970; 0 for a copy.
    public let modified: Int64

    /// Maps a whole file.
    /// - Throws: `missing`, `forbidden` or `system` if it cannot be opened, `unusable` if it is empty or not a regular
    ///   file.
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

    /// Copies `bytes` to pages of its own: huge pages, if there are enough bytes and the system has them. Random reads
    /// of a table then avoid most page walks (TLB misses).
    /// - Throws: `system` if there is no memory left.
    public init(copying bytes: Span<UInt8>) throws(Problem) {
        let page = bytes.count < LargePages.size ? 1 : LargePages.size
        let size = (max(1, bytes.count) + page - 1) & ~(page - 1)
        let all = unsafe mmap(nil, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let all = unsafe all, unsafe all != MAP_FAILED else {
            throw Problem(.system, "out of memory for a table of \(bytes.count) bytes")
        }
        let address = unsafe all.alignedUp(toMultipleOf: page)
        if page > 1 { unsafe LargePages.advise(address, size) }
        unsafe bytes.withUnsafeBytes { source in
            if let from = source.baseAddress { unsafe address.copyMemory(from: from, byteCount: source.count) }
        }
        unsafe (base, start) = (address, all)
        mapped = size + page
        count = bytes.count
        modified = 0
    }

    deinit { unsafe munmap(start, mapped) }

    /// All bytes, borrowed for reading.
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self) get { table(of: UInt8.self, at: 0, count: count) }
    }

    /// Part of the bytes as a table of elements for which every bit pattern is valid.
    /// - Precondition: the table is within the file, and `offset` is a multiple of the element's alignment.
    @_lifetime(borrow self)
    public func table<Element: BitwiseCopyable>(of type: Element.Type, at offset: Int, count: Int) -> Span<Element> {
        precondition(offset >= 0 && count >= 0 && offset % MemoryLayout<Element>.alignment == 0)
        precondition(offset <= self.count && count <= (self.count - offset) / MemoryLayout<Element>.stride)
        let start = unsafe UnsafeRawPointer(base + offset).assumingMemoryBound(to: Element.self)
        let span = unsafe Span(_unsafeElements: UnsafeBufferPointer(start: start, count: count))
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    /// Releases the memory of the file's first bytes, which were read and are not needed again soon.
    public func forget(first bytes: Int) {
        let pages = min(max(0, bytes), count) & ~4095
        if pages > 0 { unsafe madvise(base, pages, MADV_DONTNEED) }
    }
}

extension Problem {
    fileprivate init(errno code: CInt, opening path: String) {
        self.init(Self.kind(code), "cannot open \(path): \(errorMessage(of: code))")
    }

    private static func kind(_ code: CInt) -> Kind {
        switch code {
        case ENOENT, ENOTDIR: .missing
        case EACCES, EPERM, EROFS: .forbidden
        default: .system
        }
    }
}
