import Glibc

/// A number as C's printf writes it, "%.2f".
/// - Parameters:
///   - places: digits behind the point.
///   - width: filled with spaces on the left.
public func decimal(_ value: Double, places: Int, width: Int = 0) -> String {
    var text = [CChar](repeating: 0, count: 512)
    let count = unsafe withVaList([CInt(width), CInt(places), value]) {
        unsafe vsnprintf(&text, text.count, "%*.*f", $0)
    }
    return String(decoding: text.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// A text's FNV-1a hash of 64 bits (RFC 9923: offset basis and prime), in hexadecimal digits. It tells texts apart and
/// detects edits; it is no protection against forgery.
public func fingerprint(of text: String) -> String {
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
}

/// Text that fills a column: with spaces on its right, never cut.
public func column(_ text: String, width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}
