import SystemKit

/// Numbers that the kernels work on, with a margin for vectors that reach beyond the end. Zero at first.
@safe struct VectorBuffer<Element: BitwiseCopyable & AdditiveArithmetic>: ~Copyable, @unchecked Sendable {
    let count: Int
    let base: UnsafeMutablePointer<Element>

    init(count: Int) {
        self.count = count
        let bytes = unsafe LargePages.allocate(byteCount: (count + 64) * MemoryLayout<Element>.stride)
        unsafe base = bytes.bindMemory(to: Element.self, capacity: count + 64)
        unsafe base.initialize(repeating: .zero, count: count + 64)
    }

    deinit { unsafe base.deallocate() }

    @_lifetime(&self)
    mutating func span(at start: Int = 0, count: Int) -> MutableSpan<Element> {
        precondition(start >= 0 && count >= 0 && start + count <= self.count)
        let span = unsafe MutableSpan(_unsafeStart: base + start, count: count)
        return unsafe _overrideLifetime(span, mutating: &self)
    }
}
