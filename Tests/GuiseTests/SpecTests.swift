import Engine
import Foundation
import TestSupport
import Testing

@testable import guise

@Suite struct SpecTests {
    @Test(arguments: [
        ("auto", SourceSpec.automatic, true), ("camera", .camera, true), ("/dev/video2", .device("/dev/video2"), true),
        ("sample", .sample, true),
        ("/dev/v4l/by-id/usb-Webcam-video-index0", .device("/dev/v4l/by-id/usb-Webcam-video-index0"), true),
        ("clip.mp4", .file("clip.mp4"), false), ("./sample", .file("./sample"), false),
    ])
    func `a source is named as documented, and only a camera or its stand-in can be replaced`(
        _ text: String, _ spec: SourceSpec, _ isReplaceable: Bool
    ) {
        #expect(SourceSpec(text) == spec && spec.description == text && spec.isReplaceable == isReplaceable)
    }

    @Test(arguments: [
        ("auto", SinkSpec.automatic, false, false), ("usb", .usb, true, false), ("loopback", .loopback, true, false),
        ("/dev/video9", .device("/dev/video9"), true, false),
        ("page", .page, false, false), ("null", .null, false, false), ("out.mp4", .file("out.mp4"), false, true),
    ])
    func `a sink is named as documented`(_ text: String, _ spec: SinkSpec, _ isDevice: Bool, _ keepsFrames: Bool) {
        #expect(
            SinkSpec(text) == spec && spec.description == text && spec.isDevice == isDevice
                && spec.keepsFrames == keepsFrames)
    }

    @Test func `a browser opens for a page that nobody has asked for, if somebody sees the terminal`() {
        let page = Launcher.PageUse.asChosen
        #expect(page.opensBrowser(sinks: [.automatic], isTerminal: true))
        #expect(!page.opensBrowser(sinks: [.automatic], isTerminal: false))
        #expect(!page.opensBrowser(sinks: [.loopback, .page], isTerminal: true))
        #expect(Launcher.PageUse.shown.opensBrowser(sinks: [.page], isTerminal: false))
        #expect(!Launcher.PageUse.printed.opensBrowser(sinks: [.automatic], isTerminal: true))
    }

    @Test(arguments: [("Source", "Frames come from", SourceSpec.forms), ("Sink", "Frames go to", SinkSpec.forms)])
    func `the documentation has the forms of the help`(_ kind: String, _ direction: String, _ forms: [SpecForm]) throws
    {
        try Reference.checkTable(
            in: "docs/configuration.md", below: "Sources and sinks", titles: [kind, direction],
            rows: forms.map { [$0.text.hasPrefix("a ") ? $0.text : "`\($0.text)`", $0.meaning] })
    }
}
