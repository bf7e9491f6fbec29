/// Floats that the kernels work on, with a margin for vectors that reach beyond the end. Zero at first.
@safe struct Floats: ~Copyable, @unchecked Sendable {
    let count: Int
    let base: UnsafeMutablePointer<Float>

    /// A cache line, in bytes.
    private static let alignment = 64

    init(count: Int) {
        self.count = count
        let bytes = UnsafeMutableRawPointer.allocate(
            byteCount: (count + 64) * MemoryLayout<Float>.stride, alignment: Self.alignment)
        unsafe base = bytes.bindMemory(to: Float.self, capacity: count + 64)
        unsafe base.initialize(repeating: 0, count: count + 64)
    }

    deinit { unsafe base.deallocate() }

    @_lifetime(&self)
    mutating func span(at start: Int = 0, count: Int) -> MutableSpan<Float> {
        precondition(start >= 0 && count >= 0 && start + count <= self.count)
        let span = unsafe MutableSpan(_unsafeStart: base + start, count: count)
        return unsafe _overrideLifetime(span, mutating: &self)
    }
}
