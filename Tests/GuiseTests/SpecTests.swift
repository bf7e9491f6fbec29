import Testing

@testable import guise

@Suite struct SpecTests {
    @Test(arguments: [
        ("camera", SourceSpec.camera, true), ("/dev/video2", .device("/dev/video2"), true), ("sample", .sample, true),
        ("clip.mp4", .file("clip.mp4"), false), ("./sample", .file("./sample"), false),
    ])
    func `a source is named as documented, and only a camera or its stand-in can be replaced`(
        _ text: String, _ spec: SourceSpec, _ isReplaceable: Bool
    ) {
        #expect(SourceSpec(text) == spec && spec.description == text && spec.isReplaceable == isReplaceable)
    }

    @Test(arguments: [
        ("usb", SinkSpec.usb, true, false), ("loopback", .loopback, true, false),
        ("/dev/video9", .device("/dev/video9"), true, false),
        ("page", .page, false, false), ("null", .null, false, false), ("out.mp4", .file("out.mp4"), false, true),
    ])
    func `a sink is named as documented`(_ text: String, _ spec: SinkSpec, _ isDevice: Bool, _ isFile: Bool) {
        #expect(SinkSpec(text) == spec && spec.isDevice == isDevice && spec.isFile == isFile)
    }
}
