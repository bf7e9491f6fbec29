import Control

/// Answers requests that undo or redo changes.
struct HistoryHandler {
    let history: ChangeHistory

    func handle(_ request: HistoryRequest) throws -> Answer {
        let direction: ChangeHistory.Direction =
            switch request {
            case .undo: .undo
            case .redo: .redo
            }
        if let reply = try history.moveState(direction) { return .immediate(reply) }
        return .background { [history] in try history.move(direction) }
    }
}
