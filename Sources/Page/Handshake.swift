/// A mutual authentication at the start of a web socket: page and daemon prove that they know the same secret and mean
/// the same port.
///
/// The server sends a nonce. The page replies with its own nonce and an HMAC over its role, its port and both nonces.
/// The server verifies the HMAC, and replies with its own and a session token. The port binds a proof to the origin, so
/// that another local server cannot relay it. The roles differ, so that a proof cannot be reflected.
struct Handshake: Sendable {
    /// The port of the server, as the page sees it.
    let port: Int
    let secret: PageSecret
    /// The server's nonce: 64 hexadecimal digits, new for each web socket.
    let serverNonce: String

    init(port: Int, secret: PageSecret) {
        (self.port, self.secret) = (port, secret)
        serverNonce = hexEncoded(randomBytes(32))
    }

    /// Verifies the page's proof and computes the server's own.
    /// - Parameters:
    ///   - proof: the page's HMAC, 64 hexadecimal digits.
    ///   - clientNonce: the page's nonce, 64 hexadecimal digits.
    /// - Returns: the server's HMAC in hexadecimal digits; nil if the page's proof is wrong.
    func serverProof(verifying proof: String, clientNonce: String) -> String? {
        guard hexDecoded(clientNonce)?.count == 32, let receivedMAC = hexDecoded(proof),
            isEqualInConstantTime(receivedMAC, hmac("client", serverNonce, clientNonce))
        else { return nil }
        return hexEncoded(hmac("server", clientNonce, serverNonce))
    }

    /// The HMAC of a role, the port and both nonces.
    private func hmac(_ role: String, _ first: String, _ second: String) -> [UInt8] {
        secret.authenticate("guise page \(role)|\(port)|\(first)|\(second)")
    }
}
