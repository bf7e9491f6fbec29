import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import guise

/// Queues of jobs on threads of their own.
@Suite(.ownThread) struct WorkerTests {
    @Test func `a job that takes long holds up the next for a while only`() {
        let worker = Worker("test", maxQueued: 4, patience: 0.01)
        let (second, first) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        // The first one ends only after the second.
        #expect(
            worker.add {
                second.wait()
                first.signal()
            })
        #expect(worker.add { second.signal() })
        first.wait()
    }

    @Test func `jobs run one after the other, in their order`() {
        let worker = Worker("test", maxQueued: 100)
        let ended = DispatchSemaphore(value: 0)
        let order = Mutex<[Int]>([])
        for number in 0..<50 { #expect(worker.add { order.withLock { $0.append(number) } }) }
        #expect(worker.add { ended.signal() })
        ended.wait()
        let numbers = order.withLock { $0 }
        #expect(numbers == Array(0..<50))
    }
}
