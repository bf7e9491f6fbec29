import Synchronization

/// Stores what requests have changed, on a thread of its own, since a disk may be slow: what hides something before the
/// request is answered, the rest soon.
final class ChangeSaver: Sendable {
    private let hidden: HiddenStateWriter
    private let configuration: ConfigurationStore
    private let worker = Worker("storing", maxQueued: 256)
    /// Works with the user's files. Of its own, since reading masks anew takes seconds.
    private let fileWorker = Worker("files", maxQueued: 256)
    /// Stores everything when no further change has come for a while; nil before the start and after the end.
    private let writer = Mutex<DelayedWriter?>(nil)
    /// Whether what hides something may be stored. Locked meanwhile.
    private let isOpen = Mutex(false)
    /// Jobs of `worker` that store what hides something, the running one among them.
    private let jobs = Atomic<Int>(0)
    /// How often something that hides was to be stored.
    var changes: Int { requested.load(ordering: .acquiring) }
    private let requested = Atomic<Int>(0)

    /// - Parameters:
    ///   - hidden: what must stay hidden in the next process.
    ///   - configuration: the settings, some of which hide something.
    init(_ hidden: HiddenStateWriter, _ configuration: ConfigurationStore) {
        (self.hidden, self.configuration) = (hidden, configuration)
    }

    /// Starts to store changes.
    /// - Parameter storeAll: stores everything; false if it failed and is to be tried again.
    func start(_ storeAll: @escaping @Sendable () -> Bool) {
        isOpen.withLock { $0 = true }
        writer.withLock { $0 = DelayedWriter(storeAll) }
        storeWhatHides()
        request()
    }

    /// Stores what has changed since the last time, and ends that.
    func stop() {
        isOpen.withLock { $0 = false }
        writer.withLock { $0.take() }?.close()
    }

    /// Requests that what has changed is stored.
    func request() {
        let isStarted = writer.withLock { writer in
            writer?.request()
            return writer != nil
        }
        guard isStarted, hidden.isDue || configuration.mustSave else { return }
        requested.add(1, ordering: .acquiringAndReleasing)
        // Of two, one has yet to begin: it will store this change too.
        guard jobs.load(ordering: .acquiring) < 2 else { return }
        jobs.add(1, ordering: .acquiringAndReleasing)
        let isAdded = worker.add { [self] in
            storeWhatHides()
            jobs.subtract(1, ordering: .acquiringAndReleasing)
        }
        if !isAdded { jobs.subtract(1, ordering: .acquiringAndReleasing) }
    }

    /// Calls `body` once what has come to hide something is stored: at once if nothing has.
    /// - Parameter before: what `changes` was before the request that is answered.
    /// - Returns: whether it is called later.
    @discardableResult
    func afterStoring(since before: Int, _ body: @escaping @Sendable () -> Void) -> Bool {
        if changes != before, jobs.load(ordering: .acquiring) > 0, worker.add(body) { return true }
        body()
        return false
    }

    /// Runs a job that works with the user's files, after those before it.
    /// - Parameter end: gets its result once what it has come to hide is stored.
    /// - Returns: false if too many jobs wait; then it does not run.
    func run<R>(_ job: @escaping @Sendable () -> R, then end: @escaping @Sendable (R) -> Void) -> Bool {
        fileWorker.add { [self] in
            let result = job()
            storeWhatHides()
            end(result)
        }
    }

    /// What could not be stored is tried again with the rest.
    private func storeWhatHides() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            try? hidden.write()
            try? configuration.saveHidingChanges()
        }
    }
}
