import NIOCore
import Synchronization

/// The authenticated pages. A session begins with a handshake, and ends with its web socket or its secret.
final class PageSessions: Sendable {
    /// The session of one page.
    struct Session: Sendable {
        /// The token that authorizes the session's requests.
        let token: [UInt8]
        /// The secret that authenticated the page.
        let secret: PageSecret
    }

    private let store: PageSecretStore
    private let interval: TimeAmount
    /// Closes the connections of a token.
    private let closeConnections: @Sendable (_ token: [UInt8]) -> Void
    private let state = Mutex(State())

    private struct State {
        var sessions: [Session] = []
        /// Whether the next check of the secret is scheduled.
        var isCheckScheduled = false
    }

    /// Creates an empty list of sessions.
    /// - Parameters:
    ///   - store: the storage of the secret.
    ///   - interval: the time between checks of the secret while there are sessions.
    ///   - closeConnections: closes the connections of a token.
    init(
        _ store: PageSecretStore, checkedEvery interval: TimeAmount,
        closeConnections: @escaping @Sendable ([UInt8]) -> Void
    ) {
        (self.store, self.interval, self.closeConnections) = (store, interval, closeConnections)
    }

    /// The number of sessions.
    var count: Int { state.withLock { $0.sessions.count } }

    /// Begins a session. The secret is checked regularly from the first session on.
    /// - Returns: the session's token.
    func begin(_ secret: PageSecret, on loop: any EventLoop) -> [UInt8] {
        let session = Session(token: randomBytes(32), secret: secret)
        let isFirst = state.withLock { state in
            defer { state.isCheckScheduled = true }
            state.sessions.append(session)
            return !state.isCheckScheduled
        }
        if isFirst { scheduleSecretCheck(on: loop) }
        return session.token
    }

    /// The session token in a request's `Authorization` header; nil if it is not valid.
    func token(in header: String?) -> [UInt8]? {
        let words = (header ?? "").split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "guise", let shown = hexDecoded(String(words[1])) else {
            return nil
        }
        return state.withLock { $0.sessions.first { isEqualInConstantTime($0.token, shown) }?.token }
    }

    /// Ends a session and closes its connections.
    func end(_ token: [UInt8]) {
        state.withLock { $0.sessions.removeAll { $0.token == token } }
        closeConnections(token)
    }

    /// Schedules a check of all sessions' secrets, and another one after it while there are sessions.
    private func scheduleSecretCheck(on loop: any EventLoop) {
        loop.scheduleTask(in: interval) { [weak self] in
            guard let self else { return }
            // The secret is in a file; requests, which need the sessions, do not wait for it.
            let revoked = state.withLock { $0.sessions }.filter { !store.isCurrent($0.secret) }
            let goesOn = state.withLock { state in
                state.sessions.removeAll { session in revoked.contains { $0.token == session.token } }
                state.isCheckScheduled = !state.sessions.isEmpty
                return state.isCheckScheduled
            }
            for session in revoked { closeConnections(session.token) }
            if goesOn { scheduleSecretCheck(on: loop) }
        }
    }
}
