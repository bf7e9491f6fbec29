import NIOCore
import Synchronization

/// The open connections. When there are too many, the oldest one without a valid credential makes room.
final class ConnectionTable: Sendable {
    private struct Connection {
        let channel: any Channel
        /// Of the session that it belongs to; nil: it has shown no valid credential.
        var token: [UInt8]?
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
            guard let oldest = connections.firstIndex(where: { $0.token == nil }) else { return channel }
            let evicted = connections.remove(at: oldest).channel
            connections.append(Connection(channel: channel))
            return evicted
        }
        refused?.close(promise: nil)
        channel.closeFuture.whenComplete { [weak self] _ in self?.remove(channel) }
    }

    /// Makes a connection one of a session's: it makes room for no other, and ends with the session.
    func authenticate(_ channel: any Channel, token: [UInt8]) {
        connections.withLock { connections in
            if let i = connections.firstIndex(where: { $0.channel === channel }) { connections[i].token = token }
        }
    }

    /// Closes a session's connections.
    func close(token: [UInt8]) {
        let ended = connections.withLock { $0.filter { $0.token == token }.map(\.channel) }
        for channel in ended { channel.close(promise: nil) }
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
