// The only file of this module that handles mapped memory. A mapping lives as long as its ring, and is only lent as a
// span that cannot outlive the ring. Index and length come from the driver and are checked here.
import CLinux
import Glibc
import SystemKit

/// The memory-mapped buffers of a capture device, which circulate between the driver and the program.
///
/// When the ring is destroyed, the stream is stopped, and the buffers are unmapped and the device closed. A ring may
/// move between threads: it has one owner at a time.
@safe public struct BufferRing: ~Copyable, @unchecked Sendable {
    /// A buffer filled by the driver. Requeue it as soon as it was read.
    public struct DequeuedBuffer: Equatable, Sendable {
        /// The driver's index of the buffer.
        public let index: Int
        /// The number of bytes that the driver wrote.
        public let count: Int
        /// The frame's timestamp in seconds on the monotonic clock; nil if the driver uses another clock.
        public let time: Double?
        /// Whether the driver marked the frame as damaged (V4L2_BUF_FLAG_ERROR).
        public let isDamaged: Bool
    }

    /// The capture device, which streams for as long as the ring exists.
    public let device: Device
    /// The number of frames dropped because they were damaged or short.
    public private(set) var damaged = 0
    private let buffers: [UnsafeMutableRawBufferPointer]
    private let shortest: Int

    /// The number of buffers requested; with fewer, the driver has too few to fill while a frame is being read.
    static let requestedCount: UInt32 = 4

    /// Maps the device's buffers and starts the stream.
    /// - Parameter shortest: bytes below which a frame is dropped as too short.
    /// - Throws: `Problem`; the device is then closed.
    public init(_ device: consuming Device, shortest: Int) throws(Problem) {
        var request = v4l2_requestbuffers()
        request.count = Self.requestedCount
        request.type = Direction.capture.bufferType
        request.memory = V4L2_MEMORY_MMAP.rawValue
        var code = device.control(clinux_reqbufs, &request)
        guard code == 0, request.count > 0 else {
            throw device.problem(code == 0 ? ENOMEM : code, "could not allocate buffers of \(device.path)")
        }
        var mapped: [UnsafeMutableRawBufferPointer] = unsafe []
        for index in 0..<request.count where code == 0 {
            var buffer = unsafe Self.buffer(index)
            code = unsafe device.control(clinux_querybuf, &buffer)
            guard code == 0 else { break }
            // Mapped for writing, since libv4lconvert takes a writable source.
            let address = unsafe mmap(
                nil, Int(buffer.length), PROT_READ | PROT_WRITE, MAP_SHARED, device.descriptor, Int(buffer.m.offset))
            guard let address = unsafe address, unsafe address != MAP_FAILED else {
                code = errno
                break
            }
            unsafe mapped.append(UnsafeMutableRawBufferPointer(start: address, count: Int(buffer.length)))
            code = unsafe device.control(clinux_qbuf, &buffer)
        }
        if code == 0 { code = device.start(.capture) }
        guard code == 0 else {
            unsafe Self.unmap(mapped)
            throw device.problem(code, "could not start the stream of \(device.path)")
        }
        self.device = device
        unsafe buffers = mapped
        self.shortest = max(1, shortest)
    }

    deinit {
        device.stop(.capture)
        unsafe Self.unmap(buffers)
    }

    /// The number of buffers that the driver granted.
    public var count: Int { unsafe buffers.count }

    /// Dequeues the newest filled buffer, and requeues older ones unread; nil if none is ready. Never blocks.
    /// - Throws: `Problem` of kind `gone` if the device was unplugged or its stream has ended.
    public mutating func dequeueNewest() throws(Problem) -> DequeuedBuffer? {
        let device = handle
        let known = count
        return try Self.newest(of: known, shortest: shortest, damaged: &damaged) { () throws(Problem) in
            try Self.dequeue(device, known: known)
        } requeue: {
            Self.queue(device.descriptor, $0)
        }
    }

    /// Selects the newest usable buffer, independent of the device.
    /// - Parameter limit: the most buffers per call, so that a fast camera cannot block the caller.
    static func newest(
        of limit: Int, shortest: Int, damaged: inout Int, dequeue: () throws(Problem) -> DequeuedBuffer?,
        requeue: (DequeuedBuffer) -> Void
    ) throws(Problem) -> DequeuedBuffer? {
        var newest: DequeuedBuffer?
        for _ in 0..<limit {
            guard let filled = try dequeue() else { break }
            if filled.isDamaged || filled.count < shortest {
                damaged += 1
                requeue(filled)
                continue
            }
            if let older = newest { requeue(older) }
            newest = filled
        }
        return newest
    }

    /// The bytes of a filled buffer; not to be read once the buffer was requeued.
    @_lifetime(borrow self)
    public func bytes(of filled: DequeuedBuffer) -> Span<UInt8> {
        let map = unsafe UnsafeRawBufferPointer(rebasing: buffers[filled.index].prefix(filled.count))
        let span = unsafe Span<UInt8>(_unsafeBytes: map)
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    /// Returns a buffer to the driver (VIDIOC_QBUF). If that fails, the next `dequeueNewest` reports why.
    public func requeue(_ filled: DequeuedBuffer) { Self.queue(device.descriptor, filled) }
}

extension BufferRing {
    private typealias Handle = (descriptor: CInt, path: String)
    private var handle: Handle { (device.descriptor, device.path) }

    private static func dequeue(_ device: Handle, known: Int) throws(Problem) -> DequeuedBuffer? {
        var buffer = unsafe buffer(0)
        let code = unsafe Device.control(device.descriptor, clinux_dqbuf, &buffer)
        if code == EAGAIN { return nil }
        let index = unsafe Int(buffer.index)
        guard code == 0, index < known else { throw lost(device, code) }
        let flags = unsafe buffer.flags
        let stamp = unsafe buffer.timestamp
        let isMonotonic = flags & UInt32(V4L2_BUF_FLAG_TIMESTAMP_MASK) == UInt32(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC)
        return unsafe DequeuedBuffer(
            index: index, count: Int(min(buffer.bytesused, buffer.length)),
            time: isMonotonic ? Double(stamp.tv_sec) + Double(stamp.tv_usec) * 1e-6 : nil,
            isDamaged: flags & UInt32(V4L2_BUF_FLAG_ERROR) != 0)
    }

    private static func lost(_ device: Handle, _ code: CInt) -> Problem {
        let what = "lost the camera \(device.path)"
        return switch code {
        case 0: Problem(.gone, "\(what): its driver returned an invalid buffer index")
        // The driver reset itself, or the writer of a loopback closed it, which removes its format.
        case EINVAL: Problem(.gone, "\(what): its stream has ended", fix: "restart the program that feeds it")
        default: Device.problem(code, what, path: device.path)
        }
    }

    private static func queue(_ descriptor: CInt, _ filled: DequeuedBuffer) {
        var buffer = unsafe buffer(UInt32(filled.index))
        _ = unsafe Device.control(descriptor, clinux_qbuf, &buffer)
    }

    private static func unmap(_ maps: [UnsafeMutableRawBufferPointer]) {
        for index in unsafe maps.indices { unsafe munmap(maps[index].baseAddress, maps[index].count) }
    }

    private static func buffer(_ index: UInt32) -> v4l2_buffer {
        var buffer = unsafe v4l2_buffer()
        unsafe buffer.type = Direction.capture.bufferType
        unsafe buffer.memory = V4L2_MEMORY_MMAP.rawValue
        unsafe buffer.index = index
        return unsafe buffer
    }
}
