/// A message between the camera service and the program that feeds it: one packet of a local socket, always 32 bytes of
/// eight 32-bit numbers in little-endian order, of which a message uses the first ones.
public enum CameraMessage: Equatable, Sendable {
    // From the service.
    /// The first message, with the descriptor of the ring: memory of `slots` pictures of `slotBytes` bytes each.
    /// `takesLifeline`: whether `lifeline` may be sent; services before it did not understand it.
    case ring(version: Int, slots: Int, slotBytes: Int, takesLifeline: Bool)
    /// What the camera's reader chose, sent after each change. `isWatched`: a program streams.
    case stream(isWatched: Bool, width: Int, height: Int)
    /// A slot of the ring may be written again.
    case released(slot: Int)
    /// The connection is refused, and ends.
    case refused(Refusal, process: Int)

    // To the service.
    /// A slot of the ring contains a new picture, YUYV without padding.
    case frame(slot: Int, width: Int, height: Int)
    /// Comes with the read end of a pipe, once: the connection ends when the pipe hangs up. A client that sends none is
    /// served until its socket is closed.
    case lifeline

    /// Why a connection is refused.
    public enum Refusal: UInt32, Sendable {
        /// Another process feeds the camera.
        case busy = 1
        /// The user is neither in the service's group nor at the seat.
        case forbidden = 2
    }

    /// The bytes of every message.
    public static let size = 32
    /// The version of these messages.
    public static let version = 1

    /// The message's bytes.
    public var bytes: [32 of UInt8] {
        let numbers: [5 of Int] =
            switch self {
            case .ring(let version, let slots, let slotBytes, let takesLifeline):
                [1, version, slots, slotBytes, takesLifeline ? 1 : 0]
            case .stream(let isWatched, let width, let height): [2, isWatched ? 1 : 0, width, height, 0]
            case .released(let slot): [3, slot, 0, 0, 0]
            case .refused(let reason, let process): [4, Int(reason.rawValue), process, 0, 0]
            case .frame(let slot, let width, let height): [5, slot, width, height, 0]
            case .lifeline: [6, 0, 0, 0, 0]
            }
        var bytes = [32 of UInt8](repeating: 0)
        for i in numbers.indices {
            let number = UInt32(clamping: numbers[i])
            for byte in 0..<4 { bytes[i * 4 + byte] = UInt8(truncatingIfNeeded: number >> UInt32(byte * 8)) }
        }
        return bytes
    }

    /// Reads a message; nil for anything else, also of another length.
    public init?(_ bytes: Span<UInt8>) {
        guard bytes.count == Self.size else { return nil }
        func number(_ index: Int) -> Int { Int(bytes.littleEndian32(at: index * 4)) }
        switch number(0) {
        case 1:
            self = .ring(version: number(1), slots: number(2), slotBytes: number(3), takesLifeline: number(4) == 1)
        case 2 where number(1) <= 1: self = .stream(isWatched: number(1) == 1, width: number(2), height: number(3))
        case 3: self = .released(slot: number(1))
        case 4:
            guard let reason = Refusal(rawValue: UInt32(number(1))) else { return nil }
            self = .refused(reason, process: number(2))
        case 5: self = .frame(slot: number(1), width: number(2), height: number(3))
        case 6: self = .lifeline
        default: return nil
        }
    }
}
