import Compose
import Frames
import Track

/// The owner of the composed picture, which releases it only after checking that it shows no face to be hidden.
///
/// Every change of the picture withholds it until the next check.
public struct PrivacyGate: ~Copyable {
    /// The reason for which a picture is withheld.
    public enum Reason: Equatable, Sendable {
        /// The picture changed since the last check.
        case unchecked
        /// The mask that hides faces was added with this frame, which was not searched for candidates.
        case maskIsNew
        /// A face may be visible: the search is incomplete, the only face is lost, nobody has been found for some
        /// seconds, or there are too many candidates to cover them all.
        case faceMayBeVisible
        /// A mask hides the room, but nothing was drawn over it.
        case roomMayBeVisible
        /// A mask hides bystanders, but nothing was drawn over them.
        case bystanderMayBeVisible
        /// No face was found in a photo.
        case noFaceFound
    }

    /// The result of a check.
    public enum Outcome: ~Escapable {
        case publishable(PublishableFrame)
        case withheld(Reason)
    }

    /// The kind of source of a picture.
    public enum Kind: Sendable {
        /// A frame of a video, in which faces are tracked: a lost face stays covered.
        case video
        /// A single picture.
        case photo
    }

    private var composed: Canvas
    private var cover = FaceCover()
    private var withheld: Reason? = .unchecked
    /// What had to be hidden at the last check.
    public private(set) var hidden: HiddenParts = []

    /// Whether photos without a detected face are released although faces should be hidden. Only on the user's request.
    public var allowsUncoveredPhotos = false

    /// - Parameter layout: the layout of the pictures.
    public init(_ layout: FrameLayout) { composed = Canvas(layout) }

    /// The picture to draw on. Reading it is always allowed; changing it withholds it.
    public var canvas: Canvas {
        _read { yield composed }
        _modify {
            withheld = .unchecked
            yield &composed
        }
    }

    /// The layout of the pictures.
    public var layout: FrameLayout { composed.frame.layout }

    /// The checked picture, or the reason for which it is withheld.
    public var outcome: Outcome {
        @_lifetime(borrow self) get {
            switch withheld {
            case .some(let reason): .withheld(reason)
            case .none: .publishable(PublishableFrame(composed.frame.view))
            }
        }
    }

    /// The reason for which the picture is withheld; nil while it is publishable.
    public var reason: Reason? { withheld }

    /// The share of the picture that is covered in addition to masks, 0 to 1; 1 for a withheld picture.
    public var coveredShare: Float { withheld != nil ? 1 : hidden.contains(.faces) ? cover.share : 0 }

    /// The CPU time of the outline of the people in this frame, in nanoseconds; 0 if no mask needs it.
    public var segmentationCost: UInt64 { composed.segmentationCost }

    /// Forgets the faces and the people of the scene, for another scene or source. Does not change this picture, which
    /// stays as publishable as it was.
    public mutating func reset() {
        cover.reset()
        forgetScene()
    }

    /// Moves what is known of hidden faces to where it is in a picture that is rotated or mirrored from now on: there,
    /// they may not be found. Does not change this picture.
    /// - Parameter map: from the pixels of the pictures searched so far to those of the next ones.
    public mutating func movePlaces(by map: Affine) { cover.movePlaces(by: map) }

    /// Forgets where people are, because they will be in other places. Does not change this picture.
    public mutating func forgetScene() { composed.forgetScene() }

    /// Goes on with pictures of another layout. What is known of hidden faces stays; the present picture is withheld.
    public mutating func resize(to layout: FrameLayout) {
        let missesDeadline = composed.missesDeadline
        composed = Canvas(layout)
        composed.missesDeadline = missesDeadline
        withheld = .unchecked
    }

    /// Measures motion in the searched frame, before it is composed. For video that hides faces.
    public mutating func measureMotion(_ luma: borrowing LumaView, faces: [Face]) {
        cover.measureMotion(luma, faces: faces)
    }

    /// Covers what masks leave uncovered, and decides whether the picture may be released.
    /// - Parameters:
    ///   - tracker: the tracker's state after this frame.
    ///   - hidden: what masks and the configuration require to be hidden.
    ///   - placement: the map from the searched frame's pixels to the picture's.
    ///   - time: seconds, by the source's clock.
    public mutating func check(
        _ tracker: borrowing Tracker, hides hidden: HiddenParts, _ kind: Kind, placement: Affine, at time: Double
    ) {
        let exposed: Reason? =
            hidden.contains(.room) && !composed.isRoomHidden
            ? .roomMayBeVisible
            : hidden.contains(.bystanders) && !composed.areBystandersHidden ? .bystanderMayBeVisible : nil
        let wasCovering = self.hidden.contains(.faces)
        self.hidden = hidden
        guard hidden.contains(.faces) else {
            if wasCovering { cover.reset() }
            withheld = exposed
            return
        }
        switch kind {
        case .video:
            let isSafe = cover.cover(
                &composed, faces: tracker.faces, candidateHeads: tracker.candidateHeads, refuted: tracker.refuted,
                placement: placement, hasSearchedAll: tracker.hasSearchedAll, at: time)
            withheld = !tracker.isThorough ? .maskIsNew : isSafe ? exposed : .faceMayBeVisible
        case .photo:
            cover.cover(photo: &composed, candidateHeads: tracker.candidateHeads, placement: placement)
            withheld =
                tracker.hasTooManyCandidates
                ? .faceMayBeVisible : tracker.faces.isEmpty && !allowsUncoveredPhotos ? .noFaceFound : exposed
        }
    }

    /// Sets whether frames are published too late. Does not change this picture.
    public mutating func setMissesDeadline(_ missesDeadline: Bool) { composed.missesDeadline = missesDeadline }

    /// Updates outdated drawings for the next frame. Does not change this picture.
    public mutating func drawDeferred() { composed.drawDeferred() }
}
