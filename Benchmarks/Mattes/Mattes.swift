import Frames
import Glibc
import SystemKit

@testable import Outline

/// Prints the outline of people in raw frames, for Benchmarks/outline.py to judge: `outline-mattes MODEL WIDTH HEIGHT
/// SECONDS`.
///
/// Reads YUYV frames of that size from the standard input, which are so many seconds apart. For each it writes one
/// byte, whether the network has run, the mask (256 x 144 floats, smoothed over time), and the matte (a byte for each
/// pixel).
@main struct MattePrinter {
    static func main() throws {
        let words = CommandLine.arguments
        guard words.count == 5, let width = Int(words[2]), let height = Int(words[3]), let step = Double(words[4]),
            (1...8192).contains(width), (1...8192).contains(height)
        else {
            throw Problem(.invalid, "outline-mattes MODEL WIDTH HEIGHT SECONDS", fix: "give all of them")
        }
        guard let input = unsafe fdopen(STDIN_FILENO, "rb"), let output = unsafe fdopen(STDOUT_FILENO, "wb") else {
            throw Problem(.invalid, "standard input or output is closed", fix: "open both")
        }
        let model = try OutlineModel(path: words[1])
        var outline = OutlineTracker()
        var frame = Frame(FrameLayout(width: width, height: height, format: .yuyv))
        var seconds = 0.0
        while unsafe fill(&frame, from: input) {
            let runs = outline.runs
            outline.update(frame, model, at: seconds)
            seconds += step
            unsafe write([outline.runs == runs ? 0 : 1], to: output)
            unsafe fwrite(outline.mask.base, MemoryLayout<Float>.stride, DownsampledFrame.count, output)
            unsafe write(outline.wholeMatte()[..<(width * height)], to: output)
        }
        _ = unsafe fclose(output)
    }

    /// Reads a whole frame.
    /// - Returns: false at the end of the input.
    private static func fill(_ frame: inout Frame, from input: UnsafeMutablePointer<FILE>) -> Bool {
        var bytes = frame.mutableBytes
        let count = bytes.count
        return unsafe bytes.withUnsafeMutableBufferPointer {
            unsafe fread($0.baseAddress, 1, count, input) == count
        }
    }

    private static func write(_ bytes: ArraySlice<UInt8>, to output: UnsafeMutablePointer<FILE>) {
        unsafe bytes.withUnsafeBufferPointer { _ = unsafe fwrite($0.baseAddress, 1, $0.count, output) }
    }
}
