import CVision
import Frames

/// One place where a cascade saw what it was trained for. Pixels of the patch that was searched.
public struct Find: Sendable {
    public var box: Rect
    /// How many neighbouring windows agreed: the cascade's own measure of certainty.
    public var votes: Int
}

/// A cascade classifier (Viola and Jones, 2001) as OpenCV runs it. Owns the loaded cascade; one thread at a time.
@safe struct CascadeDetector: ~Copyable {
    private let cascade: OpaquePointer
    private let path: String
    private var finds: [cvision_find]

    /// More finds than this in one patch are noise.
    private static let capacity = 64

    /// - Throws: `Problem` that names the file and its package.
    init(path: String) throws {
        var message = [CChar](repeating: 0, count: 256)
        guard let cascade = unsafe cvision_cascade_open(path, &message, message.count) else {
            throw Problem(
                .unusable, "cascade \(path) cannot be loaded: \(text(of: message))",
                cure: "install it again: sudo apt install --reinstall opencv-data")
        }
        unsafe self.cascade = cascade
        self.path = path
        finds = Array(repeating: cvision_find(), count: Self.capacity)
    }

    deinit { unsafe cvision_cascade_close(cascade) }

    /// Appends what is seen in a patch to `found`.
    /// - Parameters:
    ///   - patch: `width * height` luma samples.
    ///   - sizes: window sizes to try, pixels of the patch.
    ///   - step: each size is that many times the one before.
    ///   - votes: fewer agreeing windows than this are not reported.
    mutating func detect(
        _ patch: Span<UInt8>, width: Int, height: Int, sizes: ClosedRange<Int>, step: Double, votes: Int,
        into found: inout [Find]
    ) throws {
        var message = [CChar]()
        let count = unsafe patch.withUnsafeBufferPointer { luma in
            unsafe cvision_cascade_detect(
                cascade, luma.baseAddress, CInt(width), CInt(height), width, step, CInt(votes), CInt(sizes.lowerBound),
                CInt(sizes.upperBound), &finds, CInt(finds.count), &message, 0)
        }
        guard count >= 0 else { throw Problem(.system, "OpenCV failed while searching with cascade \(path)") }
        for i in 0..<Int(count) {
            let f = finds[i]
            found.append(
                Find(
                    box: Rect(x: Float(f.x), y: Float(f.y), width: Float(f.width), height: Float(f.height)),
                    votes: Int(f.neighbours)))
        }
    }
}

/// The text in a C string buffer.
func text(of buffer: [CChar]) -> String {
    String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
