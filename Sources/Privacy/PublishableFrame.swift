import Compose
import Frames

/// A picture that may leave the program.
///
/// Sinks, recordings, snapshots, the page and photos take nothing else, so that forgetting to check a picture does not
/// compile. Of a camera's picture only `PrivacyGate` makes one; a `Placeholder` shows nobody.
public struct PublishableFrame: ~Escapable {
    /// The picture.
    public let view: FrameView

    /// Size and arrangement of the bytes.
    public var layout: FrameLayout { view.layout }

    @_lifetime(copy view)
    init(_ view: FrameView) { self.view = view }
}

/// A publishable picture that owns its bytes: for another thread, or in a sink's own layout.
public struct PublishableCopy: ~Copyable, Sendable {
    private var storage: Frame

    /// A black picture.
    public init(_ layout: FrameLayout) { storage = Frame(layout) }

    /// The picture, lent.
    public var frame: PublishableFrame {
        @_lifetime(borrow self) get { PublishableFrame(storage.view) }
    }

    /// Size and arrangement of the bytes.
    public var layout: FrameLayout { storage.layout }

    /// Copies a picture of the same size, converted to this copy's format.
    public mutating func copy(_ frame: borrowing PublishableFrame) { convert(frame.view, into: &storage) }

    fileprivate mutating func copy(_ frame: borrowing PublishableFrame, with scaler: inout Scaler) throws(Problem) {
        try scaler.fit(frame.view, into: &storage)
    }
}

extension Scaler {
    /// Scales a publishable picture into a copy, as `fit`.
    public mutating func scale(
        _ frame: borrowing PublishableFrame, into copy: inout PublishableCopy
    ) throws(Problem) {
        try copy.copy(frame, with: &self)
    }
}

/// A picture with words, published instead of one that must not be, or where there is none.
public struct Placeholder: ~Copyable, Sendable {
    private let storage: Frame

    /// Without words.
    public init(plain layout: FrameLayout) {
        var frame = Frame(layout)
        frame.fillPlaceholderBackground()
        storage = frame
    }

    /// Draws it, without words if they can't be drawn. Takes some milliseconds, and a process of its own: not for the
    /// frame loop.
    /// - Parameters:
    ///   - title: a few words.
    ///   - text: one or two sentences; may be empty.
    public init(title: String, text: String, _ layout: FrameLayout) {
        storage = PlaceholderImage.frame(title: title, text: text, layout)
    }

    /// The picture, lent.
    public var frame: PublishableFrame {
        @_lifetime(borrow self) get { PublishableFrame(storage.view) }
    }
}
