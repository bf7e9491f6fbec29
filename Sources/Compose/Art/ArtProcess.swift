import CArt
import Frames
import Glibc
import Synchronization
import SystemKit

/// The parent's side of the child process that reads art. The child is started for the first request and ended by
/// `shutDown`. Art that takes too much time or memory, or crashes a library, ends only the child.
///
/// The unsafe calls to the C shims are in this file only.
enum ArtProcess {
    /// The child; nil if none is running. Locked while it works, so there is one request at a time.
    private static let working = Mutex<Child?>(nil)

    /// Milliseconds of wall-clock time to wait for a reply, in case the child is stopped. The child itself limits its
    /// CPU time to 4 s, which can take more than a minute next to a dozen busy programs.
    fileprivate static let timeout: CInt = 600_000

    /// Draws an SVG, or decodes a PNG or JPEG.
    /// - Parameters:
    ///   - path: for messages.
    ///   - limit: the most pixels on the longer side.
    ///   - density: the most pixels per unit of the drawing.
    /// - Throws: `unusable` with what is wrong with the picture; `missing` or `system` if no child can be started.
    static func draw(
        _ picture: [UInt8], _ path: String, limit: Int, density: Float
    ) throws(Problem) -> RGBAImage {
        var request = cart_request()
        (request.task, request.density, request.limit) = (CART_DRAW, Double(density), Int32(limit))
        let (reply, pixels) = try send(request, picture) { ArtError.broken(path, $0) }
        let (width, height) = (Int(reply.width), Int(reply.height))
        guard (1...limit).contains(width), (1...limit).contains(height), pixels.count == width * height * 4 else {
            throw ArtError.broken(path, "guise-art sent a reply of the wrong size")
        }
        return RGBAImage(
            width: width, height: height, bytes: pixels, scale: Float(reply.scale),
            origin: Point(Float(reply.x), Float(reply.y)),
            size: SIMD2(Float(reply.box_width), Float(reply.box_height)))
    }

    /// Encodes a picture as PNG.
    /// - Parameter path: for messages.
    /// - Throws: `unusable` if it is too large; `missing` or `system` if no child can be started.
    static func png(of image: RGBAImage, _ path: String) throws(Problem) -> [UInt8] {
        var request = cart_request()
        (request.task, request.width, request.height) = (CART_ENCODE, Int32(image.width), Int32(image.height))
        return try send(request, image.bytes) { ArtError.broken(path, $0) }.bytes
    }

    /// Reads a glTF model.
    /// - Parameter broken: makes the error from what is wrong with the model.
    /// - Returns: its primitives, as `cart_primitive` describes them.
    /// - Throws: what `broken` makes; `missing` or `system` if no child can be started.
    static func primitives(ofModel bytes: [UInt8], broken: (String) -> Problem) throws(Problem) -> [UInt8] {
        var request = cart_request()
        request.task = CART_MODEL
        return try send(request, bytes, broken: broken).bytes
    }

    /// Has the child do one task, and starts it if it isn't running.
    /// - Parameter broken: makes the error from what is wrong with the art.
    private static func send(
        _ request: cart_request, _ bytes: [UInt8], broken: (String) -> Problem
    ) throws(Problem) -> (reply: cart_reply, bytes: [UInt8]) {
        // A `Result`, because `withLock` can't infer the closure's typed throws.
        let replied = working.withLock { child in
            Result { () throws(Problem) -> (cart_reply, [UInt8]) in
                let running: Child
                if let child { running = child } else { running = try Child.start() }
                child = running
                if let reply = running.exchange(request, bytes) { return reply }
                child = nil
                throw Self.failure(status: running.end(), broken: broken)
            }
        }
        let (reply, result) = try replied.get()
        let error = errorText(of: reply)
        guard error.isEmpty else { throw broken(error) }
        return (reply, result)
    }

    /// The error for a child that has ended while it worked.
    /// - Parameters:
    ///   - status: the child's exit status, or 256 + the signal that ended it.
    ///   - broken: makes the error from what is wrong with the art.
    static func failure(status: CInt, broken: (String) -> Problem) -> Problem {
        switch status {
        // The dynamic linker's status.
        case 127:
            Problem(
                .missing, "guise-art, which reads the art of masks, could not start: a library is missing",
                fix: "install librsvg2-2 and libseccomp2")
        // The status of guise-art's `main`, before it reads a request.
        case 1:
            Problem(
                .system, "guise-art, which reads the art of masks, could not restrict its system calls",
                fix: "use a kernel with seccomp filters")
        case 256 + SIGXCPU: broken("reading it takes more than 4 s")
        case 256 + SIGKILL: broken("reading it takes too long")
        default: broken("reading it takes too much memory, or crashes a library")
        }
    }

    /// Ends the child process, if there is one. The next request starts it again.
    static func shutDown() {
        working.withLock { child in
            _ = child?.end()
            child = nil
        }
    }

    private static func errorText(of reply: cart_reply) -> String {
        var reply = reply
        return unsafe withUnsafeBytes(of: &reply.error) { unsafe ArtError.string(utf8: $0) }
    }
}

extension RGBAImage {
    /// Writes the picture to a PNG file.
    /// - Parameter overwrites: whether an existing file is replaced.
    /// - Throws: `exists` if there is one that may not be replaced; `system` if the file can't be written;
    ///   `unusable` if the picture is too large.
    public func write(png path: String, overwrites: Bool = false) throws(Problem) {
        try writeOwnFile(ArtProcess.png(of: self, path), to: path, overwrites: overwrites)
    }
}

/// A running guise-art.
private struct Child: Sendable {
    private let helper: HelperProcess

    /// Starts guise-art.
    /// - Throws: `missing` if it isn't installed; `system` if it can't be started.
    static func start() throws(Problem) -> Child {
        Child(helper: try HelperProcess("guise-art", purpose: "reads the art of masks"))
    }

    /// Sends a request and its bytes, and waits for the reply and what follows it.
    /// - Returns: nil if the child has ended or doesn't reply.
    func exchange(_ request: cart_request, _ bytes: [UInt8]) -> (cart_reply, [UInt8])? {
        var request = request
        request.size = UInt64(bytes.count)
        var reply = cart_reply()
        guard unsafe withUnsafeBytes(of: &request, { unsafe helper.write($0) }),
            unsafe bytes.withUnsafeBytes({ unsafe helper.write($0) }),
            unsafe withUnsafeMutableBytes(of: &reply, { unsafe read(into: $0) })
        else { return nil }
        guard reply.size <= UInt64(CART_MAX_BYTES) else { return nil }
        var result = [UInt8](repeating: 0, count: Int(reply.size))
        guard unsafe result.withUnsafeMutableBytes({ unsafe read(into: $0) }) else { return nil }
        return (reply, result)
    }

    private func read(into bytes: UnsafeMutableRawBufferPointer) -> Bool {
        unsafe helper.read(into: bytes, milliseconds: ArtProcess.timeout)
    }

    /// Ends the child.
    /// - Returns: its exit status, or 256 + the signal that ended it.
    func end() -> CInt { helper.end() }
}
