import Control

/// Answers requests that undo or redo changes.
struct HistoryHandler {
    let history: ChangeHistory

    func handle(_ request: HistoryRequest) throws -> Answer {
        switch request {
        case .undo: .immediate(try history.undo())
        case .redo: .immediate(try history.redo())
        }
    }
}
