import Foundation
import Frames
import TestSupport
import Testing

@testable import Capture
@testable import SystemKit

/// Time that sources take. Run by `make bench`.
@Suite(.serialized, .ownThread) struct CaptureBenchmarks {
    @Test func `a looped clip's seam`() throws {
        let scratch = try ScratchFolder()
        let path = try scratch.make("a.mp4", "-f lavfi -i testsrc=s=320x240:r=30 -frames:v 45 -pix_fmt yuv420p")
        var clip = try Clip(path: path, loop: true)
        /// Milliseconds until the next frame.
        func wait(_ clip: inout Clip) throws -> Double {
            let start = monotonicTime()
            _ = try clip.withNextFrame { _, _ in }
            return Double(monotonicTime() - start) / 1e6
        }
        figure("a clip's start", try wait(&clip), "ms")
        // In real time, so that there is a second to prepare ahead.
        for _ in 1..<45 {
            _ = try wait(&clip)
            usleep(33_000)
        }
        figure("a looped clip's seam", try wait(&clip), "ms")
    }
}
