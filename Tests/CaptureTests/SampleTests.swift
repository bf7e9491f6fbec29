import Foundation
import TestSupport
import Testing

@testable import Capture
@testable import Frames

@Suite struct SampleTests {
    let scratch: ScratchFolder
    init() throws { scratch = try ScratchFolder() }

    private func sample(rate: Double = 30) throws -> Sample {
        // A white disc on red where the face would be.
        let path = try scratch.make(
            "p.png",
            "-f lavfi -i color=red:s=100x100,format=rgb24,geq=r=255:g=255*lt(hypot(X-44\\,Y-30)\\,5):b=255*lt(hypot(X-44\\,Y-30)\\,5)"
                + " -frames:v 1")
        return try Sample(path: path, width: 320, height: 180, rate: rate)
    }

    /// The mean position and the number of white pixels.
    private func disc(_ view: borrowing FrameView) -> (at: Point, count: Int) {
        let luma = view.luma
        var (sum, count) = (Point(0, 0), 0)
        for y in 0..<luma.height {
            for x in 0..<luma.width where luma.samples[y * luma.rowStride + x] > 225 {
                sum += Point(Float(x), Float(y))
                count += 1
            }
        }
        return (sum / Float(max(1, count)), count)
    }

    @Test func `the portrait moves smoothly, stays in the picture, and grows and shrinks`() throws {
        var sample = try sample()
        var (left, right, small, large): (Float, Float, Int, Int) = (999, 0, 99999, 0)
        var before: Point?
        for number in 0..<300 {
            let place = sample.portraitToFrame(number)
            let result = try sample.withFrame { view, time in
                #expect(time == FrameTime(number: number, seconds: Double(number) / 30))
                guard number % 10 < 2 else { return }
                let (at, count) = disc(view)
                #expect((at - place(Point(44, 30))).length < 1.5, "frame \(number): \(at), \(count)")
                if number % 10 == 1, let before { #expect((at - before).length < 5) }
                before = at
                (left, right, small, large) = (min(left, at.x), max(right, at.x), min(small, count), max(large, count))
            }
            #expect(result == .frame)
        }
        #expect(left < 90 && right > 230)
        // Areas go with the square of 0.7 to 1.5.
        #expect(Double(large) / Double(small) > 3.5)
    }

    @Test func `two sample sources produce the same frames`() throws {
        var a = try sample()
        var b = try sample()
        for _ in 0..<3 {
            var (first, second): ([UInt8], [UInt8]) = ([], [])
            _ = try a.withFrame { view, _ in first = view.bytes.indices.map { view.bytes[$0] } }
            _ = try b.withFrame { view, _ in second = view.bytes.indices.map { view.bytes[$0] } }
            #expect(first == second && !first.isEmpty)
        }
    }

    @Test func `at another rate the portrait is at the same place at the same time`() throws {
        let usual = try sample()
        let slow = try sample(rate: 7.5)
        for number in 0..<40 {
            let places = (slow.portraitToFrame(number), usual.portraitToFrame(4 * number))
            #expect(places.0 == places.1, "frame \(number)")
        }
        let description = slow.description
        #expect(description.hasSuffix("320x180 at 7.5 fps"))
    }

    @Test func `a missing portrait is an error`() {
        #expect(problem { _ = try Sample(path: scratch.path("none.png")) }?.kind == .missing)
    }
}
