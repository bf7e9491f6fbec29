import Frames
import Privacy
import Synchronization

/// The placeholder pictures. They are drawn outside the frame loop, which publishes them. Before it is drawn, a
/// placeholder is plain.
package final class Placeholders: Sendable {
    package enum Kind: Int { case idle, paused, problem, hidden, stopped }

    private let layout: FrameLayout
    /// The placeholders in the order of `Kind`.
    private let placeholders: [5 of Mutex<Placeholder>]
    private let drawn = Atomic<Int>(0)

    package init(_ layout: FrameLayout) {
        self.layout = layout
        placeholders = InlineArray { _ in Mutex(Placeholder(plain: layout)) }
    }

    /// The number of placeholders drawn so far.
    package var revision: Int { drawn.load(ordering: .acquiring) }

    /// Draws the placeholders with a fixed text. Takes some tens of milliseconds.
    package func drawAll() {
        draw(.idle, "Guise", "The camera opens when somebody is watching.")
        draw(.paused, "Paused", "The camera is closed.")
        draw(.hidden, "One moment", "The picture returns when the faces in it are found and covered.")
        draw(.stopped, "Guise has stopped", "")
    }

    package func draw(_ kind: Kind, _ title: String, _ text: String) {
        var fresh: Placeholder? = Placeholder(title: title, text: text, layout)
        placeholders[kind.rawValue].withLock { old in
            if let new = fresh.take() { old = new }
        }
        drawn.add(1, ordering: .releasing)
    }

    /// Passes a placeholder to `body`. Does nothing if it is just being replaced; the next call succeeds.
    package func withPlaceholder(_ kind: Kind, _ body: (borrowing PublishableFrame) throws -> Void) throws {
        let outcome: Result<Void, any Error>? = placeholders[kind.rawValue].withLockIfAvailable { placeholder in
            Result { try body(placeholder.frame) }
        }
        try outcome?.get()
    }

    /// Passes the placeholder that stays after the end to `body`, which has no second try. Waits while it is being
    /// replaced.
    package func withLastPlaceholder(_ body: (borrowing PublishableFrame) throws -> Void) throws {
        let outcome: Result<Void, any Error> = placeholders[Kind.stopped.rawValue].withLock { placeholder in
            Result { try body(placeholder.frame) }
        }
        try outcome.get()
    }
}
