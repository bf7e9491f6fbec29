import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import guise

/// Queues of jobs on threads of their own.
@Suite(.ownThread) struct WorkerTests {
    @Test func `jobs that take long hold up the next for a while only`() {
        let worker = Worker("test", maxQueued: 4, patience: 0.01)
        let (last, others) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        // The others end only after the last one.
        for _ in 0..<3 {
            #expect(
                worker.add {
                    last.wait()
                    others.signal()
                })
        }
        #expect(worker.add { for _ in 0..<3 { last.signal() } })
        for _ in 0..<3 { others.wait() }
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
