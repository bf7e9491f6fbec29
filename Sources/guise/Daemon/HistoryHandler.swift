import Control

/// Answers requests that undo or redo changes.
struct HistoryHandler {
    let history: ChangeHistory

    func handle(_ request: HistoryRequest) throws -> Answer {
        switch request {
        case .undo where history.undoesCamera: .background { [history] in try history.undo() }
        case .redo where history.redoesCamera: .background { [history] in try history.redo() }
        case .undo: .immediate(try history.undo())
        case .redo: .immediate(try history.redo())
        }
    }
}
