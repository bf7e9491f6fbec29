import Frames
import Track

/// A face of one frame, with the measurements that layers need. Nothing here is kept for the next frame.
public struct TrackedFace: Sendable {
    /// The face, with all positions in pixels of the canvas.
    public var face: Face
    /// The light on the face.
    public var light = FaceLight()
    /// The standard deviation of the picture's blur on the face, pixels.
    var blur = BlurEstimator.sharp
    /// The camera's noise on the face; nil for none.
    var noise: Noise?
    /// The size of the head with its hair, for what is worn on it.
    public var fit = HeadFit()
    /// How much wider the hair is than the head that hats are made for.
    var hair = HairWidth()
    /// Index of the person in the compositor's state.
    var slot = 0

    init(face: Face) { self.face = face }
}

/// The light on a face, so that masks are lit alike.
public struct FaceLight: Sendable {
    /// Factor for the brightness of masks; 1 in a well-lit room.
    public var gain: Float = 1
    /// What the light adds to the chroma (U, V) of white at full brightness, in 8-bit samples.
    public var cast: SIMD2<Float> = .zero
    /// The part of the masks' colours that the picture can show: 1, and 0 in a picture without colours.
    public var saturation: Float = 1
    /// How matte the picture is, 0...1: by how much colours are less saturated there, and whites less white.
    public var matteness: Float = 0
    /// The luma of black things in the picture above black, in 8-bit samples: light in the lens, or a cheap camera.
    public var blackLevel: Float = 0
    /// The colour of this skin in deep shade: luma above black, U and V relative to neutral, in 8-bit samples.
    public var shade: SIMD3<Float> = .zero
    /// How much of the light comes from one direction, from 0 (as under an overcast sky) to 1 (as from one window).
    public var contrast: Float = 0.3
    /// Unit vector from the face to the light, in the picture's axes: x to the right, y down, z away from the camera.
    public var direction: SIMD3<Float> = [-0.35, -0.72, -0.6]
}

/// All faces of one frame, for layers that are drawn once per frame.
public struct Scene: Sendable {
    /// The faces from the smallest to the largest, so that near ones are drawn over far ones.
    public var trackedFaces: [TrackedFace] = []
    /// The frame's time in seconds, by the source's clock.
    public var time: Double = 0
}

/// How to draw a layer in one frame.
public struct Appearance: Sendable {
    /// Opacity, 0...1.
    public var opacity: Float = 1
    /// How the layer is blended with what is under it.
    public var blend = BlendMode.normal
    /// How much the face's light affects the layer, from 0 (it glows) to 1.
    public var light: Float = 1
    /// Milliseconds since the layer's animation started.
    public var time: Double = 0
    /// The angles of swinging parts relative to the head, in degrees: in the picture's plane (clockwise), and towards
    /// the viewer. Standing parts are turned in the same way.
    public var swing: SIMD2<Float> = .zero

    /// The paint for art that is already lit.
    /// - Parameter noise: the noise of the picture around it.
    public func paint(litBy light: FaceLight, noise: Noise? = nil) -> Paint {
        Paint(blend, opacity: opacity, saturation: lightApplied(of: light).saturation, noise: noise)
    }

    /// A face's light, as far as it affects the layer.
    public func lightApplied(of light: FaceLight) -> FaceLight {
        FaceLight(
            gain: 1 + (light.gain - 1) * self.light, cast: light.cast * self.light,
            saturation: 1 + (light.saturation - 1) * self.light,
            matteness: light.matteness * self.light, blackLevel: light.blackLevel * self.light,
            shade: light.shade, contrast: light.contrast, direction: light.direction)
    }

    /// The paint for unlit art, with a face's light applied.
    /// - Parameter noise: the noise of the picture around it.
    public func paint(under light: FaceLight, noise: Noise? = nil) -> Paint {
        let light = lightApplied(of: light)
        return Paint(
            blend, opacity: opacity, gain: light.gain, cast: light.cast, saturation: light.saturation, noise: noise)
    }
}

extension Face {
    /// The face in a picture that was scaled and translated.
    /// - Parameter map: without rotation or mirroring, such as `Scaler.map`.
    public func moved(by map: Affine) -> Face {
        var face = self
        for i in 0..<68 { face.landmarks[i] = map(landmarks[i]) }
        let corner = map(Point(box.x, box.y))
        face.box = Rect(x: corner.x, y: corner.y, width: box.width * map.a, height: box.height * map.d)
        face.head = head.moved(by: map)
        return face
    }
}

extension HeadPlacement {
    /// The head in a picture that was scaled and translated.
    func moved(by map: Affine) -> HeadPlacement {
        HeadPlacement(x: x * map.a, y: y * map.d, origin: map(origin))
    }
}
