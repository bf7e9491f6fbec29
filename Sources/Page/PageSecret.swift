import CSodium
import Control
import Glibc
import SystemKit

/// The secret that authenticates a user's browsers to the daemon, and the daemon to them.
public struct PageSecret: Equatable, Sendable {
    /// The length in bytes: 256 bits.
    static let length = 32

    private let bytes: [UInt8]

    /// Creates a random secret.
    public init() { bytes = randomBytes(Self.length) }

    /// Parses a secret. Nil if the text is not 64 hexadecimal digits.
    init?(hex: String) {
        guard let bytes = hexDecoded(hex), bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// The secret as 64 hexadecimal digits.
    var hex: String { hexEncoded(bytes) }

    /// The HMAC-SHA-256 (RFC 2104) of a text, with the secret as its key.
    func authenticate(_ text: String) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
        let message = Array(text.utf8)
        _ = unsafe crypto_auth_hmacsha256(&code, message, UInt64(message.count), bytes)
        return code
    }
}

/// The storage of the secret: a file that only this user can read. It outlives the daemon and reboots. Replacing the
/// file revokes the secret.
public struct PageSecretStore: Sendable {
    /// The file; nil if the secret lives only as long as the daemon.
    private let path: String?
    private let fallback = PageSecret()

    /// Creates a store.
    /// - Parameter folder: the user's state folder for Guise; nil to keep the secret in memory only.
    public init(folder: String?) { path = folder.map { "\($0)/page-secret" } }

    /// The valid secret. Creates one if there is none, or if its file is not readable by this user alone.
    /// - Throws: `Problem` of kind `system` if the file cannot be written, or there are no free descriptors to read it.
    public func current() throws(Problem) -> PageSecret {
        guard let path else { return fallback }
        var lacksDescriptors = false
        if let secret = read(path, &lacksDescriptors) { return secret }
        guard !lacksDescriptors else {
            throw Problem(
                .system, "the page's secret cannot be read: too many files are open", fix: "try again in a moment")
        }
        // A file that exists but cannot be trusted is removed.
        removeFile(path)
        do throws(Problem) {
            return try write(path, overwrites: false)
        } catch {
            // Another daemon may have created the secret first.
            if let secret = read(path) { return secret }
            throw error
        }
    }

    /// Replaces the secret. Sessions that were authenticated with the old one end, also if there is no space for a new
    /// one.
    /// - Throws: `Problem` of kind `missing` without a home folder, or of another one if the file cannot be written; it
    ///   says so if the old secret was revoked nevertheless.
    public func revoke() throws(Problem) {
        guard let path else {
            throw Problem(
                .missing, "no home directory to store the page's secret in", fix: "set HOME; without it, restart Guise"
            )
        }
        do throws(Problem) { _ = try write(path, overwrites: true) } catch {
            // Without its file the secret isn't valid either. A full disk allows that.
            guard removeFile(path) else { throw error }
            throw Problem(
                error.kind, "the old link is revoked, but a new one could not be made: \(error.message)",
                fix: "\(error.fix), then run `guise page`")
        }
    }

    /// Whether a secret is still valid. While there are no free descriptors to read its file, nothing ends.
    func isCurrent(_ secret: PageSecret) -> Bool {
        guard let path else { return fallback == secret }
        var lacksDescriptors = false
        return read(path, &lacksDescriptors) == secret || lacksDescriptors
    }

    private func write(_ path: String, overwrites: Bool) throws(Problem) -> PageSecret {
        let secret = PageSecret()
        try makeOwnFolders(parentFolder(of: path))
        try writeOwnFile(Array(secret.hex.utf8), to: path, overwrites: overwrites)
        return secret
    }

    /// Reads the secret. Nil unless the path is a regular file of this user that no other user may read, and contains a
    /// secret.
    private func read(_ path: String) -> PageSecret? {
        var ignored = false
        return read(path, &ignored)
    }

    private func read(_ path: String, _ lacksDescriptors: inout Bool) -> PageSecret? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            lacksDescriptors = [EMFILE, ENFILE].contains(errno)
            return nil
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == getuid(),
            status.st_mode & 0o077 == 0
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: 2 * PageSecret.length + 1)
        let count = retryingInterrupted { unsafe Glibc.read(descriptor, &bytes, bytes.count) }
        return PageSecret(hex: String(decoding: bytes.prefix(max(0, count)), as: UTF8.self))
    }
}

/// Random bytes from the system's generator.
func randomBytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: 0...UInt8.max, using: &generator) }
}

/// Encodes bytes as two lower-case hexadecimal digits each.
func hexEncoded(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// Decodes hexadecimal digits. Nil if the text contains anything but pairs of them.
func hexDecoded(_ text: String) -> [UInt8]? {
    let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard digits.count == text.utf8.count, digits.count % 2 == 0 else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// Compares in a time that does not depend on where the arrays differ.
func isEqualInConstantTime(_ one: [UInt8], _ two: [UInt8]) -> Bool {
    guard one.count == two.count else { return false }
    return unsafe sodium_memcmp(one, two, one.count) == 0
}
