import Engine
import JSON
import Publish
import SystemKit

/// Whether Guise is paused or frozen.
struct StateReply: Codable {
    let paused: Bool
    let frozen: Bool

    init(_ settings: LoopSettings) { (paused, frozen) = (settings.isPaused, settings.isFrozen) }
}

/// A saved photo.
struct SnapshotReply: Codable {
    let path: String
    /// The name by which the page finds the file.
    let album: String
    /// The path of the file that lists the masks, if it was wanted.
    var note: String?
}

/// A recording, running or ended.
struct RecordingReply: Codable {
    let path: String
    let frames: Int
    let dropped: Int
    let seconds: Double
    /// The size of the file; null if there is none.
    @Nullable var bytes: Int?
    /// The reason that the recording failed.
    @Nullable var problem: String?
    /// The name by which the page finds the file, once the recording has ended.
    let album: String?

    init(_ recorder: Recorder, album: String? = nil) {
        let progress = recorder.progress
        path = recorder.path
        (frames, dropped, seconds) = (progress.frames, progress.dropped, rounded(progress.seconds, 10))
        bytes = FileVersion(recorder.path)?.size
        problem = progress.problem?.description
        self.album = album
    }
}

/// Saved photos and recordings, newest first.
struct AlbumReply: Codable {
    struct Entry: Codable {
        /// The name by which the page finds the file.
        let name: String
        let path: String
        /// The size of the file; null if it was moved to the trash.
        @Nullable var bytes: Int?

        init(name: String, path: String) {
            (self.name, self.path) = (name, path)
            bytes = FileVersion(path)?.size
        }
    }

    let captures: [Entry]

    init(captures: [(name: String, path: String)]) {
        self.captures = captures.map { Entry(name: $0.name, path: $0.path) }
    }
}
