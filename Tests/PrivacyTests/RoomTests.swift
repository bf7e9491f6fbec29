import Compose
import Frames
import Foundation
import Outline
import TestSupport
import Testing

@testable import Privacy
@testable import Track

/// Masks that hide the room, from the mask's file to the gate.
@Suite struct RoomTests {
    private static let layout = FrameLayout(width: 640, height: 360, format: .yuyv)

    private func tracker() throws -> Tracker {
        let catalog = try CascadeCatalog(folder: Fixtures.inPackage("Cascades"))
        return Tracker(
            try FaceDetector(catalog: catalog, landmarks: "/nonexistent.dat", cache: "\(Fixtures.cache)/guise"))
    }

    private func mask(_ text: String, _ outline: OutlineFile?, in scratch: ScratchFolder) throws -> Mask {
        try scratch.makeFolder("room")
        _ = try scratch.write("{\"version\": 1, \"layers\": [\(text)]}", "room/mask.json")
        var target = ArtTarget(Self.layout)
        target.outline = outline
        return try MaskLibrary(searchPaths: [scratch.url.path]).load("room", for: target)
    }

    /// Fills a frame with fields of 4 x 4 pixels.
    private func fill(_ frame: inout Frame) {
        frame.fill(y: 60, u: 128, v: 128)
        let (width, height, stride) = (frame.layout.width, frame.layout.height, frame.layout.planes[0].stride)
        var bytes = frame.mutableBytes
        for y in 0..<height { for x in 0..<width where (x / 4 + y / 4) % 2 == 0 { bytes[y * stride + 2 * x] = 190 } }
    }

    private func shows(_ frame: borrowing Frame) -> Bool {
        let luma = frame.view.luma
        for y in 0..<luma.height {
            for x in 0..<luma.width - 4 {
                let at = y * luma.rowStride + x * luma.pixelStride
                if abs(Int(luma.samples[at]) - Int(luma.samples[at + 8])) > 25 { return true }
            }
        }
        return false
    }

    @Test(arguments: [false, true])
    func `a background mask hides the room in each frame, with a model and without`(isMissing: Bool) throws {
        let scratch = try ScratchFolder()
        let path = isMissing ? "/nonexistent.tflite" : try scratch.write(Data(ModelFile.redPeople), "red.tflite")
        let mask = try mask(
            #"{"kind": "background", "mode": "blur", "opacity": 0.2}"#, OutlineFile(path: path), in: scratch)
        #expect(mask.warnings.count == (isMissing ? 1 : 0))
        #expect(mask.warnings.allSatisfy { $0.contains("./setup outline") })
        var compositor = Compositor(masks: [mask])
        var gate = PrivacyGate(Self.layout)
        var tracker = try tracker()
        let promises = compositor.hidesRoom
        #expect(promises)
        for number in 0..<20 {
            if number == 10 { gate.reset() }
            fill(&gate.canvas.frame)
            compositor.compose(&gate.canvas, [], placement: .identity, at: Double(number) / 30)
            gate.check(
                tracker, hidesFaces: false, hidesRoom: compositor.hidesRoom, .video, placement: .identity, at: 0)
            let (reason, isExposed) = (gate.reason, shows(gate.canvas.frame))
            #expect(reason == nil && !isExposed, "frame \(number)")
        }
        tracker.restart()
    }

    @Test func `without the background a frame is withheld`() throws {
        var gate = PrivacyGate(Self.layout)
        var tracker = try tracker()
        gate.check(tracker, hidesFaces: false, hidesRoom: true, .video, placement: .identity, at: 0)
        let first = gate.reason
        #expect(first == .roomMayBeVisible)
        let scratch = try ScratchFolder()
        var compositor = Compositor(masks: [
            try mask(#"{"kind": "background", "mode": "color"}"#, nil, in: scratch)
        ])
        compositor.compose(&gate.canvas, [], placement: .identity, at: 0)
        gate.check(tracker, hidesFaces: false, hidesRoom: true, .video, placement: .identity, at: 0)
        let covered = gate.reason
        #expect(covered == nil)
        // The masks are taken off, but the promise stays for one frame.
        _ = compositor.replaceMasks(with: [])
        compositor.compose(&gate.canvas, [], placement: .identity, at: 0.1)
        gate.check(tracker, hidesFaces: false, hidesRoom: true, .video, placement: .identity, at: 0.1)
        let last = gate.reason
        #expect(last == .roomMayBeVisible)
        tracker.restart()
    }

    @Test(arguments: [
        (#"{"kind": "background", "mode": "dim"}"#, false),
        (#"{"kind": "background", "mode": "blur", "when": "smile"}"#, false),
        (#"{"kind": "background", "mode": "color"}"#, true),
    ])
    func `dimming, and what is not always drawn, promises nothing`(text: String, promises: Bool) throws {
        let compositor = Compositor(masks: [try mask(text, nil, in: try ScratchFolder())])
        let hides = compositor.hidesRoom
        #expect(hides == promises)
    }
}
