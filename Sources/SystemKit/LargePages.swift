import Glibc

/// Memory in huge pages, if the system has them. Reads all over a large buffer then avoid most page walks (TLB misses).
public enum LargePages {
    /// The size of a huge page on x86-64 and most others, bytes; elsewhere the advice has no effect.
    static let size = 2 << 20
    /// MADV_HUGEPAGE of linux/mman.h, which the Glibc module doesn't import.
    private static let advice: CInt = 14

    /// Asks for huge pages in a part of memory. A failure is harmless: pages then have the normal size.
    static func advise(_ start: UnsafeMutableRawPointer, _ byteCount: Int) {
        _ = unsafe madvise(start, byteCount, advice)
    }

    /// Allocates uninitialised memory, aligned to a cache line, in as many huge pages as it fills but for an eighth.
    /// - Returns: the memory, which `deallocate()` frees.
    public static func allocate(byteCount: Int) -> UnsafeMutableRawPointer {
        // A frame of 1280 x 720 as YUYV fills 88 % of a huge page.
        let large = (byteCount + size / 8) / size * size
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: max(byteCount, large), alignment: large > 0 ? size : 64)
        if large > 0 { unsafe advise(memory, large) }
        return unsafe memory
    }
}
