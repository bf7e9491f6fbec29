import Frames
import Privacy
import Publish
import V4L2

/// A sink, for which frames of other layouts are scaled.
package final class Output {
    private var sink: (any FrameSink & ~Copyable)?
    /// The last frame in the sink's layout, if it came in another one.
    private var scaled = ScaledCopy()
    package let description: String
    package let layout: FrameLayout
    private let takesAnySize: Bool
    /// Whether it must get a placeholder now and then while nobody reads.
    package let needsIdlePlaceholder: Bool
    /// True if only the newest frame matters, so that a frame may be published in between.
    package let isLive: Bool
    private var hasFailed = false

    /// Creates an output for frames of any layout.
    package init(_ sink: consuming any FrameSink & ~Copyable) {
        layout = sink.layout
        description = sink.description
        isLive = !sink.keepsFrames
        takesAnySize = sink.takesAnySize
        needsIdlePlaceholder = sink.needsIdlePlaceholder
        self.sink = consume sink
    }

    package func publish(_ frame: borrowing PublishableFrame) throws {
        guard !hasFailed else { return }
        guard !takes(frame.layout) else {
            try sink?.publish(frame)
            return
        }
        scaled.scale(frame, to: layout)
        // The sink is taken out for the call, because the exclusivity rules do not allow lending `scaled` to it in
        // place.
        guard var current = sink.take() else { return }
        do { try current.publish(scaled.frame) } catch {
            sink = consume current
            throw error
        }
        sink = consume current
    }

    private func takes(_ other: FrameLayout) -> Bool {
        other == layout || takesAnySize && layout.isResized(other)
    }

    /// Ignores later frames. `finish` keeps what a file has until then: it may take long.
    package func drop() { hasFailed = true }

    /// How readers coming and going are noticed.
    package var readerNotice: ReaderNotice {
        switch sink {
        case .some(let sink): sink.readerNotice
        case .none: .polled(nil)
        }
    }

    /// Whether there are readers; nil if that cannot be known.
    /// - Parameter now: nanoseconds of the monotonic clock.
    package func hasReaders(at now: UInt64) -> Bool? {
        guard !hasFailed, var current = sink.take() else { return false }
        let answer = current.hasReaders(at: now)
        sink = consume current
        return answer
    }

    /// The size that the reader has chosen, in pixels; nil without a reader, or if it has no choice.
    package var chosenSize: FrameSize? {
        guard takesAnySize else { return nil }
        return switch sink {
        case .some(let sink): sink.chosenSize
        case .none: nil
        }
    }

    /// Sets the picture that stays on a device if the program crashes.
    package func setCrashPlaceholder(_ placeholder: borrowing PublishableFrame) {
        guard var current = sink.take() else { return }
        if takes(placeholder.layout) {
            current.setCrashPlaceholder(placeholder)
        } else {
            scaled.scale(placeholder, to: layout)
            current.setCrashPlaceholder(scaled.frame)
        }
        sink = consume current
    }

    /// Finishes the output. A device keeps the placeholder as its last picture, not a face.
    package func finish(placeholder: borrowing PublishableFrame) throws {
        guard let ending = sink.take() else { return }
        if takes(placeholder.layout) {
            try ending.finish(placeholder: placeholder)
        } else {
            var own = ScaledCopy()
            own.scale(placeholder, to: layout)
            try ending.finish(placeholder: own.frame)
        }
    }
}
