// Integers in byte order: USB/IP's own numbers are big-endian, everything of USB is little-endian.

extension Span<UInt8> {
    func bigEndian32(at offset: Int) -> UInt32 {
        UInt32(self[offset]) << 24 | UInt32(self[offset + 1]) << 16 | UInt32(self[offset + 2]) << 8
            | UInt32(self[offset + 3])
    }

    func littleEndian16(at offset: Int) -> Int { Int(self[offset]) | Int(self[offset + 1]) << 8 }

    package func littleEndian32(at offset: Int) -> UInt32 {
        UInt32(littleEndian16(at: offset)) | UInt32(littleEndian16(at: offset + 2)) << 16
    }
}

extension [UInt8] {
    mutating func append(bigEndian value: UInt32) {
        for shift: UInt32 in [24, 16, 8, 0] { append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    package mutating func append(littleEndian value: UInt32) {
        for shift: UInt32 in [0, 8, 16, 24] { append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    mutating func append(littleEndian16 value: Int) {
        append(UInt8(truncatingIfNeeded: value))
        append(UInt8(truncatingIfNeeded: value >> 8))
    }
}
