import Testing

@testable import USBCamera

private let mode = CameraMode.all[0]
private let ms: UInt64 = 1_000_000

@Suite struct FrameSchedulerTests {
    /// A scheduler with a reader at 30 fps since 0 ms, whose feeder has shown slot 0 at 10 ms.
    private func running() -> FrameScheduler {
        var scheduler = FrameScheduler()
        scheduler.setFed(true, at: 0)
        #expect(scheduler.setStream(mode, interval: 333_333, at: 0) == [])
        #expect(scheduler.offer(0, width: 1280, height: 720, at: 10 * ms) == nil)
        #expect(scheduler.begin(at: 10 * ms)?.picture == .slot(0))
        return scheduler
    }

    @Test func `a new picture is sent at once, and releases the old one`() {
        var scheduler = running()
        #expect(scheduler.offer(1, width: 1280, height: 720, at: 43 * ms) == nil)
        #expect(scheduler.holds(0) && scheduler.holds(1) && !scheduler.holds(2))
        let next = scheduler.begin(at: 43 * ms)
        #expect(next?.picture == .slot(1) && next?.unused == 0)
    }

    @Test func `a program that is expected back has a second, and then the placeholder is shown`() {
        var scheduler = FrameScheduler()
        #expect(scheduler.setStream(mode, interval: 333_333, at: 0) == [])
        scheduler.awaitFeeder()
        #expect(scheduler.begin(at: 900 * ms) == nil)
        #expect(scheduler.begin(at: 1000 * ms)?.picture == .placeholder)
        // The next reader does not wait for a program that did not come.
        _ = scheduler.setStream(nil, interval: 333_333, at: 2000 * ms)
        _ = scheduler.setStream(mode, interval: 333_333, at: 3000 * ms)
        #expect(scheduler.begin(at: 3000 * ms)?.picture == .placeholder)
        scheduler = FrameScheduler()
        #expect(scheduler.setStream(mode, interval: 333_333, at: 0) == [])
        scheduler.awaitFeeder()
        scheduler.setFed(true, at: 200 * ms)
        #expect(scheduler.begin(at: 210 * ms) == nil)
        #expect(scheduler.offer(0, width: 1280, height: 720, at: 220 * ms) == nil)
        #expect(scheduler.begin(at: 220 * ms)?.picture == .slot(0))
    }

    @Test func `a faster source loses pictures, of which the newest counts`() {
        var scheduler = running()
        #expect(scheduler.offer(1, width: 1280, height: 720, at: 15 * ms) == nil)
        #expect(scheduler.begin(at: 15 * ms) == nil)
        #expect(scheduler.offer(2, width: 1280, height: 720, at: 25 * ms) == 1)
        #expect(scheduler.due == 10 * ms + 333_333 * 75)
        #expect(scheduler.begin(at: 36 * ms)?.picture == .slot(2))
    }

    @Test(arguments: [(60, 333_333), (30, 666_666)] as [(UInt64, UInt32)])
    func `a source of twice the reader's rate gives it pictures at the reader's rate`(
        _ rate: UInt64, _ interval: UInt32
    ) {
        var scheduler = FrameScheduler()
        scheduler.setFed(true, at: 0)
        _ = scheduler.setStream(mode, interval: interval, at: 0)
        var (offers, pictures): (UInt64, UInt64) = (0, 0)
        for time in 0..<UInt64(10_000) {
            if time * rate / 1000 > offers {
                offers += 1
                _ = scheduler.offer(Int(offers % 3), width: 1280, height: 720, at: time * ms)
            }
            if scheduler.begin(at: time * ms) != nil { pictures += 1 }
        }
        let wanted = 5 * rate
        #expect((wanted - 2...wanted + wanted / 50 + 2).contains(pictures), "\(pictures) instead of \(wanted)")
    }

    @Test func `pictures that come at the reader's rate never wait, even if each second one is late`() {
        var scheduler = FrameScheduler()
        scheduler.setFed(true, at: 0)
        _ = scheduler.setStream(mode, interval: 333_333, at: 0)
        for number in 1..<UInt64(100) {
            let time = (number * 100 / 3 + number % 2 * 8) * ms
            _ = scheduler.offer(Int(number % 3), width: 1280, height: 720, at: time)
            #expect(scheduler.begin(at: time)?.picture == .slot(Int(number % 3)), "\(number)")
        }
    }

    @Test func `the last picture is repeated for a slower source, which is not delayed by that`() {
        var scheduler = running()
        #expect(scheduler.begin(at: 43 * ms) == nil)
        #expect(scheduler.begin(at: 60 * ms)?.picture == .slot(0))
        #expect(scheduler.offer(1, width: 1280, height: 720, at: 61 * ms) == nil)
        #expect(scheduler.begin(at: 61 * ms)?.picture == .slot(1))
    }

    @Test func `pictures of another size are given back`() {
        var scheduler = running()
        #expect(scheduler.offer(1, width: 640, height: 480, at: 20 * ms) == 1)
        var idle = FrameScheduler()
        #expect(idle.offer(1, width: 1280, height: 720, at: 0) == 1)
    }

    @Test func `the placeholder is shown at once when the feeder ends, and a stalled one's picture not for ever`() {
        var scheduler = running()
        scheduler.setFed(false, at: 20 * ms)
        #expect(!scheduler.holds(0))
        #expect(scheduler.begin(at: 44 * ms)?.picture == .placeholder)
        var stalled = running()
        #expect(stalled.begin(at: 2009 * ms)?.picture == .slot(0))
        let placeholder = stalled.begin(at: 2100 * ms)
        #expect(placeholder?.picture == .placeholder && placeholder?.unused == 0)
    }

    @Test func `the placeholder does not wait for its turn when the feeder ends after a repetition`() {
        var scheduler = running()
        #expect(scheduler.begin(at: 60 * ms)?.picture == .slot(0))
        scheduler.setFed(false, at: 65 * ms)
        #expect(scheduler.begin(at: 65 * ms)?.picture == .placeholder)
        #expect(scheduler.begin(at: 98 * ms) == nil)
        #expect(scheduler.begin(at: 99 * ms)?.picture == .placeholder)
        // After a new picture it waits for as long as another new one.
        scheduler = running()
        scheduler.setFed(false, at: 20 * ms)
        #expect(scheduler.due == 10 * ms + 333_333 * 75)
    }

    @Test func `feeders that come and go do not make the camera faster`() {
        var scheduler = running()
        var placeholders = 0
        for time in 40..<1040 {
            scheduler.setFed(true, at: UInt64(time) * ms)
            scheduler.setFed(false, at: UInt64(time) * ms)
            if scheduler.begin(at: UInt64(time) * ms) != nil { placeholders += 1 }
        }
        #expect(placeholders == 40)
        // Nor does one that has shown nothing.
        var fresh = FrameScheduler()
        _ = fresh.setStream(mode, interval: 333_333, at: 0)
        placeholders = 0
        for time in 1..<1001 {
            fresh.setFed(true, at: UInt64(time) * ms)
            fresh.setFed(false, at: UInt64(time) * ms)
            if fresh.begin(at: UInt64(time) * ms) != nil { placeholders += 1 }
        }
        #expect(placeholders == 40)
    }

    @Test func `a reader waits for a feeder's first picture, but not for ever`() {
        var scheduler = FrameScheduler()
        scheduler.setFed(true, at: 0)
        _ = scheduler.setStream(mode, interval: 333_333, at: 0)
        #expect(scheduler.begin(at: 900 * ms) == nil)
        #expect(scheduler.begin(at: 1000 * ms)?.picture == .placeholder)
        #expect(scheduler.begin(at: 1034 * ms)?.picture == .placeholder)
    }

    @Test func `nothing is due without a reader, and slots are released when one stops`() {
        var scheduler = running()
        _ = scheduler.offer(1, width: 1280, height: 720, at: 20 * ms)
        #expect(scheduler.setStream(nil, interval: 333_333, at: 30 * ms) == [0, 1])
        #expect(scheduler.due == nil)
        #expect(scheduler.begin(at: 9000 * ms) == nil)
        // Without a feeder, the first picture is the placeholder.
        scheduler.setFed(false, at: 40 * ms)
        _ = scheduler.setStream(mode, interval: 333_333, at: 50 * ms)
        #expect(scheduler.begin(at: 50 * ms)?.picture == .placeholder)
    }

    @Test func `the placeholder is plain with a text in the middle`() {
        for mode in CameraMode.all {
            let placeholder = ServicePlaceholder.frame(mode)
            #expect(placeholder.count == mode.frameBytes && Array(placeholder.prefix(4)) == [48, 138, 48, 124])
            let row = placeholder[mode.height / 2 * mode.width * 2..<(mode.height / 2 + 1) * mode.width * 2]
            #expect(row.contains(180))
        }
    }
}
