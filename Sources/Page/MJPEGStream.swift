import NIOCore

/// A Motion JPEG stream to one viewer (multipart/x-mixed-replace). Each picture is the newest when the previous one has
/// been sent: a slow reader gets fewer pictures and delays nobody. Placeholders have a header `Guise-Placeholder: 1`.
struct MJPEGStream: Sendable {
    let preview: Preview
    let options: Preview.StreamOptions

    private static let boundary = "guise-frame"
    /// The Content-Type of the stream.
    static let type = "multipart/x-mixed-replace; boundary=\(boundary)"

    /// Parses the stream options in a request's query.
    /// - Throws: `PageError` that names the allowed values.
    static func options(_ request: HTTPRequest) throws(PageError) -> Preview.StreamOptions {
        var options = Preview.StreamOptions()
        func badValue(_ key: String, _ allowed: String) -> PageError {
            PageError(.control(.badValue), "'\(key)' allows: \(allowed)")
        }
        func flag(_ key: String, _ value: String) throws(PageError) -> Bool {
            guard value == "0" || value == "1" else { throw badValue(key, "0, 1") }
            return value == "1"
        }
        for item in request.query {
            switch item.name {
            case "picture":
                guard let picture = Preview.Picture(rawValue: item.value) else {
                    throw badValue("picture", Preview.Picture.allCases.map(\.rawValue).joined(separator: ", "))
                }
                options.picture = picture
            case "overlay": options.hasOverlay = try flag(item.name, item.value)
            case "mirrored": options.isMirrored = try flag(item.name, item.value)
            case "width":
                guard let width = Int(item.value), (64...4096).contains(width) else {
                    throw badValue("width", "64 to 4096")
                }
                options.width = width
            case "rate":
                guard let rate = Double(item.value), (1...60).contains(rate) else { throw badValue("rate", "1 to 60") }
                options.rate = rate
            // Other items serve only to defeat caches.
            default: break
            }
        }
        return options
    }

    /// Sends pictures until the connection is closed.
    /// - Throws: always, since the stream ends only with an error.
    func send(_ writer: ResponseWriter) async throws -> Never {
        // Registers as a viewer for its lifetime.
        let viewer = Preview.Viewer(preview, options)
        var number = 0
        var lead = "--\(Self.boundary)\r\n"
        var due = ContinuousClock.now
        while true {
            let picture = try await viewer.next(after: &number, due: due)
            // The factor leaves room for jitter of the frame loop.
            due = .now + .seconds(0.9 / viewer.options.rate)
            var part = ByteBuffer()
            part.reserveCapacity(picture.jpeg.count + 128)
            let mark = picture.isPlaceholder ? "Guise-Placeholder: 1\r\n" : ""
            part.writeString("\(lead)Content-Type: image/jpeg\r\n\(mark)Content-Length: \(picture.jpeg.count)\r\n\r\n")
            part.writeBytes(picture.jpeg)
            // The boundary is sent at once, because browsers show a part when they see its end.
            part.writeString("\r\n--\(Self.boundary)\r\n")
            try await writer.send(.body(part))
            lead = ""
        }
    }
}
