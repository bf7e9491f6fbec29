import CLinux
import Glibc

/// Runs `body` on a thread of its own, which ends with it. Nobody waits for its end.
///
/// Ends the program if no thread can be created, since something would wait for its work without end. All unsafe calls
/// for threads are in this file.
/// - Parameters:
///   - name: for top(1) and debuggers, which show 15 bytes of it.
///   - stackSize: bytes; nil: what the system gives, mostly 8 MiB.
public func startThread(named name: String, stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    if let stackSize { unsafe pthread_attr_setstacksize(&attributes, stackSize) }
    let start = unsafe Unmanaged.passRetained(ThreadStart(name: name, body: body))
    var thread = pthread_t()
    let code = unsafe pthread_create(
        &thread, &attributes,
        { context in
            guard let context = unsafe context else { return nil }
            // In a call of its own, so that what the body holds is released before the thread ends.
            unsafe Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue().run()
            return nil
        }, start.toOpaque())
    guard code == 0 else { fatalError("no thread for \(name): \(errorMessage(of: code))") }
}

/// What goes over to a new thread.
private final class ThreadStart: Sendable {
    private let name: String
    private let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }

    func run() {
        unsafe clinux_name_thread(name)
        body()
    }
}
