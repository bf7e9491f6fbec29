import Compose
import Frames
import SystemKit

/// A picture that may leave the program.
///
/// Sinks, recordings, snapshots, the page and photos accept no other type, so code that forgets to check a picture does
/// not compile. The one exception is the picture without masks, which the user's own page shows on request. Only
/// `PrivacyGate` creates one from a camera's picture; a `Placeholder` shows nobody.
public struct PublishableFrame: ~Escapable {
    /// The picture.
    public let view: FrameView
    /// Whether it is a placeholder, which has words on it.
    public let isPlaceholder: Bool

    /// The size and memory layout of the picture.
    public var layout: FrameLayout { view.layout }

    @_lifetime(copy view)
    init(_ view: FrameView, isPlaceholder: Bool = false) { (self.view, self.isPlaceholder) = (view, isPlaceholder) }
}

/// A publishable picture that owns its bytes: for another thread, or in a sink's own layout.
public struct PublishableCopy: ~Copyable, Sendable {
    private var storage: Frame

    /// Creates a black picture.
    public init(_ layout: FrameLayout) { storage = Frame(layout) }

    /// The picture, borrowed from this copy.
    public var frame: PublishableFrame {
        @_lifetime(borrow self) get { PublishableFrame(storage.view) }
    }

    /// The size and memory layout of the picture.
    public var layout: FrameLayout { storage.layout }

    /// Copies a picture of the same size, converted to this copy's format.
    public mutating func copy(_ frame: borrowing PublishableFrame) { convert(frame.view, into: &storage) }

    fileprivate mutating func copy(_ frame: borrowing PublishableFrame, with scaler: inout Scaler) {
        scaler.scale(frame.view, into: &storage)
    }
}

/// A publishable picture in another layout than it came in. Allocates only when one of the layouts changes.
public struct ScaledCopy: ~Copyable {
    private var copy = PublishableCopy(.onePixel)
    private var scaler: Scaler?

    /// Creates a copy of nothing yet.
    public init() {}

    /// The picture that was scaled last, borrowed from this copy.
    public var frame: PublishableFrame {
        @_lifetime(borrow self) get { copy.frame }
    }

    /// Scales a picture to a layout.
    public mutating func scale(_ frame: borrowing PublishableFrame, to layout: FrameLayout) {
        if copy.layout != layout { copy = PublishableCopy(layout) }
        if scaler?.input != frame.layout || scaler?.output != layout {
            scaler = Scaler(from: frame.layout, to: layout)
        }
        scaler?.scale(frame, into: &copy)
    }
}

extension Scaler {
    fileprivate mutating func scale(_ frame: borrowing PublishableFrame, into copy: inout PublishableCopy) {
        copy.copy(frame, with: &self)
    }
}

/// A picture with text, published if there is no picture or if it must not be shown.
public struct Placeholder: ~Copyable, Sendable {
    private let storage: Frame

    /// Creates a placeholder without text.
    public init(plain layout: FrameLayout) {
        var frame = Frame(layout)
        frame.fillPlaceholderBackground()
        storage = frame
    }

    /// Draws a placeholder with text, or without if the text cannot be drawn. Takes some milliseconds and starts a
    /// process: not for the frame loop.
    /// - Parameters:
    ///   - title: a few words.
    ///   - text: one or two sentences; may be empty.
    public init(title: String, text: String, _ layout: FrameLayout) {
        storage = PlaceholderImage.frame(title: title, text: text, layout)
    }

    /// The picture, borrowed from this placeholder.
    public var frame: PublishableFrame {
        @_lifetime(borrow self) get { PublishableFrame(storage.view, isPlaceholder: true) }
    }
}
