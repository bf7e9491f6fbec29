import Frames

/// The page's own files, read anew for each request, so that an edit shows on reload.
struct PageFiles: Sendable {
    let folder: String

    /// What the page is made of, and what browsers call it. Nothing else is given out.
    private static let kinds = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml", "png": "image/png",
    ]
    /// Bytes; no file of the page comes near.
    private static let largest = 4 << 20

    /// Nil where there is no such file.
    func file(at path: String) -> (type: String, bytes: [UInt8])? {
        let name = path == "/" ? "index.html" : String(path.dropFirst())
        // Letters, digits and hyphens with one dot: no folder above, no hidden file.
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

/// What of a file is asked for (RFC 9110, 14.2).
enum ByteRange: Equatable {
    case all
    case part(Range<Int>)
    case unsatisfiable

    /// - Parameters:
    ///   - header: "bytes=0-499", "bytes=500-" or "bytes=-500"; several ranges, and what is no range, are as if not said.
    ///   - size: bytes of the file.
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
