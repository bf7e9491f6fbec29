import CAllocations
import Glibc
import Testing

@testable import Frames

extension Trait where Self == ConditionTrait {
    fileprivate static var countsAllocations: Self {
        .enabled(if: callocations_is_enabled() != 0, "needs a build without sanitizers")
    }
}

/// Prevents the optimiser from removing a pair of malloc and free.
nonisolated(unsafe) private var kept: UnsafeMutableRawPointer?

@Test(.countsAllocations) func `each way of allocating counts once, and freeing does not`() {
    func asked(_ body: () -> UnsafeMutableRawPointer?) -> UInt64 {
        let before = callocations_count()
        unsafe kept = unsafe body()
        let count = callocations_count() - before
        unsafe free(kept)
        return count + (callocations_count() - before - count)
    }
    #expect(unsafe asked { unsafe malloc(100) } == 1)
    #expect(unsafe asked { unsafe calloc(10, 10) } == 1)
    #expect(unsafe asked { unsafe realloc(nil, 10) } == 1)
    #expect(unsafe asked { unsafe aligned_alloc(64, 128) } == 1)
    #expect(
        unsafe asked {
            var memory: UnsafeMutableRawPointer?
            return unsafe posix_memalign(&memory, 64, 128) == 0 ? memory : nil
        } == 1)
    #expect(unsafe asked { nil } == 0)
}

@Test(.countsAllocations) func `Swift's allocations count too`() {
    let before = callocations_count()
    let frame = Frame(FrameLayout(width: 64, height: 64, format: .gray))
    let array = [UInt8](repeating: 1, count: 1000 + frame.bytes.count)
    #expect(callocations_count() >= before + 2 && array.count == 5096)
}
