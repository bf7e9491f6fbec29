import Frames
import Track

/// A face that is being dressed, with what layers want to know of it. One frame's worth: nothing here is kept.
public struct TrackedFace: Sendable {
    /// All its positions are pixels of the canvas.
    public var face: Face
    /// The light that falls on it.
    public var light = FaceLight()
    /// The skin's own luma in the frame, of its range: the median of cheeks, forehead and nose. 0 where it is not known.
    public var skin: Float = 0
    /// Where the dresser remembers this person.
    var slot = 0

    init(face: Face) { self.face = face }
}

/// How a face is lit, so that what it wears is lit alike.
public struct FaceLight: Sendable {
    /// Brightness by which worn things are multiplied; 1 in a well lit room.
    public var gain: Float = 1
    /// What the light adds to the chroma (U, V) of white at full brightness, in samples of 8 bits.
    public var cast: SIMD2<Float> = .zero
    /// From the face to the light, of length 1, in the picture's axes: x to the right, y down, z away from the camera.
    public var direction: SIMD3<Float> = [-0.35, -0.72, -0.6]
}

/// All that one frame shows, for layers that are drawn once a frame.
public struct Scene: Sendable {
    /// From the smallest face to the largest, so that who is near covers who is far.
    public var trackedFaces: [TrackedFace] = []
    /// Seconds, by the source's clock.
    public var time: Double = 0
}

/// What changes from frame to frame in how a layer is drawn.
public struct Appearance: Sendable {
    /// 0...1.
    public var opacity: Float = 1
    /// What becomes of what is under the layer.
    public var blend = BlendMode.normal
    /// How much of the face's light the layer takes, 0 (it glows) to 1.
    public var light: Float = 1
    /// Milliseconds since the layer's animation began.
    public var time: Double = 0
    /// How far what dangles has swung out from where the head would hold it, degrees: in the picture's plane (clockwise),
    /// and towards the viewer. What stands is turned the same way.
    public var swing: SIMD2<Float> = .zero

    /// For what has its light already.
    public var paint: Paint { Paint(blend, opacity: opacity) }

    /// As much of a face's light as the layer takes.
    public func lightApplied(of light: FaceLight) -> FaceLight {
        FaceLight(gain: 1 + (light.gain - 1) * self.light, cast: light.cast * self.light, direction: light.direction)
    }

    /// For art as it was drawn, under a face's light.
    public func paint(under light: FaceLight) -> Paint {
        let light = lightApplied(of: light)
        return Paint(blend, opacity: opacity, gain: light.gain, cast: light.cast)
    }
}

extension Face {
    /// The same face in a picture that was scaled and shifted.
    /// - Parameter map: without rotation and mirroring, as a fitter's.
    func moved(by map: Affine) -> Face {
        var face = self
        for i in 0..<68 { face.landmarks[i] = map(landmarks[i]) }
        let corner = map(Point(box.x, box.y))
        face.box = Rect(x: corner.x, y: corner.y, width: box.width * map.a, height: box.height * map.d)
        face.head = head.moved(by: map)
        return face
    }
}

extension HeadPlacement {
    /// The same head in a picture that was scaled and shifted.
    func moved(by map: Affine) -> HeadPlacement {
        HeadPlacement(x: x * map.a, y: y * map.d, origin: map(origin))
    }
}
