import Control
import Doctor
import Engine
import SystemKit

/// Answers requests for the daemon as a whole.
struct ServiceHandler {
    let status: StatusReporter
    let mailbox: Mailbox
    let pageService: PageService
    let configuration: ConfigurationStore
    /// The folder of the installed files, which the doctor checks.
    let shared: String

    func handle(_ request: ServiceRequest) -> Answer {
        switch request {
        case .status: .immediate(status.status)
        case .faces: .immediate(FacesReply(mailbox.lastStatus.facePlacements))
        case .doctor:
            .background { [shared] in Report(System.here(shared: shared, setting: System.Setting.current())) }
        case .page:
            .background { [pageService, configuration] in
                PageReply(address: try pageService.open(port: configuration.value.port).link)
            }
        case .stop: stop()
        }
    }

    private func stop() -> Answer {
        mailbox.end()
        return .immediate(EmptyReply())
    }
}
