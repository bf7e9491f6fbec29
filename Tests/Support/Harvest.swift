import Capture
import Frames
import SystemKit
import Testing

/// The frames read, and how the source ended.
public struct Harvest {
    public var frames: [[UInt8]] = []
    public var times: [FrameTime] = []
}

/// Reads a source to its end, at most `limit` frames.
public func harvest(_ source: inout Clip, limit: Int = 1000) throws -> Harvest {
    var harvest = Harvest()
    while harvest.frames.count < limit {
        let result = try source.withFrame { view, time in
            let bytes = view.bytes
            harvest.frames.append(bytes.indices.map { bytes[$0] })
            harvest.times.append(time)
        }
        switch result {
        case .frame: continue
        case .end: return harvest
        case .nothing:
            let isReady = PollClock.system.waits(for: source.descriptor ?? -1, milliseconds: -1)
            try #require(isReady, "the decoder gives something")
        }
    }
    return harvest
}
