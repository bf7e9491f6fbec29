import Frames
import Testing

@testable import Track

/// A scheduler with its frames.
private struct Scene: ~Copyable {
    var scheduler: ScanScheduler
    var motion: FrameMotion
    let width: Int
    let height: Int

    init(_ width: Int, _ height: Int, smallest: Float, rolls: [Float] = [0, 40, -40]) {
        (self.width, self.height) = (width, height)
        scheduler = ScanScheduler(width: width, height: height, smallest: smallest, rolls: rolls)
        motion = FrameMotion(width: width, height: height)
        look()
    }

    /// - Parameter bright: the part that is no longer grey.
    mutating func look(bright: Rect? = nil) {
        var pixels = [UInt8](repeating: 100, count: width * height)
        if let bright {
            let (x, y) = (Int(bright.x), Int(bright.y))
            let rect = PixelRect(x: x, y: y, width: Int(bright.width), height: Int(bright.height))
                .clamped(width: width, height: height)
            for y in rect.y..<rect.y + rect.height {
                for x in rect.x..<rect.x + rect.width { pixels[y * width + x] = 200 }
            }
        }
        let nobody: [Rect] = []
        motion.update(
            LumaView(samples: pixels.span, width: width, height: height, rowStride: width), known: nobody.span)
        scheduler.record(motion)
    }

    /// The next tiles, by their index in the list.
    mutating func slices(_ count: Int, known: [Rect] = []) -> [Int] {
        (0..<count).compactMap { _ in
            let region = scheduler.advance(known: known.span)
            return region.flatMap { scheduler.tiles.firstIndex(of: $0) }
        }
    }

    /// The next tile while faces must be hidden.
    mutating func thorough() -> PatchTransform? {
        let nobody: [Rect] = []
        return scheduler.advance(known: nobody.span, thorough: true)
    }

    /// The number of tiles of large faces that are searched again.
    mutating func repeats() -> Int {
        var count = 0
        for tile in 0..<scheduler.largeCount where scheduler.repeatLarge(tile) != nil { count += 1 }
        return count
    }

    var upright: [Int] { scheduler.tiles.indices.filter { scheduler.tiles[$0].roll == 0 } }
}

struct ScanSchedulerTests {
    @Test(arguments: [
        (640, 360, 20), (1280, 720, 36), (1920, 1080, 54), (640, 480, 60), (360, 640, 24), (3840, 720, 36),
    ])
    func `without motion everything is searched upright, the largest first, before anything is searched twice`(
        width: Int, height: Int, smallest: Int
    ) {
        var scene = Scene(width, height, smallest: Float(smallest))
        let upright = scene.upright
        #expect(!upright.isEmpty && upright.count < scene.scheduler.tiles.count)
        var order: [Int] = []
        while order.count < upright.count {
            #expect(!scene.scheduler.isComplete, "after \(order.count) of \(upright.count) slices")
            order += scene.slices(1)
        }
        #expect(scene.scheduler.isComplete)
        #expect(Set(order) == Set(upright))
        #expect(order.first == upright.first)
        let scales = upright.map { scene.scheduler.tiles[$0].scale }
        #expect(order.first.map { scene.scheduler.tiles[$0].scale } == scales.max())
    }

    @Test func `below a limit only smaller windows are searched for`() {
        let whole = ScanScheduler(width: 1280, height: 720, smallest: 24, rolls: [0])
        let small = ScanScheduler(width: 1280, height: 720, smallest: 24, limit: 36, rolls: [0])
        #expect(Set(small.tiles.map(\.scale)) == [1.2])
        #expect(small.tiles.count == whole.tiles.count { $0.scale == 1.2 })
        #expect(ScanScheduler(width: 640, height: 480, smallest: 24, limit: 24, rolls: [0]).isComplete)
    }

    @Test func `while faces must be hidden, every tile is searched several times first, at other sizes`() {
        var scene = Scene(1280, 720, smallest: 36)
        let tiles = scene.scheduler.tiles
        let large = tiles.prefix { $0.roll == 0 && $0.scale * 20 >= 180 }.count
        #expect(scene.scheduler.largeCount == large && (1..<10).contains(large))
        var scales: [Point: [Float]] = [:]
        var (complete, searches) = (0, 0)
        while scene.scheduler.lacksSearches {
            guard let region = scene.thorough() else { break }
            if region.roll == 0 { scales[region.center, default: []].append(region.scale) }
            searches += 1
            if scene.scheduler.isComplete(awaitsLarge: true) && complete == 0 { complete = searches }
        }
        let (upright, tilted) = (scene.upright.count, tiles.count - scene.upright.count)
        // Once the frame may be shown, every second tile is the most urgent one.
        let needed = 3 * upright + 2 * large + tilted
        #expect((needed..<2 * needed).contains(searches))
        #expect(complete > 2 * upright && complete < searches)
        // Each size of each place once, and those between the steps.
        #expect(scales.values.allSatisfy { Set($0).count >= 3 })

        scene.scheduler.restartSearches()
        #expect(scene.scheduler.lacksSearches && !scene.scheduler.isComplete(awaitsLarge: false))
    }

    @Test func `large faces are searched for again in the next frames`() {
        var scene = Scene(1280, 720, smallest: 36)
        let before = scene.repeats()
        _ = scene.slices(scene.scheduler.tiles.count { $0.roll == 0 })
        let large = scene.scheduler.largeCount
        let after = [scene.repeats(), scene.repeats(), scene.repeats(), scene.repeats(), scene.repeats()]
        #expect([before] + after == [0, large, large, large, large, 0])
    }

    @Test func `nothing waits forever, not even tilted heads`() {
        var scene = Scene(640, 360, smallest: 20)
        let count = scene.scheduler.tiles.count
        let order = scene.slices(12 * count)
        let seldom = scene.scheduler.tiles.indices.map { at in order.count { $0 == at } }.min() ?? 0
        print("\(count) slices; in 12 times as many each was searched \(seldom) times or more")
        #expect(seldom >= 2)
    }

    @Test func `the same frames give the same order`() {
        func order() -> [Int] {
            var scene = Scene(640, 360, smallest: 20)
            var order = scene.slices(40)
            scene.look(bright: Rect(x: 400, y: 100, width: 120, height: 120))
            order += scene.slices(40)
            scene.scheduler.prioritize(around: Point(100, 100))
            return order + scene.slices(40, known: [Rect(x: 200, y: 90, width: 80, height: 80)])
        }
        let first = order()
        #expect(first.count == 120)
        #expect(order() == first)
    }

    /// The number of tiles until a place is searched with windows of that scale.
    private func wait(_ scene: inout Scene, for place: Point, scale: Float) -> Int {
        for slice in 1...400 {
            guard let at = scene.slices(1).first else { return 400 }
            let region = scene.scheduler.tiles[at]
            let rect = region.bounds(side: ScanScheduler.side)
            let off = rect.center - place
            let isThere = abs(off.x) < rect.width / 2 && abs(off.y) < rect.height / 2
            if isThere && region.roll == 0 && region.scale == scale { return slice }
        }
        return 400
    }

    @Test(arguments: [1, 2]) func `parts that move are searched sooner, also if they have stopped`(frames: Int) throws {
        // The smallest windows, which have the most tiles and wait longest.
        let scales = Scene(1280, 720, smallest: 36).scheduler.tiles.map(\.scale)
        let smallest = try #require(scales.min())
        var (still, moved) = (0, 0)
        for place in [Point(100, 100), Point(640, 360), Point(1150, 600), Point(900, 120)] {
            for isMoved in [false, true] {
                var scene = Scene(1280, 720, smallest: 36)
                _ = scene.slices(150)
                for _ in 0..<(isMoved ? frames : 0) {
                    scene.look(bright: Rect(x: place.x - 90, y: place.y - 90, width: 180, height: 180))
                }
                let waited = wait(&scene, for: place, scale: smallest)
                if isMoved { moved += waited } else { still += waited }
            }
        }
        print("slices until a place is searched for small faces: still \(still), moved \(moved), of four")
        #expect(moved * 2 < still)
    }

    @Test func `the place of a lost face is searched first, at every size and tilt`() {
        var scene = Scene(1280, 720, smallest: 36)
        _ = scene.slices(3 * scene.scheduler.tiles.count)
        #expect(scene.scheduler.isComplete)
        let place = Point(900, 200)
        scene.scheduler.prioritize(around: place)
        #expect(!scene.scheduler.isComplete)
        func shows(_ at: Int) -> Bool {
            let rect = scene.scheduler.tiles[at].bounds(side: ScanScheduler.side)
            return abs(rect.center.x - place.x) < rect.width / 2 && abs(rect.center.y - place.y) < rect.height / 2
        }
        let hurried = scene.scheduler.tiles.indices.filter(shows)
        let sizes = Set(scene.scheduler.tiles.map(\.scale))
        #expect(Set(hurried.map { scene.scheduler.tiles[$0].scale }) == sizes)
        #expect(hurried.count < scene.scheduler.tiles.count * 2 / 3, "else there is nothing to hurry past")
        #expect(Set(scene.slices(hurried.count)) == Set(hurried))
        #expect(scene.scheduler.isComplete)
    }

    @Test func `places that known faces cover are skipped, and nothing else`() {
        var scene = Scene(640, 360, smallest: 20)
        // A face half as wide as the frame.
        let face = Rect(x: 20, y: -20, width: 400, height: 400)
        let order = Set(scene.slices(6 * scene.scheduler.tiles.count, known: [face]))
        var hidden = 0
        for (at, region) in scene.scheduler.tiles.enumerated() {
            let rect = region.bounds(side: ScanScheduler.side)
            let covered = rect.overlap(face) / rect.area
            if covered > 0.71 { hidden += 1 }
            if abs(covered - 0.7) > 0.01 { #expect(order.contains(at) == (covered < 0.7), "\(region): \(covered)") }
        }
        #expect(hidden > 3)
        #expect(scene.scheduler.isComplete, "what is covered need not be searched")
        // If everything is covered there is nothing to do, and the search ends.
        let everything = Rect(x: -3000, y: -3000, width: 9000, height: 9000)
        #expect(scene.slices(5, known: [everything]).isEmpty)
    }

    @Test func `what moves by a head's area is searched at each size that it may have`() {
        var scene = Scene(1280, 720, smallest: 36)
        _ = scene.slices(2 * scene.scheduler.tiles.count)
        scene.look()
        let levels = scene.scheduler.levels
        #expect(levels.map(\.count).reduce(0, +) == scene.upright.count)
        func searched() -> [PatchTransform?] { levels.indices.map { scene.scheduler.searchMoved(level: $0) } }
        #expect(searched().allSatisfy { $0 == nil }, "nothing has moved")
        let head = Rect(x: 300, y: 200, width: 280, height: 280)
        scene.look(bright: head)
        let regions = searched()
        #expect(regions.count { $0 != nil } >= levels.count - 1, "\(regions)")
        #expect(regions.allSatisfy { $0.map { $0.bounds(side: ScanScheduler.side).overlap(head) > 0 } ?? true })
    }

    @Test(arguments: [(20, 20), (1, 1), (16, 4000), (21, 21), (4000, 25)])
    func `frames too small for any face are completed too`(width: Int, height: Int) {
        var scene = Scene(width, height, smallest: 20)
        let count = scene.scheduler.tiles.count
        let order = scene.slices(count + 3)
        #expect(order.count == (count == 0 ? 0 : count + 3))
    }
}
