import Capture
import Compose
import Frames
import Privacy
import SystemKit
import Track

/// The processing of a frame from the source to the masked picture: rotate, track, scale, compose. Sources precede it
/// and sinks follow it.
package struct Pipeline: ~Copyable {
    /// The CPU times of one frame by stage, in nanoseconds of this thread.
    package struct Cost {
        package var search: UInt64 = 0
        package var landmarks: UInt64 = 0
        /// Rotation, mirror, zoom and scaling to the output.
        package var transform: UInt64 = 0
        /// The outline of the people.
        package var segmentation: UInt64 = 0
        package var compose: UInt64 = 0
    }

    package var tracker: Tracker
    /// The gate, which contains the composed picture and decides whether it may be published.
    package private(set) var gate: PrivacyGate
    package private(set) var cost = Cost()
    private var viewTransform = ViewTransform()
    /// The size of the last frame, before it was rotated; nil before the first one.
    private var sourceSize: FrameSize?
    /// The rotator; nil if the picture is neither rotated nor mirrored.
    private var rotator: Rotator?
    /// The zoom to the face; nil if it is off.
    private var zoom: FaceZoom?
    private var scaler: Scaler?
    private var compositor: Compositor
    /// Which faces are looked for. To hide faces, as many as possible are, whatever is set here.
    package var faces: Tracker.Settings
    /// The policy for lost faces, for all masks; nil for each mask's own.
    package var onLostFace: LostFacePolicy?
    /// Whether faces must be hidden, including those that are lost or not found yet.
    package var isCovering: Bool { withPolicy(compositor.hidden).contains(.faces) }
    /// Whether more is to be hidden now than when the picture was checked: by masks, a setting or a crop that came
    /// after the last frame.
    package var hidesTooLittle: Bool {
        // A setting promises that lost faces are covered, but only a mask hides those that were found.
        let masks = loader?.hidden ?? compositor.hidden
        return !gate.hidden.isSuperset(of: withPolicy(masks)) || !compositor.hidden.isSuperset(of: masks)
            || any(viewTransform.crop .> crop) || loader.map { $0.roomBlur > compositor.roomBlur } ?? false
    }
    /// The crop of the composed picture, as `ViewTransform.crop`.
    private var crop = SIMD4<Double>.zero
    /// Whether a mask changes the picture even if there is no face.
    package var changesPictureWithoutFaces: Bool { compositor.changesPictureWithoutFaces }
    /// Whether frames are, or nearly are, published later than they should be: then the outline of the people has less
    /// detail for a while.
    package var missesDeadline = false {
        didSet { if missesDeadline != oldValue { gate.setMissesDeadline(missesDeadline) } }
    }
    /// What shows the picture without masks; nil for none.
    package var monitor: (any FrameMonitor)?
    /// The faces of the last frame that `monitor` had viewers for, in pixels of the picture.
    package private(set) var monitoredFaces: [Face] = []
    /// Where the faces of the last frame are.
    package private(set) var facePlacements = FacePlacements()
    /// Landmarks that somebody has placed by hand, for photos.
    package var corrections: [FaceCorrection] = []
    /// The indices of the `corrections` that belong to no face of the last photo.
    package private(set) var unusedCorrections: [Int] = []
    /// Whether photos without a face are published even if a mask must hide faces. Only for users who ask for it.
    package var allowsUncoveredPhotos: Bool {
        get { gate.allowsUncoveredPhotos }
        set { gate.allowsUncoveredPhotos = newValue }
    }
    /// The source of changed masks while frames flow; nil if the masks are fixed.
    private let loader: MaskLoader?
    /// The generation of the masks, from `loader`.
    private var maskGeneration = 0
    /// The layout of the composed frames, unless another size was requested.
    private let outputLayout: FrameLayout
    /// The size that was requested last.
    private var requestedSize: FrameSize

    /// Creates a pipeline with fixed masks.
    package init(tracker: consuming Tracker, masks: [Mask], output: FrameLayout) {
        faces = tracker.settings
        self.tracker = tracker
        compositor = Compositor(masks: masks)
        gate = PrivacyGate(output)
        loader = nil
        (outputLayout, requestedSize) = (output, output.size)
    }

    /// Creates a pipeline whose masks can change.
    /// - Parameter loader: a loader for frames of the output's layout.
    package init(tracker: consuming Tracker, loader: MaskLoader, output: FrameLayout) {
        faces = tracker.settings
        self.tracker = tracker
        compositor = Compositor(masks: loader.masks)
        gate = PrivacyGate(output)
        self.loader = loader
        (outputLayout, requestedSize) = (output, output.size)
    }

    /// True if no frame has been searched since the last `restart`.
    private var isNew = true

    /// Forgets all faces, for a new source.
    package mutating func restart() {
        isNew = true
        tracker.restart()
        gate.reset()
    }

    /// Changes the transform of the picture from the next frame on.
    package mutating func setView(_ new: ViewTransform) {
        guard new != viewTransform else { return }
        if (new.rotation, new.isMirrored) != (viewTransform.rotation, viewTransform.isMirrored) {
            // All faces are in other places now, and may not be found there.
            isNew = true
            tracker.restart()
            if let sourceSize, let back = viewTransform.map(of: sourceSize).inverse {
                gate.movePlaces(by: new.map(of: sourceSize).after(back))
            }
            rotator = nil
        }
        viewTransform = new
        // People are in other places now.
        gate.forgetScene()
        scaler = nil
        zoom = nil
    }

    /// Requests another size of the composed picture. Frames have it as soon as the masks are loaded for it; what is
    /// known of the faces stays. Does nothing if the masks are fixed.
    /// - Parameter size: in pixels; nil for that of the output. A size that is larger than both the output's and the
    ///   source's counts as the output's: nothing would be seen more clearly.
    package mutating func requestSize(_ size: FrameSize?) {
        guard let loader else { return }
        var size = size ?? outputLayout.size
        let most = max(outputLayout.size.pixels, scaler?.input.size.pixels ?? 0)
        if size.pixels > most { size = outputLayout.size }
        guard size != requestedSize else { return }
        requestedSize = size
        loader.resize(to: size)
    }

    /// Whether the composed picture has the output's size, or can't get it because the masks could not be loaded for
    /// it.
    package var hasOutputSize: Bool {
        let size = gate.layout.size
        guard let loader, size != outputLayout.size else { return true }
        return requestedSize == outputLayout.size && loader.size == size
    }

    /// True if the masks have changed since the last frame.
    package var hasMaskUpdate: Bool { loader?.hasUpdate(since: maskGeneration) ?? false }

    /// Composes the last frame again, with the faces that were found in it.
    /// - Returns: false if the result must not be shown.
    package mutating func recompose(_ view: borrowing FrameView, at time: FrameTime) -> Bool {
        // While faces are covered, `gate` must see each frame exactly once.
        guard !isNew, !isCovering else { return false }
        process(view, at: time, .again)
        return !isCovering && gate.reason == nil
    }

    /// The way that the faces of a frame are found.
    package enum Search {
        /// Track faces from frame to frame.
        case following
        /// Track faces, but leave work that the frame need not wait for to `drawDeferred`: the search for further
        /// faces, and the update of slightly outdated impostors of meshes.
        case prompt
        /// Search the whole picture at once, for photos.
        case whole
        /// Keep the faces of the last frame, because it is the same frame.
        case again
    }

    /// Tracks the faces of a frame and leaves the masked frame in `gate`. Each pose is drawn on the same frame that it
    /// was measured on.
    package mutating func process(_ view: borrowing FrameView, at time: FrameTime, _ search: Search = .following) {
        sourceSize = view.layout.size
        guard !viewTransform.isUpright else {
            process(upright: view, at: time, search, turned: 0)
            return
        }
        let start = threadTime()
        if rotator?.input != view.layout {
            rotator = Rotator(from: view.layout, rotation: viewTransform.rotation, isMirrored: viewTransform.isMirrored)
        }
        // The rotator is taken out for the call, because the exclusivity rules do not allow lending its frame to `self`
        // in place.
        guard var current = rotator.take() else { return }
        current.rotate(view)
        process(upright: current.frame.view, at: time, search, turned: threadTime() - start)
        rotator = consume current
    }

    /// Processes an upright frame.
    /// - Parameter turned: the CPU time of the rotation, in nanoseconds.
    private mutating func process(
        upright view: borrowing FrameView, at time: FrameTime, _ search: Search, turned: UInt64
    ) {
        let start = threadTime()
        var wanted = faces
        let isThorough = isCovering
        if isThorough { wanted.max = max(wanted.max, Tracker.Settings.allowed.upperBound) }
        tracker.apply(wanted)
        tracker.isThorough = isThorough
        switch search {
        case .following: tracker.update(view.luma, chroma: view.chroma, at: time.seconds)
        // To hide faces, all of them must be found first.
        case .prompt:
            tracker.update(view.luma, chroma: view.chroma, at: time.seconds, defersSearch: !isThorough)
        case .whole:
            tracker.searchWhole(view.luma)
            unusedCorrections = tracker.correct(corrections)
        case .again: break
        }
        // A picture that was turned over is another one, but not another scene.
        if search != .again, tracker.isCut, !isNew { gate.reset() }
        isNew = false
        let tracked = threadTime()
        adoptMasks()
        // A camera's layout may change with its first frame: only then does MJPEG report its chroma subsampling.
        let isOtherInput = scaler?.input != view.layout
        if isOtherInput || scaler?.output != gate.layout {
            let (part, isZoomed) = (viewTransform.part(of: view.layout), viewTransform.zoom == .face)
            let shown = isOtherInput ? nil : scaler?.visibleRect
            scaler = Scaler(from: view.layout, to: gate.layout, part: part, canMove: isZoomed)
            if isOtherInput { zoom = isZoomed ? FaceZoom(in: part, maxZoom: viewTransform.maxZoom) : nil }
            if let shown, isZoomed { scaler?.setVisibleRect(shown) }
        }
        if search != .again, let part = zoom?.update(tracker.faces, at: time.seconds) { scaler?.setVisibleRect(part) }
        scaler?.scale(view, into: &gate.canvas.frame)
        let scaled = threadTime()
        if let monitor, monitor.hasViewers { updateMonitor(monitor) }
        let placement = scaler?.map ?? .identity
        crop = viewTransform.crop
        updateFacePlacements(placement)
        let hidden = withPolicy(compositor.hidden)
        let isCovered = hidden.contains(.faces)
        let kind: PrivacyGate.Kind = search == .whole ? .photo : .video
        if isCovered, kind == .video { gate.measureMotion(view.luma, faces: tracker.faces) }
        // Corrected landmarks take the masks along: what they hid where the face was found must stay hidden.
        if isCovered, kind == .photo { gate.canvas.hideHeads(of: tracker.replacedFaces, placement: placement) }
        gate.canvas.mayShowHands = !isCovered
        gate.canvas.mayLag = search == .prompt && !isCovered
        gate.canvas.namesThingsAtOnce = search == .whole
        compositor.compose(&gate.canvas, tracker.faces, placement: placement, at: time.seconds)
        gate.check(tracker, hides: hidden, kind, placement: placement, at: time.seconds)
        // The costs are those of new frames, not of a recomposition.
        guard search != .again else { return }
        let segmentation = gate.segmentationCost
        cost = Cost(
            search: tracked - start - tracker.landmarkTime, landmarks: tracker.landmarkTime,
            transform: turned + scaled - tracked, segmentation: segmentation,
            compose: threadTime() - scaled - segmentation)
    }

    /// What masks hide, with the policy for lost faces in place of theirs.
    private func withPolicy(_ hidden: HiddenParts) -> HiddenParts {
        switch onLostFace {
        case .none: hidden
        case .cover: hidden.union(.faces)
        case .show: hidden.subtracting(.faces)
        }
    }

    /// Does the work that the last frame did not wait for, for the next one.
    /// - Parameter view: the last frame.
    package mutating func drawDeferred(_ view: borrowing FrameView) {
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

    /// Adopts masks that were loaded since the last frame, and the size of the picture that they were loaded for.
    private mutating func adoptMasks() {
        guard let loader, let fresh = loader.update(since: &maskGeneration) else { return }
        loader.recycle(compositor.replaceMasks(with: fresh.masks))
        if fresh.size != gate.layout.size { gate.resize(to: outputLayout.resized(to: fresh.size)) }
    }

    private mutating func updateFacePlacements(_ placement: Affine) {
        facePlacements = FacePlacements()
        for i in tracker.faces.indices {
            facePlacements.append(FacePlacement(tracker.faces[i]).moved(by: placement), in: gate.layout)
        }
    }

    /// Updates the faces of the picture, and shows the scaled, unmasked frame.
    private mutating func updateMonitor(_ monitor: any FrameMonitor) {
        let placement = scaler?.map ?? .identity
        monitoredFaces.removeAll(keepingCapacity: true)
        for i in tracker.faces.indices { monitoredFaces.append(tracker.faces[i].moved(by: placement)) }
        monitor.updateUnmasked(gate.canvas.frame.view, faces: monitoredFaces, at: monotonicTime())
    }
}
