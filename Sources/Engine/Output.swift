import Compose
import Frames
import Privacy
import Publish
import V4L2

/// A sink, with the scaler that brings masked frames to its layout.
package final class Output {
    private var sink: (any FrameSink & ~Copyable)?
    private var scaler: Scaler?
    private var scaled: PublishableCopy
    private let isDirect: Bool
    package let description: String
    package let layout: FrameLayout
    /// True if only the newest frame matters, so that a frame may be published in between.
    package let isLive: Bool

    /// Creates an output.
    /// - Parameters:
    ///   - sink: the sink.
    ///   - input: the layout of the frames; nil for the sink's own.
    package init(_ sink: consuming any FrameSink & ~Copyable, input: FrameLayout?) {
        layout = sink.layout
        description = sink.description
        isLive = !sink.keepsFrames
        isDirect = input == nil || input == sink.layout
        scaled = PublishableCopy(isDirect ? .onePixel : sink.layout)
        if let input, !isDirect { scaler = Scaler(from: input, to: sink.layout) }
        self.sink = consume sink
    }

    package func publish(_ frame: borrowing PublishableFrame) throws {
        guard !isDirect else {
            try sink?.publish(frame)
            return
        }
        scaler?.scale(frame, into: &scaled)
        try publishScaled()
    }

    private func publishScaled() throws {
        // The sink is taken out for the call, because the exclusivity rules do not allow lending `scaled` to it in
        // place.
        guard var current = sink.take() else { return }
        do { try current.publish(scaled.frame) } catch {
            sink = consume current
            throw error
        }
        sink = consume current
    }

    /// Closes the sink; later frames are ignored.
    package func drop() { sink = nil }

    /// The events to poll for, in order to notice new readers at once.
    package var readerEvents: ReaderEvents? {
        switch sink {
        case .some(let sink): sink.readerEvents
        case .none: nil
        }
    }

    /// Whether there are readers; nil if that cannot be known.
    /// - Parameter now: nanoseconds of the monotonic clock.
    package func hasReaders(at now: UInt64) -> Bool? {
        guard var current = sink.take() else { return false }
        let answer = current.hasReaders(at: now)
        sink = consume current
        return answer
    }

    /// Sets the picture that stays on a device if the program crashes.
    /// - Parameter placeholder: in the input's layout.
    package func setCrashPlaceholder(_ placeholder: borrowing PublishableFrame) {
        guard var current = sink.take() else { return }
        if isDirect {
            current.setCrashPlaceholder(placeholder)
        } else {
            scaler?.scale(placeholder, into: &scaled)
            current.setCrashPlaceholder(scaled.frame)
        }
        sink = consume current
    }

    /// Finishes the output. A device keeps the placeholder as its last picture, not a face.
    /// - Parameter placeholder: in the input's layout.
    package func finish(placeholder: borrowing PublishableFrame) throws {
        guard let ending = sink.take() else { return }
        if isDirect {
            try ending.finish(placeholder: placeholder)
        } else {
            var own = PublishableCopy(layout)
            scaler?.scale(placeholder, into: &own)
            try ending.finish(placeholder: own.frame)
        }
    }
}
