import Compose
import Frames
import Capture
import Page
import Privacy
import Track

/// A frame's way from the source's picture to the dressed one: turn -> track -> fit -> compose. What comes before is the source, what
/// comes after the sinks.
struct Pipeline: ~Copyable {
    /// CPU time of one frame, by stage, nanoseconds of this thread.
    struct Cost {
        var search: UInt64 = 0
        var landmarks: UInt64 = 0
        var fit: UInt64 = 0
        var compose: UInt64 = 0
    }

    var tracker: Tracker
    /// Holds the composed picture, and gives it out.
    private(set) var gate: PrivacyGate
    private(set) var cost = Cost()
    private var viewTransform = ViewTransform()
    /// Nil where the picture is shown as it comes.
    private var rotator: Rotator?
    /// Nil: not zoomed.
    private var zoom: FaceZoom?
    private var scaler: Scaler?
    private var compositor: Compositor
    /// What is done about lost faces, whatever masks say; nil: as they say.
    var onLostFace: LostFacePolicy?
    /// Whether faces are to be hidden, those too that are lost or not found yet.
    var isCovering: Bool { (onLostFace ?? compositor.onLostFace) == .cover }
    /// Where the picture is shown before it is dressed; nil: nowhere.
    var preview: Preview?
    /// The faces of the last frame, for those who look at the preview with marks.
    private(set) var overlay: [FaceOverlay] = []
    /// Photos without a face are given out although a mask is to hide faces. Only for a user who asks for that.
    var allowsUncoveredPhotos: Bool {
        get { gate.allowsUncoveredPhotos }
        set { gate.allowsUncoveredPhotos = newValue }
    }
    /// Where other masks come from while frames go by; nil: they stay.
    private let loader: MaskLoader?
    /// Of the room's changes.
    private var seen = 0

    init(tracker: consuming Tracker, masks: [Mask], output: FrameLayout) {
        self.tracker = tracker
        compositor = Compositor(masks: masks)
        gate = PrivacyGate(output)
        loader = nil
    }

    /// - Parameter loader: made for frames like the output's.
    init(tracker: consuming Tracker, loader: MaskLoader, output: FrameLayout) {
        self.tracker = tracker
        compositor = Compositor(masks: loader.masks)
        gate = PrivacyGate(output)
        self.loader = loader
    }

    /// Nobody was looked for since the last `restart`.
    private var isNew = true

    /// Another source: nobody is where they were.
    mutating func restart() {
        isNew = true
        tracker.restart()
        gate.reset()
    }

    /// Shows the picture otherwise from the next frame on.
    mutating func setView(_ new: ViewTransform) {
        guard new != viewTransform else { return }
        if (new.rotation, new.isMirrored) != (viewTransform.rotation, viewTransform.isMirrored) {
            // Everybody is elsewhere then.
            restart()
            rotator = nil
        }
        viewTransform = new
        scaler = nil
        zoom = nil
    }

    /// True where other masks are to be worn than in the last frame.
    var hasMaskUpdate: Bool { loader?.hasUpdate(since: seen) ?? false }

    /// Dresses the last frame anew, as its faces were measured.
    /// - Returns: false where that is not to be seen.
    mutating func recompose(_ view: borrowing FrameView, at time: FrameTime) throws -> Bool {
        // What covers lost faces learns from each frame once.
        guard !isNew, !isCovering else { return false }
        try process(view, at: time, .again)
        return !isCovering && gate.reason == nil
    }

    /// How a frame's faces are found.
    enum Search {
        /// Followed from frame to frame.
        case following
        /// The same, but what the frame need not wait for is left to `drawDeferred`: the search for other faces than those
        /// that are known, and pictures of solids that are a little old.
        case prompt
        /// In the whole picture at once: for photos.
        case whole
        /// They are as in the frame before, which is this one.
        case again
    }

    /// Tracks the frame's faces and leaves the dressed frame in `gate`: each pose is drawn on the very frame that it
    /// was measured on.
    mutating func process(_ view: borrowing FrameView, at time: FrameTime, _ search: Search = .following) throws {
        guard !viewTransform.isUpright else {
            try process(upright: view, at: time, search, turned: 0)
            return
        }
        let start = threadTime()
        if rotator?.input != view.layout {
            rotator = Rotator(from: view.layout, rotation: viewTransform.rotation, isMirrored: viewTransform.isMirrored)
        }
        // Taken out for the call: a part of this value may not be lent to another one otherwise.
        guard var taken = rotator.take() else { return }
        do {
            try taken.rotate(view)
            try process(upright: taken.frame.view, at: time, search, turned: threadTime() - start)
        } catch {
            rotator = consume taken
            throw error
        }
        rotator = consume taken
    }

    /// - Parameter turned: what turning the picture cost, nanoseconds.
    private mutating func process(
        upright view: borrowing FrameView, at time: FrameTime, _ search: Search, turned: UInt64
    ) throws {
        let start = threadTime()
        tracker.isThorough = isCovering
        switch search {
        case .following: tracker.update(view.luma, at: time.seconds)
        // What hides faces must know of all of them first.
        case .prompt:
            tracker.update(view.luma, at: time.seconds, defersSearch: !isCovering)
        case .whole: tracker.searchWhole(view.luma)
        case .again: break
        }
        if search != .again, tracker.isCut { gate.reset() }
        isNew = false
        let tracked = threadTime()
        // A camera's layout may change with its first frame: MJPEG says its chroma only then.
        if scaler?.input != view.layout {
            let (part, isZoomed) = (viewTransform.part(of: view.layout), viewTransform.zoom == .face)
            scaler = Scaler(from: view.layout, to: gate.canvas.frame.layout, part: part, canMove: isZoomed)
            zoom = isZoomed ? FaceZoom(in: part, most: viewTransform.most) : nil
        }
        if search != .again, let place = zoom?.update(tracker.faces, at: time.seconds) { scaler?.setVisibleRect(place) }
        try scaler?.fit(view, into: &gate.canvas.frame)
        let fitted = threadTime()
        if let preview, preview.isWatched { updatePreview(preview) }
        if let loader, let masks = loader.update(since: &seen) { loader.recycle(compositor.replaceMasks(with: masks)) }
        let placement = scaler?.map ?? .identity
        let isCovered = isCovering
        let kind: PrivacyGate.Kind = search == .whole ? .photo : .video
        if isCovered, kind == .video { gate.measureMotion(view.luma, faces: tracker.faces) }
        gate.canvas.mayLag = search == .prompt && !isCovered
        compositor.compose(&gate.canvas, tracker.faces, placement: placement, at: time.seconds)
        gate.check(tracker, hidesFaces: isCovered, kind, placement: placement, at: time.seconds)
        // Of frames, not of what is done to one more than once.
        guard search != .again else { return }
        cost = Cost(
            search: tracked - start - tracker.landmarkTime, landmarks: tracker.landmarkTime,
            fit: turned + fitted - tracked,
            compose: threadTime() - fitted)
    }

    /// Does for the next frame what the last one did not wait for.
    /// - Parameter view: the frame that was dressed.
    mutating func drawDeferred(_ view: borrowing FrameView) {
        let (start, landmarks) = (threadTime(), tracker.landmarkTime)
        switch rotator {
        case .some(let rotator): tracker.searchDeferred(rotator.frame.view.luma)
        case .none: tracker.searchDeferred(view.luma)
        }
        let onLandmarks = tracker.landmarkTime - landmarks
        let searched = threadTime()
        gate.drawDeferred()
        cost.landmarks += onLandmarks
        cost.search += searched - start - onLandmarks
        cost.compose += threadTime() - searched
    }

    /// Hands the fitted frame over, before it is dressed.
    private mutating func updatePreview(_ preview: Preview) {
        let placement = scaler?.map ?? .identity
        overlay.removeAll(keepingCapacity: true)
        for i in tracker.faces.indices { overlay.append(FaceOverlay(tracker.faces[i], placement)) }
        let now = monotonicTime()
        if preview.needsFrame(.before, at: now) {
            preview.updateUnmasked(gate.canvas.frame.view, overlay: overlay, at: now)
        }
    }
}

extension FaceOverlay {
    /// - Parameter placement: from the pixels of the frame that was searched to the picture's.
    fileprivate init(_ face: borrowing Face, _ placement: Affine) {
        self.init()
        (number, isPredicted) = (face.id, face.state == .predicted)
        let corner = placement(Point(face.box.x, face.box.y))
        box = Rect(
            x: corner.x, y: corner.y, width: face.box.width * placement.a, height: face.box.height * placement.d)
        for i in 0..<68 { landmarks[i] = placement(face.landmarks[i]) }
    }
}
