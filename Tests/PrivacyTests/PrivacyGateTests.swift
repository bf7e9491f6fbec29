import Compose
import Frames
import TestSupport
import Testing

@testable import Privacy
@testable import Track

/// The pictures that the gate publishes and withholds. Covering of faces is tested with `FaceCover`.
@Suite struct PrivacyGateTests {
    private static let layout = FrameLayout(width: 64, height: 48, format: .i420)

    /// A tracker without faces that has searched nothing yet.
    private func makeTracker(isThorough: Bool = true) throws -> Tracker {
        let catalog = try CascadeCatalog(folder: Fixtures.inPackage("Cascades"))
        var tracker = Tracker(
            try FaceDetector(catalog: catalog, landmarks: "/nonexistent.dat", cache: "\(Fixtures.cache)/guise"))
        tracker.isThorough = isThorough
        return tracker
    }

    private func check(_ gate: inout PrivacyGate, hidesFaces: Bool, _ kind: PrivacyGate.Kind = .video) throws {
        let tracker = try makeTracker()
        let searched = Frame(Self.layout)
        if hidesFaces, kind == .video { gate.measureMotion(searched.view.luma, faces: []) }
        gate.check(tracker, hides: hidesFaces ? .faces : [], kind, placement: .identity, at: 0)
    }

    private func isPublishable(_ gate: borrowing PrivacyGate) -> Bool {
        switch gate.outcome {
        case .publishable: true
        case .withheld: false
        }
    }

    @Test func `a picture is withheld until it is checked, and again when it changes`() throws {
        var gate = PrivacyGate(Self.layout)
        let isOpenAtFirst = isPublishable(gate)
        #expect(!isOpenAtFirst)
        try check(&gate, hidesFaces: false)
        let isOpenOnceChecked = isPublishable(gate)
        #expect(isOpenOnceChecked)
        gate.drawDeferred()
        let isOpenStill = isPublishable(gate)
        #expect(isOpenStill, "what is drawn for the next frame changes nothing in this one")
        gate.canvas.frame.fill(y: 200, u: 128, v: 128)
        let (isOpenWhenChanged, reason) = (isPublishable(gate), gate.reason)
        #expect(!isOpenWhenChanged && reason == .unchecked)
    }

    @Test func `with a mask that hides faces a picture is withheld while a face may be visible`() throws {
        var gate = PrivacyGate(Self.layout)
        try check(&gate, hidesFaces: true)
        let (reason, share) = (gate.reason, gate.coveredShare)
        #expect(reason == .faceMayBeVisible && share == 1, "nothing was searched")
        let late = try makeTracker(isThorough: false)
        gate.check(late, hides: .faces, .video, placement: .identity, at: 0.1)
        let another = gate.reason
        #expect(another == .maskIsNew)
        try check(&gate, hidesFaces: false)
        let (isOpen, rest) = (isPublishable(gate), gate.coveredShare)
        #expect(isOpen && rest == 0, "without such a mask nothing is hidden")
    }

    @Test func `a photo without a face is withheld unless that is allowed`() throws {
        var gate = PrivacyGate(Self.layout)
        try check(&gate, hidesFaces: true, .photo)
        let reason = gate.reason
        #expect(reason == .noFaceFound)
        gate.allowsUncoveredPhotos = true
        try check(&gate, hidesFaces: true, .photo)
        let isOpen = isPublishable(gate)
        #expect(isOpen)
    }

    @Test func `a copy shows what it was made of, in its own format`() {
        var gray = Frame(Self.layout)
        gray.fill(y: 90, u: 128, v: 128)
        var copy = PublishableCopy(FrameLayout(width: 64, height: 48, format: .yuyv))
        copy.copy(PublishableFrame(gray.view))
        let luma = copy.frame.view.luma
        let (first, last) = (luma.samples[0], luma.samples[47 * luma.rowStride + 63 * luma.pixelStride])
        #expect(first == 90 && last == 90)
    }
}
