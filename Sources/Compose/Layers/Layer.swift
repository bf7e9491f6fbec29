import Frames
import Track

/// A layer that is drawn on each face. `LayerKind` lists all kinds.
public protocol Layer: Sendable {
    /// Whether the layer takes the size of the head with its hair.
    var fitsHair: Bool { get }

    /// Draws on one face. Called for every frame, so it neither allocates nor waits.
    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance)
}

extension Layer {
    /// False by default.
    public var fitsHair: Bool { false }
}

/// A layer that is drawn once per frame.
public protocol PictureLayer: Sendable {
    /// Draws on the whole picture. Called for every frame, so it neither allocates nor waits.
    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance)
}
