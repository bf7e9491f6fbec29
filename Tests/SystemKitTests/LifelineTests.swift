import Foundation
import Glibc
import Testing

@testable import SystemKit

@Suite struct LifelineTests {
    /// The targets of a table's descriptors.
    private func targets(_ folder: String) -> [String] {
        // One that was closed meanwhile has none.
        entries(of: folder).compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
    }

    /// A pipe hangs up when nobody has its write end any more. The kernel closes a thread's own table with the thread.
    @Test func `one thread alone holds the write end, and nothing else`() throws {
        let descriptor = try #require(Lifeline.descriptor)
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        let pipe = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        #expect(targets("/proc/self/fd").count { $0 == pipe } == 1)
        let threads = entries(of: "/proc/self/task").map { "/proc/self/task/\($0)" }
        let holder = try #require(threads.first { firstLine(ofFile: "\($0)/comm") == "lifeline" })
        #expect(targets("\(holder)/fd") == [pipe])
        #expect(Lifeline.descriptor == descriptor)
        #expect(!PollClock.system.waits(for: descriptor, milliseconds: 0), "it is open, and the first byte was read")
    }
}
