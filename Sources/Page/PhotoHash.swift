import CSodium

/// The SHA-256 of a photo's bytes (FIPS 180-4), which names the photo.
public struct PhotoHash: Hashable, Sendable, CustomStringConvertible {
    /// The hash as 64 lower-case hexadecimal digits.
    public let description: String

    /// Hashes a photo.
    /// - Parameter photo: the bytes of the image file.
    public init(of photo: [UInt8]) {
        var hash = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        _ = unsafe crypto_hash_sha256(&hash, photo, UInt64(photo.count))
        description = hexEncoded(hash)
    }

    /// Parses a hash. Nil if the text is not 64 hexadecimal digits.
    public init?(hex: String) {
        guard let hash = hexDecoded(hex), hash.count == Int(crypto_hash_sha256_BYTES) else { return nil }
        description = hexEncoded(hash)
    }
}
