import Foundation
import Synchronization
import Testing

/// Runs each test on its own thread, up to a maximum at once, so that tests may block: they wait for programs and
/// sockets, and Swift's few cooperative threads stay free for the servers under test.
public struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    /// Twice as many as there are cores, because such tests mostly wait. More only compete for the caches.
    private static let gate = Gate(width: 4)

    public var isRecursive: Bool { true }

    /// Only single cases are moved; a suite's scope would occupy a place in the gate while its tests wait for one.
    public func scopeProvider(for test: Test, testCase: Test.Case?) -> OwnThread? { testCase == nil ? nil : self }

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await Self.gate.enter(isFirst: test.traits.contains { $0 is GoesFirst })
        let result: Result<Void, any Error>
        let thread = ThreadExecutor()
        do {
            try await withTaskExecutorPreference(thread) { try await function() }
            result = .success(())
        } catch { result = .failure(error) }
        thread.end()
        Self.gate.leave()
        try result.get()
    }
}

/// The suite's tests go before others that wait for a thread.
public struct GoesFirst: SuiteTrait, TestTrait { public var isRecursive: Bool { true } }

extension Trait where Self == GoesFirst {
    /// Its tests run one after the other and would otherwise be the last to run.
    public static var goesFirst: Self { GoesFirst() }
}

extension Trait where Self == OwnThread {
    /// The test blocks: it waits for programs or sockets.
    public static var ownThread: Self { OwnThread() }
}

/// Admits a number of tasks; the others wait without a thread.
private final class Gate: Sendable {
    private struct State {
        var places: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(width: Int) { state = Mutex(State(places: width)) }

    func enter(isFirst: Bool) async {
        await withCheckedContinuation { continuation in
            let isIn = state.withLock { state in
                if state.places > 0 {
                    state.places -= 1
                    return true
                }
                state.waiting.insert(continuation, at: isFirst ? 0 : state.waiting.count)
                return false
            }
            if isIn { continuation.resume() }
        }
    }

    func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.places += 1
            return nil
        }
        next?.resume()
    }
}

/// A thread that runs a task's jobs until its end.
private final class ThreadExecutor: TaskExecutor, @unchecked Sendable {
    private let condition = NSCondition()
    private var jobs: [UnownedJob] = []
    private var isOver = false

    init() {
        let thread = Thread { [self] in work() }
        // As large as the main thread's, because tests decode pictures on it.
        thread.stackSize = 8 << 20
        thread.start()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        condition.withLock {
            jobs.append(job)
            condition.signal()
        }
    }

    func end() {
        condition.withLock {
            isOver = true
            condition.signal()
        }
    }

    private func work() {
        while true {
            let job: UnownedJob? = condition.withLock {
                while jobs.isEmpty, !isOver { condition.wait() }
                return jobs.isEmpty ? nil : jobs.removeFirst()
            }
            guard let job else { return }
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
