import CVision
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
        let cascade = try OpenCVData.cascade(name)
        let other = try #require(OpenCVCascade(name))
        let (w, h) = (cascade.windowWidth, cascade.windowHeight)
        var pictures = (1...3).map { Gray.synthetic(width: 150, height: 130, seed: $0) }
        pictures += TestPhotos.some(4, height: 140)
        var (compared, differing, sums, deepest) = (0, 0, 0, 0)
        for picture in pictures {
            let ours = verdicts(cascade, picture, grouped: true)
            let single = verdicts(cascade, picture, grouped: false)
            #expect(ours == single, "eight at once and one at a time agree")
            for (dx, dy) in [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1), (2, 1), (3, 1)] {
                let side = max(w, h)
                for window in other.judge(picture.crop(dx, dy), minSize: min(w, h), maxSize: side) {
                    let mine = ours[(Int(window.y) + dy) * (picture.width - w + 1) + Int(window.x) + dx]
                    compared += 1
                    deepest = max(deepest, Int(mine.passed))
                    if (mine.passed < 0 ? 1 : Int(mine.passed)) != Int(window.stages) { differing += 1 }
                    let last = min(max(0, Int(mine.passed)), cascade.stageCount - 1)
                    let margin = Float(window.sum - Double(cascade.stages[last].threshold))
                    if mine.passed >= 0, mine.margin != margin { sums += 1 }
                }
            }
        }
        print("\(name): \(compared) windows compared, \(differing) differ, \(sums) sums differ, deepest \(deepest)")
        #expect(compared > 50_000)
        #expect(differing == 0)
        #expect(sums == 0)
    }

    @inline(never) private func verdicts(_ cascade: Cascade, _ picture: Gray, grouped: Bool) -> [Verdict] {
        var integral = Integral(maxWidth: 160, maxHeight: 160, planes: cascade.planes)
        let program = cascade.program(for: integral)
        let filled = picture.view {
            integral.fill(
                from: $0, levelWidth: picture.width, levelHeight: picture.height,
                part: PixelRect(x: 0, y: 0, width: picture.width, height: picture.height))
        }
        #expect(filled)
        let (columns, rows) = program.windows(of: integral)
        var list = [Verdict](repeating: Verdict(), count: columns * rows)
        var hits = [CascadeHit](repeating: CascadeHit(), count: columns)
        var work = 0
        for y in 0..<rows {
            if grouped {
                var count = 0
                var span = hits.mutableSpan
                program.scan(
                    integral, row: y, columns: 0..<columns, step: 1, stage: 0, hits: &span, count: &count, work: &work)
                for hit in hits[0..<count] { list[y * columns + Int(hit.x)] = hit.verdict }
            } else {
                for x in 0..<columns {
                    if let verdict = program.evaluate(integral, x: x, y: y, work: &work) { list[y * columns + x] = verdict }
                }
            }
        }
        return list
    }
}
