import Control

/// Answers requests that undo or redo changes.
struct HistoryHandler {
    let history: ChangeHistory

    func handle(_ request: HistoryRequest) throws -> Answer {
        if let reply = try history.moveState(request) { return .immediate(reply) }
        return .background { [history] in try history.move(request) }
    }
}
