import Capture
import Foundation
import Frames
import TestSupport
import Testing

@testable import Track

private func detector(landmarks: String = LandmarkModel.debianPath) throws -> FaceDetector {
    try FaceDetector(
        catalog: try CascadeCatalog(folder: Fixtures.inPackage("Cascades")), landmarks: landmarks,
        cache: landmarkCache)
}

/// A tracker's results for the sample's first frames.
private func watch(_ tracker: inout Tracker, frames: Int) throws -> [[Face]] {
    var sample = try Sample(path: Fixtures.sample, width: 640, height: 360)
    var seen: [[Face]] = []
    for _ in 0..<frames {
        _ = try sample.withFrame { view, time in tracker.update(view.luma, at: time.seconds) }
        seen.append(tracker.faces)
    }
    return seen
}

@Test(.needsSample)
func `a face is detected within half a second and tracked under one id, the same in every run`() throws {
    var first = Tracker(try detector())
    var second = Tracker(try detector())
    let seen = try watch(&first, frames: 45)
    let again = try watch(&second, frames: 45)
    let found = try #require(seen.firstIndex { !$0.isEmpty })
    #expect(found < 15, "found in frame \(found)")
    for (index, faces) in seen.enumerated().dropFirst(found) {
        #expect(faces.map(\.id) == [1], "frame \(index)")
        #expect(faces.first?[.nose] == again[index].first?[.nose], "frame \(index)")
    }
}

@Test(.needsSample, arguments: [true, false])
func `known faces do not wait for the search, which detects anyone who joins`(goesOn: Bool) throws {
    let (side, height) = (320, 360)
    var sample = try Sample(path: Fixtures.sample, width: side, height: height)
    var frame = Frame(FrameLayout(width: 2 * side, height: height, format: .gray))
    var tracker = Tracker(try detector())
    var joined: Int?
    // One person at the left; from the 60th frame on a second one, who looks alike, at the right.
    for number in 0..<120 {
        _ = try sample.withFrame { view, _ in
            var bytes = frame.mutableBytes
            for y in 0..<height {
                for x in 0..<2 * side {
                    let isSeen = x < side || number >= 60
                    let place = y * view.luma.rowStride + x % side * view.luma.pixelStride
                    bytes[y * 2 * side + x] = isSeen ? view.luma.samples[place] : 90
                }
            }
        }
        tracker.update(frame.view.luma, at: Double(number) / 30, defersSearch: true)
        if goesOn { tracker.searchDeferred(frame.view.luma) }
        if tracker.faces.count == 2 { joined = joined ?? number }
        #expect(number < 15 || !tracker.faces.isEmpty, "frame \(number)")
    }
    guard goesOn else {
        #expect(joined == nil)
        return
    }
    let frames = try #require(joined) - 60
    #expect(frames >= 0 && frames < 30, "found \(frames) frames after he came")
}

@Test func `after another source, which starts at zero, the search is as fast as at the start`() throws {
    var old = Tracker(try detector())
    var fresh = Tracker(try detector())
    old.isThorough = true
    fresh.isThorough = true
    var frame = Frame(FrameLayout(width: 160, height: 120, format: .gray))
    // An hour into the first source, half of the picture changes in each frame.
    for number in 0..<4 {
        do {
            var bytes = frame.mutableBytes
            for place in bytes.indices { bytes[place] = place < 60 * 160 && number % 2 == 0 ? 200 : 90 }
        }
        old.update(frame.view.luma, at: 3600 + Double(number) / 30)
    }
    // In the second one nothing moves.
    for number in 0..<150 {
        old.update(frame.view.luma, at: Double(number) / 30)
        fresh.update(frame.view.luma, at: Double(number) / 30)
    }
    func rate(_ tracker: borrowing Tracker) -> Double {
        var budget = tracker.budget
        return budget.scanRate(tracker.situation(at: 5), at: 5)
    }
    let (oldRate, freshRate) = (rate(old), rate(fresh))
    #expect(oldRate == freshRate)
}

@Test func `cats are searched for again once known faces no longer cover everything`() throws {
    let frame = Frame(FrameLayout(width: 320, height: 240, format: .gray))
    var cats = try CatDetector(try CascadeCatalog(folder: Fixtures.inPackage("Cascades")))
    cats.restart(width: 320, height: 240)
    let motion = FrameMotion(width: 320, height: 240)
    let everywhere = [Rect(x: -1000, y: -1000, width: 3000, height: 3000)]
    let nowhere: [Rect] = []
    var nextID = 1
    cats.search(frame.view.luma, motion, known: everywhere.span, besides: [], at: 0, &nextID)
    let isBlocked = cats.region == nil
    cats.search(frame.view.luma, motion, known: nowhere.span, besides: [], at: 0, &nextID)
    let isSearching = cats.region != nil
    #expect(isBlocked && isSearching)
}

@Test func `each search for cats evaluates windows`() throws {
    let cascades = try CascadeCatalog(folder: Fixtures.inPackage("Cascades")).all(.cat)
    let window = try #require(cascades.first).window
    // In a patch enlarged to more samples than a search was sized for, none are.
    #expect(CatDetector.sizes.allSatisfy { $0 >= Float(window) })
    // Neither are windows that the neighbouring tiles do not contain.
    #expect(CatDetector.sizes.allSatisfy { $0 <= Float(ScanScheduler.sizes.upperBound) })
}

@Test(.needsSample)
func `without landmark data the eyes are still found, the face says so, and the warning names the package`() throws {
    var whole = Tracker(try detector())
    var part = Tracker(try detector(landmarks: "/nonexistent.dat"))
    #expect(whole.warning == nil)
    #expect(part.warning?.contains("libdlib-data") == true)
    try Clip.firstPicture(of: Fixtures.sample) { view in
        whole.searchWhole(view.luma)
        part.searchWhole(view.luma)
    }
    let (wanted, found) = (try #require(whole.faces.first), try #require(part.faces.first))
    #expect(wanted.basis == .landmarks && found.basis == .eyes)
    for eye in [FacePoint.rightEye, .leftEye] {
        let off = (wanted[eye] - found[eye]).length / wanted.head.scale
        #expect(off < 0.15, "\(eye) is off by \(off) eye distances")
    }
}

@Test func `without a face none is detected`() throws {
    var tracker = Tracker(try detector())
    // A slope with some texture: not flat, or no window would be tested.
    var frame = Frame(FrameLayout(width: 320, height: 240, format: .gray))
    var bytes = frame.mutableBytes
    for i in bytes.indices { bytes[i] = UInt8(truncatingIfNeeded: 60 + i % 320 / 4 + (i &* 2_654_435_761 >> 13) % 17) }
    for step in 0..<30 { tracker.update(frame.view.luma, at: Double(step) / 30) }
    #expect(tracker.faces.isEmpty)
}

@Test(arguments: [0, 40] as [Float]) func `a scan covers every place and size`(roll: Float) {
    let (width, height, smallest) = (640, 360, Float(36))
    let scheduler = ScanScheduler(width: width, height: height, smallest: smallest, rolls: [roll])
    // The smallest faces are searched for upright only.
    for size in stride(from: roll == 0 ? smallest : smallest * ScanScheduler.levelFactor + 0.1, to: 300, by: 17) {
        for x in stride(from: size / 2, through: Float(width) - size / 2, by: 31) {
            for y in stride(from: size / 2, through: Float(height) - size / 2, by: 29) {
                let isCovered = scheduler.tiles.contains { region in
                    guard let back = region.map(side: ScanScheduler.side).inverse else { return false }
                    // The largest window stands for faces up to a step larger.
                    let (p, side) = (back(Point(x, y)), size / region.scale)
                    let half = min(side, Float(ScanScheduler.sizes.upperBound)) / 2
                    let isSize = side >= 19.9 && side <= Float(ScanScheduler.sizes.upperBound) * 1.2
                    let (low, high) = (min(p.x, p.y) - half, max(p.x, p.y) + half)
                    return isSize && low >= -2 && high <= Float(ScanScheduler.side) + 1
                }
                #expect(isCovered, "a face of \(size) pixels at \(x), \(y)")
            }
        }
    }
}

@Test func `a missing or damaged cascade is an error with its file and package`() throws {
    let scratch = try ScratchFolder()
    let folder = scratch.url.path
    func catalog(_ file: String, window: Int = 20) throws {
        let text = """
            {"version": 1, "cascades": [{"name": "mine", "role": "face", "file": "\(file)", "window": \(window),
            "eyes": [0.5, 0.4], "eyeDistance": 0.4}]}
            """
        try text.write(toFile: "\(folder)/catalogue.json", atomically: true, encoding: .utf8)
    }
    func complaint() -> String {
        do {
            _ = try FaceDetector(catalog: try CascadeCatalog(folder: folder), cache: nil)
            return "no complaint"
        } catch { return "\(error)" }
    }
    try catalog("nowhere.xml")
    #expect(complaint().contains("nowhere.xml") && complaint().contains("opencv-data"))
    try catalog("broken.xml")
    try "<opencv_storage><cascade>".write(toFile: "\(folder)/broken.xml", atomically: true, encoding: .utf8)
    #expect(complaint().contains("broken.xml") && complaint().contains("opencv-data"))
    // Patches around a lost face would be too small.
    try catalog("broken.xml", window: 64)
    #expect(complaint().contains("catalogue.json") && complaint().contains("window"))
}
