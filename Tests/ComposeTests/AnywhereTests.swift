import Foundation
import Testing

@testable import Compose
@testable import Frames
@testable import Track

/// Every shipped mask on faces at any place: half out of the picture, far away, filling it, on their side.
@Suite struct AnywhereTests {
    /// Odd sizes and subsampled chroma, so that no row or column is even.
    private static let layouts = [
        FrameLayout(width: 321, height: 183, format: .i420), FrameLayout(width: 321, height: 122, format: .yuyv),
        FrameLayout(width: 95, height: 250, format: .i444, range: .full),
    ]

    /// The number of frames per mask; every third one has two faces elsewhere.
    private static let frames = 12

    @Test(arguments: layouts.indices)
    func `no mask fails, wherever a face is`(turn: Int) throws {
        let layout = Self.layouts[turn]
        let library = MaskLibrary(searchPaths: [masksFolder])
        #expect(library.names.count >= 32)
        // Each mask in one of the layouts, because rendering its art takes longer than all the rest.
        let names = library.names.enumerated().filter { $0.offset % Self.layouts.count == turn }.map(\.element)
        var canvas = Canvas(layout)
        var scatter = SplitMix64(seed: 7)
        func next(_ low: Float, _ high: Float) -> Float { low + (high - low) * scatter.next() }
        var drawn = 0
        for name in names {
            var compositor = Compositor(masks: [try library.load(name, for: ArtTarget(layout))])
            for frame in 0..<Self.frames {
                canvas.frame.fill(y: 120, u: 120, v: 140)
                let faces = (0..<2).map { k in
                    var face = face(
                        at: Point(next(-0.5, 1.5) * Float(layout.width), next(-0.5, 1.5) * Float(layout.height)),
                        scale: Frames.exp(next(0, 5.5)), roll: next(-180, 180), yaw: next(-75, 75),
                        state: next(0, 1) < 0.2 ? .predicted : .tracked)
                    face.id = frame / 3 * 2 + k
                    return face
                }
                compositor.compose(&canvas, faces, placement: .identity, at: Double(frame) / 30)
                drawn += 1
            }
        }
        #expect(drawn == names.count * Self.frames)
    }
}
