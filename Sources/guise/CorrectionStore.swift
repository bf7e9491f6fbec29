import Frames
import Glibc
import JSON
import Page
import Synchronization
import SystemKit
import Track

/// The landmarks that the user has placed by hand in photos: a folder with a file for each photo, named after its
/// SHA-256, as `guise apply --points` reads it. The photos themselves are not kept.
final class CorrectionStore: Sendable {
    private struct State {
        /// The layouts of the photos that were drawn last, the newest at the end.
        var layouts: [(photo: PhotoHash, layout: FrameLayout)] = []
        /// Photos with a damaged file, which was reported.
        var damaged: Set<PhotoHash> = []
    }

    /// The folder; nil without a home folder.
    private let folder: String?
    /// Locked while files are written too, so that no two changes mix.
    private let state = Mutex(State())

    /// The most photos with corrections; the one corrected longest ago is forgotten first.
    static let maxPhotos = 200
    /// The largest file in bytes: what the page can send, and what JSON may add to it.
    private static let maxSize = 128 << 10

    init(folder: String?) { self.folder = folder }

    /// The corrections of a photo that is being drawn; none if there are none, or if their file is damaged, which is
    /// logged once.
    /// - Parameter layout: the photo's layout.
    func corrections(of photo: PhotoHash, _ layout: FrameLayout) -> [FaceCorrection] {
        state.withLock { state in
            state.layouts.removeAll { $0.photo == photo }
            state.layouts.append((photo, layout))
            if state.layouts.count > Self.maxPhotos { state.layouts.removeFirst() }
            guard let path = path(of: photo), mayExist(path) else { return [] }
            do {
                let json = try JSON(contents(of: path, limit: Self.maxSize), file: path)
                return try faceCorrections(in: json, file: path, for: layout)
            } catch {
                if state.damaged.insert(photo).inserted {
                    logWarning("a photo's corrections are ignored: \(error)")
                }
                return []
            }
        }
    }

    /// Keeps corrections of a photo, in place of those kept before; none forgets the photo.
    /// - Parameter json: the corrections, as `guise apply --points` reads them.
    /// - Returns: false if no photo of that hash was drawn, so that nothing is known about it.
    /// - Throws: `Problem` of kind `invalid` with line, key and what is allowed, or if the file can't be written; then
    ///   what was kept before stays.
    func keep(_ json: [UInt8], of photo: PhotoHash) throws -> Bool {
        try state.withLock { state in
            guard let layout = state.layouts.first(where: { $0.photo == photo })?.layout else { return false }
            let name = "corrections"
            let json = try JSON(json, file: name, noun: "request")
            guard case .array? = json["faces"]?.value else {
                throw Problem(.invalid, "\(name): 'faces' is no list", fix: "allowed: the corrected faces, or []")
            }
            let corrections = try faceCorrections(in: json, file: name, for: layout)
            guard let folder, let path = path(of: photo) else {
                throw Problem(
                    .missing, "there is no folder for corrections: neither HOME nor XDG_STATE_HOME is set",
                    fix: "set HOME")
            }
            if corrections.isEmpty {
                removeFile(path)
            } else {
                try makeOwnFolders(folder)
                try writeOwnFile(Array(json.text.utf8) + [UInt8(ascii: "\n")], to: path, overwrites: true)
                Self.removeOldest(in: folder)
            }
            state.damaged.remove(photo)
            return true
        }
    }

    private func path(of photo: PhotoHash) -> String? { folder.map { "\($0)/\(photo).json" } }

    /// Removes the files beyond `maxPhotos`, the oldest first, and nothing else.
    private static func removeOldest(in folder: String) {
        let files = entries(of: folder).filter {
            $0.hasSuffix(".json") && PhotoHash(hex: String($0.dropLast(5))) != nil
        }
        guard files.count > maxPhotos else { return }
        let oldest = files.map { "\(folder)/\($0)" }.sorted { changeTime(of: $0) < changeTime(of: $1) }
        for file in oldest.prefix(files.count - maxPhotos) { removeFile(file) }
    }

    /// When a file was last written, in nanoseconds since 1970; 0 if it is gone.
    private static func changeTime(of file: String) -> Int {
        var status = stat()
        guard unsafe stat(file, &status) == 0 else { return 0 }
        return status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
    }
}
