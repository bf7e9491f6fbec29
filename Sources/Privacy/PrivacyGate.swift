import Compose
import Frames
import Track

/// Holds the composed picture and gives it out only after checking that no face is visible that a mask is to hide.
///
/// Whatever changes the picture withholds it until it is checked again.
public struct PrivacyGate: ~Copyable {
    /// Why a picture is not given out.
    public enum Reason: Equatable, Sendable {
        /// It changed since it was checked last.
        case unchecked
        /// The mask that hides faces came with this frame, which was not searched for all that may be faces.
        case maskIsNew
        /// A face may be in it: the search is not complete, or the only face is lost.
        case faceMayBeVisible
        /// No face was found in a photo.
        case noFaceFound
    }

    /// What becomes of a checked picture.
    public enum Outcome: ~Escapable {
        case publishable(PublishableFrame)
        case withheld(Reason)
    }

    /// Where a picture comes from.
    public enum Kind: Sendable {
        /// One of many, whose faces are followed: a lost face stays covered.
        case video
        /// The only one.
        case photo
    }

    private var composed: Canvas
    private var cover = FaceCover()
    private var isCovering = false
    private var withheld: Reason? = .unchecked

    /// Photos without a face are given out although a mask is to hide faces. Only for a user who asks for that.
    public var allowsUncoveredPhotos = false

    /// - Parameter layout: of the pictures.
    public init(_ layout: FrameLayout) { composed = Canvas(layout) }

    /// The picture to draw on. Borrowing it is always allowed; changing it withholds it.
    public var canvas: Canvas {
        _read { yield composed }
        _modify {
            withheld = .unchecked
            yield &composed
        }
    }

    /// The checked picture, or why it is withheld.
    public var outcome: Outcome {
        @_lifetime(borrow self) get {
            switch withheld {
            case .some(let reason): .withheld(reason)
            case .none: .publishable(PublishableFrame(composed.frame.view))
            }
        }
    }

    /// Nil while the picture is publishable.
    public var reason: Reason? { withheld }

    /// The part of the picture that is covered beside what masks cover, 0 to 1; all of one that is withheld.
    public var coveredShare: Float { withheld != nil ? 1 : isCovering ? cover.share : 0 }

    /// Forgets everybody: for another scene or source.
    public mutating func reset() { cover.reset() }

    /// Looks for what moves in the frame that was searched, before it is composed; for video that hides faces.
    public mutating func measureMotion(_ luma: borrowing LumaView, faces: [Face]) {
        cover.measureMotion(luma, faces: faces)
    }

    /// Covers on the picture what masks do not, and decides about it.
    /// - Parameters:
    ///   - tracker: as it was after this frame.
    ///   - hidesFaces: a mask, or the configuration, wants faces hidden.
    ///   - placement: from the pixels that were searched to the picture's.
    ///   - time: seconds, by the source's clock.
    public mutating func check(
        _ tracker: borrowing Tracker, hidesFaces: Bool, _ kind: Kind, placement: Affine, at time: Double
    ) {
        guard hidesFaces else {
            if isCovering { cover.reset() }
            (isCovering, withheld) = (false, nil)
            return
        }
        isCovering = true
        switch kind {
        case .video:
            let isSafe = cover.cover(
                &composed, faces: tracker.faces, candidateHeads: tracker.candidateHeads, refuted: tracker.refuted,
                placement: placement, hasSearchedAll: tracker.hasSearchedAll, at: time)
            withheld = !tracker.isThorough ? .maskIsNew : isSafe ? nil : .faceMayBeVisible
        case .photo:
            cover.cover(photo: &composed, candidateHeads: tracker.candidateHeads, placement: placement)
            withheld = tracker.faces.isEmpty && !allowsUncoveredPhotos ? .noFaceFound : nil
        }
    }

    /// Draws what is a little old for the next frame. Nothing of it shows in this picture.
    public mutating func drawDeferred() { composed.drawDeferred() }
}
