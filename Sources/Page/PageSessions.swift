import NIOCore
import Synchronization

/// The pages that have proved themselves. A session begins with a handshake, and ends with its web socket or its secret.
final class PageSessions: Sendable {
    /// One page.
    struct Session: Sendable {
        /// Opens requests.
        let token: [UInt8]
        /// What it was proved with.
        let secret: PageSecret
    }

    private let store: PageSecretStore
    private let interval: TimeAmount
    /// Closes what a token has opened.
    private let end: @Sendable (_ token: [UInt8]) -> Void
    private let sessions = Mutex<[Session]>([])

    /// - Parameter interval: between two looks at the secret while there are sessions.
    init(_ store: PageSecretStore, checkedEvery interval: TimeAmount, end: @escaping @Sendable ([UInt8]) -> Void) {
        (self.store, self.interval, self.end) = (store, interval, end)
    }

    /// How many there are.
    var count: Int { sessions.withLock { $0.count } }

    /// Begins a session; from then on the secret is watched.
    /// - Returns: its token.
    func begin(_ secret: PageSecret, on loop: any EventLoop) -> [UInt8] {
        let session = Session(token: randomBytes(32), secret: secret)
        let isFirst = sessions.withLock { sessions in
            sessions.append(session)
            return sessions.count == 1
        }
        if isFirst { watch(on: loop) }
        return session.token
    }

    /// The token that a request's `Authorization` shows; nil if it opens nothing.
    func token(in header: String?) -> [UInt8]? {
        let words = (header ?? "").split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "guise", let shown = hexDecoded(String(words[1])) else {
            return nil
        }
        return sessions.withLock { $0.first { isEqualInConstantTime($0.token, shown) }?.token }
    }

    /// Ends a session and what it opened.
    func end(_ token: [UInt8]) {
        sessions.withLock { $0.removeAll { $0.token == token } }
        end(token)
    }

    private func watch(on loop: any EventLoop) {
        loop.scheduleTask(in: interval) { [weak self] in
            guard let self else { return }
            let (revoked, isEmpty) = sessions.withLock { sessions in
                let revoked = sessions.filter { !store.isCurrent($0.secret) }
                sessions.removeAll { session in revoked.contains { $0.token == session.token } }
                return (revoked, sessions.isEmpty)
            }
            for session in revoked { end(session.token) }
            if !isEmpty { watch(on: loop) }
        }
    }
}
