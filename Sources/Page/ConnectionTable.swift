import NIOCore
import Synchronization

/// The open connections. When there are too many, the oldest one without a valid credential makes room.
final class ConnectionTable: Sendable {
    private struct Connection {
        let channel: any Channel
        var isAuthenticated = false
    }

    private let capacity: Int
    /// Oldest first.
    private let connections = Mutex<[Connection]>([])

    /// - Parameter capacity: connections at once.
    init(capacity: Int) { self.capacity = capacity }

    /// How many are open.
    var count: Int { connections.withLock { $0.count } }

    /// Adds a connection, or closes it if all others have a valid credential.
    func admit(_ channel: any Channel) {
        let refused: (any Channel)? = connections.withLock { connections in
            guard connections.count >= capacity else {
                connections.append(Connection(channel: channel))
                return nil
            }
            guard let oldest = connections.firstIndex(where: { !$0.isAuthenticated }) else { return channel }
            let evicted = connections.remove(at: oldest).channel
            connections.append(Connection(channel: channel))
            return evicted
        }
        refused?.close(promise: nil)
        channel.closeFuture.whenComplete { [weak self] _ in self?.remove(channel) }
    }

    /// Exempts a connection from making room for others.
    func authenticate(_ channel: any Channel) {
        connections.withLock { connections in
            if let i = connections.firstIndex(where: { $0.channel === channel }) {
                connections[i].isAuthenticated = true
            }
        }
    }

    /// Closes every connection.
    func closeAll() {
        let open = connections.withLock { connections in
            defer { connections.removeAll() }
            return connections.map(\.channel)
        }
        for channel in open { channel.close(promise: nil) }
    }

    private func remove(_ channel: any Channel) {
        connections.withLock { $0.removeAll { $0.channel === channel } }
    }
}
