/// The mutual proof at the beginning of a web socket: page and daemon know the same secret and mean the same port.
///
/// The server sends a nonce. The page answers with a nonce of its own and an HMAC over its role, its port and both nonces;
/// the server checks it, and answers likewise with a session token. The port binds a proof to the origin, so that another
/// local server can relay none; the roles differ, so that none can be sent back.
struct Handshake: Sendable {
    /// Of the server's own, in the page's view of it.
    let port: Int
    let secret: PageSecret
    /// 64 hexadecimal digits, new for each web socket.
    let serverNonce: String

    init(port: Int, secret: PageSecret) {
        (self.port, self.secret) = (port, secret)
        serverNonce = hexEncoded(randomBytes(32))
    }

    /// What the server proves itself with to a page that has proved itself; nil for a wrong proof.
    /// - Parameters:
    ///   - proof: 64 hexadecimal digits.
    ///   - clientNonce: 64 hexadecimal digits.
    func serverProof(for proof: String, clientNonce: String) -> String? {
        guard hexDecoded(clientNonce)?.count == 32, let shown = hexDecoded(proof),
            isEqualInConstantTime(shown, code("client", serverNonce, clientNonce))
        else { return nil }
        return hexEncoded(code("server", clientNonce, serverNonce))
    }

    private func code(_ role: String, _ first: String, _ second: String) -> [UInt8] {
        secret.authenticate("guise page \(role)|\(port)|\(first)|\(second)")
    }
}
