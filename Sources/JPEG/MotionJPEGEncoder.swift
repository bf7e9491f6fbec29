import Frames
import SystemKit

/// Makes a moving picture of a clip's frames that can be repeated without a jump: its end fades into its beginning.
///
/// The first frames are not shown at the beginning, only faded in at the end. After the last picture, the first one
/// follows like the next frame of the clip.
public struct MotionJPEGEncoder: ~Copyable {
    /// The most frames that are used: those of 20 s, and those for the fade.
    private static let maxFrames = 20 * MotionJPEG.rate + fade
    /// The number of pictures that are mixed.
    private static let fade = 8
    /// No more frames are added to a larger file, which leaves room for the largest possible pictures of the fade.
    private static let fullBytes = 48 << 20
    private static let quality = 80

    private var scaler: FrameScaler
    private var scaled: Frame
    private var encoder: JPEGEncoder
    /// The first frames.
    private var beginning: [[UInt8]] = []
    /// The newest frames; if there are as many as `fade`, the oldest one is at `next`.
    private var newest: [[UInt8]] = []
    private var next = 0
    /// The number of frames at the constant rate.
    private var count = 0
    private var jpegs: [UInt8] = []

    /// Whether no more frames are needed.
    public var isFull: Bool { count >= Self.maxFrames || jpegs.count > Self.fullBytes }

    /// Allocates buffers for frames of a layout.
    /// - Throws: `Problem` of kind `system` if there is not enough memory.
    public init(_ layout: FrameLayout) throws(Problem) {
        let scale = min(1, Double(MotionJPEG.maxSide) / Double(max(layout.width, layout.height)))
        func side(_ length: Int) -> Int { max(2, Int(Double(length) * scale / 2 + 0.25) * 2) }
        // The sides of frames may be odd; those of JPEGs that are decoded may not.
        let small = FrameLayout(
            width: min(MotionJPEG.maxSide, side(layout.width)), height: min(MotionJPEG.maxSide, side(layout.height)),
            format: .i420, range: .full)
        scaler = FrameScaler(
            from: layout,
            PixelRect(x: 0, y: 0, width: max(1, layout.width & ~1), height: max(1, layout.height & ~1)), to: small,
            PixelRect(x: 0, y: 0, width: small.width, height: small.height))
        scaled = Frame(small)
        encoder = try JPEGEncoder(layout: small, maxWidth: small.width, quality: Self.quality)
    }

    /// Adds a clip's frame: to each moment of the constant rate since the last frame, and to its own.
    /// - Parameter seconds: the frame's time, from 0.
    public mutating func add(_ view: borrowing FrameView, at seconds: Double) {
        // The margin is for rounded times.
        func isDue() -> Bool { !isFull && Double(count) / Double(MotionJPEG.rate) <= seconds + 0.001 }
        guard isDue() else { return }
        scaler.scale(view, into: &scaled)
        let bytes = unsafe scaled.bytes.withUnsafeBufferPointer { unsafe Array($0) }
        while isDue() {
            count += 1
            if beginning.count < Self.fade {
                beginning.append(bytes)
            } else if newest.count < Self.fade {
                newest.append(bytes)
            } else {
                encode(newest[next])
                newest[next] = bytes
                next = (next + 1) % Self.fade
            }
        }
    }

    /// Fades the end into the beginning.
    /// - Returns: the file's bytes; nil if the frames are not of more than a second.
    public consuming func finish() -> [UInt8]? {
        guard count > MotionJPEG.rate else { return nil }
        for i in 0..<Self.fade {
            let (old, new) = (newest[(next + i) % Self.fade], beginning[i])
            let weight = i + 1
            let mixed = old.indices.map { at in
                UInt8(
                    (Int(old[at]) * (Self.fade + 1 - weight) + Int(new[at]) * weight + Self.fade / 2) / (Self.fade + 1))
            }
            encode(mixed)
        }
        return jpegs
    }

    private mutating func encode(_ frame: [UInt8]) {
        if let jpeg = encoder.encode(FrameView(layout: scaled.layout, bytes: frame.span)) { jpegs += jpeg }
    }
}
