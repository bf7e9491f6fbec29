import Frames
import Testing

@testable import V4L2

struct FormatTests {
    @Test(arguments: [("YUYV", 0x5659_5559), ("NV12", 0x3231_564e), ("Y16", 0x2036_3159)] as [(String, UInt32)])
    func `a format has the number that the kernel gives it`(name: String, number: UInt32) {
        #expect(FourCC(name).rawValue == number)
        #expect(FourCC(rawValue: number).description == name)
    }

    @Test func `a stream is named as users know it`() {
        #expect(StreamFormat(fourCC: "YUYV", width: 1280, height: 720).description == "YUYV 1280x720")
        #expect(FourCC(rawValue: 0x0102_0304).description == "....")
    }

    @Test func `padded rows are read at the driver's distance`() throws {
        let yuyv = try #require(StreamFormat(fourCC: "YUYV", width: 640, height: 480, bytesPerLine: 1344).layout)
        #expect(yuyv.planes == [.init(offset: 0, stride: 1344, rowBytes: 1280, rows: 480)])
        let planar = try #require(StreamFormat(fourCC: "YU12", width: 640, height: 480, bytesPerLine: 704).layout)
        #expect(planar.planes.map(\.stride) == [704, 352, 352])
        #expect(planar.planes.map(\.offset) == [0, 704 * 480, 704 * 480 + 352 * 240])
        let nv12 = try #require(StreamFormat(fourCC: "NV12", width: 640, height: 480, bytesPerLine: 704).layout)
        #expect(nv12.planes.map(\.stride) == [704, 704])
    }

    @Test(arguments: [
        StreamFormat(fourCC: "YUYV", width: 640, height: 480, bytesPerLine: 100),
        StreamFormat(fourCC: "YUYV", width: 641, height: 480, bytesPerLine: 1282),
        StreamFormat(fourCC: "NV12", width: 640, height: 481, bytesPerLine: 640),
        StreamFormat(fourCC: "YUYV", width: 0, height: 480, bytesPerLine: 0),
        StreamFormat(fourCC: "YUYV", width: 1 << 30, height: 1 << 30, bytesPerLine: 0),
        StreamFormat(fourCC: "YUYV", width: 640, height: 480, bytesPerLine: 1 << 40),
        StreamFormat(fourCC: "H264", width: 640, height: 480),
    ])
    func `layouts that cannot be read correctly are rejected`(format: StreamFormat) {
        #expect(format.layout == nil)
    }
}

struct ModeTests {
    static func offer(_ format: FourCC, _ width: Int, _ height: Int, _ rates: Double...) -> SupportedFormat {
        SupportedFormat(
            fourCC: format, width: .init(width), height: .init(height), rates: rates.isEmpty ? .unknown : .listed(rates)
        )
    }

    /// Like most webcams on USB 2: full size is fast only as MJPEG.
    static let webcam = [
        offer("YUYV", 640, 480, 30, 15), offer("YUYV", 1280, 720, 10), offer("MJPG", 640, 480, 30),
        offer("MJPG", 1280, 720, 30, 15), offer("MJPG", 1920, 1080, 30), offer("H264", 1280, 720, 30),
    ]

    @Test func `a webcam's fast mode wins over its cheap slow one`() {
        let mode = Mode.nearest(in: Self.webcam, width: 1280, height: 720, rate: 30)
        #expect(mode == Mode(fourCC: "MJPG", width: 1280, height: 720, rate: 30))
    }

    @Test func `among equal modes the cheapest to process wins`() {
        let mode = Mode.nearest(in: Self.webcam, width: 640, height: 480, rate: 30)
        #expect(mode == Mode(fourCC: "YUYV", width: 640, height: 480, rate: 30))
        let rare = [Self.offer("RGB3", 640, 480, 30), Self.offer("MJPG", 640, 480, 30)]
        #expect(Mode.nearest(in: rare, width: 640, height: 480, rate: 30)?.fourCC == "MJPG")
    }

    @Test func `the nearest rate is chosen, and television's rates count as whole`() {
        #expect(Mode.nearest(in: Self.webcam, width: 640, height: 480, rate: 15)?.rate == 15)
        let formats = [Self.offer("MJPG", 640, 480, 30), Self.offer("YUYV", 640, 480, 29.97)]
        #expect(Mode.nearest(in: formats, width: 640, height: 480, rate: 30)?.fourCC == "YUYV")
    }

    @Test func `a range of sizes yields the wanted one on its grid`() {
        let range = SupportedFormat(
            fourCC: "YUYV", width: .init(min: 160, max: 1920, step: 16), height: .init(min: 120, max: 1080),
            rates: .between(1, 60))
        #expect(
            Mode.nearest(in: [range], width: 1290, height: 720, rate: 30)
                == Mode(fourCC: "YUYV", width: 1296, height: 720, rate: 30))
        #expect(Mode.nearest(in: [range], width: 4000, height: 4000, rate: 90)?.width == 1920)
    }

    @Test func `an infrared camera's grey is the last choice`() {
        let formats = [Self.offer("GREY", 640, 480, 30), Self.offer("MJPG", 320, 240, 15)]
        #expect(Mode.nearest(in: formats, width: 640, height: 480, rate: 30)?.fourCC == "MJPG")
        #expect(Mode.nearest(in: [formats[0]], width: 640, height: 480, rate: 30)?.fourCC == "GREY")
    }

    @Test func `a camera with only unsupported formats has no mode`() {
        #expect(Mode.nearest(in: [Self.offer("H264", 640, 480, 30)], width: 640, height: 480, rate: 30) == nil)
        #expect(Mode.nearest(in: [], width: 640, height: 480, rate: 30) == nil)
        #expect(Mode.nearest(in: [Self.offer("YUYV", 0, 0)], width: 640, height: 480, rate: 30) == nil)
    }
}
