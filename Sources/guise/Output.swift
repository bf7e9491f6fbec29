import Compose
import Frames
import Privacy
import Publish
import V4L2

/// A sink with what brings the dressed frame into its layout.
final class Output {
    private var sink: (any FrameSink & ~Copyable)?
    private var scaler: Scaler?
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
        if let canvas, !isDirect { scaler = Scaler(from: canvas, to: sink.layout) }
        self.sink = consume sink
    }

    func publish(_ frame: borrowing PublishableFrame) throws {
        guard !isDirect else {
            try sink?.publish(frame)
            return
        }
        try scaler?.scale(frame, into: &scaled)
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
    var readerEvents: ReaderEvents? {
        switch sink {
        case .some(let sink): sink.readerEvents
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
    func setCrashPlaceholder(_ placeholder: borrowing PublishableFrame) {
        guard var taken = sink.take() else { return }
        if isDirect {
            taken.setCrashPlaceholder(placeholder)
        } else {
            try? scaler?.scale(placeholder, into: &scaled)
            taken.setCrashPlaceholder(scaled.frame)
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
            try scaler?.scale(placeholder, into: &own)
            try ending.finish(placeholder: own.frame)
        }
    }
}
