import SystemKit

/// The page's own files, read again for each request, so that an edit takes effect on reload.
struct PageFiles: Sendable {
    let folder: String

    /// The file name extensions and Content-Types of the page's files. Other files are not served.
    private static let kinds = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml", "png": "image/png", "webmanifest": "application/manifest+json",
    ]
    /// The largest file in bytes, far more than any file of the page.
    private static let largest = 4 << 20

    /// Reads a file of the page. Nil if there is no such file.
    func file(at path: String) -> (type: String, bytes: [UInt8])? {
        let name = path == "/" ? "index.html" : String(path.dropFirst())
        // Allow only letters, digits and hyphens with one dot, which excludes parent folders and hidden files.
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, let type = Self.kinds[String(parts[1])],
            parts[0].utf8.allSatisfy({ isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }),
            let bytes = try? contents(of: "\(folder)/\(name)", limit: Self.largest)
        else { return nil }
        return (type, bytes)
    }

    private func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

/// The part of a file that a Range header requests (RFC 9110, 14.2).
enum ByteRange: Equatable {
    case all
    case part(Range<Int>)
    case unsatisfiable

    /// Parses a Range header.
    /// - Parameters:
    ///   - header: "bytes=0-499", "bytes=500-" or "bytes=-500". Several ranges, or an invalid header, are ignored.
    ///   - size: the size of the file in bytes.
    init(_ header: String?, size: Int) {
        self = .all
        guard let header, header.hasPrefix("bytes=") else { return }
        let ends = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.count < 16 }) else { return }
        switch (Int(ends[0]), Int(ends[1])) {
        case (let first?, let last?) where first <= last && first >= 0:
            self = first < size ? .part(first..<min(last + 1, size)) : .unsatisfiable
        case (let first?, nil) where ends[1].isEmpty && first >= 0:
            self = first < size ? .part(first..<size) : .unsatisfiable
        case (nil, let last?) where ends[0].isEmpty && last >= 0:
            self = last > 0 && size > 0 ? .part(max(0, size - last)..<size) : .unsatisfiable
        default: break
        }
    }
}
