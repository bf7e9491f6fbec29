import Frames
import JSON
import Track
import TestSupport

@testable import Compose

/// A frame's samples by pixel, for any layout: slow and simple, for tests.
struct Samples {
    let layout: FrameLayout
    var bytes: [UInt8]

    init(_ frame: borrowing Frame) {
        layout = frame.layout
        let span = frame.bytes
        bytes = span.indices.map { span[$0] }
    }

    /// Noise with some structure, from a seed; within the range.
    init(noise layout: FrameLayout, seed: UInt32 = 1) {
        self.layout = layout
        bytes = []
        var state = seed
        for i in 0..<layout.byteCount {
            state = state &* 1_664_525 &+ 1_013_904_223
            bytes.append(UInt8(20 + (Int(state >> 24) + i % 97) % 210))
        }
    }

    /// A frame of these samples.
    var frame: Frame {
        var frame = Frame(layout)
        var target = frame.mutableBytes
        for i in bytes.indices { target[i] = bytes[i] }
        return frame
    }

    /// The offsets of a pixel's Y, U and V; U and V are nil for gray.
    func places(_ x: Int, _ y: Int) -> (y: Int, u: Int?, v: Int?) {
        let planes = layout.planes
        let row = y * planes[0].stride
        let (cx, cy) = (x >> layout.format.chromaShift.x, y >> layout.format.chromaShift.y)
        switch layout.format {
        case .gray: return (row + x, nil, nil)
        case .yuyv: return (row + 2 * x, row + 4 * cx + 1, row + 4 * cx + 3)
        case .uyvy: return (row + 2 * x + 1, row + 4 * cx, row + 4 * cx + 2)
        case .nv12:
            let start = planes[1].offset + cy * planes[1].stride + 2 * cx
            return (row + x, start, start + 1)
        case .i420, .i422, .i444:
            return (
                row + x, planes[1].offset + cy * planes[1].stride + cx, planes[2].offset + cy * planes[2].stride + cx
            )
        }
    }

    /// Y, U and V of a pixel; 128 if there is no chroma.
    subscript(x: Int, y: Int) -> SIMD3<Int> {
        let at = places(x, y)
        return [Int(bytes[at.y]), at.u.map { Int(bytes[$0]) } ?? 128, at.v.map { Int(bytes[$0]) } ?? 128]
    }
}

/// All formats, odd sizes, padding, both ranges.
let allLayouts: [FrameLayout] = PixelFormat.allCases.flatMap { format in
    [
        FrameLayout(width: 96, height: 64, format: format), FrameLayout(width: 97, height: 63, format: format),
        FrameLayout(width: 61, height: 45, format: format, range: .full),
        FrameLayout(width: 75, height: 40, format: format, range: .full, lumaStride: 224),
    ]
}

/// A mean face in the middle of 320 x 240 pixels, eyes 60 apart.
let middleFace: Face = {
    var face = Face.mean
    face.head = HeadPlacement(x: [60, 0, 0], y: [0, 60, 0], origin: Point(160, 90))
    face.landmarks = face.head.landmarks
    (face.id, face.state) = (1, .tracked)
    face.box = Rect(x: 100, y: 60, width: 120, height: 150)
    return face
}()

/// A mean face, rotated by degrees.
func face(at origin: Point, scale: Float, roll: Float = 0, yaw: Float = 0, state: Face.State = .tracked) -> Face {
    let (r, w) = (Double(roll) * .pi / 180, Double(yaw) * .pi / 180)
    // Rz(roll) Ry(-yaw): looking to the right moves the nose, which is at negative z, to the right.
    let (cr, sr, cw, sw) = (Float(cos(r)), Float(sin(r)), Float(cos(w)), Float(sin(w)))
    let x = SIMD3<Float>(cr * cw, -sr, -cr * sw) * scale
    let y = SIMD3<Float>(sr * cw, cr, -sr * sw) * scale
    let head = HeadPlacement(x: x, y: y, origin: origin)
    var face = Face.mean
    face.head = head
    face.landmarks = head.landmarks
    face.state = state
    return face
}

/// Taylor's series; tests need no more.
private func sin(_ angle: Double) -> Double {
    var (term, sum) = (angle, angle)
    for i in 1..<12 {
        term *= -angle * angle / Double(2 * i * (2 * i + 1))
        sum += term
    }
    return sum
}

private func cos(_ angle: Double) -> Double { sin(angle + .pi / 2) }

/// The shipped masks.
let masksFolder = Fixtures.inPackage("Masks")

/// A mask of one layer, from JSON.
func layer(
    _ json: String, _ layout: FrameLayout, folder: String = masksFolder, target: ArtTarget? = nil
) throws -> Mask {
    var fields = try Fields(try JSON(Array(json.utf8), file: "mask.json"), file: "mask.json")
    let layer = try MaskLayer(&fields, folder: folder, target: target ?? ArtTarget(layout))
    return Mask(name: "test", title: "", author: "", licence: "", tags: [], layers: [layer])
}

/// A frame composed with a mask on faces.
func worn(_ mask: Mask, on samples: Samples, _ faces: [Face], at time: Double = 0) -> Samples {
    var canvas = Canvas(samples.layout)
    canvas.frame = samples.frame
    var compositor = Compositor(masks: [mask])
    compositor.compose(&canvas, faces, placement: .identity, at: time)
    return Samples(canvas.frame)
}
