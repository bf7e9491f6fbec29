import Foundation
import Frames
import JSON
import Publish

/// Pictures that were asked for, written beside the frame loop.
enum Album {
    /// Copies a frame for all who want it. The copy is the one thing that the loop does for a snapshot.
    static func fill(_ orders: [Board.Order], _ view: borrowing FrameView) {
        for order in orders {
            var frame = Frame(view.layout)
            convert(view, into: &frame)
            let picture = Picture(consume frame)
            let thread = Thread {
                order.reply(
                    Result {
                        try picture.write(to: order.path)
                        return JSON(["path": JSON(order.path)])
                    })
            }
            thread.start()
        }
    }

    /// One frame on its way to a thread.
    private final class Picture: Sendable {
        private let frame: Frame

        init(_ frame: consuming Frame) { self.frame = frame }

        func write(to path: String) throws { try Self.write(frame, to: path) }

        private static func write(_ frame: borrowing Frame, to path: String) throws {
            var file = try FileSink(path: path, layout: frame.layout)
            try file.publish(frame.view)
            try file.finish(card: frame.view)
        }
    }

    /// A new name in the user's pictures or videos: `~/Pictures/Guise/2026-11-21 10.30.00.png`.
    /// - Throws: `system` where the folder cannot be made.
    static func newPath(in kind: String, _ ending: String) throws -> String {
        let home = ProcessInfo.processInfo.environment["HOME"] ?? "/"
        let folder = "\(home)/\(kind)/Guise"
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw Problem(.system, "could not make the folder \(folder)", cure: "name a file: --path FILE")
        }
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.dateFormat = "yyyy-MM-dd HH.mm.ss"
        let name = format.string(from: Date())
        for number in 1... {
            let path = "\(folder)/\(name)\(number > 1 ? " \(number)" : "").\(ending)"
            if !FileManager.default.fileExists(atPath: path) { return path }
        }
        return "\(folder)/\(name).\(ending)"
    }
}
