import Capture
import Compose
import Frames
import Privacy
import Publish
import V4L2

/// A new source or sink is a new file in Capture or Publish, and a case here.
extension Session {
    /// - Parameters:
    ///   - spec: `camera`, `/dev/videoN`, `sample`, or a file.
    ///   - loop: a file begins again at its end.
    /// - Throws: `Problem` with the cure.
    func openSource(_ spec: String, loop: Bool) throws -> any FrameSource & ~Copyable {
        let wanted = configuration.camera
        switch spec {
        case "camera":
            return try Camera(path: nil, width: wanted.width, height: wanted.height, rate: wanted.rate)
        case let node where node.hasPrefix("/dev/video"):
            return try Camera(path: node, width: wanted.width, height: wanted.height, rate: wanted.rate)
        case "sample":
            return try openSample()
        default:
            return try Clip(path: spec, loop: loop)
        }
    }

    func openSample() throws -> Sample {
        guard isReadable(places.sample) else {
            throw Problem(.missing, "the sample picture \(places.sample) is not there", cure: "run `make sample`")
        }
        return try Sample(path: places.sample, width: configuration.output.width, height: configuration.output.height)
    }

    /// - Parameters:
    ///   - spec: `loopback`, `/dev/videoN`, `null`, or a file. The page is no sink of frames: it takes copies.
    ///   - layout: what the other sinks get, or would get from this one.
    ///   - overwrites: a file that exists is replaced.
    /// - Throws: `Problem` with the cure.
    func openSink(
        _ spec: String, _ layout: FrameLayout, rate: Double, overwrites: Bool
    ) throws -> any FrameSink & ~Copyable {
        switch spec {
        case "loopback":
            return try Loopback(path: nil, width: layout.width, height: layout.height, rate: rate)
        case let node where node.hasPrefix("/dev/video"):
            return try Loopback(path: node, width: layout.width, height: layout.height, rate: rate)
        case "null":
            return NullSink(layout: layout)
        default:
            return try FileSink(path: spec, layout: layout, rate: rate, overwrites: overwrites)
        }
    }

    /// What `auto` means on this machine, and the lines that say so and how to get the rest.
    func choose(source: String, sinks: [String]) -> (source: String, sinks: [String], notes: [String]) {
        let devices = source == "auto" || sinks.contains("auto") ? listDevices() : []
        var notes: [String] = []
        var source = source
        if source == "auto" {
            // A card says so where neither is there, until a camera is plugged in.
            let camera = devices.contains { $0.isCamera && !$0.isLoopback } || !isReadable(places.sample)
            source = camera ? "camera" : "sample"
            notes.append(
                camera
                    ? "source: the camera (another: --source /dev/videoN, `guise devices` lists them)"
                    : "source: the sample, for there is no camera (plug one in, or name a clip: --source FILE)")
        }
        var sinks = sinks
        if let place = sinks.firstIndex(of: "auto") {
            let loopback = devices.contains { $0.isLoopback }
            sinks[place] = loopback ? "loopback" : "page"
            notes.append(
                loopback
                    ? "sink: the virtual camera (see it in a browser too: --sink loopback --sink page)"
                    : "sink: a page, for there is no v4l2loopback (get it: sudo apt install v4l2loopback-dkms; "
                        + "sudo modprobe v4l2loopback exclusive_caps=1 card_label=\"Guise Camera\")")
        }
        return (source, sinks, notes)
    }
}

/// A sink with what brings the dressed frame into its layout.
final class Output {
    private var sink: (any FrameSink & ~Copyable)?
    private var fitter: Fitter?
    private var scaled: PublishableCopy
    private let isDirect: Bool
    let description: String
    let layout: FrameLayout
    /// Only the newest frame counts: one may be given in between.
    let isLive: Bool

    /// - Parameter canvas: the layout of the frames to come; nil: this sink's own.
    init(_ sink: consuming any FrameSink & ~Copyable, canvas: FrameLayout?) {
        layout = sink.layout
        description = sink.description
        isLive = !sink.keepsFrames
        isDirect = canvas == nil || canvas == sink.layout
        scaled = PublishableCopy(isDirect ? .onePixel : sink.layout)
        if let canvas, !isDirect { fitter = Fitter(from: canvas, to: sink.layout) }
        self.sink = consume sink
    }

    func publish(_ frame: borrowing PublishableFrame) throws {
        guard !isDirect else {
            try sink?.publish(frame)
            return
        }
        try fitter?.scale(frame, into: &scaled)
        try publishScaled()
    }

    private func publishScaled() throws {
        // Taken out for the call: a frame of this object may not be lent to another part of it otherwise.
        guard var taken = sink.take() else { return }
        do { try taken.publish(scaled.frame) } catch {
            sink = consume taken
            throw error
        }
        sink = consume taken
    }

    /// Writes there no more.
    func drop() { sink = nil }

    /// What to poll for, so that it is heard at once when somebody begins to watch.
    var readerNews: ReaderNews? {
        switch sink {
        case .some(let sink): sink.readerNews
        case .none: nil
        }
    }

    /// Whether somebody watches; nil: that cannot be known.
    func isWatched(at now: UInt64) -> Bool? {
        guard var taken = sink.take() else { return false }
        let answer = taken.isWatched(at: now)
        sink = consume taken
        return answer
    }

    /// What is left on a device should the program die.
    /// - Parameter placeholder: in the canvas's layout.
    func keep(placeholder: borrowing PublishableFrame) {
        guard var taken = sink.take() else { return }
        if isDirect {
            taken.keep(placeholder: placeholder)
        } else {
            try? fitter?.scale(placeholder, into: &scaled)
            taken.keep(placeholder: scaled.frame)
        }
        sink = consume taken
    }

    /// Ends the output; a device keeps the placeholder as its last picture, not a face.
    /// - Parameter placeholder: in the canvas's layout.
    func finish(placeholder: borrowing PublishableFrame) throws {
        guard let ending = sink.take() else { return }
        if isDirect {
            try ending.finish(placeholder: placeholder)
        } else {
            var own = PublishableCopy(layout)
            try fitter?.scale(placeholder, into: &own)
            try ending.finish(placeholder: own.frame)
        }
    }
}
