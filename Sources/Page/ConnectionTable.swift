import NIOCore
import Synchronization

/// The table of open connections. When it is full, the oldest connection without a valid credential is closed.
final class ConnectionTable: Sendable {
    private struct Connection {
        let channel: any Channel
        /// The token of its session; nil if it has shown no valid credential.
        var token: [UInt8]?
    }

    private let capacity: Int
    /// Oldest first.
    private let connections = Mutex<[Connection]>([])

    /// Creates an empty table.
    /// - Parameter capacity: the largest number of connections.
    init(capacity: Int) { self.capacity = capacity }

    /// The number of open connections.
    var count: Int { connections.withLock { $0.count } }

    /// The number of bytes that wait in this process until clients read. Not for the server's own thread, which this
    /// waits for.
    var unsentBytes: Int {
        let channels = connections.withLock { $0.map(\.channel) }
        // In a connection that closes meanwhile, none wait.
        return channels.reduce(0) { $0 + ((try? $1.getOption(.bufferedWritableBytes).wait()) ?? 0) }
    }

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

    /// Assigns a connection to a session. It is no longer closed to make room, and closes when the session ends.
    func authenticate(_ channel: any Channel, token: [UInt8]) {
        connections.withLock { connections in
            if let i = connections.firstIndex(where: { $0.channel === channel }) { connections[i].token = token }
        }
    }

    /// Closes the connections of a session.
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
