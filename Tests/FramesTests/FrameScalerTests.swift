import CAllocations
import COpenCVReference
import Glibc
import TestSupport
import Testing

@testable import Frames

/// A picture like a photo: soft blobs, edges and a little noise, in all components; bytes between rows are extreme.
private func scene(_ layout: FrameLayout) -> Frame {
    var frame = Frame(layout)
    var bytes = frame.mutableBytes
    for i in 0..<bytes.count { bytes[i] = UInt8(truncatingIfNeeded: i * 151) }
    var planar = Frame(
        FrameLayout(width: layout.width, height: layout.height, format: .i444, range: layout.range))
    var samples = planar.mutableBytes
    var random = RepeatableGenerator(state: 7)
    for i in 0..<samples.count {
        let (x, y, plane) = (
            i % layout.width, i / layout.width % layout.height, Double(i / layout.width / layout.height)
        )
        let waves = 40 * sin(Double(x) / (9 + plane) + Double(y) / 15) + 25 * cos(Double(x) / 5 - Double(y) / 7)
        let noise = Double(random.next(below: 8)) - 3.5
        samples[i] = UInt8(128 + waves + (2 * x + y > layout.width ? 30 : -30) + noise)
    }
    convert(planar, into: &frame)
    return frame
}

/// Samples of one plane without padding.
private func plane(_ frame: borrowing Frame, _ index: Int = 0) -> [UInt8] {
    let plane = frame.layout.planes[index]
    let bytes = frame.bytes
    return (0..<plane.rows * plane.rowBytes).map {
        bytes[plane.offset + $0 / plane.rowBytes * plane.stride + $0 % plane.rowBytes]
    }
}

/// Peak signal-to-noise ratio, dB.
private func likeness(_ a: [UInt8], _ b: [Double]) -> Double {
    let sum = zip(a, b).reduce(0.0) { $0 + (Double($1.0) - $1.1) * (Double($1.0) - $1.1) }
    return 10 * log10(255 * 255 / max(sum / Double(a.count), 1e-9))
}

private func whole(_ layout: FrameLayout) -> PixelRect {
    PixelRect(x: 0, y: 0, width: layout.width, height: layout.height)
}

private func scaled(_ source: borrowing Frame, to output: FrameLayout, mayBeWide: Bool) -> Frame {
    var frame = Frame(output)
    var scaler = FrameScaler(
        from: source.layout, whole(source.layout), to: output, whole(output), mayBeWide: mayBeWide)
    scaler.scale(source.view, into: &frame)
    return frame
}

/// The definition: the mean of what a target sample covers if the axis is reduced to half or less, else the mean of
/// one sample's width, which is linear interpolation.
private func reference(_ source: [UInt8], _ size: (Int, Int), _ target: (Int, Int)) -> [Double] {
    func weights(_ from: Int, _ to: Int) -> [[(Int, Double)]] {
        let step = Double(from) / Double(to)
        let width = step < 2 ? 1 : step
        return (0..<to).map { i in
            let middle = (Double(i) + 0.5) * step
            let (low, high) = (max(0, middle - width / 2), min(Double(from), middle + width / 2))
            return (0..<from).compactMap {
                let share = min(high, Double($0 + 1)) - max(low, Double($0))
                return share > 0 ? ($0, share / (high - low)) : nil
            }
        }
    }
    let (columns, rows) = (weights(size.0, target.0), weights(size.1, target.1))
    let across = (0..<size.1).map { y in
        columns.map { $0.reduce(0.0) { $0 + $1.1 * Double(source[y * size.0 + $1.0]) } }
    }
    return rows.flatMap { row in (0..<target.0).map { x in row.reduce(0.0) { $0 + $1.1 * across[$1.0][x] } } }
}

private let sizes: [((Int, Int), (Int, Int))] = [
    ((512, 512), (720, 720)), ((700, 700), (720, 720)), ((192, 108), (128, 72)), ((128, 72), (1280, 720)),
    ((1280, 720), (128, 72)), ((640, 360), (320, 180)), ((331, 187), (203, 115)), ((331, 187), (100, 51)),
    ((33, 21), (35, 22)), ((7, 5), (64, 48)), ((1, 1), (17, 9)), ((300, 1), (20, 1)), ((1, 300), (1, 33)),
    ((400, 300), (1, 1)), ((16, 16), (15, 17)), ((192, 108), (128, 72)), ((240, 54), (160, 36)), ((3840, 20), (20, 10)),
]

@Suite struct FrameScalerTests {
    /// With AVX2, if the processor has it, and without.
    @Test(arguments: sizes, [true, false])
    func `a plane is scaled as defined, and as OpenCV scales it`(
        sizes: ((Int, Int), (Int, Int)), mayBeWide: Bool
    ) {
        let (size, target) = sizes
        let layout = FrameLayout(width: size.0, height: size.1, format: .gray, lumaStride: size.0 + 13)
        let source = scene(layout)
        let frame = scaled(
            source, to: FrameLayout(width: target.0, height: target.1, format: .gray), mayBeWide: mayBeWide)
        let ours = plane(frame)
        #expect(likeness(ours, reference(plane(source), size, target)) > 52)
        var other = [UInt8](repeating: 0, count: target.0 * target.1)
        let samples = plane(source)
        let result = unsafe samples.withUnsafeBufferPointer { from in
            unsafe other.withUnsafeMutableBufferPointer { to in
                unsafe opencv_reference_resize(
                    from.baseAddress, CInt(size.0), CInt(size.1), size.0, to.baseAddress, CInt(target.0),
                    CInt(target.1))
            }
        }
        #expect(result == 0)
        let psnr = likeness(ours, other.map(Double.init))
        print("\(size) to \(target): \(psnr) dB beside OpenCV")
        // OpenCV interpolates if one side is not reduced, or by averages if one of them is reduced enough.
        let isMixed = (size.0 >= 2 * target.0) != (size.1 >= 2 * target.1)
        #expect(psnr > 50 || isMixed)
    }

    @Test(arguments: PixelFormat.allCases, [PixelFormat.i420, .i422, .i444])
    func `each component is scaled as a plane, whatever the format`(from: PixelFormat, to: PixelFormat) {
        let source = scene(FrameLayout(width: 102, height: 66, format: from, range: .full))
        let unpacked: PixelFormat =
            switch from {
            case .yuyv, .uyvy: .i422
            case .nv12: .i420
            default: from
            }
        var planes = Frame(FrameLayout(width: 102, height: 66, format: unpacked, range: .full))
        convert(source, into: &planes)
        for (width, height) in [(160, 90), (64, 48), (38, 14)] {
            for mayBeWide in [true, false] {
                let output = FrameLayout(width: width, height: height, format: to, range: .full)
                let frame = scaled(source, to: output, mayBeWide: mayBeWide)
                for index in 0..<(from == .gray ? 1 : 3) {
                    let (a, b) = (planes.layout.planes[index], frame.layout.planes[index])
                    let want = reference(plane(planes, index), (a.rowBytes, a.rows), (b.rowBytes, b.rows))
                    #expect(likeness(plane(frame, index), want) > 52, "plane \(index) in \(width)x\(height)")
                }
                if from == .gray { #expect(plane(frame, 1).allSatisfy { $0 == 128 }) }
            }
        }
    }

    @Test(arguments: [PixelFormat.i420, .nv12, .yuyv], PixelFormat.allCases)
    func `a region is scaled alike with and without AVX2, and all around it is black`(
        from: PixelFormat, to: PixelFormat
    ) {
        let source = scene(FrameLayout(width: 152, height: 76, format: from))
        let output = FrameLayout(width: 128, height: 66, format: to)
        let region = PixelRect(x: 12, y: 6, width: 98, height: 50)
        func drawn(mayBeWide: Bool) -> Frame {
            var frame = Frame(output)
            frame.fill(y: 77, u: 77, v: 77)
            var scaler = FrameScaler(
                from: source.layout, whole(source.layout), to: output, region, mayBeWide: mayBeWide)
            scaler.scale(source.view, into: &frame)
            return frame
        }
        let wide = drawn(mayBeWide: true)
        let plain = drawn(mayBeWide: false)
        #expect(likeness(wide.array, plain.array.map(Double.init)) > 50)
        var planar = Frame(FrameLayout(width: 128, height: 66, format: .i444))
        convert(wide, into: &planar)
        for (index, black) in [UInt8(16), 128, 128].enumerated() {
            let samples = plane(planar, index)
            let outside = samples.indices.filter { i in
                let (x, y) = (i % 128, i / 128)
                return x < 12 || x >= 110 || y < 6 || y >= 56
            }
            #expect(outside.allSatisfy { samples[$0] == black }, "plane \(index)")
        }
    }

    @Test(arguments: [PixelFormat.yuyv, .i420, .nv12])
    func `a moving part is scaled without allocations, and shows nothing from outside its bounds`(
        format: PixelFormat
    ) {
        let input = FrameLayout(width: 320, height: 240, format: format)
        var source = Frame(input)
        source.fill(y: 255, u: 0, v: 0)
        var planar = Frame(FrameLayout(width: 320, height: 240, format: .i444))
        planar.fill(y: 255, u: 0, v: 0)
        let bounds = PixelRect(x: 40, y: 20, width: 200, height: 150)
        var bytes = planar.mutableBytes
        for i in 0..<bytes.count {
            let (x, y) = (i % 320, i / 320 % 240)
            if x >= 40, x < 240, y >= 20, y < 170 { bytes[i] = 100 }
        }
        convert(planar, into: &source)
        let output = FrameLayout(width: 160, height: 140, format: .yuyv)
        var scaler = FrameScaler(from: input, bounds, to: output, PixelRect(x: 0, y: 10, width: 160, height: 120))
        var frame = Frame(output)
        func draw(_ zoom: Float) {
            scaler.setPart(Rect(x: 40.25, y: 20.5, width: 199 / zoom, height: 149.25 / zoom))
            scaler.scale(source.view, into: &frame)
        }
        draw(1)
        let asked = callocations_count()
        for i in 0..<20 { draw(1 + Float(i) / 5) }
        #expect(callocations_count() == asked)
        let shown = frame.array
        #expect(shown[20 * 320..<260 * 160].allSatisfy { $0 == 100 })
        #expect(shown[0] == 16 && shown[1] == 128 && shown[139 * 320] == 16)
    }
}

@Suite struct TurnTests {
    @Test(arguments: [(50, 34), (7, 40), (40, 7), (16, 16), (1, 1), (33, 17)])
    func `each sample goes where its rotation says`(width: Int, height: Int) {
        let source = scene(FrameLayout(width: width, height: height, format: .gray, lumaStride: width + 5))
        let before = plane(source)
        for quarters in 0..<4 {
            for isMirrored in [false, true] {
                let (w, h) = quarters & 1 == 1 ? (height, width) : (width, height)
                var frame = Frame(FrameLayout(width: w, height: h, format: .gray, lumaStride: w + 3))
                rotateAndMirror(source.view, into: &frame, quarters: quarters, isMirrored: isMirrored)
                let wanted = (0..<w * h).map { i in
                    let (x, y) = (isMirrored ? w - 1 - i % w : i % w, i / w)
                    return switch quarters {
                    case 0: before[y * width + x]
                    case 1: before[(height - 1 - x) * width + y]
                    case 2: before[(height - 1 - y) * width + width - 1 - x]
                    default: before[x * width + width - 1 - y]
                    }
                }
                #expect(plane(frame) == wanted, "\(quarters) quarters, mirrored: \(isMirrored)")
            }
        }
    }
}

@Suite struct PlaneWarpTests {
    @Test(arguments: [Float(0), 10, 90, 200], [Float(0.4), 1, 2.7])
    func `a warped picture is as OpenCV's, and nothing is drawn outside it`(angle: Float, scale: Float) {
        let source = scene(FrameLayout(width: 121, height: 90, format: .i444))
        let output = FrameLayout(width: 200, height: 150, format: .i444)
        let turn = Affine(scale: scale, angle: angle * .pi / 180, origin: Point(60, 45))
        let map = turn.after(Affine(a: 1, b: 0, c: 0, d: 1, tx: -100.3, ty: -75.2))
        var frame = Frame(output)
        warp(source, by: map, onto: &frame)
        let numbers = [map.a, map.b, map.tx, map.c, map.d, map.ty].map(Double.init)
        for index in 0..<3 {
            let ours = plane(frame, index)
            var other = plane(Frame(output), index)
            let empty = other
            let samples = plane(source, index)
            let result = unsafe samples.withUnsafeBufferPointer { from in
                unsafe other.withUnsafeMutableBufferPointer { to in
                    unsafe numbers.withUnsafeBufferPointer {
                        unsafe opencv_reference_warp(
                            from.baseAddress, 121, 90, 121, $0.baseAddress, to.baseAddress, 200, 150)
                    }
                }
            }
            #expect(result == 0)
            // Pixels around the edge may be drawn by one and not by the other.
            let inner = ours.indices.filter {
                let p = map(Point(Float($0 % 200), Float($0 / 200)))
                return p.x > 0.1 && p.y > 0.1 && p.x < 119.9 && p.y < 88.9
            }
            let outer = ours.indices.filter {
                let p = map(Point(Float($0 % 200), Float($0 / 200)))
                return p.x < -0.1 || p.y < -0.1 || p.x > 120.1 || p.y > 89.1
            }
            #expect(!inner.isEmpty)
            #expect(likeness(inner.map { ours[$0] }, inner.map { Double(other[$0]) }) > 48)
            #expect(outer.allSatisfy { ours[$0] == empty[$0] })
        }
    }
}
