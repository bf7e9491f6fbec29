import Capture
import Compose
import Control
import Frames
import JPEG
import JSON
import Page
import Synchronization
import SystemKit
import Track

/// Small JPEGs of masks on a face, for the page's gallery. They are drawn on demand, one after the other, in
/// parallel with the frame loop. An edited mask is drawn again.
final class Thumbnails: Sendable {
    private struct Key: Hashable {
        /// The masks with their options, as JSON.
        var masks: String
        /// The number of the stored face; 0 for the sample.
        var face: Int
    }

    private struct Picture {
        /// The versions of the mask's files when it was drawn.
        var fileVersions: [FileVersion]
        var jpeg: [UInt8]
    }

    /// The faces. Only the worker's thread makes them.
    private struct PreviewSubjects: ~Copyable {
        var sample: Subject?
        var mine: Subject?
    }

    /// A class for a pose, because an optional in `PreviewSubjects` cannot contain a noncopyable value.
    private final class Subject: Sendable {
        let pose: Pose
        init(_ pose: consuming Pose) { self.pose = pose }
    }

    private let context: AppContext
    /// Thumbnails of masks without options on the sample's face.
    private let cache: ThumbnailCache
    private let worker = Worker("thumbnails", maxQueued: 512) { ArtReader.shutDown() }
    private let pictures = Mutex<[Key: Picture]>([:])
    private let failedMasks = FailedMasks()
    private let subjects = Mutex(PreviewSubjects())
    /// The number of faces stored so far.
    private let kept = Atomic<Int>(0)

    /// The side of a thumbnail in pixels. It is drawn at twice the size and scaled down, as a screen does with a video.
    private static let side = 192
    /// The maximum number of thumbnails, of about 8 KB each. Nobody has more masks and looks than this.
    private static let maxPictures = 512

    init(_ context: AppContext) {
        self.context = context
        let paths = context.paths
        cache = ThumbnailCache(
            folder: paths.cache.map { "\($0)/thumbnails" }, files: [paths.sample, paths.outline, context.landmarks])
    }

    /// The most masks on one thumbnail: more than anybody wears at once, and few enough to be drawn in time.
    private static let maxMasks = 12

    /// Reads a list of masks, as the configuration has it.
    /// - Throws: `RequestError` that names what is allowed.
    static func selections(_ masks: JSON) throws -> [MaskSelection] {
        do {
            var fields = try Fields(JSON(["masks": masks]), file: "request", noun: "request")
            let selections = try fields.masks()
            guard (1...maxMasks).contains(selections.count) else {
                throw RequestError(.badValue, "'masks' has \(selections.count) masks; allowed: 1 to \(maxMasks)")
            }
            return selections
        } catch let problem as Problem { throw RequestError(.badValue, problem.message) }
    }

    /// Returns a thumbnail as a JPEG.
    /// - Throws: `RequestError` for a mask that does not exist or a face that was not stored, `Problem` for a broken
    ///   mask.
    func picture(of masks: [MaskSelection], on face: PageFace) async throws -> [UInt8] {
        // What was drawn before need not wait for what another client has asked for.
        if let drawn = drawn(try request(masks, face)) { return drawn }
        let jpeg = try await worker.run { [self] in try draw(masks, face) }
        guard let jpeg else { throw RequestError(.notNow, "too many thumbnails at once; try again") }
        return jpeg
    }

    /// Stores a picture as the user's own face.
    /// - Returns: the number of faces in it.
    func storeFace(_ portrait: Preview.Portrait) async throws -> Int {
        let count = try await worker.run { [self] in
            var tracker = try context.tracker()
            let (slot, count) = Self.makeSubject(for: portrait.frame, &tracker)
            guard let slot else { throw RequestError(.notNow, "no face was found in the picture; look at the camera") }
            subjects.withLock { $0.mine = slot }
            let revision = kept.add(1, ordering: .relaxed).newValue
            pictures.withLock { pictures in pictures = pictures.filter { $0.key.face == 0 || $0.key.face == revision } }
            return count
        }
        guard let count else { throw RequestError(.notNow, "too many requests at once; try again") }
        return count
    }

    /// The key of a thumbnail, and the versions of its masks' files.
    /// - Throws: `RequestError` for a mask that does not exist or a face that was not stored.
    private func request(_ selections: [MaskSelection], _ face: PageFace) throws -> (key: Key, files: [FileVersion]) {
        let library = context.library
        for selection in selections where !library.names.contains(selection.mask) {
            let hint = nearest(to: selection.mask, among: library.names).map { "; did you mean '\($0)'?" } ?? ""
            throw RequestError(.unknownMask, "no mask '\(brief(selection.mask))'\(hint)")
        }
        if face == .mine { _ = try ownSubject() }
        let key = Key(
            masks: JSON(selections.map(\.setting)).text, face: face == .sample ? 0 : kept.load(ordering: .relaxed))
        return (key, selections.flatMap { library.fileVersions(of: $0.mask) })
    }

    /// A thumbnail that was drawn before; nil if there is none, or if a mask has changed since.
    private func drawn(_ request: (key: Key, files: [FileVersion])) -> [UInt8]? {
        pictures.withLock { pictures in
            pictures[request.key].flatMap { $0.fileVersions == request.files ? $0.jpeg : nil }
        }
    }

    private func ownSubject() throws -> Subject {
        guard let mine = subjects.withLock({ $0.mine }) else {
            throw RequestError(.notNow, "your own face has not been stored yet")
        }
        return mine
    }

    // MARK: - on the worker's thread

    private func draw(_ selections: [MaskSelection], _ face: PageFace) throws -> [UInt8] {
        let library = context.library
        let request = try request(selections, face)
        let (key, fileVersions) = request
        if let drawn = drawn(request) { return drawn }
        let isStored = face == .sample && selections.count == 1 && selections[0] == MaskSelection(selections[0].mask)
        if isStored, let jpeg = cache.read(selections[0].mask, fileVersions) {
            return keep(jpeg, as: key, fileVersions)
        }
        let subject = try subject(face)
        let layout = subject.pose.picture.layout
        let loaded = try selections.map { selection in
            try failedMasks.load(JSON([selection.setting]).text, library.fileVersions(of: selection.mask)) {
                try load(selection, layout)
            }
        }
        var encoder = try JPEGEncoder(layout: layout, maxWidth: Self.side, quality: 85)
        var drawn: [UInt8]?
        subject.pose.withMasks(loaded) { drawn = encoder.encode($0.view) }
        guard let jpeg = drawn else { throw Problem(.system, "could not draw a thumbnail of \(key.masks)") }
        if isStored { cache.write(jpeg, of: selections[0].mask, fileVersions) }
        return keep(jpeg, as: key, fileVersions)
    }

    private func keep(_ jpeg: [UInt8], as key: Key, _ fileVersions: [FileVersion]) -> [UInt8] {
        pictures.withLock { pictures in
            if pictures.count >= Self.maxPictures { pictures.removeAll() }
            pictures[key] = Picture(fileVersions: fileVersions, jpeg: jpeg)
        }
        return jpeg
    }

    private func load(_ selection: MaskSelection, _ layout: FrameLayout) throws -> Mask {
        let library = context.library
        var target = context.artTarget(layout)
        target.choices = selection.choices
        // Things that the user has taught are not in the picture. Without them, masks show an example.
        target.things = nil
        if let summary = library.summary(of: selection.mask) {
            for (key, value) in selection.choices where summary.options[key]?.allows(value) == false {
                throw RequestError(.badValue, "'\(brief(key))' of '\(selection.mask)' is not valid")
            }
            target.choices.merge(summary.example) { own, example in own.isEmpty ? example : own }
        }
        var mask = try library.load(selection.mask, for: target)
        mask.opacity = selection.opacity
        return mask
    }

    private func subject(_ face: PageFace) throws -> Subject {
        switch face {
        case .mine: return try ownSubject()
        case .sample:
            if let known = subjects.withLock({ $0.sample }) { return known }
            let file = context.paths.sample
            guard isReadable(file) else {
                throw Problem(.missing, "the sample picture \(file) is missing", fix: "run `make sample`")
            }
            var tracker = try context.tracker()
            var slot: Subject?
            try Clip.firstPicture(of: file) { view in
                var frame = Frame(view.layout)
                convert(view, into: &frame)
                slot = Self.makeSubject(for: frame, &tracker).slot
            }
            guard let slot else { throw Problem(.unusable, "no face was found in \(file)", fix: "run `make sample`") }
            subjects.withLock { $0.sample = slot }
            return slot
        }
    }

    /// The largest face of a picture.
    private static func makeSubject(for picture: borrowing Frame, _ tracker: inout Tracker) -> (
        slot: Subject?, faces: Int
    ) {
        let size = picture.layout
        var whole = Frame(FrameLayout(width: size.width, height: size.height, format: .i444, range: .full))
        convert(picture, into: &whole)
        tracker.searchWhole(whole.view.luma)
        let count = tracker.faces.count
        guard let face = tracker.faces.max(by: { $0.head.scale < $1.head.scale }) else { return (nil, 0) }
        return (Subject(Pose(of: face, in: whole.view, .near, side: 2 * side, &tracker)), count)
    }
}
