import Glibc
import NIOCore
import NIOHTTP1
import SystemKit

/// An open photo or video recording.
final class CaptureFile: Sendable {
    /// The size in bytes at the time of opening.
    let size: Int
    private let descriptor: CInt

    /// The number of bytes held in memory at once.
    private static let chunk = 64 << 10

    /// Opens a file. Nil if there is no regular file at the path.
    init?(_ path: String) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return nil
        }
        (self.descriptor, size) = (descriptor, Int(status.st_size))
    }

    deinit { close(descriptor) }

    /// Sends a range of the file. Each chunk is read only after the previous one was sent.
    /// - Throws: if the connection is closed, or the file has become shorter.
    func send(
        _ status: HTTPResponseStatus, _ headers: HTTPHeaders, _ range: Range<Int>, _ writer: ResponseWriter
    ) async throws {
        var headers = headers
        headers.replaceOrAdd(name: "Content-Length", value: "\(range.count)")
        try await writer.send(.head(status, headers))
        var offset = range.lowerBound
        while offset < range.upperBound {
            let wanted = min(Self.chunk, range.upperBound - offset)
            var bytes = [UInt8](repeating: 0, count: wanted)
            let count = retryingInterrupted { unsafe pread(descriptor, &bytes, wanted, offset) }
            guard count > 0 else { throw PageError(.control(.failed), "the file ended early") }
            try await writer.send(.body(ByteBuffer(bytes: bytes[..<count])))
            offset += count
        }
        try await writer.send(.end)
    }

    /// The Content-Type for a file name.
    static func type(of name: String) -> String {
        switch name.split(separator: ".").last?.lowercased() {
        case "png": "image/png"
        case "jpg", "jpeg": "image/jpeg"
        case "webp": "image/webp"
        case "gif": "image/gif"
        case "mp4", "mov": "video/mp4"
        case "webm": "video/webm"
        case "mkv": "video/x-matroska"
        case "txt": "text/plain; charset=utf-8"
        default: "application/octet-stream"
        }
    }
}
