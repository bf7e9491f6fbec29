import Frames
import Track

/// Puts masks on the faces of frame after frame. Holds what outlasts a frame; once warm it allocates nothing.
public struct Dresser: ~Copyable {
    /// In the order in which they are drawn.
    public private(set) var masks: [Mask]
    private var scene = Scene()

    /// No configuration allows more.
    private static let mostFaces = 8

    /// - Parameter masks: in the order in which they are drawn.
    public init(masks: [Mask]) {
        self.masks = masks
        scene.wearers.reserveCapacity(Self.mostFaces)
    }

    /// Changes what is worn, between two frames.
    /// - Returns: what was worn until now, for somebody with time to let go of.
    public mutating func change(into masks: consuming [Mask]) -> [Mask] {
        swap(&masks, &self.masks)
        return masks
    }

    /// Draws all that is worn.
    /// - Parameters:
    ///   - faces: in the pixels of the frame that was searched.
    ///   - placement: from those to the canvas's.
    ///   - time: seconds, by the source's clock.
    public mutating func dress(_ canvas: inout Canvas, _ faces: [Face], placement: Affine, at time: Double) {
        scene.time = time
        scene.wearers.removeAll(keepingCapacity: true)
        for face in faces { scene.wearers.append(Wearer(face: face.moved(by: placement))) }
        scene.wearers.sort { $0.face.head.scale < $1.face.head.scale }
        for mask in masks {
            for layer in mask.layers { draw(layer, on: &canvas, opacity: mask.opacity) }
        }
    }

    /// - Parameter opacity: of the whole mask, 0...1.
    private func draw(_ layer: WornLayer, on canvas: inout Canvas, opacity: Float) {
        let look = Look(opacity: layer.style.opacity * opacity, time: scene.time * 1000)
        switch layer.content {
        case .face(let content):
            for i in scene.wearers.indices { content.draw(on: &canvas, scene.wearers[i], look) }
        case .picture(let content):
            content.draw(on: &canvas, scene, look)
        }
    }
}
