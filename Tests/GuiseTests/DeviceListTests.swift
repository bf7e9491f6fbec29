import JSON
import SystemKit
import Testing
import V4L2

@testable import guise

/// What clients, such as the page's list of cameras, learn about video devices.
struct DeviceListTests {
    private static let webcam = DeviceListing(
        path: "/dev/video0",
        capabilities: Capabilities(
            driver: "uvcvideo", card: "Webcam", bus: "usb-1", isCapture: true, isOutput: false),
        supportedFormats: [
            SupportedFormat(fourCC: "MJPG", width: .init(1920), height: .init(1080), rates: .listed([30, 29.97003])),
            SupportedFormat(
                fourCC: "YUYV", width: .init(min: 160, max: 640, step: 16), height: .init(min: 120, max: 480),
                rates: .between(5, 30)),
            SupportedFormat(fourCC: "NV12", width: .init(320), height: .init(240), rates: .unknown),
            SupportedFormat(fourCC: "HEVC", width: .init(3840), height: .init(2160), rates: .listed([60])),
        ])

    private func list(_ devices: DeviceListing...) -> [JSON] {
        JSON(encoding: DeviceListReply(devices: devices.map(DeviceDescription.init)))["devices"]?.elements ?? []
    }

    @Test func `a camera is listed with the sizes and rates that Guise can use`() throws {
        let camera = try #require(list(Self.webcam).first)
        #expect(camera["path"]?.string == "/dev/video0" && camera["name"]?.string == "Webcam")
        #expect(camera["camera"]?.bool == true && camera["loopback"]?.bool == false)
        #expect(camera["problem"]?.value == .null)
        let modes = camera["modes"]?.elements ?? []
        #expect(modes.compactMap { $0["format"]?.string } == ["MJPG", "YUYV", "NV12"], "no HEVC, which is not decoded")
        #expect(modes.compactMap { $0["width"]?.number } == [1920, 640, 320])
        #expect(modes.compactMap { $0["height"]?.number } == [1080, 480, 240])
        let rates = modes.map { $0["rates"]?.elements.compactMap(\.number) ?? [] }
        #expect(rates == [[30, 29.97], [5, 30], []])
    }

    @Test func `a camera that can't be opened is listed with the reason, and a loopback is no camera`() throws {
        let busy = Problem(.busy, "/dev/video2 is in use by cheese", fix: "close it")
        var own = Self.webcam
        own.isOwnCamera = true
        let devices = list(
            DeviceListing(path: "/dev/video2", problem: busy, name: "Webcam"),
            DeviceListing(path: "/dev/video9", name: "Guise Camera", isLoopback: true), own)
        try #require(devices.count == 3)
        #expect(devices[0]["problem"]?.string?.contains("in use by cheese") == true)
        #expect(devices[0]["name"]?.string == "Webcam", "its name in sysfs")
        #expect(devices[1]["loopback"]?.bool == true && devices[1]["camera"]?.bool == false)
        #expect(devices[2]["camera"]?.bool == false, "Guise's own camera is no source")
        #expect(devices.allSatisfy { $0["modes"]?.elements.isEmpty == true })
    }
}
