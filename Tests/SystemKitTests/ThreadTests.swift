import CTestSupport
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import SystemKit

@Suite(.ownThread) struct ThreadTests {
    /// What a thread finds when it looks at itself.
    private struct View: Sendable {
        var name = ""
        var stackSize = 0
        var isOwn = false
    }

    /// What a new thread finds.
    private func view(named name: String, stackSize: Int? = nil) throws -> View {
        let (wakeEvent, caller) = (try WakeEvent(), pthread_self())
        let found = Found()
        startThread(named: name, stackSize: stackSize) {
            found.view.withLock { view in
                view.name = firstLine(ofFile: "/proc/thread-self/comm") ?? ""
                view.isOwn = pthread_equal(pthread_self(), caller) == 0
                view.stackSize = ctest_stack_size()
            }
            wakeEvent.signal()
        }
        _ = PollClock.system.waits(for: wakeEvent.descriptor, milliseconds: -1)
        return found.view.withLock { $0 }
    }

    private final class Found: Sendable { let view = Mutex(View()) }

    @Test func `a body runs on a thread of its own, under its name`() throws {
        let view = try view(named: "camera")
        #expect(view.isOwn && view.name == "camera")
    }

    @Test func `a name that is longer than the kernel keeps is cut`() throws {
        #expect(try view(named: "a very long name indeed").name == "a very long nam")
    }

    @Test(arguments: [1 << 20, 8 << 20]) func `a stack is as large as was asked for`(size: Int) throws {
        let found = try view(named: "stack", stackSize: size).stackSize
        #expect((size..<size + 1 << 16).contains(found))
    }

    @Test func `what a body holds is released when it has run`() throws {
        let wakeEvent = try WakeEvent()
        final class Held: Sendable {
            let released: WakeEvent
            init(_ released: WakeEvent) { self.released = released }
            deinit { released.signal() }
        }
        do {
            let held = Held(wakeEvent)
            startThread(named: "holding") { withExtendedLifetime(held) {} }
        }
        #expect(PollClock.system.waits(for: wakeEvent.descriptor, milliseconds: -1))
    }
}
