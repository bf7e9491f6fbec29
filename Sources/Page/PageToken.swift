import Control
import Frames
import Glibc

/// The secret that lets a browser in. One for a login session, so that a page survives its daemon's restart; without a
/// runtime folder one for each daemon.
public struct PageToken: Sendable {
    /// 64 hexadecimal digits.
    let text: String

    /// 256 bits.
    private static let length = 32

    /// A new one, kept nowhere.
    public init() {
        var random = SystemRandomNumberGenerator()
        text = (0..<Self.length).map { _ in
            let byte = UInt8.random(in: 0...UInt8.max, using: &random)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    /// The session's, from `$XDG_RUNTIME_DIR/guise/page-token`; made where none is there that is ours alone.
    /// - Throws: `missing` without a runtime folder, `system` where the file cannot be written.
    public static func ofSession(
        environment: [String: String]
    ) throws(Problem) -> PageToken {
        let file = "\(try ControlSocket.makeFolder(environment: environment))/page-token"
        if let kept = read(file) { return kept }
        // What is there is not ours, or not a secret any more.
        unsafe unlink(file)
        let token = PageToken()
        let descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        let bytes = Array(token.text.utf8)
        guard descriptor >= 0, unsafe write(descriptor, bytes, bytes.count) == bytes.count else {
            let reason = message(of: errno)
            if descriptor >= 0 { close(descriptor) }
            throw Problem(.system, "could not write \(file): \(reason)", cure: "look at that folder's owner and room")
        }
        close(descriptor)
        return token
    }

    private static func read(_ file: String) -> PageToken? {
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == getuid(),
            status.st_mode & 0o077 == 0
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: 2 * length + 1)
        let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        let isToken = text.utf8.count == 2 * length && text.allSatisfy { $0.isASCII && $0.isHexDigit }
        return isToken ? PageToken(text: text) : nil
    }

    private init(text: String) { self.text = text }

    /// Whether that is it. Takes as long for a near miss as for a far one.
    func matches(_ other: some StringProtocol) -> Bool {
        let (own, other) = (Array(text.utf8), Array(other.utf8))
        guard own.count == other.count else { return false }
        var difference: UInt8 = 0
        for i in own.indices { difference |= own[i] ^ other[i] }
        return difference == 0
    }
}
