/// What happens to a sample on its way from one range to another (ITU-R BT.601-7, 2.5; JFIF 1.02), as arithmetic on
/// 16 bits in 8.8 fixed point, which the compiler turns into vector code. A table of 256 bytes would not become any.
protocol SampleMap {
    static func luma(_ sample: UInt8) -> UInt8
    static func chroma(_ sample: UInt8) -> UInt8
}

/// The ranges are the same.
enum SameRange: SampleMap {
    @inline(__always) static func luma(_ sample: UInt8) -> UInt8 { sample }
    @inline(__always) static func chroma(_ sample: UInt8) -> UInt8 { sample }
}

/// Luma 0...255 to 16...235, chroma 0...255 to 16...240, both rounded.
enum FullToLimited: SampleMap {
    @inline(__always) static func luma(_ sample: UInt8) -> UInt8 {
        // 219/255, and 16 plus a half.
        narrow(scaled(UInt16(sample), by: 56284) &+ (16 << 8 | 128))
    }

    @inline(__always) static func chroma(_ sample: UInt8) -> UInt8 {
        // 224/255 about 128: 128 - 128 * 224/255 = 15.561, plus a half.
        narrow(scaled(UInt16(sample), by: 57569) &+ 4112)
    }
}

/// Luma 16...235 to 0...255, chroma 16...240 to 0...255, both rounded; what lies outside is cut off.
enum LimitedToFull: SampleMap {
    @inline(__always) static func luma(_ sample: UInt8) -> UInt8 {
        let above = UInt16(max(16, min(sample, 235)) &- 16)
        // 255/219 = 1 + 0.16438.
        return narrow(above << 8 &+ scaled(above, by: 10773) &+ 128)
    }

    @inline(__always) static func chroma(_ sample: UInt8) -> UInt8 {
        let above = UInt16(max(16, min(sample, 240)) &- 16)
        // 255/224 = 1 + 0.13839 about 128, which is 127.5 above the lowest: a half to get there, a half to round.
        return narrow(above << 8 &+ scaled(above, by: 9070) &+ 255)
    }
}

/// `value * factor / 65536` with 8 bits behind the point, for values of 8 bits.
@inline(__always) private func scaled(_ value: UInt16, by factor: UInt32) -> UInt16 {
    UInt16(truncatingIfNeeded: (UInt32(value << 8) &* factor) >> 16)
}

@inline(__always) private func narrow(_ value: UInt16) -> UInt8 { UInt8(truncatingIfNeeded: value >> 8) }
