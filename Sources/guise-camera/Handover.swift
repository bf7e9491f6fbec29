import CLinux
import Glibc
import SystemKit
import USBCamera

/// Keeps the camera plugged in while the service restarts, for instance for an update: the kernel's socket and the
/// camera's state wait in the service manager's descriptor store (sd_pid_notify_with_fds(3)) for the next process. If
/// none comes, the manager closes them, and the kernel unplugs the camera.
struct Handover: ~Copyable {
    private let manager: ManagerConnection?
    /// A pipe that ends when the manager has processed all messages (sd_notify_barrier(3)). Open as long as the
    /// process.
    private let barrier: (reading: CInt, writing: CInt)

    private static let portName = "port"
    private static let stateName = "state"
    /// The first descriptor that a service manager passes (sd_listen_fds(3)).
    private static let firstPassed: CInt = 3
    /// The most bytes of a state: `CameraDevice` bounds its transfers and its input to less.
    private static let maxState = 1 << 16
    /// Milliseconds to wait for the manager.
    private static let timeout: CInt = 1000

    /// Connects to the service manager. Call it before the process drops its privileges, which may be needed.
    init() {
        manager = ServiceManager().connect()
        var ends: [2 of CInt] = [-1, -1]
        var span = ends.mutableSpan
        _ = unsafe span.withUnsafeMutableBufferPointer { unsafe pipe($0.baseAddress) }
        barrier = (ends[0], ends[1])
    }

    /// Tells the service manager that the camera is there.
    func notifyReady() { _ = send("READY=1") }

    /// Stores the camera for the next process.
    /// - Returns: false without a service manager: then the camera must be unplugged.
    func store(_ port: borrowing Port, _ camera: CameraDevice) -> Bool {
        let file = unsafe clinux_memory_file("guise-camera")
        guard file >= 0 else { return false }
        defer { close(file) }
        guard writeAll(Self.state(port, camera).span, to: file),
            send("FDSTORE=1\nFDNAME=\(Self.portName)", passing: port.descriptor),
            send("FDSTORE=1\nFDNAME=\(Self.stateName)", passing: file),
            send("BARRIER=1", passing: barrier.writing)
        else { return false }
        close(barrier.writing)
        guard PollClock.system.waits(for: barrier.reading, milliseconds: Self.timeout) else {
            // The camera is unplugged now: the next process must not take a socket that is dead.
            discardStored()
            return false
        }
        return true
    }

    /// Asks the service manager to close its copies of the descriptors.
    private func discardStored() {
        for name in [Self.portName, Self.stateName] { _ = send("FDSTOREREMOVE=1\nFDNAME=\(name)") }
    }

    /// The number of the port in 32 bits, little-endian, and the camera's state.
    private static func state(_ port: borrowing Port, _ camera: CameraDevice) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: UInt32(port.number))
        return bytes + camera.state
    }

    /// Restores the camera that the previous process has stored.
    /// - Returns: the kernel's socket, the number of its port, and the camera; nil if there is none, or its state is
    ///   not understood. Then the camera is unplugged.
    func restore() -> (port: CInt, number: Int, camera: CameraDevice)? {
        guard let count = environmentVariable("LISTEN_FDS").flatMap({ CInt($0) }), count > 0,
            environmentVariable("LISTEN_PID").flatMap({ pid_t($0) }) == getpid()
        else { return nil }
        let names = environmentVariable("LISTEN_FDNAMES")?.split(separator: ":").map(String.init) ?? []
        var (port, state): (CInt?, CInt?)
        for number in 0..<min(Int(count), names.count) {
            let descriptor = Self.firstPassed + CInt(number)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            switch names[number] {
            case Self.portName: port = descriptor
            case Self.stateName: state = descriptor
            default: close(descriptor)
            }
        }
        // The manager's copies would keep the camera plugged in after this process.
        discardStored()
        defer { if let state { close(state) } }
        guard let port else { return nil }
        let bytes = state.flatMap { try? contents(of: "/proc/self/fd/\($0)", limit: Self.maxState) } ?? []
        guard bytes.count >= 4, let camera = CameraDevice(state: bytes.span.extracting(droppingFirst: 4)) else {
            close(port)
            return nil
        }
        return (port, Int(bytes.span.littleEndian32(at: 0)), camera)
    }

    private func send(_ text: String, passing passed: CInt = -1) -> Bool {
        switch manager {
        case .some(let manager): manager.send(text, passing: passed)
        case .none: false
        }
    }
}
