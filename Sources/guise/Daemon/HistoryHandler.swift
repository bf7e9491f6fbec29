import Control

/// Answers requests that take back changes.
struct HistoryHandler {
    let history: ChangeHistory

    func handle(_ request: HistoryRequest) throws -> Handling {
        switch request {
        case .undo: .now(try history.undo())
        case .redo: .now(try history.redo())
        }
    }
}
