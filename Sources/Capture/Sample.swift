import Frames
import Glibc
import SystemKit
import V4L2

/// A synthetic source: a portrait that moves, rotates and grows in front of a blurred background, for users without a
/// camera and for tests. Frames depend only on their number; there is no end.
public struct Sample: FrameSource, ~Copyable {
    /// I420, limited range.
    public let layout: FrameLayout
    /// Frames per second.
    public var rate: Double? { framesPerSecond }
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

    private let framesPerSecond: Double
    /// The time after which the motion repeats, seconds: all its periods divide it.
    private static let period = 160.0
    /// The usual position of the face in a portrait, as fractions of its size; the motion rotates around it.
    private static let pivot = Point(0.44, 0.3)
    /// Side of the picture to which the portrait is reduced for the background, pixels.
    private static let blurred = 12

    /// - Parameters:
    ///   - path: a portrait of any size; head and shoulders look best.
    ///   - width: width of the frames, pixels.
    ///   - height: height of the frames, pixels.
    ///   - rate: frames per second.
    /// - Throws: what `Clip` throws for the file.
    public init(path: String, width: Int = 1280, height: Int = 720, rate: Double = 30) throws {
        var portrait = Frame(FrameLayout(width: 1, height: 1, format: .i444))
        try Clip.firstPicture(of: path) { view in
            let size = view.layout
            portrait = Frame(FrameLayout(width: size.width, height: size.height, format: .i444, range: .limited))
            convert(view, into: &portrait)
        }
        let layout = FrameLayout(width: width, height: height, format: .i420)
        let background = Self.background(of: portrait, layout)
        self.layout = layout
        self.background = background
        self.portrait = portrait
        frame = Frame(layout)
        framesPerSecond = rate
        description = "sample (\(path)), \(layout) at \(rateText(rate)) fps"
    }

    /// Draws the next frame and lends it.
    /// - Throws: what `body` throws.
    public mutating func withFrame(
        _ body: (borrowing FrameView, _ time: FrameTime) throws -> Void
    ) throws -> FrameResult {
        convert(background, into: &frame)
        guard let map = portraitToFrame(number).inverse else { return .nothing }
        warp(portrait, by: map, onto: &frame)
        number += 1
        return try withLastFrame(body) ? .frame : .nothing
    }

    /// Lends the last frame again.
    public mutating func withLastFrame(
        _ body: (borrowing FrameView, _ time: FrameTime) throws -> Void
    ) throws -> Bool {
        guard number > 0 else { return false }
        try body(frame.view, FrameTime(number: number - 1, seconds: Double(number - 1) / framesPerSecond))
        return true
    }

    /// The map from the portrait's pixels to those of one frame.
    ///
    /// Pans by a quarter of the width, rolls by 25 degrees, and scales from 0.7 to 1.5 times the frame's height, each
    /// with its own period.
    func portraitToFrame(_ number: Int) -> Affine {
        let seconds = Float((Double(number) / framesPerSecond).truncatingRemainder(dividingBy: Self.period))
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
    private static func background(of portrait: borrowing Frame, _ layout: FrameLayout) -> Frame {
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
        var scaler = FrameScaler(
            from: to, PixelRect(x: 0, y: 0, width: side, height: side), to: layout,
            PixelRect(x: 0, y: 0, width: layout.width, height: layout.height))
        scaler.scale(few.view, into: &frame)
        return frame
    }
}
