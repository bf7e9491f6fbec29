import Control
import FlyingFox
import FlyingSocks
import Foundation
import Frames

/// A web socket on one side, a client of the control server on the other: each text is a line. What clients may do, and
/// how much of it, the control server says.
struct SocketBridge: WSHandler {
    let connect: @Sendable () throws -> CInt
    let pool: any AsyncSocketPool

    /// Lines that wait for a browser that does not read them; then the connection ends. The control server allows 256 KiB,
    /// which are 60 lines of figures, before it ends it on its own.
    private static let mostWaiting = 64
    private static let newline = UInt8(ascii: "\n")

    func makeFrames(for client: AsyncThrowingStream<WSFrame, any Error>) async throws -> AsyncStream<WSFrame> {
        let descriptor = Socket.FileDescriptor(rawValue: try connect())
        let control = try AsyncSocket(socket: Socket(file: descriptor), pool: pool)
        let (frames, out) = AsyncStream.makeStream(
            of: WSFrame.self, bufferingPolicy: .bufferingOldest(Self.mostWaiting))
        let talk = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await Self.hear(client, control, out) }
                group.addTask { await Self.tell(control, out) }
                // When one side is gone, the other is of no use.
                await group.next()
                group.cancelAll()
            }
            out.finish()
            try? control.close()
        }
        out.onTermination = { _ in talk.cancel() }
        return frames
    }

    /// From the browser to the control server.
    private static func hear(
        _ client: AsyncThrowingStream<WSFrame, any Error>, _ control: AsyncSocket,
        _ out: AsyncStream<WSFrame>.Continuation
    ) async {
        var text = Data()
        do {
            for try await frame in client {
                switch frame.opcode {
                case .text, .continuation:
                    text.append(frame.payload)
                    guard text.count <= Wire.longestLine else { return out.say(1009, "a line of more than 64 KiB") }
                    guard frame.fin else { continue }
                    // JSON's spaces may be ends of lines; here they would end the request.
                    let line = Data(text.map { $0 == newline ? UInt8(ascii: " ") : $0 } + [newline])
                    text = Data()
                    try await control.write(line)
                case .ping:
                    out.yield(WSFrame(fin: true, opcode: .pong, mask: nil, payload: frame.payload.prefix(125)))
                case .close:
                    return out.say(1000, "")
                case .pong: break
                default: return out.say(1003, "texts only")
                }
            }
        } catch {}
    }

    /// From the control server to the browser.
    private static func tell(_ control: AsyncSocket, _ out: AsyncStream<WSFrame>.Continuation) async {
        var received: [UInt8] = []
        do {
            while !Task.isCancelled {
                received += try await control.read(atMost: 16 << 10)
                while let end = received.firstIndex(of: newline) {
                    let line = Data(received[..<end])
                    received.removeSubrange(...end)
                    let result = out.yield(WSFrame(fin: true, opcode: .text, mask: nil, payload: line))
                    guard case .enqueued = result else { return }
                }
            }
        } catch  where !Task.isCancelled { out.say(1001, "guise has ended") } catch {}
    }
}

extension AsyncStream<WSFrame>.Continuation {
    /// The last word, with a code of RFC 6455, 7.4.1.
    fileprivate func say(_ code: UInt16, _ reason: String) {
        yield(.close(code: WSCloseCode(code, reason: reason)))
    }
}
