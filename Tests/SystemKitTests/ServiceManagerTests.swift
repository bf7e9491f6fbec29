import Glibc
import TestSupport
import Testing

@testable import SystemKit

@Suite struct ServiceManagerTests {
    /// A datagram socket, as the service manager has one.
    private final class Manager {
        private let descriptor: CInt

        /// - Parameter path: with @ as its first byte for the abstract namespace.
        init(_ path: String) throws {
            descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            var bytes = Array(path.utf8)
            if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
            let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
            unsafe withUnsafeMutableBytes(of: &address) { unsafe $0[start...].copyBytes(from: bytes) }
            let result = unsafe withUnsafeBytes(of: &address) {
                unsafe bind(
                    descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(start + bytes.count))
            }
            try #require(result == 0)
        }

        deinit { close(descriptor) }

        /// The next message that has arrived; nil if there is none.
        func next() -> String? {
            var bytes = [UInt8](repeating: 0, count: 256)
            let count = unsafe recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
            return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
        }
    }

    @Test(arguments: [false, true])
    func `notifications reach the manager, in its file or in the abstract namespace`(isAbstract: Bool) throws {
        let scratch = try ScratchFolder()
        let path = isAbstract ? "@guise-test-\(getpid())" : scratch.path("notify")
        let manager = try Manager(path)
        let service = ServiceManager { $0 == "NOTIFY_SOCKET" ? path : nil }
        #expect(service.notify("READY=1") && service.notify("STATUS=no camera: it is busy"))
        #expect(manager.next() == "READY=1")
        #expect(manager.next() == "STATUS=no camera: it is busy")
        #expect(manager.next() == nil)
    }

    @Test func `without a manager a notification does nothing, and with one that has gone it fails`() throws {
        #expect(ServiceManager { _ in nil }.notify("READY=1"))
        let path = try ScratchFolder().path("nobody")
        #expect(!ServiceManager { $0 == "NOTIFY_SOCKET" ? path : nil }.notify("READY=1"))
    }

    @Test(
        arguments: [
            ([:], nil), (["WATCHDOG_USEC": "3000000"], 3_000_000), (["WATCHDOG_USEC": "0"], nil),
            (["WATCHDOG_USEC": "soon"], nil), (["WATCHDOG_USEC": "5", "WATCHDOG_PID": "1"], nil),
            (["WATCHDOG_USEC": "5", "WATCHDOG_PID": "\(getpid())"], 5),
        ] as [([String: String], UInt64?)])
    func `the watchdog's timeout is that of this process`(variables: [String: String], timeout: UInt64?) {
        #expect(ServiceManager { variables[$0] }.watchdogTimeout == timeout)
    }
}
