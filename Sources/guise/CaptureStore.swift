import Control
import Engine
import FoundationEssentials
import Glibc
import JSON
import Privacy
import Publish
import Synchronization
import SystemKit

/// The photos and videos saved on request. Photos are written on a worker thread. The page finds the
/// files by name.
final class CaptureStore: Sendable {
    /// The saved files, oldest first.
    private let made = Mutex<[(name: String, path: String)]>([])

    /// Encodes and writes photos. A few may wait, each with a copy of its frame.
    private let worker = Worker("snapshots", maxQueued: 8)

    /// The number of files that are remembered.
    private static let maxRemembered = 200

    // MARK: - saved files

    /// The path of a photo or video; nil if this daemon did not save one of that name.
    func path(of name: String) -> String? { made.withLock { $0.last { $0.name == name }?.path } }

    /// Remembers a file.
    /// - Returns: the name by which the page finds it.
    func add(_ path: String) -> String {
        let name = fileName(of: path)
        made.withLock { made in
            made.removeAll { $0.name == name }
            made.append((name, path))
            if made.count > Self.maxRemembered { made.removeFirst() }
        }
        return name
    }

    /// The saved files that still exist, newest first.
    var all: [(name: String, path: String)] { made.withLock { $0.reversed() }.filter { FileVersion($0.path) != nil } }

    /// Gives a file another name in its folder; the extension stays.
    /// - Returns: its new name and path.
    /// - Throws: `RequestError` if this daemon did not save a file of that name, or the new name is not valid or taken.
    func rename(_ name: String, to new: String) throws -> AlbumReply.Entry {
        let path = try existingPath(of: name)
        let file = fileName(of: path)
        let fileExtension = file.lastIndex(of: ".").map { String(file[$0...]) } ?? ""
        let title = new.hasSuffix(fileExtension) ? String(new.dropLast(fileExtension.count)) : new
        guard !title.allSatisfy(\.isWhitespace), !title.hasPrefix("."), !title.contains("/"), !title.contains("\0"),
            title.utf8.count + fileExtension.utf8.count <= Self.maxName
        else {
            throw RequestError(
                .badValue,
                "'\(brief(new))' is not a valid file name; "
                    + "allowed: 1 to \(Self.maxName) bytes, no slash, no dot at the start"
            )
        }
        let renamed = "\(parentFolder(of: path))/\(title)\(fileExtension)"
        guard renamed != path else { return AlbumReply.Entry(name: name, path: path) }
        guard renameToNew(path, renamed) else {
            let code = errno
            throw RequestError(
                code == EEXIST ? .badValue : .failed,
                "could not rename \(file) to \(title)\(fileExtension): \(errorMessage(of: code))")
        }
        made.withLock { $0.removeAll { $0.name == name } }
        return AlbumReply.Entry(name: add(renamed), path: renamed)
    }

    /// Moves a file to the user's trash, from which a file manager can restore it.
    /// - Returns: the file's name and its last path.
    /// - Throws: `RequestError` if this daemon did not save a file of that name, or it cannot be moved.
    func delete(_ name: String) throws -> AlbumReply.Entry {
        let path = try existingPath(of: name)
        try Trash().add(path)
        made.withLock { $0.removeAll { $0.name == name } }
        return AlbumReply.Entry(name: name, path: path)
    }

    private func existingPath(of name: String) throws -> String {
        guard let path = path(of: name), FileVersion(path) != nil else {
            throw RequestError(.badValue, "no picture or recording '\(brief(name))' was saved since Guise started")
        }
        return path
    }

    /// The longest file name in bytes that Linux's file systems accept (NAME_MAX).
    private static let maxName = 255

    // MARK: - photos

    /// A request for a photo.
    struct Snapshot: CaptureRequest {
        let store: CaptureStore
        /// Where to; if there is a file, beside it. Nil: to a new path in the user's pictures folder.
        let path: String?
        /// Texts to embed in a PNG.
        let texts: [(keyword: String, text: String)]
        /// The text of a note file beside the photo; nil for none.
        let note: String?
        let reply: @Sendable (Result<SnapshotReply, any Error>) -> Void

        /// Copies the frame, which is the only work that the frame loop does for a photo.
        func capture(_ frame: borrowing PublishableFrame) {
            var copy = PublishableCopy(frame.layout)
            copy.copy(frame)
            let picture = Picture(consume copy)
            let isQueued = store.worker.add { reply(Result { try save(picture) }) }
            if !isQueued { refuse("too many photos at once; try again in a moment") }
        }

        func refuse(_ reason: String) { reply(.failure(RequestError(.notNow, reason))) }

        /// Looks for the path only here: the folder may be on a slow disk.
        private func save(_ picture: Picture) throws -> SnapshotReply {
            let path = try path.map(freePath) ?? CaptureStore.newPath(in: "Pictures", "png")
            try picture.write(to: path, with: texts)
            var answer = SnapshotReply(path: path, album: store.add(path))
            if let note {
                let path = freePath(for: CaptureStore.notePath(of: path))
                try writeOwnFile(Array(note.utf8), to: path)
                answer.note = path
            }
            return answer
        }
    }

    /// A frame that is handed to the worker thread.
    private final class Picture: Sendable {
        private let copy: PublishableCopy

        init(_ copy: consuming PublishableCopy) { self.copy = copy }

        func write(to path: String, with texts: [(keyword: String, text: String)]) throws {
            try Self.write(copy, to: path, with: texts)
        }

        private static func write(
            _ copy: borrowing PublishableCopy, to path: String, with texts: [(keyword: String, text: String)]
        ) throws {
            var file = try FileSink(path: path, layout: copy.layout, isPrivate: true, texts: texts)
            try file.publish(copy.frame)
            try file.finish(placeholder: copy.frame)
        }
    }

    /// The path of the note file: "a.txt" for "a.png".
    private static func notePath(of path: String) -> String {
        (path.lastIndex(of: ".").map { String(path[..<$0]) } ?? path) + ".txt"
    }

    /// The last name that was returned, and how often: its file may not exist yet.
    private static let given = Mutex<(name: String, times: Int)>(("", 0))

    /// A new path in the user's pictures or videos folder: `~/Pictures/Guise/2026-11-21 10.30.00.png`.
    /// - Throws: `Problem` of kind `missing` without a home folder, `system` if the folder cannot be created.
    static func newPath(in kind: String, _ fileExtension: String) throws -> String {
        guard let home = UserFolder.home(in: ProcessInfo.processInfo.environment) else {
            throw Problem(.missing, "there is no folder for \(kind): HOME is not set", fix: "set HOME, or name a path")
        }
        let folder = "\(home)/\(kind)/Guise"
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw Problem(.system, "could not create the folder \(folder)", fix: "choose a path in another folder")
        }
        let name = localTime(format: "%Y-%m-%d %H.%M.%S")
        return given.withLock { last in
            if last.name != name { last = (name, 0) }
            while true {
                last.times += 1
                let path = "\(folder)/\(name)\(last.times > 1 ? " \(last.times)" : "").\(fileExtension)"
                if !isTaken(path) { return path }
            }
        }
    }
}
