import COpenCVReference
import Capture
import Foundation
import Frames
import TestSupport
import Testing

@testable import SystemKit
@testable import Track

/// CPU time of the cascades as ratios to OpenCV's in the same run. Run by `make bench`.
@Suite(.serialized, .needsLabelledFaces) struct CascadeBenchmarks {
    static let names = [
        "haarcascade_frontalface_alt2", "haarcascade_frontalface_default", "haarcascade_frontalface_alt",
        "lbpcascade_frontalface_improved",
    ]

    /// CPU milliseconds of this thread: the minimum of several runs, each the mean of `times`.
    private func best(_ times: Int, runs: Int = 5, _ body: () -> Void) -> Double {
        func now() -> Double {
            var time = timespec()
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
        }
        body()
        return (0..<runs).reduce(Double.infinity) { least, _ in
            let start = now()
            for _ in 0..<times { body() }
            return min(least, (now() - start) / Double(times))
        }
    }

    @Test(arguments: CascadeTests.names)
    func `reading a cascade`(name: String) throws {
        let xml = try OpenCVData.read(name)
        let ours = best(1) { _ = try? Cascade(xml: xml.span, file: name) }
        let theirs = best(1) { _ = OpenCVCascade(xml) }
        figure("cascade, reading, OpenCV over ours: \(name)", theirs / ours, "times")
    }

    /// A patch in which the face's window is about 40 samples wide, expected 6 and 4 samples off.
    @Test(arguments: names) func `a known face`(name: String) throws {
        let xml = try OpenCVData.read(name)
        let cascade = try Cascade(xml: xml.span, file: name)
        let other = try #require(OpenCVCascade(xml))
        let photo = try #require(
            LabelledPhotos.decode(LabelledPhotos.folder + "/photo/human_stock-emotions-a-1.jpg", height: 200))
        var search = CascadeSearch(cascade, maxWidth: 400, maxHeight: 200)
        photo.view { view in
            search.scan(view, CascadeSearch.Scan(smallest: 48, largest: 190, minStages: cascade.stageCount))
        }
        search.groups.group(atLeast: 2)
        let match = try #require(search.groups.matches.first).rect
        var patch = Gray(width: 96, height: 96, pixels: [UInt8](repeating: 0, count: 96 * 96))
        let scale = match.width / 40
        let map = Affine(scale: scale, angle: 0, origin: match.center - Point(48, 48) * scale)
        var pixels = patch.pixels.mutableSpan
        photo.view { resample($0, by: map, into: &pixels, width: 96, height: 96) }
        let area = CascadeSearch.Area(rect: Rect(x: 34, y: 32, width: 40, height: 40), minStages: cascade.stageCount)
        var found = 0
        let ours = patch.view { view in best(50) { found = search.find(view, near: area)?.count ?? 0 } }
        let theirs = best(20) { _ = other.judge(patch, step: 1.1, minSize: 36, maxSize: 45) }
        let lost = Gray.synthetic(width: 96, height: 96, seed: 5).view { view in
            best(50) { _ = search.find(view, near: area) }
        }
        figure("cascade, known face, OpenCV over ours: \(name)", theirs / ours, "times")
        figure("cascade, no face in the patch: \(name)", lost, "ms")
        #expect(found > 0)
    }

    @Test(arguments: names, [360, 720])
    func `a whole picture`(name: String, height: Int) throws {
        let xml = try OpenCVData.read(name)
        let cascade = try Cascade(xml: xml.span, file: name)
        let other = try #require(OpenCVCascade(xml))
        let photo = try #require(
            LabelledPhotos.decode(LabelledPhotos.folder + "/photo/human_group-3.jpg", height: height))
        let width = height * 16 / 9
        var picture = Gray(width: width, height: height, pixels: [])
        for y in 0..<height {
            for x in 0..<width { picture.pixels.append(photo.pixels[y * photo.width + x % photo.width]) }
        }
        let smallest = cascade.windowWidth * 2
        var search = CascadeSearch(cascade, maxWidth: 1300, maxHeight: cascade.windowHeight + 32)
        let ours = picture.view { view in
            best(1, runs: 3) {
                search.groups.removeAll()
                search.scan(
                    view,
                    CascadeSearch.Scan(
                        smallest: Float(smallest), largest: Float(height), factor: 1.2, minStages: cascade.stageCount))
            }
        }
        let theirs = best(1, runs: 3) { _ = other.judge(picture, step: 1.2, minSize: smallest, maxSize: height) }
        figure("cascade, whole picture \(height)p, OpenCV over ours: \(name)", theirs / ours, "times")
    }

    /// What most programs do for each frame, compared with the tracker.
    @Test func `following a face`() throws {
        let catalog = try CascadeCatalog(folder: Fixtures.inPackage("Cascades"))
        let file = try catalog.entry(.face).path
        let reference = try #require(OpenCVCascade([UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))))
        var tracker = Tracker(
            try FaceDetector(
                catalog: catalog, landmarks: LandmarkModel.debianPath,
                cache: landmarkCache))
        var clip = try Clip(path: LabelledPhotos.folder + "/video/lp_s18.mp4")
        var (ours, theirs): ([Double], [Double]) = ([], [])
        while ours.count < 300 {
            let isFrame = try clip.withNextFrame { view, time in
                let start = threadTime()
                tracker.update(view.luma, at: time.seconds)
                ours.append(Double(threadTime() - start) / 1e6)
                guard ours.count % 30 == 0 else { return }
                let luma = view.luma
                var picture = Gray(width: luma.width, height: luma.height, pixels: [])
                for y in 0..<luma.height {
                    for x in 0..<luma.width { picture.pixels.append(luma.samples[y * luma.rowStride + x]) }
                }
                theirs.append(
                    best(1, runs: 1) { _ = reference.judge(picture, step: 1.1, minSize: 30, maxSize: picture.height) })
            }
            guard isFrame else { break }
        }
        let (mine, other) = (ours.sorted()[ours.count / 2], theirs.sorted()[theirs.count / 2])
        figure("following a face", mine, "ms")
        figure("searching the whole frame by OpenCV, over following", other / mine, "times")
    }
}
