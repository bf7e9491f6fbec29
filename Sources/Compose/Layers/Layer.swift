import Frames
import Track

/// One thing that a mask draws on each face. A new kind is a new file in this folder and one line in `MaskLayer`.
public protocol Layer: Sendable {
    /// Draws on one face. Called for every frame: neither allocates nor waits.
    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance)
}

/// One thing that a mask draws once a frame.
public protocol PictureLayer: Sendable {
    /// Draws on the whole picture. Called for every frame: neither allocates nor waits.
    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance)
}
