import CArt
import CLinux
import Frames
import Glibc
import Synchronization
import SystemKit

/// The parent's side of the child process that renders SVGs. The child is started for the first SVG and ended by
/// `shutDownRenderer`. A drawing that takes too much time or memory, or crashes librsvg, ends only the child.
///
/// The unsafe calls to the C shims are in this file only.
enum SVGRenderer {
    /// The child; nil if none is running. Locked while it renders, so there is one drawing at a time.
    private static let working = Mutex<Child?>(nil)

    /// Milliseconds to wait for a reply, in wall-clock time. The child limits its own CPU time to 4 s, which takes it
    /// more than a minute beside a dozen busy programs; this is for a child that something else has stopped.
    private static let timeout: CInt = 600_000

    /// Renders an SVG.
    /// - Parameters:
    ///   - path: for messages.
    ///   - limit: the most pixels on the longer side.
    ///   - density: the most pixels per unit of the drawing.
    /// - Throws: `unusable` with what is wrong with the SVG; `system` if no child can be started.
    static func draw(
        _ svg: [UInt8], _ path: String, limit: Int, density: Float
    ) throws(Problem) -> RGBAImage {
        // A `Result`, because `withLock` can't infer the closure's typed throws.
        let drawn = working.withLock { child in
            Result { () throws(Problem) -> (cart_reply, [UInt8]) in
                let renderer: Child
                if let child { renderer = child } else { renderer = try Child.start() }
                child = renderer
                if let answer = renderer.request(svg, limit: limit, density: density, timeout: timeout) {
                    return answer
                }
                child = nil
                throw ArtError.broken(path, "drawing it \(renderer.end())")
            }
        }
        let (reply, pixels) = try drawn.get()
        return try raster(reply, pixels, path)
    }

    /// Ends the child process, if there is one. The next drawing starts it again.
    static func shutDownRenderer() {
        working.withLock { child in
            _ = child?.end()
            child = nil
        }
    }

    private static func raster(_ reply: cart_reply, _ pixels: [UInt8], _ path: String) throws(Problem) -> RGBAImage {
        let error = words(of: reply)
        guard error.isEmpty else { throw ArtError.broken(path, error) }
        return RGBAImage(
            width: Int(reply.width), height: Int(reply.height), bytes: pixels, scale: Float(reply.scale),
            origin: Point(Float(reply.x), Float(reply.y)),
            size: SIMD2(Float(reply.box_width), Float(reply.box_height)))
    }

    fileprivate static func words(of reply: cart_reply) -> String {
        var reply = reply
        return unsafe withUnsafeBytes(of: &reply.error) { unsafe ArtError.string(utf8: $0) }
    }
}

/// A running guise-svg.
private struct Child: Sendable {
    let process: pid_t
    /// Pipes to its standard input, and from its standard output and error. The last carries libraries' messages and
    /// isn't read.
    let (requests, replies, errors): (CInt, CInt, CInt)

    /// Where guise-svg is: beside the program while it is built, under `libexec/guise` once installed.
    /// - Throws: `missing` if it is in neither place.
    private static func program() throws(Problem) -> String {
        let own = realPath(of: "/proc/self/exe") ?? ""
        let folder = own[..<(own.lastIndex(of: "/") ?? own.startIndex)]
        let places = ["\(folder)/guise-svg", "\(folder)/../libexec/guise/guise-svg"]
        guard let found = places.first(where: isReadable) else {
            throw Problem(
                .missing, "guise-svg, which renders SVGs, is neither at \(places[0]) nor at \(places[1])",
                fix: "run `make build` or `make install` again")
        }
        return found
    }

    /// Starts guise-svg.
    /// - Throws: `missing` if it isn't installed; `system` if it can't be started.
    static func start() throws(Problem) -> Child {
        let program = try program()
        var ends: [2 of CInt] = [-1, -1]
        var child = clinux_child()
        var span = ends.mutableSpan
        guard unsafe span.withUnsafeMutableBufferPointer({ unsafe pipe($0.baseAddress) }) == 0 else {
            throw Problem(.system, "could not create a pipe to guise-svg: \(errorMessage(of: errno))")
        }
        // `clinux_child_start` closes all other descriptors in its children. This is for children that libraries start.
        for end in [ends[0], ends[1]] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let result = unsafe program.withCString { program in
            var words: [2 of UnsafePointer<CChar>?] = unsafe [program, nil]
            var span = unsafe words.mutableSpan
            return unsafe span.withUnsafeMutableBufferPointer {
                unsafe clinux_child_start($0.baseAddress, 0, ends[0], &child)
            }
        }
        close(ends[0])
        guard result == 0 else {
            close(ends[1])
            throw Problem(.system, "could not start guise-svg: \(errorMessage(of: -result))")
        }
        return Child(process: child.pid, requests: ends[1], replies: child.pipe, errors: child.errors)
    }

    /// Sends an SVG, and waits for the reply and the pixels.
    /// - Returns: nil if the child has ended or doesn't reply.
    func request(
        _ svg: [UInt8], limit: Int, density: Float, timeout: CInt
    ) -> (cart_reply, [UInt8])? {
        var request = cart_request()
        (request.size, request.density, request.limit) = (UInt64(svg.count), Double(density), Int32(limit))
        var reply = cart_reply()
        guard unsafe withUnsafeBytes(of: &request, { unsafe write($0) }),
            unsafe svg.withUnsafeBytes({ unsafe write($0) }),
            unsafe withUnsafeMutableBytes(of: &reply, { unsafe read(into: $0, timeout) })
        else { return nil }
        guard SVGRenderer.words(of: reply).isEmpty else { return (reply, []) }
        guard (1...limit).contains(Int(reply.width)), (1...limit).contains(Int(reply.height)) else { return nil }
        var pixels = [UInt8](repeating: 0, count: Int(reply.width) * Int(reply.height) * 4)
        guard unsafe pixels.withUnsafeMutableBytes({ unsafe read(into: $0, timeout) }) else { return nil }
        return (reply, pixels)
    }

    /// Writes all bytes to the child; false if it has ended.
    private func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = unsafe bytes
        while unsafe !rest.isEmpty, let base = rest.baseAddress {
            let count = unsafe clinux_write(requests, base.assumingMemoryBound(to: UInt8.self), rest.count)
            guard count > 0 else { return false }
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return true
    }

    /// Fills the buffer from the child; false if it has ended. Kills it if it sends nothing for `timeout`
    /// milliseconds.
    private func read(into bytes: UnsafeMutableRawBufferPointer, _ timeout: CInt) -> Bool {
        var rest = unsafe bytes
        while unsafe !rest.isEmpty, let base = rest.baseAddress {
            guard waitUntilReady(replies, milliseconds: timeout) else {
                kill(process, SIGKILL)
                return false
            }
            let count = unsafe clinux_read(replies, base.assumingMemoryBound(to: UInt8.self), rest.count)
            guard count > 0 else { return false }
            unsafe rest = UnsafeMutableRawBufferPointer(rebasing: rest[count...])
        }
        return true
    }

    /// Closes the pipes, which makes the child exit, and waits for it.
    /// - Returns: in words, why the child ended.
    func end() -> String {
        close(requests)
        close(replies)
        close(errors)
        switch clinux_child_wait(process) {
        case 1, 127: return "failed to start: guise-svg needs librsvg2-2 and libseccomp2"
        case 256 + SIGXCPU: return "takes more than 4 s"
        case 256 + SIGKILL: return "takes too long"
        default: return "takes too much memory, or crashes librsvg"
        }
    }
}
