import Capture
import Control
import Engine
import JSON
import SystemKit
import V4L2

/// Answers requests for cameras. All of them look at devices, which may take a while.
struct DeviceHandler {
    let mailbox: Mailbox
    let configuration: ConfigurationStore
    let history: ChangeHistory

    func handle(_ request: DeviceRequest) -> Answer {
        switch request {
        case .devices: .background { DeviceListReply.here() }
        case .use(let name): .background { [self] in SourceReply(source: try switchSource(name)) }
        }
    }

    private func switchSource(_ name: String) throws -> String {
        let cameras = listDevices().filter { $0.isCamera || $0.path == name }
        let found = cameras.first { $0.path == name || $0.capabilities?.card == name || $0.name == name }
        guard name == "auto" || name == "sample" || found != nil || name.hasPrefix("/") && isReadable(name) else {
            let names = cameras.map(\.title)
            throw RequestError(
                .unknownDevice,
                "no camera '\(brief(name))'; there \(names.isEmpty ? "is none" : "are: \(names.joined(separator: ", "))")"
            )
        }
        guard mailbox.settings.isSourceSwitchable else {
            throw RequestError(.notNow, "the source is a file, which can't be changed; restart with another --source")
        }
        // Another path must be a photo or clip.
        if found == nil, name.hasPrefix("/") { _ = try Clip(path: name) }
        let source = name == "auto" ? "camera" : found?.path ?? name
        try history.record("use \(name)") {
            mailbox.change { $0.source = source }
            try configuration.setSource(name == "auto" ? name : source)
        }
        return source
    }
}
