import CAllocations
import Foundation
import TestSupport
import Testing

@testable import Compose
@testable import Frames
@testable import SystemKit

@Suite struct ArtReaderTests {
    let scratch: ScratchFolder
    init() throws { scratch = try ScratchFolder() }

    private func svg(_ body: String, _ attributes: String = "viewBox='-10 5 40 20'") -> Data {
        Data(
            "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' \(attributes)>\(body)</svg>"
                .utf8)
    }

    private func pixel(_ raster: RGBAImage, _ x: Int, _ y: Int) -> [UInt8] {
        let start = (y * raster.width + x) * 4
        return Array(raster.bytes[start..<start + 4])
    }

    @Test func `an SVG is rendered at the requested size, with the position of its units`() throws {
        let path = try scratch.write(
            svg("<rect x='-10' y='5' width='20' height='20' fill='#ff8000' opacity='.5'/>"), "a.svg")
        let raster = try ArtReader.load(path: path, maxDimension: 80)
        #expect(raster.width == 80 && raster.height == 40 && raster.scale == 2)
        #expect(raster.origin == Point(-10, 5) && raster.size == SIMD2(40, 20))
        let left = pixel(raster, 10, 20)
        // Half of orange, premultiplied.
        #expect(zip(left, [128, 64, 0, 128]).allSatisfy { abs(Int($0) - $1) <= 1 }, "\(left)")
        #expect(pixel(raster, 60, 20) == [0, 0, 0, 0])
    }

    @Test func `a renderer that can't start is no fault of the picture`() {
        let broken = { (reason: String) in ArtError.broken("a.svg", reason) }
        for (status, kind) in [(1, Problem.Kind.system), (127, .missing)] as [(CInt, Problem.Kind)] {
            let problem = ArtProcess.failure(status: status, broken: broken)
            #expect(problem.kind == kind && problem.message.hasPrefix("guise-art") && !problem.fix.contains("SVG"))
        }
        let slow = ArtProcess.failure(status: 256 + SIGXCPU, broken: broken)
        #expect(slow.kind == .unusable && slow.message.hasSuffix("a.svg: reading it takes more than 4 s"))
    }

    @Test func `an SVG without a viewBox uses its width and height`() throws {
        let raster = try ArtReader.load(
            path: try scratch.write(svg("", "width='30' height='60'"), "a.svg"), maxDimension: 60)
        #expect(raster.width == 30 && raster.height == 60 && raster.scale == 1)
    }

    @Test func `a PNG keeps its pixels and is read back as written`() throws {
        let bytes: [UInt8] = [255, 0, 0, 255, 0, 128, 0, 128, 0, 0, 0, 0, 1, 2, 3, 255, 9, 9, 9, 9, 255, 255, 255, 255]
        let raster = RGBAImage(width: 3, height: 2, bytes: bytes)
        try raster.write(png: scratch.path("a.png"))
        #expect(try ArtReader.load(path: scratch.path("a.png"), maxDimension: 100) == raster)
    }

    @Test func `a large PNG is made smaller`() throws {
        let path = try scratch.make("a.png", "-f lavfi -i color=red:s=200x100,format=rgb24 -frames:v 1")
        let raster = try ArtReader.load(path: path, maxDimension: 50)
        #expect(raster.width == 50 && raster.height == 25 && raster.scale == 0.25 && raster.size == SIMD2(200, 100))
        #expect(pixel(raster, 25, 12)[0] >= 253 && pixel(raster, 25, 12)[3] == 255)
    }

    @Test(arguments: [0, 6])
    func `a JPEG is read, and made smaller, also if a camera padded it`(padding: Int) throws {
        let path = try scratch.make(
            "a.jpg", "-f lavfi -i color=0xc02040:s=200x100 -frames:v 1 -q:v 2")
        var jpeg = try scratch.read("a.jpg")
        // Before the marker at the end.
        jpeg.insert(contentsOf: [UInt8](repeating: 0, count: padding), at: jpeg.endIndex - 2)
        try jpeg.write(to: URL(fileURLWithPath: path))
        let raster = try ArtReader.load(path: path, maxDimension: 50)
        #expect(raster.width == 50 && raster.height == 25 && raster.scale == 0.25 && raster.size == SIMD2(200, 100))
        for corner in [pixel(raster, 0, 0), pixel(raster, 49, 24)] {
            #expect(zip(corner, [192, 32, 64, 255]).allSatisfy { abs(Int($0) - $1) <= 4 }, "\(corner)")
        }
    }

    @Test func `a damaged or too large JPEG is an error`() throws {
        let path = try scratch.make("a.jpg", "-f lavfi -i testsrc=s=200x100 -frames:v 1")
        let whole = try scratch.read("a.jpg")
        var large = whole
        // The frame header: marker, length, precision, height, width.
        let header = try #require(large.firstRange(of: Data([0xff, 0xc0]))?.lowerBound)
        large[header + 5] = 0x20
        for (damaged, words) in [
            (whole.prefix(3), "truncated"), (whole.prefix(whole.count / 2), "damaged"), (large, "too large"),
        ] {
            try damaged.write(to: URL(fileURLWithPath: path))
            let problem = problem { _ = try ArtReader.load(path: path, maxDimension: 100) }
            #expect(problem?.kind == .unusable && problem?.message.contains(words) == true, "\(problem as Any)")
        }
    }

    @Test func `nothing outside an SVG is drawn into it`() throws {
        try scratch.make("red.png", "-f lavfi -i color=red:s=40x20,format=rgb24 -frames:v 1")
        let inside = "data:image/png;base64,\(try scratch.read("red.png").base64EncodedString())"
        let uses = ["red.png", scratch.path("red.png"), "file://\(scratch.path("red.png"))", inside]
        for href in uses {
            let image = "<image x='-10' y='5' width='40' height='20' xlink:href='\(href)'/>"
            let raster = try ArtReader.load(path: try scratch.write(svg(image), "a.svg"), maxDimension: 40)
            #expect(raster.bytes.allSatisfy { $0 == 0 } == (href != inside), "\(href)")
        }
    }

    @Test(.enabled(if: callocations_is_enabled() != 0, "needs a build without sanitizers"))
    func `the process that reads art runs under a filter of system calls, and can gain no rights`() throws {
        // Another test may end the process in the meantime: then the next drawing starts a new one.
        for _ in 0..<100 {
            _ = try ArtReader.renderSVG(
                "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'/>", named: "a test's", density: 1)
            let status = try scratch.shell(
                "for p in $(pgrep -P \(getpid()) -x guise-art); do cat /proc/$p/status; done; true")
            if status.contains("\nSeccomp:\t2\n"), status.contains("\nNoNewPrivs:\t1\n") { return }
            #expect(!status.contains("\nSeccomp:\t0\n"))
        }
        Issue.record("no process drew")
    }

    @Test func `an SVG with exponential expansion is rejected`() throws {
        var entities = "<!ENTITY a0 'ha'>"
        for i in 1...9 { entities += "<!ENTITY a\(i) '\(String(repeating: "&a\(i - 1);", count: 10))'>" }
        let text = "<?xml version='1.0'?><!DOCTYPE svg [\(entities)]>"
        let bomb = Data(text.utf8) + svg("<text>&a9;</text>")
        let path = try scratch.write(bomb, "laughs.svg")
        #expect(problem { _ = try ArtReader.load(path: path, maxDimension: 64) }?.kind == .unusable)
        var uses = "<g id='u0'/>"
        for i in 1...9 {
            let use = "<use xlink:href='#u\(i - 1)'/>"
            uses += "<g id='u\(i)'>\(String(repeating: use, count: 10))</g>"
        }
        let nested = try scratch.write(svg(uses), "uses.svg")
        #expect(problem { _ = try ArtReader.load(path: nested, maxDimension: 64) }?.kind == .unusable)
    }

    @Test func `invalid art is an error that names it`() throws {
        var png = Data([0x89]) + Data("PNG\r\n".utf8) + Data([0x1a, 0x0a, 0, 0, 0, 13]) + Data("IHDR".utf8)
        let short = png
        png += Data([0, 0, 0x10, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0, 0, 0, 0])
        let sound = try Data(contentsOf: URL(filePath: try scratch.testPicture("sound.png")))
        let cases: [(String, Problem.Kind)] = [
            (scratch.path("none.svg"), .missing), (scratch.url.path, .unusable), ("/dev/zero", .unusable),
            (try scratch.write(Data(), "empty.svg"), .unusable),
            (try scratch.write(Data("not a picture".utf8), "text.svg"), .unusable),
            (try scratch.write(svg("<rect"), "broken.svg"), .unusable),
            (try scratch.write(svg("", "viewBox='0 0 0 10'"), "flat.svg"), .unusable),
            (try scratch.write(svg("", "viewBox='0 0 nan 10'"), "nan.svg"), .unusable),
            (try scratch.write(svg(String(repeating: " ", count: 4 << 20)), "large.svg"), .unusable),
            (try scratch.write(png, "wide.png"), .unusable), (try scratch.write(short, "short.png"), .unusable),
            (try scratch.write(sound.prefix(sound.count / 2), "half.png"), .unusable),
        ]
        for (path, kind) in cases {
            let problem = problem { _ = try ArtReader.load(path: path, maxDimension: 64) }
            #expect(problem?.kind == kind, "\(path): \(String(describing: problem))")
            #expect(problem?.message.contains(path) == true && problem?.fix.isEmpty == false)
        }
        let raster = RGBAImage(width: 1, height: 1, bytes: [0, 0, 0, 0])
        #expect(problem { try raster.write(png: scratch.path("none/a.png")) }?.message.contains("none/a.png") == true)
    }
}
