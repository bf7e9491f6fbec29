import COpenCVReference
import Frames
import Testing

@testable import Track

struct CascadeSearchTests {
    /// Blobs on which the first stages of the cascade pass many windows.
    private let picture = Gray.synthetic(width: 203, height: 151, seed: 9)

    private func scan(_ search: inout CascadeSearch, _ scan: CascadeSearch.Scan) {
        search.groups.removeAll()
        picture.view { search.scan($0, scan) }
    }

    @Test(arguments: [21, 26, 33, 40, 55, 79])
    func `a scaled picture gives OpenCV's windows`(window: Int) throws {
        // Only the first four stages, so that many windows pass.
        let part = try OpenCVData.cut(OpenCVData.read("haarcascade_frontalface_alt2"), stages: 4)
        let cascade = try Cascade(xml: part.span, file: "alt2")
        let other = try #require(OpenCVCascade(part))
        // One size: the second step of the search, since OpenCV starts at the trained window.
        let scale = Double(window) / 20
        let theirs = other.judge(picture, step: scale, minSize: window, maxSize: window)
        var search = CascadeSearch(cascade, maxWidth: 203, maxHeight: 60, capacity: 20_000)
        let plan = CascadeSearch.Scan(
            smallest: Float(window), largest: Float(window), step: scale < 2 ? 2 : 1, minStages: cascade.stageCount)
        scan(&search, plan)
        let ours = search.groups.windows
        // OpenCV multiplies positions by the requested size and rounds them; ours use the level's true size. It skips
        // neighbours of poor windows. Windows are identified by their sums.
        let last = try #require(cascade.stages.last)
        let missing = theirs.filter { other in
            !ours.contains {
                abs($0.rect.x - Float(other.x)) < 2 && abs($0.rect.y - Float(other.y)) < 2
                    && $0.result.margin == Float(other.sum - Double(last.threshold))
            }
        }
        print("window \(window): OpenCV \(theirs.count), ours \(ours.count), missing \(missing.count)")
        #expect(theirs.count > 5)
        #expect(missing.isEmpty)
        #expect(ours.count < theirs.count * 3 / 2 + 5)
    }

    @Test(arguments: [1, 2])
    func `a scan in strips finds what a scan of the whole level finds`(step: Int) throws {
        let cascade = try OpenCVData.cascade("haarcascade_frontalface_alt2")
        let scan = CascadeSearch.Scan(smallest: 24, largest: 120, factor: 1.2, step: step, minStages: 4)
        func windows(maxHeight: Int) -> [CascadeWindow] {
            var search = CascadeSearch(cascade, maxWidth: 203, maxHeight: maxHeight, capacity: 20_000)
            self.scan(&search, scan)
            return search.groups.windows
        }
        let whole = windows(maxHeight: 160)
        #expect(whole.count > 20)
        #expect(windows(maxHeight: 44) == whole)
        // An odd number of rows in a strip.
        #expect(windows(maxHeight: 45) == whole)
    }

    @Test func `a scan whose smallest window is larger than the largest finds nothing`() throws {
        let cascade = try OpenCVData.cascade("haarcascade_frontalface_alt2")
        var search = CascadeSearch(cascade, maxWidth: 203, maxHeight: 160, capacity: 20_000)
        scan(&search, .init(smallest: 60, largest: 50, minStages: 0))
        #expect(search.groups.windows.isEmpty)
    }

    @Test func `a search around a place finds a window that a scan finds`() throws {
        let cascade = try OpenCVData.cascade("haarcascade_frontalface_alt2")
        var search = CascadeSearch(cascade, maxWidth: 203, maxHeight: 160, capacity: 20_000)
        scan(&search, .init(smallest: 40, largest: 40, minStages: 5))
        let best = try #require(search.groups.windows.max { $0.result.confidence < $1.result.confidence })
        let stage = Int(best.result.passed)
        // Expected slightly away from its place.
        let rect = Rect(x: best.rect.x + 3, y: best.rect.y - 3, width: 40, height: 40)
        let area = CascadeSearch.Area(rect: rect, minStages: stage, enoughWindows: 1)
        let match = try #require(picture.view { search.find($0, near: area) })
        #expect(abs(match.rect.x - best.rect.x) < 3 && abs(match.rect.y - best.rect.y) < 3)
        let far = CascadeSearch.Area(
            rect: Rect(x: .nan, y: 0, width: 30, height: 30), minStages: stage, enoughWindows: 1)
        #expect(picture.view { search.find($0, near: far) } == nil)
        let outside = CascadeSearch.Area(
            rect: Rect(x: 4000, y: -900, width: 30, height: 30), minStages: stage, enoughWindows: 1)
        #expect(picture.view { search.find($0, near: outside) } == nil)
    }

    @Test func `windows that agree are one detection, and the strongest comes first`() {
        var groups = CascadeGroups(capacity: 16)
        func add(_ x: Float, _ width: Float, _ passed: Int32) {
            groups.add(
                CascadeWindow(
                    rect: Rect(x: x, y: 10, width: width, height: width), result: CascadeResult(passed: passed)))
        }
        // A chain whose ends do not agree directly, a second place, a single window, and a weak one inside the chain's.
        for x: Float in [100, 107, 114] { add(x, 40, 12) }
        for x: Float in [10, 12] { add(x, 40, 20) }
        add(200, 40, 22)
        groups.group(atLeast: 2)
        #expect(groups.matches.map(\.count) == [2, 3])
        #expect(groups.matches.map(\.confidence) == [20, 12])
        #expect(groups.matches[1].rect.x == 107)
        groups.group(atLeast: 1)
        #expect(groups.matches.map(\.count) == [1, 2, 3])
    }

    @Test func `a full list drops windows and reports it`() {
        var groups = CascadeGroups(capacity: 2)
        for x in 0..<5 {
            groups.add(CascadeWindow(rect: Rect(x: Float(x), y: 0, width: 20, height: 20), result: CascadeResult()))
        }
        #expect(groups.windows.count == 2 && groups.dropped == 3)
    }

    @Test func `the tilted sum is the sum of its triangle`() throws {
        let small = Gray.synthetic(width: 13, height: 11, seed: 3)
        let cascade = try OpenCVData.cascade("haarcascade_eye_tree_eyeglasses")
        #expect(cascade.planes == .tilted)
        var integral = Integral(maxWidth: 20, maxHeight: 14, planes: .tilted)
        // A larger level before: its remains must have no effect.
        for size in [(20, 14), (13, 11)] {
            let filled = small.view {
                integral.fill(
                    from: $0, levelWidth: size.0, levelHeight: size.1,
                    part: PixelRect(x: 0, y: 0, width: size.0, height: size.1))
            }
            #expect(filled)
        }
        for y in 0...11 {
            for x in 0...13 {
                var sum = 0
                for py in 0..<y {
                    for px in 0..<13 where abs(px - x + 1) <= y - py - 1 { sum += Int(small.pixels[py * 13 + px]) }
                }
                #expect(integral.entry(plane: 2, x: x, y: y) == sum, "at \(x), \(y)")
            }
        }
    }

    @Test func `regions beyond the level are rejected`() {
        var integral = Integral(maxWidth: 32, maxHeight: 32, planes: .squares)
        for part in [
            PixelRect(x: -1, y: 0, width: 8, height: 8), PixelRect(x: 0, y: 0, width: 33, height: 8),
            PixelRect(x: 96, y: 0, width: 8, height: 8), PixelRect(x: 0, y: 0, width: 0, height: 8),
        ] {
            let filled = picture.view { integral.fill(from: $0, levelWidth: 100, levelHeight: 75, part: part) }
            #expect(!filled)
        }
    }
}
