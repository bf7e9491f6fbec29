import Frames
import TestSupport
import Testing

@testable import Capture
@testable import Publish
@testable import SystemKit
@testable import V4L2

/// Listings like those of `listDevices`, without devices.
private func node(
    _ number: Int, driver: String = "uvcvideo", card: String = "Webcam", capture: Bool = true, output: Bool = false,
    formats: [FourCC] = ["YUYV"], problem: Problem? = nil
) -> DeviceListing {
    DeviceListing(
        path: "/dev/video\(number)",
        capabilities: problem == nil
            ? Capabilities(driver: driver, card: card, bus: "usb", isCapture: capture, isOutput: output) : nil,
        supportedFormats: formats.map {
            SupportedFormat(fourCC: $0, width: .init(640), height: .init(480), rates: .listed([30]))
        },
        problem: problem, name: card, isLoopback: driver == "v4l2 loopback")
}

private let forbidden = Problem(.forbidden, "could not open /dev/video0: permission denied", fix: "join")

struct ChoiceTests {
    @Test func `the camera is neither a loopback nor a metadata node nor an infrared one`() throws {
        let nodes = [
            node(0, driver: "v4l2 loopback", card: "Guise Camera"), node(1, capture: false, formats: []),
            node(2, formats: ["GREY"]),
            node(3, formats: ["MJPG", "GREY"]), node(4),
        ]
        #expect(try Camera.best(in: nodes) == "/dev/video3")
        #expect(try Camera.best(in: Array(nodes.prefix(3))) == "/dev/video2")
    }

    @Test func `Guise's own camera is never chosen`() {
        var own = node(0, card: "Guise Camera: Guise Camera")
        own.isOwnCamera = true
        #expect(!own.isCamera)
        let none = #expect(throws: Problem.self) { try Camera.best(in: [own]) }
        #expect(none?.kind == .missing)
    }

    @Test func `without a camera the error says why`() {
        #expect(throws: forbidden) { try Camera.best(in: [node(0, problem: forbidden)]) }
        let none = #expect(throws: Problem.self) {
            try Camera.best(in: [node(7, driver: "v4l2 loopback", card: "Guise Camera")])
        }
        #expect(none?.kind == .missing)
        #expect(none?.message == "no camera was found among /dev/video7")
        let odd = #expect(throws: Problem.self) { try Camera.best(in: [node(0, formats: ["H264", "HEVC"])]) }
        #expect(odd?.message == "/dev/video0 has no usable format: it offers H264, HEVC")
    }

    @Test func `our own loopback comes first, and then one without a label`() throws {
        let nodes = [
            node(0), node(4, driver: "v4l2 loopback", card: "Dummy video device (0x0000)"),
            node(9, driver: "v4l2 loopback", card: "Guise Camera"),
        ]
        #expect(try Loopback.candidates(in: nodes) == ["/dev/video9", "/dev/video4"])
        let none = #expect(throws: Problem.self) { try Loopback.candidates(in: [node(0)]) }
        #expect(none?.kind == .missing)
    }

    /// v4l2-relayd feeds a loopback with the pictures of a laptop's camera.
    @Test func `another program's loopback is never written to, and is a camera while that program writes`() throws {
        let relay = node(0, driver: "v4l2 loopback", card: "Intel MIPI Camera")
        let own = node(9, driver: "v4l2 loopback", card: "Guise Camera", capture: false, output: true)
        #expect(try Loopback.candidates(in: [relay, own]) == ["/dev/video9"])
        let refusal = #expect(throws: Problem.self) { try Loopback.candidates(in: [relay]) }
        #expect(refusal?.message.contains("/dev/video0 (Intel MIPI Camera) was set up for another program") == true)
        #expect(try Camera.best(in: [relay, own]) == "/dev/video0")
        #expect(try Camera.best(in: [relay, own, node(3)]) == "/dev/video3", "a real camera is preferred")
        #expect(relay.description.contains("another program's virtual camera"))
        let idle = node(0, driver: "v4l2 loopback", card: "Intel MIPI Camera", capture: false, output: true)
        #expect(!idle.isCamera)
    }

    @Test(arguments: [("YUYV", .yuyv), ("UYVY", .uyvy), ("NV12", .nv12), ("YU12", .i420)] as [(FourCC, PixelFormat)])
    func `a loopback's fixed format is used`(format: FourCC, wanted: PixelFormat) {
        let granted = StreamFormat(fourCC: format, width: 320, height: 240)
        #expect(Loopback.layout(of: granted) == FrameLayout(width: 320, height: 240, format: wanted))
    }

    @Test(arguments: [("RGB3", 320), ("GREY", 320), ("MJPG", 320), ("YUYV", 321)] as [(FourCC, Int)])
    func `a loopback fixed at an unsupported format is an error`(format: FourCC, width: Int) {
        #expect(Loopback.layout(of: StreamFormat(fourCC: format, width: width, height: 240)) == nil)
    }

    @Test func `a device without permission is listed with the fix`() {
        #expect(node(0, problem: forbidden).description.contains("permission denied; join"))
        #expect(
            node(3, formats: ["YUYV", "MJPG", "H264"]).description == """
                /dev/video3  Webcam  (uvcvideo, usb)
                    camera
                    YUYV, MJPG: 640x480 at 30 fps
                    not used: H264
                """)
    }

    @Test func `anything but a video device is an error that names it`() throws {
        let scratch = try ScratchFolder()
        // A file that this user may write: root may write all.
        let file = try scratch.write("text", "file")
        var refusals: [Problem] = []
        for path in ["/dev/null", "/dev/video-none", file] {
            do { _ = try Device(path: path) } catch { refusals.append(error) }
        }
        #expect(refusals.map(\.kind) == [.unusable, .missing, .unusable])
        #expect(refusals.first?.message == "/dev/null is not a video device")
        #expect(refusals.last?.message == "\(file) is not a video device")
    }
}
