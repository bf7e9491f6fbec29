import Foundation
import Frames
import Testing

@testable import Capture
@testable import Privacy
@testable import Publish
@testable import SystemKit
@testable import V4L2

/// Tests on real drivers: they run in the virtual machine of Tests/VM, where vivid is /dev/video0 and two loopbacks
/// are /dev/video10 ("Guise Camera") and /dev/video11 ("Test Webcam").
private let isMachine = ProcessInfo.processInfo.environment["GUISE_VM"] == "1"
private let wanted = (width: 320, height: 240, rate: 25.0)

private func frames(
    _ count: Int, of camera: inout Camera, _ body: (borrowing FrameView, FrameTime) throws -> Void = { _, _ in }
) throws {
    var left = count
    while left > 0 {
        var poll = pollfd(fd: camera.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
        _ = unsafe Glibc.poll(&poll, 1, 1000)
        if try camera.withFrame(body) == .frame { left -= 1 }
    }
}

private func write(_ count: Int, luma: UInt8, to loopback: inout Loopback) throws {
    var frame = Frame(loopback.layout)
    frame.fill(y: luma, u: 128, v: 128)
    for _ in 0..<count { try loopback.publish(PublishableFrame(frame.view)) }
}

@Suite(.serialized, .enabled(if: isMachine, "needs V4L2 devices: run by `make test-vm`"))
struct DeviceTests {
    @Test func `all nodes are listed with what they are`() throws {
        let listings = listDevices()
        #expect(listings.map(\.path) == ["/dev/video0", "/dev/video10", "/dev/video11"])
        #expect(listings.map(\.isCamera) == [true, false, false])
        #expect(listings.map(\.isLoopback) == [false, true, true])
        #expect(listings[1].capabilities?.card == "Guise Camera")
        #expect(listings[0].description.contains("640x360 at 40, 30, 25"))
    }

    @Test(arguments: ["YUYV", "UYVY", "NV12", "YU12", "422P", "GREY"])
    func `a camera's own formats are read completely`(name: String) throws {
        var camera = try Camera(path: nil, width: 320, height: 180, rate: 25, format: name)
        #expect(camera.description.contains("\(name) 320x180"))
        var times: [FrameTime] = []
        var (darkest, brightest) = (255, 0)
        try frames(3, of: &camera) { view, time in
            times.append(time)
            let luma = view.luma
            for y in stride(from: 0, to: 180, by: 8) {
                for x in stride(from: 0, to: 320, by: 8) {
                    let sample = Int(luma.samples[y * luma.rowStride + x * luma.pixelStride])
                    (darkest, brightest) = (min(darkest, sample), max(brightest, sample))
                }
            }
        }
        #expect(times.map(\.number) == [0, 1, 2])
        #expect(times[1].seconds > 0.01 && times[2].seconds > times[1].seconds)
        // vivid's test picture has a black bar and a bright one.
        #expect(darkest < 30 && brightest > 150)
        #expect(camera.damaged == 0)
    }

    @Test(arguments: ["RGB3", "YV12", "RGGB"])
    func `a foreign format is converted`(name: String) throws {
        var camera = try Camera(path: "/dev/video0", width: 320, height: 180, rate: 25, format: name)
        #expect(camera.layout.format == .i420)
        try frames(2, of: &camera) { view, _ in #expect(view.layout.format == .i420) }
        #expect(camera.damaged == 0)
    }

    @Test func `a camera's controls are listed, and set by another descriptor while it streams`() throws {
        var camera = try Camera(path: "/dev/video0", width: 320, height: 180, rate: 25)
        let device = try Device(path: "/dev/video0")
        let controls = device.controls
        let brightness = try #require(controls.first { $0.name == "brightness" })
        #expect(brightness.kind == .integer && brightness.range == 0...255 && brightness.defaultValue == 128)
        // vivid leaves items out of its menu, and its menu of numbers has the Fibonacci numbers.
        let menu = try #require(controls.first { $0.title == "Menu" })
        let numbers = try #require(controls.first { $0.title == "Integer Menu" })
        guard case .menu(let items) = menu.kind, case .menu(let values) = numbers.kind else {
            Issue.record("\(menu.kind), \(numbers.kind)")
            return
        }
        #expect(items.map(\.value) == [1, 3, 4] && items[1].name == "Menu Item 3")
        #expect(values.first { $0.value == 4 }?.name == "5")
        try frames(1, of: &camera)
        #expect(try device.set("brightness", to: "77").map(\.value) == [77])
        #expect(try device.set("gain", to: "50").map(\.name) == ["auto-gain", "gain"])
        #expect(device.controls.first { $0.name == "gain" }?.isInactive == false)
        try frames(2, of: &camera)
        #expect(camera.damaged == 0)
        device.reset()
        let now = device.controls
        #expect(now.first { $0.name == "brightness" }?.value == 128)
        #expect(now.first { $0.name == "gain" }?.isInactive == true)
    }

    @Test func `a camera in use is busy and its holder is named`() throws {
        let first = try Camera(path: "/dev/video0", width: 320, height: 180, rate: 25)
        let requestError = #expect(throws: Problem.self) {
            _ = try Camera(path: "/dev/video0", width: 640, height: 360, rate: 25)
        }
        #expect(requestError?.kind == .busy)
        withExtendedLifetime(first) {}
    }

    @Test func `a loopback without a writer is not a camera`() {
        let requestError = #expect(throws: Problem.self) {
            _ = try Camera(path: "/dev/video11", width: 320, height: 240, rate: 25)
        }
        #expect([.unusable, .gone].contains(requestError?.kind))
    }

    @Test func `frames written to a loopback are read from it, after a restart too`() throws {
        for luma in [60, 200] as [UInt8] {
            var loopback = try Loopback(path: nil, width: wanted.width, height: wanted.height, rate: wanted.rate)
            #expect(loopback.description == "Guise Camera (/dev/video10), YUYV 320x240")
            try write(1, luma: luma, to: &loopback)
            var camera = try Camera(path: "/dev/video10", width: wanted.width, height: wanted.height, rate: wanted.rate)
            try write(2, luma: luma, to: &loopback)
            try frames(1, of: &camera) { view, _ in
                #expect(view.layout == loopback.layout)
                #expect(view.bytes[320 * 100] == luma)
            }
            try loopback.finish(placeholder: PublishableFrame(Frame(loopback.layout).view))
        }
    }

    @Test func `after the end no buffer of an open reader contains the face`() throws {
        var loopback = try Loopback(path: "/dev/video10", width: wanted.width, height: wanted.height, rate: wanted.rate)
        try write(1, luma: 200, to: &loopback)
        let size = loopback.layout.byteCount
        let reader = try BufferRing(setUp("/dev/video10"), shortest: 1)
        try write(4, luma: 200, to: &loopback)
        var card = Frame(loopback.layout)
        card.fill(y: 33, u: 128, v: 128)
        try loopback.finish(placeholder: PublishableFrame(card.view))
        for index in 0..<reader.count {
            let buffer = BufferRing.DequeuedBuffer(index: index, count: size, time: nil, isDamaged: false)
            #expect(reader.bytes(of: buffer)[0] == 33 && reader.bytes(of: buffer)[size - 2] == 33)
        }
    }

    @Test func `a writer that starts again is seen by the reader that stayed`() throws {
        var first = try Loopback(path: "/dev/video10", width: wanted.width, height: wanted.height, rate: wanted.rate)
        try write(1, luma: 60, to: &first)
        var reader = try BufferRing(setUp("/dev/video10"), shortest: 1)
        try first.finish(placeholder: PublishableFrame(Frame(first.layout).view))

        // Another size isn't possible while a reader is open: the driver keeps the old one, and it is used.
        var second = try Loopback(path: "/dev/video10", width: 640, height: 480, rate: wanted.rate)
        #expect(second.layout == FrameLayout(width: wanted.width, height: wanted.height, format: .yuyv))
        var seen: UInt8?
        for _ in 0..<20 where seen != 200 {
            try write(1, luma: 200, to: &second)
            guard let filled = try reader.dequeueNewest() else { continue }
            seen = reader.bytes(of: filled)[0]
            reader.requeue(filled)
        }
        #expect(seen == 200)
    }

    /// Sets up a node like reading applications.
    private func setUp(_ path: String) throws -> Device {
        let device = try Device(path: path)
        _ = try device.setFormat("YUYV", width: wanted.width, height: wanted.height, for: .capture)
        return device
    }

    @Test func `a second writer gets an error that names the first`() throws {
        let first = try Loopback(path: "/dev/video10", width: wanted.width, height: wanted.height, rate: wanted.rate)
        let requestError = #expect(throws: Problem.self) {
            _ = try Loopback(path: "/dev/video10", width: wanted.width, height: wanted.height, rate: wanted.rate)
        }
        #expect(requestError?.kind == .busy)
        #expect(requestError?.message.contains("(\(getpid())) already writes to it") == true)
        // The other loopback has another program's label: it is written to only if it is named.
        let foreignError = #expect(throws: Problem.self) {
            _ = try Loopback(path: nil, width: wanted.width, height: wanted.height, rate: wanted.rate)
        }
        #expect(foreignError?.kind == .busy)
        let other = try Loopback(path: "/dev/video11", width: wanted.width, height: wanted.height, rate: wanted.rate)
        #expect(other.description.hasPrefix("Test Webcam (/dev/video11)"))
        withExtendedLifetime(first) {}
    }

    @Test func `a camera is not a loopback`() {
        let requestError = #expect(throws: Problem.self) {
            _ = try Loopback(path: "/dev/video0", width: 320, height: 240, rate: 25)
        }
        #expect(requestError?.kind == .unusable)
    }
}

extension FormatConverter {
    /// An array that lives as long as the call.
    fileprivate func convert(_ bytes: [UInt8], into frame: inout Frame) -> Bool { convert(bytes.span, into: &frame) }
}

/// libv4lconvert queries a device whether its pictures must be rotated, so it needs one.
@Suite(.enabled(if: isMachine, "needs V4L2 devices: run by `make test-vm`"))
struct FormatConverterTests {
    @Test func `red pixels become red planes`() throws {
        let format = StreamFormat(fourCC: "RGB3", width: 64, height: 48, bytesPerLine: 192)
        let device = try Device(path: "/dev/video0")
        let converter = try FormatConverter(format, descriptor: device.descriptor)
        var frame = Frame(converter.layout)
        var picture: [UInt8] = []
        for _ in 0..<64 * 48 { picture += [255, 0, 0] }
        #expect(converter.convert(picture, into: &frame))
        #expect(frame.layout == FrameLayout(width: 64, height: 48, format: .i420, range: .limited))
        // Pure red in ITU-R BT.601, limited range.
        let samples = frame.layout.planes.map { frame.bytes[$0.offset + 3] }
        for (sample, wanted) in zip(samples, [81, 90, 240]) { #expect(abs(Int(sample) - wanted) <= 2) }
    }

    @Test func `a short picture is dropped`() throws {
        let format = StreamFormat(fourCC: "RGB3", width: 64, height: 48, bytesPerLine: 192)
        let device = try Device(path: "/dev/video0")
        let converter = try FormatConverter(format, descriptor: device.descriptor)
        var frame = Frame(converter.layout)
        #expect(!converter.convert([1, 2, 3], into: &frame))
    }

    /// If a newer library drops one, the list in `Mode` is wrong.
    @Test(arguments: ["BGR3", "YV12", "YVYU", "NV16", "RGGB", "GBRG", "RGBP", "AR24", "Y16"] as [FourCC])
    func `the formats that are offered are known to the library`(name: FourCC) throws {
        #expect(Mode.cost(of: name) == 2)
        let format = StreamFormat(fourCC: name, width: 64, height: 48, bytesPerLine: 64 * (Mode.convertible[name] ?? 0))
        let device = try Device(path: "/dev/video0")
        let converter = try FormatConverter(format, descriptor: device.descriptor)
        var frame = Frame(converter.layout)
        #expect(converter.convert([UInt8](repeating: 100, count: 64 * 48 * 4), into: &frame))
    }

    @Test func `a JPEG camera of odd size is cropped by the library`() throws {
        let format = StreamFormat(fourCC: "MJPG", width: 65, height: 49, range: .full)
        let device = try Device(path: "/dev/video0")
        let decoding = try FrameDecoder(format, descriptor: device.descriptor)
        #expect(decoding.layout(of: format) == FrameLayout(width: 64, height: 48, format: .i420, range: .full))
    }
}

/// Runs by itself, because vivid stays unplugged.
@Suite(.serialized, .enabled(if: isMachine, "needs V4L2 devices: run by `make test-vm`"))
struct UnplugTests {
    @Test func `an unplugged camera ends with a clear message`() throws {
        var camera = try Camera(path: "/dev/video0", width: 320, height: 180, rate: 25)
        try frames(1, of: &camera)
        let unplug = try Process.run(
            URL(filePath: "/usr/bin/v4l2-ctl"), arguments: ["-d", "/dev/video0", "-c", "disconnect=1"])
        unplug.waitUntilExit()
        var loss: Problem?
        do { for _ in 0..<20 { try frames(1, of: &camera) } } catch { loss = error as? Problem }
        #expect(loss?.kind == .gone)
        #expect(loss?.message.hasPrefix("lost the camera /dev/video0") == true)
    }
}
