import Capture
import Foundation
import Frames
import Testing
import Track

@testable import Compose

private let layout = FrameLayout(width: 320, height: 240, format: .i420, range: .full)

private let head = middleFace

/// A room with white and grey objects, and a face with uniform skin: eye whites and highlights are bright.
private func picture(
    light: Float, skin: Float, side: Float = 0, cast: SIMD2<Float> = .zero
) -> Frame {
    var frame = Frame(layout)
    var bytes = frame.mutableBytes
    for y in 0..<240 {
        for x in 0..<320 {
            let p = (Point(Float(x), Float(y)) - head.head.origin) / 60
            let isFace = (p.x * p.x) / 1.3 + (p.y - 0.4) * (p.y - 0.4) / 2 < 1
            let isWhite = isFace && abs(abs(p.x) - 0.5) < 0.22 && abs(p.y) < 0.08
            let room: Float = [0.95, 0.6, 0.4, 0.2][(x / 40 + y / 40 * 3) % 4]
            let albedo: Float = isWhite ? 0.85 : isFace ? skin * (1 + side * p.x) : room
            let level = max(0, min(255, albedo * light * 255))
            bytes[y * 320 + x] = UInt8(level)
            if x % 2 == 0 && y % 2 == 0 {
                // The darker skin is, the more saturated.
                let own: SIMD2<Float> = isFace && !isWhite ? [-34, 52] * (1.4 - skin * 0.75) : .zero
                let chroma = (own + cast) * level / 255 + 128.5
                bytes[320 * 240 + y / 2 * 160 + x / 2] = UInt8(chroma.x)
                bytes[320 * 240 + 160 * 120 + y / 2 * 160 + x / 2] = UInt8(chroma.y)
            }
        }
    }
    return frame
}

private func look(_ frame: borrowing Frame) -> FaceIllumination {
    let pixels = PixelReader(frame.view)
    return FaceIllumination(pixels, head, AmbientEstimate(pixels, leavingOut: [TrackedFace(face: head)]))
}

struct LightTests {
    @Test func `a dim room dims masks; dark skin does not`() {
        let fair = look(picture(light: 0.95, skin: 0.75)).light.gain
        let dark = look(picture(light: 0.95, skin: 0.28)).light.gain
        let dim = look(picture(light: 0.35, skin: 0.75)).light.gain
        let night = look(picture(light: 0.12, skin: 0.75)).light.gain
        print("gain: fair \(fair), dark skin \(dark), dim room \(dim), night \(night)")
        #expect(fair > 0.95 && dark > 0.9 && dim < 0.65 && night < 0.45 && night >= 0.3)
        #expect(dim < dark - 0.25)
    }

    @Test func `in a dark picture masks are hardly brighter than its brightest parts`() {
        let night = look(picture(light: 0.3, skin: 0.75)).light.gain
        #expect(night < 0.36, "the room's white has a luma of 0.29: \(night)")
        let gains = stride(from: Float(0), through: 1, by: 0.05).map(FaceIllumination.maxGain)
        #expect(gains[0] == 0.3 && zip(gains, gains.dropFirst()).allSatisfy { $0 <= $1 } && gains[12] > 1)
    }

    @Test func `a picture is matte without white, and with less black`() {
        func matteness(light: Float, black: Bool) -> Float {
            var frame = picture(light: light, skin: 0.5)
            var bytes = frame.mutableBytes
            if black { for i in 0..<320 * 12 { bytes[i] = 0 } }
            return look(frame).light.matteness
        }
        let (brilliant, dim) = (matteness(light: 1, black: true), matteness(light: 0.7, black: true))
        let hazy = matteness(light: 1, black: false)
        #expect(brilliant < 0.3 && dim == 1 && hazy > brilliant, "\(brilliant), \(dim), \(hazy)")
    }

    @Test func `light from a side is directed, and light from the front is not`() {
        func contrast(side: Float, skin: Float) -> Float {
            look(picture(light: 0.9, skin: skin, side: side)).light.contrast
        }
        for skin: Float in [0.3, 0.7] {
            let (front, slight) = (contrast(side: 0, skin: skin), contrast(side: 0.15, skin: skin))
            let (right, left) = (contrast(side: 0.35, skin: skin), contrast(side: -0.35, skin: skin))
            #expect(front < 0.1 && slight > front && slight < right, "\(front), \(slight), \(right)")
            #expect(right > 0.7 && abs(right - left) < 0.25, "\(right), \(left)")
        }
    }

    @Test func `light from a side comes from that side`() {
        let right = look(picture(light: 0.9, skin: 0.5, side: 0.3)).light.direction
        let left = look(picture(light: 0.9, skin: 0.5, side: -0.3)).light.direction
        print("lit from the picture's right: \(right), left: \(left)")
        #expect(right.x > 0.3 && left.x < -0.5 && right.z < 0 && left.y < 0)
        for direction in [right, left] { #expect(abs((direction * direction).sum() - 1) < 1e-4) }
    }

    @Test func `coloured light casts its colour, the skin's own does not`() {
        let white = look(picture(light: 0.9, skin: 0.5)).light.cast
        let warm = look(picture(light: 0.9, skin: 0.5, cast: [-40, 30])).light.cast
        let cool = look(picture(light: 0.9, skin: 0.5, cast: [30, -40])).light.cast
        let green = look(picture(light: 0.9, skin: 0.5, cast: [-14, -14])).light.cast
        print("cast: white light \(white), warm light \(warm), cool \(cool), green walls \(green)")
        #expect(white.length < 2)
        #expect(warm.x < -15 && warm.y > 15 && cool.x > 15 && cool.y < -15)
        #expect(green.length < 4, "white beards must not turn green")
        // No skin is as purple as this.
        let purple = look(picture(light: 0.9, skin: 0.5, cast: [30, 30])).light.cast
        #expect(purple.x > 6 && purple.y > 6, "\(purple)")
        for skin: Float in [0.25, 0.8] {
            let cast = look(picture(light: 0.9, skin: skin)).light.cast
            #expect(cast.length < 4, "skin of \(skin): \(cast)")
        }
    }

    @Test func `a picture without colours gets masks without a cast`() {
        var frame = picture(light: 0.9, skin: 0.5)
        var bytes = frame.mutableBytes
        for i in 320 * 240..<bytes.count { bytes[i] = 128 }
        let light = look(frame).light
        #expect(light.cast == .zero && light.saturation == 0 && light.shade.y == 0 && light.shade.z == 0)
    }

    @Test func `colours stay in every light, on every skin`() {
        for skin: Float in [0.25, 0.5, 0.8] {
            for cast: SIMD2<Float> in [.zero, [-40, 30], [30, -40]] {
                for light: Float in [0.3, 0.9] {
                    let kept = look(picture(light: light, skin: skin, cast: cast)).light.saturation
                    #expect(kept > 0.95, "skin of \(skin) in light of \(light) and \(cast)")
                }
            }
        }
    }

    @Test func `black is as bright as in a hazy picture, and black where anything is`() {
        /// The picture with its luma between a black level and white.
        func hazy(_ black: Float) -> Frame {
            var frame = picture(light: 0.9, skin: 0.5)
            var bytes = frame.mutableBytes
            for i in 0..<320 * 240 { bytes[i] = UInt8(black + Float(bytes[i]) * (1 - black / 255)) }
            // A tenth of the room is dark, as corners and clothes are.
            for y in 216..<240 { for x in 0..<320 { bytes[y * 320 + x] = UInt8(black) } }
            return frame
        }
        let levels = [0, 20, 60].map { look(hazy($0)).light.blackLevel }
        print("black in pictures with a black of 0, 20 and 60: \(levels)")
        #expect(levels[0] < 3 && (8...18).contains(levels[1]) && levels[2] > 18 && levels[2] < 30)
    }

    @Test func `a shadow on skin has the skin's hue`() {
        let shade = look(picture(light: 0.9, skin: 0.5)).light.shade
        #expect(shade.x > 0 && shade.x < 20 && shade.y < -2 && shade.z > 3, "\(shade)")
    }

    @Test func `the light estimate settles in half a second and does not flicker`() {
        var lightEstimator = LightEstimator()
        let (bright, dim) = (look(picture(light: 0.95, skin: 0.5)), look(picture(light: 0.3, skin: 0.5)))
        lightEstimator.update(bright, elapsed: 0)
        #expect(lightEstimator.light.gain == bright.light.gain, "the first look counts at once")
        lightEstimator.update(dim, elapsed: 1 / 30.0)
        let step = bright.light.gain - lightEstimator.light.gain
        #expect(step > 0 && step < 0.1 * (bright.light.gain - dim.light.gain))
        for _ in 0..<60 { lightEstimator.update(dim, elapsed: 1 / 30.0) }
        #expect(abs(lightEstimator.light.gain - dim.light.gain) < 0.02)
    }

    @Test func `a face that has left the frame has neutral light`() {
        let frame = picture(light: 0.9, skin: 0.5)
        let pixels = PixelReader(frame.view)
        let trackedFaces = [TrackedFace(face: head)]
        var out = head
        out.head.origin = Point(-500, 900)
        #expect(FaceIllumination(pixels, out, AmbientEstimate(pixels, leavingOut: trackedFaces)).light.gain == 1)
    }
}
