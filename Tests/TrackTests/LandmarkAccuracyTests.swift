import Foundation
import Frames
import TestSupport
import Testing

@testable import Track

/// Debian's model on the labelled photos; skipped if either is missing.
private enum Real {
    static let data = Fixtures.labelledFaces

    struct Label: Decodable { var right_eye, left_eye, nose, mouth: [Float]? }
    struct Photo: Decodable { var width, height: Int, faces: [Label] }

    /// The photo's luma, decoded by ffmpeg.
    static func luma(_ name: String) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "ffmpeg", "-v", "quiet", "-nostdin", "-i", "\(data)/\(name)", "-frames:v", "1", "-pix_fmt", "gray", "-f",
            "rawvideo",
            "-",
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let bytes = [UInt8](pipe.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        return bytes
    }
}

/// Run by `make accuracy`.
@Suite(.needsLandmarks, .needsLabelledFaces) struct LandmarkAccuracyTests {
    @Test
    func `eyes, nose and mouth of labelled photos are found, and two starts agree on faces only`() throws {
        let scratch = try ScratchFolder()
        let model = try LandmarkModel(cache: scratch.url.path)
        var fitter = LandmarkFitter(model)
        let file = URL(fileURLWithPath: "\(Real.data)/annotations/photos.json")
        let photos = try JSONDecoder().decode([String: Real.Photo].self, from: Data(contentsOf: file))
        var (errors, agreements): ([Float], [Float]) = ([], [])
        for (name, photo) in photos.sorted(by: { $0.key < $1.key }) where photo.faces.count == 1 {
            let wanted = [photo.faces[0].right_eye, photo.faces[0].left_eye, photo.faces[0].nose, photo.faces[0].mouth]
                .compactMap { $0.map { Point($0[0], $0[1]) } }
            let samples = try Real.luma(name)
            guard wanted.count == 4, samples.count == photo.width * photo.height else { continue }
            let between = (wanted[1] - wanted[0]).length
            // The larger of the two spans, because a turned head's eyes are closer together. In the mean shape the eyes
            // are 0.411 of the box apart, 0.436 above the mouth, and the middle of the three is at (0.5, 0.461).
            let drop = wanted[3] - (wanted[0] + wanted[1]) / 2
            let side = max(between / 0.411, drop.length / 0.436)
            let start = Affine(scale: side, angle: Frames.atan2(-drop.x, drop.y), origin: Point())
            let shift = (wanted[0] + wanted[1] + wanted[3]) / 3 - start(Point(0.5, 0.461))
            let box = Affine(a: start.a, b: start.b, c: start.c, d: start.d, tx: shift.x, ty: shift.y)
            let view = LumaView(samples: samples.span, width: photo.width, height: photo.height, rowStride: photo.width)
            let fit = fitter.fit(view, in: box)
            let shape = try #require(fit)
            var (right, left) = (Point(), Point())
            for i in 0..<6 { (right, left) = (right + shape[36 + i] / 6, left + shape[42 + i] / 6) }
            let found = [right, left, shape[30], (shape[48] + shape[54]) / 2]
            errors.append((0..<4).reduce(0) { $0 + (found[$1] - wanted[$1]).length } / 4 / side)
            let settled = try #require(model.box(around: shape))
            let fitResidual = fitter.fitResidual(view, around: settled)
            agreements.append(try #require(fitResidual))
        }
        #expect(errors.count > 50)
        #expect(errors.sorted()[errors.count / 2] < 0.025)
        #expect(errors.sorted()[errors.count * 9 / 10] < 0.045)
        #expect(agreements.sorted()[errors.count * 9 / 10] < 0.04)

        // No face at all: waves and slopes.
        let waves = Picture(width: 300, height: 300)
        for size in stride(from: Float(60), to: 200, by: 20) {
            let box = Affine(scale: size, angle: 0, origin: Point(40, 40))
            #expect(try #require(waves.withView { fitter.fitResidual($0, around: box) }) > 0.04)
        }
    }
}

extension LandmarkFitter {
    /// The distance between fits from a smaller and a larger box, as a share of the box's side.
    fileprivate mutating func fitResidual(_ picture: borrowing LumaView, around box: Affine) -> Float? {
        guard let small = fit(picture, around: box, from: .smaller),
            let large = fit(picture, around: box, from: .larger)
        else { return nil }
        return PatchFitter.join(small, large, model)?.fitResidual
    }
}
