import Synchronization
import TestSupport
import Testing

@testable import guise

@Suite struct DelayedWriterTests {
    @Test func `a job that fails is tried again without another request, until it succeeds`() {
        let attempts = Mutex(0)
        let writer = DelayedWriter(retryingAfter: 0.01) {
            attempts.withLock { attempts in
                attempts += 1
                return attempts > 2
            }
        }
        writer.request()
        waits { attempts.withLock { $0 } == 3 }
        // Nothing is pending any more.
        writer.close()
        #expect(attempts.withLock { $0 } == 3)
    }

    @Test func `a job that has failed is tried once more at the end`() {
        let attempts = Mutex(0)
        // Longer than any test runs.
        let writer = DelayedWriter(retryingAfter: 1e6) {
            attempts.withLock { $0 += 1 }
            return false
        }
        writer.request()
        waits { attempts.withLock { $0 } == 1 }
        writer.close()
        #expect(attempts.withLock { $0 } == 2)
    }
}
