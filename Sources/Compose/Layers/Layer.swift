import Frames
import Track

/// A layer that is drawn on each face. `LayerKind` lists all kinds.
public protocol Layer: Sendable {
    /// Draws on one face. Called for every frame, so it neither allocates nor waits.
    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance)
}

/// A layer that is drawn once per frame.
public protocol PictureLayer: Sendable {
    /// Draws on the whole picture. Called for every frame, so it neither allocates nor waits.
    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance)
}
