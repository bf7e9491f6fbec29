import NIOCore

/// One viewer's JPEGs as multipart/x-mixed-replace. Each is the newest when the one before has been sent: a slow reader
/// gets fewer, and none waits for it.
struct PictureStream: Sendable {
    let preview: Preview
    let options: Preview.StreamOptions

    private static let boundary = "guise-frame"
    /// The Content-Type of the whole.
    static let type = "multipart/x-mixed-replace; boundary=\(boundary)"

    /// What a request's query asks for.
    /// - Throws: `PageError` that names what is allowed.
    static func options(_ request: PageRequest) throws(PageError) -> Preview.StreamOptions {
        var options = Preview.StreamOptions()
        func wrong(_ key: String, _ allowed: String) -> PageError {
            PageError(400, "bad-value", "'\(key)' allows: \(allowed)")
        }
        for item in request.query {
            switch item.name {
            case "picture":
                guard let picture = Preview.Picture(rawValue: item.value) else {
                    throw wrong("picture", Preview.Picture.allCases.map(\.rawValue).joined(separator: ", "))
                }
                options.picture = picture
            case "overlay": options.hasOverlay = item.value == "1"
            case "width":
                guard let width = Int(item.value), (64...4096).contains(width) else {
                    throw wrong("width", "64 to 4096")
                }
                options.width = width
            case "rate":
                guard let rate = Double(item.value), (1...60).contains(rate) else { throw wrong("rate", "1 to 60") }
                options.rate = rate
            // Other names only defeat caches.
            default: break
            }
        }
        return options
    }

    /// Sends pictures until the connection is gone.
    /// - Throws: always: that is how it ends.
    func send(_ writer: ResponseWriter) async throws -> Never {
        // Counts as somebody who looks as long as it lives.
        let viewer = Preview.Viewer(preview, options)
        var number = 0
        var lead = "--\(Self.boundary)\r\n"
        while true {
            let jpeg = try await viewer.next(after: &number)
            let sent = ContinuousClock.now
            var part = ByteBuffer()
            part.reserveCapacity(jpeg.count + 128)
            part.writeString("\(lead)Content-Type: image/jpeg\r\nContent-Length: \(jpeg.count)\r\n\r\n")
            part.writeBytes(jpeg)
            // The boundary follows at once: browsers show a part when they see its end.
            part.writeString("\r\n--\(Self.boundary)\r\n")
            try await writer.send(.body(part))
            lead = ""
            // Leaves room for the frame loop's uneven pace.
            let due = sent + .seconds(0.9 / options.rate)
            if due > .now { try await Task.sleep(until: due, clock: .continuous) }
        }
    }
}
