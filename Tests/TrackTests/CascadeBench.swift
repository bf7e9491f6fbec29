import CVision
import Foundation
import Frames
import Testing

@testable import Track

/// CPU milliseconds of this thread.
func cpu() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
}

/// The least of several runs, each the mean of `times`.
func best(_ times: Int = 20, runs: Int = 7, _ body: () -> Void) -> Double {
    body()
    var least = Double.infinity
    for _ in 0..<runs {
        let start = cpu()
        for _ in 0..<times { body() }
        least = min(least, (cpu() - start) / Double(times))
    }
    return least
}

@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["GUISE_FIGURES"] != nil))
struct CascadeFigures {
    @Test func `reading`() throws {
        for name in CascadeTests.names {
            let xml = try OpenCVData.read(name)
            let ms = best(1, runs: 5) { _ = try? Cascade(xml: xml.span, file: name) }
            let cv = best(1, runs: 3) { _ = OpenCVCascade(xml) }
            print("read \(name): \(xml.count / 1024) kB, \(ms) ms, OpenCV \(cv) ms")
        }
    }

    @Test(.enabled(if: TestPhotos.present)) func `patch`() throws {
        for name in ["haarcascade_frontalface_alt2", "haarcascade_frontalface_default", "haarcascade_frontalface_alt", "lbpcascade_frontalface_improved"] {
            let xml = try OpenCVData.read(name)
            let cascade = try Cascade(xml: xml.span, file: name)
            let other = try #require(OpenCVCascade(xml))
            var search = CascadeSearch(cascade, maxWidth: 400, maxHeight: 200)
            let photo = try #require(TestPhotos.decode(TestPhotos.folder + "/photo/human_stock-emotions-a-1.jpg", height: 200))
            let x = 0
            let full = photo

            full.view { view in
                var sweep = CascadeSearch.Sweep(smallest: 36, largest: 190, stage: cascade.stageCount)
                _ = search.sweep(view, &sweep, budget: .max)
                search.groups.group(atLeast: 2)

            }
            let find = try #require(search.groups.finds.first)
            // A patch in which the window is 40 wide.
            let factor = 40 / Double(find.width)
            let small = try #require(
                TestPhotos.decode(TestPhotos.folder + "/photo/human_stock-emotions-a-1.jpg", height: Int(200 * factor / 2) * 2))
            var patch = Gray(width: 96, height: 96, pixels: [UInt8](repeating: 100, count: 96 * 96))
            let (ox, oy) = (48 - Int((Double(find.x + find.width / 2) + Double(x)) * factor), 48 - Int(Double(find.y + find.height / 2) * factor))
            for py in 0..<96 { for px in 0..<96 {
                let (sx, sy) = (min(max(px - ox, 0), small.width - 1), min(max(py - oy, 0), small.height - 1))
                patch.pixels[py * 96 + px] = small.pixels[sy * small.width + sx]
            } }
            let w = Float(cascade.windowWidth), h = Float(cascade.windowHeight)
            for (dx, dy, sizes) in [(Float(0), Float(0), [Float](arrayLiteral: 1, 1.1, 0.9)), (6, 4, [1, 1.1, 0.9]), (6, 4, [1.1, 1, 0.9])] {
                var work = 0
                var found: CascadeFind?
                let near = CascadeSearch.Near(
                    rect: Rect(x: 28 + dx, y: 28 + dy, width: 40, height: 40 * h / w), reach: 8,
                    sizes: [sizes[0], sizes[1], sizes[2]], stage: cascade.stageCount, agree: 3)
                let ours = patch.view { view in best(50) { work = 0; found = search.find(view, near: near, work: &work) } }
                print("patch \(name) off \(dx),\(dy) \(sizes): \(ours) ms, work \(work), \(found.map { "\($0.rect) \($0.count) \($0.confidence)" } ?? "none")")
            }
            var all = 0
            var swept = 0.0
            var workAll = 0
            let count = patch.view { view in
                swept = best(20) {
                    search.groups.removeAll()
                    var sweep = CascadeSearch.Sweep(smallest: 36.4, largest: 44.1, factor: 1.1, stage: cascade.stageCount)
                    workAll = search.sweep(view, &sweep, budget: .max)
                    search.groups.group(atLeast: 3)
                    all = search.groups.finds.first?.count ?? 0
                }
                return all
            }
            var n = 0
            let theirs = best(20) { n = other.judge(patch, step: 1.1, minSize: 36, maxSize: 45).count }
            print("patch \(name): sweep \(swept) ms (\(count) windows, work \(workAll)), OpenCV \(theirs) ms (\(n) windows), ratio \(theirs / swept)")
            let noise = Gray.synthetic(width: 96, height: 96, seed: 5)

            let near = CascadeSearch.Near(rect: Rect(x: 28, y: 28, width: 40, height: 40 * h / w), stage: cascade.stageCount)
            var work = 0
            let lost = noise.view { view in best(50) { work = 0; _ = search.find(view, near: near, work: &work) } }
            print("patch \(name), no face: \(lost) ms, work \(work)")
        }
    }

    @Test(.enabled(if: TestPhotos.present)) func `sweeps`() throws {
        for height in [360, 720] {
            let photo = try #require(TestPhotos.decode(TestPhotos.folder + "/photo/human_group-3.jpg", height: height))
            let picture = photo.width > height * 16 / 9 ? photo.crop(0, 0, width: height * 16 / 9, height: height) : photo
            for name in ["haarcascade_frontalface_alt2", "haarcascade_frontalface_default", "haarcascade_frontalface_alt", "lbpcascade_frontalface_improved"] {
                let xml = try OpenCVData.read(name)
                let cascade = try Cascade(xml: xml.span, file: name)
                let other = try #require(OpenCVCascade(xml))
                let smallest = Float(cascade.windowWidth) * 2
                var search = CascadeSearch(cascade, maxWidth: 1300, maxHeight: cascade.windowHeight + 32)
                var (work, finds) = (0, 0)
                let ours = picture.view { view in
                    best(1, runs: 3) {
                        search.groups.removeAll()
                        var sweep = CascadeSearch.Sweep(smallest: smallest, largest: Float(height), factor: 1.2, stage: cascade.stageCount)
                        work = search.sweep(view, &sweep, budget: .max)
                        search.groups.group(atLeast: 3)
                        finds = search.groups.finds.count
                    }
                }
                var n = 0
                let theirs = best(1, runs: 3) { n = other.judge(picture, step: 1.2, minSize: Int(smallest), maxSize: height).count }
                print("sweep \(picture.width)x\(picture.height) \(name): \(ours) ms, work \(work), \(search.groups.windows.count) windows, \(finds) finds; OpenCV \(theirs) ms, \(n) windows; ratio \(theirs / ours); ns a unit \(ours * 1e6 / Double(work))")
            }
        }
    }
}
