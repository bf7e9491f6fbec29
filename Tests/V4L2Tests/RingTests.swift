import Frames
import Testing

@testable import Capture
@testable import SystemKit
@testable import V4L2

struct RingTests {
    typealias DequeuedBuffer = BufferRing.DequeuedBuffer

    static func filled(_ index: Int, count: Int = 100, isDamaged: Bool = false) -> DequeuedBuffer {
        DequeuedBuffer(index: index, count: count, time: nil, isDamaged: isDamaged)
    }

    /// The result for a queue of filled buffers: the chosen one, those requeued, those counted as damaged.
    static func choose(_ queue: [DequeuedBuffer], limit: Int = 4) throws -> (index: Int?, back: [Int], damaged: Int) {
        var queue = queue
        var back: [Int] = []
        var damaged = 0
        let newest = try BufferRing.newest(of: limit, shortest: 100, damaged: &damaged) { () throws(Problem) in
            queue.isEmpty ? nil : queue.removeFirst()
        } requeue: {
            back.append($0.index)
        }
        return (newest?.index, back, damaged)
    }

    @Test func `the newest frame is used and older ones are requeued unread`() throws {
        let result = try Self.choose([Self.filled(2), Self.filled(3), Self.filled(0)])
        #expect(result == (0, [2, 3], 0))
        #expect(try Self.choose([]).index == nil)
    }

    @Test func `broken and short frames are counted, and the last valid one is shown`() throws {
        let result = try Self.choose([Self.filled(0), Self.filled(1, isDamaged: true), Self.filled(2, count: 99)])
        #expect(result == (0, [1, 2], 2))
    }

    @Test func `a camera faster than its reader does not block the reader`() throws {
        #expect(try Self.choose((0..<50).map { Self.filled($0) }).index == 3)
    }

    @Test func `a frame's time runs on, whatever the driver's timestamps do`() {
        // The driver's timestamp, the arrival, and the time that follows.
        let frames: [(Double, Double, Double)] = [
            (10, 20, 0), (10.5, 20.5, 0.5), (9, 20.75, 0.75), (9, 20.75, 0.751), (11, 21, 1),
            // A jump ahead and back.
            (16, 21.25, 6), (11.5, 21.5, 6.25), (11.75, 22, 6.75), (17, 22.25, 7),
        ]
        var clock = FrameClock()
        for (number, (taken, arrival, expected)) in frames.enumerated() {
            let time = clock.stamp(taken, arrival: arrival)
            #expect(time.number == number && abs(time.seconds - expected) < 1e-9, "\(time)")
        }
    }
}
