import Frames
import Track

/// A layer that is drawn on each face. `LayerKind` lists all kinds.
public protocol Layer: Sendable {
    /// Whether the layer is fitted to the head including its hair.
    var fitsHair: Bool { get }
    /// Whether the layer presses hair to the head that it would not cover.
    var pressesHair: Bool { get }
    /// Whether the layer makes the face under it unrecognisable.
    var hidesFace: Bool { get }

    /// Draws on one face. Called for every frame, so it neither allocates nor waits.
    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance)
}

extension Layer {
    /// False by default.
    public var fitsHair: Bool { false }
    /// False by default.
    public var pressesHair: Bool { false }
    /// False by default.
    public var hidesFace: Bool { false }
}

/// A layer that is drawn once per frame.
public protocol PictureLayer: Sendable {
    /// The layer's role as a background, which is drawn before all other layers; nil if it isn't one.
    var background: BackgroundRole? { get }

    /// Draws on the whole picture. Called for every frame, so it neither allocates nor waits.
    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance)
}

extension PictureLayer {
    /// Nil by default.
    public var background: BackgroundRole? { nil }
}

/// What a background keeps and hides.
public struct BackgroundRole: Sendable {
    /// Whether everybody but the person with the largest face belongs to the background.
    let keepsMainPersonOnly: Bool
    /// The radius by which the room is blurred, relative to the picture's height; 1 if nothing of it is left, and 0 if
    /// it isn't hidden.
    let roomBlur: Float
    /// What is wrong with the layer, for the user; nil if nothing is.
    let warning: String?
}
