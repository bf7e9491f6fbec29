import CVision
import Frames
import Glibc
import SystemKit

/// A synthetic source: a portrait that moves, rotates and grows in front of a blurred background, for users without a
/// camera and for tests. Frames depend only on their number; there is no end.
///
/// The unsafe calls to the C shim are all in this file.
public struct Sample: FrameSource, ~Copyable {
    /// I420, limited range.
    public let layout: FrameLayout
    /// Frames per second for which the motion is designed.
    public let rate: Double? = 30
    /// Nil: a frame is always available.
    public let descriptor: CInt? = nil
    /// False: frames are produced as fast as they are read.
    public let isLive = false
    /// Always 0.
    public let damaged = 0
    /// The source for the user, such as "sample (astronaut.png), I420 1280x720 at 30 fps".
    public let description: String

    /// The portrait, I444, limited range.
    private let portrait: Frame
    private let background: Frame
    private var frame: Frame
    private var number = 0

    /// The number of frames after which the motion repeats: all its periods divide 160 s.
    private static let period = 4800
    /// The usual position of the face in a portrait, as fractions of its size; the motion rotates around it.
    private static let pivot = Point(0.44, 0.3)
    /// Side of the picture to which the portrait is reduced for the background, pixels.
    private static let blurred = 12

    /// - Parameters:
    ///   - path: a portrait of any size; head and shoulders look best.
    ///   - width: width of the frames, pixels.
    ///   - height: height of the frames, pixels.
    /// - Throws: what `Clip` throws for the file.
    public init(path: String, width: Int = 1280, height: Int = 720) throws {
        var portrait = Frame(FrameLayout(width: 1, height: 1, format: .i444))
        try Clip.firstPicture(of: path) { view in
            let size = view.layout
            portrait = Frame(FrameLayout(width: size.width, height: size.height, format: .i444, range: .limited))
            convert(view, into: &portrait)
        }
        let layout = FrameLayout(width: width, height: height, format: .i420)
        let background = try Self.background(of: portrait, layout)
        self.layout = layout
        self.background = background
        self.portrait = portrait
        frame = Frame(layout)
        description = "sample (\(path)), \(layout) at 30 fps"
    }

    /// Draws the next frame and lends it.
    /// - Throws: `Problem` of kind `system` if OpenCV is out of memory, and what `body` throws.
    public mutating func withFrame(
        _ body: (borrowing FrameView, _ time: FrameTime) throws -> Void
    ) throws -> Arrival {
        convert(background, into: &frame)
        guard let map = place(number).inverse else { return .nothing }
        for plane in 0..<3 {
            try warp(portrait, into: &frame, plane, map, keep: true)
        }
        number += 1
        return try withLastFrame(body) ? .frame : .nothing
    }

    /// Lends the last frame again.
    public mutating func withLastFrame(
        _ body: (borrowing FrameView, _ time: FrameTime) throws -> Void
    ) throws -> Bool {
        guard number > 0 else { return false }
        try body(frame.view, FrameTime(number: number - 1, seconds: Double(number - 1) / 30))
        return true
    }

    /// The map from the portrait's pixels to those of one frame.
    ///
    /// Pans by a quarter of the width, rolls by 25 degrees, and scales from 0.7 to 1.5 times the frame's height, each
    /// with its own period.
    func place(_ number: Int) -> Affine {
        let seconds = Float(number % Self.period) / 30
        func wave(_ period: Float) -> Float { Frames.sin(2 * .pi * seconds / period) }
        let size = Point(Float(layout.width), Float(layout.height))
        let source = Point(Float(portrait.layout.width), Float(portrait.layout.height))
        // 1.025 is the geometric mean of 0.7 and 1.5; 0.381 is the logarithm of the ratio from it to either.
        let scale = size.y / source.y * 1.025 * Frames.exp(0.381 * wave(10))
        let center = Point(size.x * (0.5 + 0.25 * wave(8)), size.y * (0.45 + 0.1 * wave(5)))
        let turn = Affine(scale: scale, angle: radians(25) * wave(6.4), origin: center)
        let pivot = source * Self.pivot
        return turn.after(Affine(a: 1, b: 0, c: 0, d: 1, tx: -pivot.x, ty: -pivot.y))
    }

    /// The background: the portrait reduced to a few pixels and stretched over the whole frame.
    private static func background(of portrait: borrowing Frame, _ layout: FrameLayout) throws(Problem) -> Frame {
        let side = min(blurred, portrait.layout.width, portrait.layout.height)
        var few = Frame(FrameLayout(width: side, height: side, format: .i444))
        let (from, to) = (portrait.layout, few.layout)
        let source = portrait.bytes
        var target = few.mutableBytes
        for (a, b) in zip(from.planes, to.planes) {
            for row in 0..<side {
                for column in 0..<side {
                    var (sum, count) = (0, 0)
                    for y in row * from.height / side..<(row + 1) * from.height / side {
                        for x in column * from.width / side..<(column + 1) * from.width / side {
                            sum += Int(source[a.offset + y * a.stride + x])
                            count += 1
                        }
                    }
                    target[b.offset + row * b.stride + column] = UInt8(sum / max(1, count))
                }
            }
        }
        var frame = Frame(layout)
        let x = Float(side) / Float(layout.width)
        let y = Float(side) / Float(layout.height)
        let map = Affine(a: x, b: 0, c: 0, d: y, tx: x / 2 - 0.5, ty: y / 2 - 0.5)
        for plane in 0..<3 { try warp(few, into: &frame, plane, map, keep: false) }
        return frame
    }
}

/// Warps one plane of an I444 frame into one of an I420 frame.
/// - Parameter map: from the frame's luma pixels to the source's.
/// - Throws: `Problem` of kind `system` if OpenCV is out of memory.
private func warp(
    _ source: borrowing Frame, into frame: inout Frame, _ index: Int, _ map: Affine, keep: Bool
) throws(Problem) {
    // A chroma sample of 4:2:0 is in the middle of four pixels.
    let half = Affine(a: 2, b: 0, c: 0, d: 2, tx: 0.5, ty: 0.5)
    let map = index == 0 ? map : map.after(half)
    let numbers: [6 of Double] = [
        Double(map.a), Double(map.b), Double(map.tx), Double(map.c), Double(map.d), Double(map.ty),
    ]
    let (from, to) = (source.layout.planes[index], frame.layout.planes[index])
    var target = frame.mutableBytes
    let result = unsafe source.bytes.withUnsafeBufferPointer { source in
        unsafe target.withUnsafeMutableBufferPointer { target in
            unsafe numbers.span.withUnsafeBufferPointer { numbers in
                // The shim does not write to the source.
                let from = unsafe cvision_plane(
                    samples: UnsafeMutablePointer(mutating: source.baseAddress.map { unsafe $0 + from.offset }),
                    width: CInt(from.rowBytes), height: CInt(from.rows), stride: from.stride)
                let to = unsafe cvision_plane(
                    samples: target.baseAddress.map { unsafe $0 + to.offset }, width: CInt(to.rowBytes),
                    height: CInt(to.rows), stride: to.stride)
                return unsafe cvision_warp(from, to, numbers.baseAddress, keep ? 1 : 0, nil, 0)
            }
        }
    }
    guard result == 0 else { throw Problem(.system, "cannot draw the sample: OpenCV is out of memory") }
}
