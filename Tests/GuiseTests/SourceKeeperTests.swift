import Capture
import Foundation
import Frames
import Synchronization
import TestSupport
import Testing

@testable import guise

/// Cameras are opened and closed beside the loop.
@Suite(.needsSample) struct SourceKeeperTests {
    private static let wanted = SourceKeeper.Wanted(source: "sample", camera: Configuration.Picture())

    /// Seconds until a source is there.
    private func wait(_ keeper: SourceKeeper) -> Double {
        let asked = Date()
        while Date().timeIntervalSince(asked) < 5 {
            if let source = keeper.take() {
                keeper.giveBack(source, nil)
                break
            }
            usleep(2000)
        }
        return Date().timeIntervalSince(asked)
    }

    @Test func `what nobody wanted for a while is opened again at once, what failed after a pause`() throws {
        let opened = Atomic<Int>(0)
        let keeper = try SourceKeeper(wake: try Bell()) { _ in
            opened.add(1, ordering: .relaxed)
            return try Sample(path: Fixtures.sample, width: 64, height: 64)
        } closing: {
        } failed: { _ in
        }
        defer { keeper.close() }
        var delays: [Double] = []
        for _ in 0..<4 {
            keeper.want(Self.wanted)
            delays.append(wait(keeper))
            keeper.want(nil)
            usleep(20_000)
        }
        #expect(delays.dropFirst().allSatisfy { $0 < 0.4 }, "\(delays) s")
        #expect(opened.load(ordering: .relaxed) == 4)
        // It ended by itself: not again at once.
        keeper.want(Self.wanted)
        while true {
            guard let source = keeper.take() else {
                usleep(2000)
                continue
            }
            keeper.giveBack(source, Problem(.gone, "it is gone"))
            break
        }
        #expect(wait(keeper) > 0.4)
    }
}
