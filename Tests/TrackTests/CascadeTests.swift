import COpenCVReference
import Foundation
import Frames
import Testing

@testable import Track

struct CascadeTests {
    static let names = [
        "haarcascade_frontalface_alt2", "haarcascade_frontalface_alt", "haarcascade_frontalface_default",
        "haarcascade_frontalface_alt_tree", "haarcascade_profileface", "haarcascade_frontalcatface", "haarcascade_eye",
        "haarcascade_eye_tree_eyeglasses", "lbpcascade_frontalface_improved", "lbpcascade_profileface",
    ]

    @Test(arguments: names)
    func `every window of a picture ends where OpenCV's ends`(name: String) throws {
        let xml = try OpenCVData.read(name)
        let stages = try OpenCVData.cascade(name).stageCount
        // Fewer in a usual run, because a debug build is slow.
        let thorough = ProcessInfo.processInfo.environment["GUISE_FIGURES"] != nil
        let pictures =
            (1...(thorough ? 3 : 1)).map { Gray.synthetic(width: 150, height: 130, seed: $0) }
            + LabelledPhotos.some(thorough ? 4 : 1, height: 140)
        var (compared, differing, passed) = (0, 0, 0)
        // Not 1: OpenCV's code for a flat window is the code for having passed one stage.
        let depths = thorough ? [2, 3, 4, 6, 9, 13, 17, stages] : [2, 6, stages]
        for depth in Set(depths).sorted() where depth <= stages {
            let part = try OpenCVData.cut(xml, stages: depth)
            let cascade = try Cascade(xml: part.span, file: name)
            let other = try #require(OpenCVCascade(part))
            for picture in pictures {
                let ours = results(cascade, picture, .eightAtOnce)
                for evaluation in [Evaluation.eightAtOnceWithoutAVX2, .oneByOne] {
                    // The count alone: a message with all windows would have megabytes.
                    let others = zip(ours, results(cascade, picture, evaluation)).count { $0 != $1 }
                    #expect(others == 0, "\(evaluation)")
                }
                compared += ours.count
                passed += ours.count { $0.passed == depth }
                differing += differences(cascade, other, picture, ours)
            }
        }
        print("\(name): \(compared) windows compared, \(passed) passed, \(differing) differ")
        #expect(compared > (thorough ? 200_000 : 20_000))
        #expect(differing == 0)
    }

    /// Windows that only one of the two accepts, or with another sum of the last stage.
    private func differences(_ cascade: Cascade, _ other: OpenCVCascade, _ picture: Gray, _ ours: [CascadeResult])
        -> Int
    {
        let (w, h) = (cascade.windowWidth, cascade.windowHeight)
        let columns = picture.width - w + 1
        guard let last = cascade.stages.last else { return ours.count }
        var (count, seen) = (0, Set<Int>())
        func check(_ window: opencv_reference_window, _ x: Int, _ y: Int) {
            let at = (Int(window.y) + y) * columns + Int(window.x) + x
            guard seen.insert(at).inserted else { return }
            let same = Int(ours[at].passed) == cascade.stageCount
            if !same || ours[at].margin != Float(window.sum - Double(last.threshold)) { count += 1 }
        }
        // OpenCV tests every second window, and fewer after a poor one: other starting points give the rest.
        for start in 0..<8 {
            let (x, y) = (start & 3, start >> 2)
            let crop = picture.crop(x, y, width: picture.width - x, height: picture.height - y)
            for window in other.judge(crop, minSize: min(w, h), maxSize: max(w, h)) { check(window, x, y) }
        }
        for at in ours.indices where ours[at].passed == cascade.stageCount && !seen.contains(at) {
            let (x, y) = (at % columns, at / columns)
            let crop = picture.crop(x, y, width: w, height: h)
            for window in other.judge(crop, minSize: min(w, h), maxSize: max(w, h)) { check(window, x, y) }
            if !seen.contains(at) { count += 1 }
        }
        return count
    }

    /// Kinds of features: trees of two nodes, stumps, and patterns.
    @Test(arguments: [
        "haarcascade_frontalface_alt2", "haarcascade_frontalface_alt", "lbpcascade_frontalface_improved",
    ])
    func `a coarse search judges every second window of a row as a dense one does`(name: String) throws {
        let cascade = try OpenCVData.cascade(name)
        let pictures = [Gray.synthetic(width: 150, height: 90, seed: 4)] + LabelledPhotos.some(1, height: 90)
        // An odd and an even width, for which the odd columns start at different offsets.
        for room in [160, 161] {
            for picture in pictures {
                var dense = Integral(maxWidth: room, maxHeight: 160, planes: cascade.planes)
                var split = Integral(maxWidth: room, maxHeight: 160, planes: cascade.planes, isSplit: true)
                var narrow = Integral(
                    maxWidth: room, maxHeight: 160, planes: cascade.planes, isSplit: true, mayBeWide: false)
                let every = cascade.program(for: dense)
                let second = cascade.program(for: split)
                // Scaled, so that levels of several widths are filled over each other.
                var (compared, deepest, hits) = (0, 0, 0)
                for width in [picture.width, 97, 64] where width <= room {
                    let height = picture.height * width / picture.width
                    let part = PixelRect(x: 0, y: 0, width: width, height: height)
                    let areFilled = picture.view {
                        let first = dense.fill(from: $0, levelWidth: width, levelHeight: height, part: part)
                        let second = split.fill(from: $0, levelWidth: width, levelHeight: height, part: part)
                        return first && second
                            && narrow.fill(from: $0, levelWidth: width, levelHeight: height, part: part)
                    }
                    try #require(areFilled)
                    let unlike = differences(split, narrow)
                    #expect(unlike == 0, "entries that differ without AVX2, of \(width) columns")
                    let (columns, rows) = every.windows(of: dense)
                    #expect(second.windows(of: split) == (columns, rows))
                    for y in 0..<rows {
                        var wanted: [CascadeHit] = []
                        for x in 0..<columns {
                            let result = second.evaluate(split, x: x, y: y)
                            guard x % 2 == 0 else {
                                #expect(result == nil, "odd columns cannot be judged")
                                continue
                            }
                            let judged = every.evaluate(dense, x: x, y: y)
                            let plain = try #require(judged)
                            #expect(result == plain, "\(name) at \(x), \(y) of \(width)")
                            wanted.append(CascadeHit(x: Int32(x), y: Int32(y), result: plain))
                            (compared, deepest) = (compared + 1, max(deepest, Int(plain.passed)))
                        }
                        // In groups of eight, and starting at a column between them.
                        for (first, stage) in [(0, 0), (3, 2)] {
                            let found = scan(second, split, row: y, from: first, to: columns, stage: stage)
                            let expected = wanted.filter { $0.x >= first && $0.result.passed >= stage }
                            #expect(found.sorted { $0.x < $1.x } == expected, "row \(y) of \(width) from \(first)")
                            hits += found.count
                        }
                    }
                }
                print("\(name): \(compared) windows alike, the deepest passed \(deepest) stages, \(hits) listed")
                #expect(compared > 2000 && deepest > 3 && hits > 0)
            }
        }
    }

    /// The number of entries that differ between two integrals of one size.
    private func differences(_ a: borrowing Integral, _ b: borrowing Integral) -> Int {
        var count = 0
        for plane in 0..<a.planes.rawValue {
            for y in 0...a.height {
                for x in 0...a.width where a.entry(plane: plane, x: x, y: y) != b.entry(plane: plane, x: x, y: y) {
                    count += 1
                }
            }
        }
        return count
    }

    private func scan(
        _ program: borrowing CascadeProgram, _ integral: borrowing Integral, row: Int, from first: Int, to end: Int,
        stage: Int
    ) -> [CascadeHit] {
        var hits = [CascadeHit](repeating: CascadeHit(), count: end)
        var count = 0
        var span = hits.mutableSpan
        program.scan(integral, row: row, columns: first..<end, step: 2, minStages: stage, hits: &span, count: &count)
        return Array(hits[0..<count])
    }

    private enum Evaluation { case eightAtOnce, eightAtOnceWithoutAVX2, oneByOne }

    @inline(never) private func results(
        _ cascade: Cascade, _ picture: Gray, _ evaluation: Evaluation
    ) -> [CascadeResult] {
        var integral = Integral(maxWidth: 160, maxHeight: 160, planes: cascade.planes)
        let program = cascade.program(for: integral, mayBeWide: evaluation == .eightAtOnce)
        let filled = picture.view {
            integral.fill(
                from: $0, levelWidth: picture.width, levelHeight: picture.height,
                part: PixelRect(x: 0, y: 0, width: picture.width, height: picture.height))
        }
        #expect(filled)
        let (columns, rows) = program.windows(of: integral)
        var list = [CascadeResult](repeating: CascadeResult(), count: columns * rows)
        var hits = [CascadeHit](repeating: CascadeHit(), count: columns)
        for y in 0..<rows {
            if evaluation != .oneByOne {
                var count = 0
                var span = hits.mutableSpan
                program.scan(integral, row: y, columns: 0..<columns, step: 1, minStages: 0, hits: &span, count: &count)
                for hit in hits[0..<count] { list[y * columns + Int(hit.x)] = hit.result }
            } else {
                for x in 0..<columns {
                    if let result = program.evaluate(integral, x: x, y: y) {
                        list[y * columns + x] = result
                    }
                }
            }
        }
        return list
    }
}
