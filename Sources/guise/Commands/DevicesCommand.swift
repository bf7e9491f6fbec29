import ArgumentParser
import JSON
import SystemKit
import V4L2

/// `guise devices`: lists cameras and loopback devices.
struct DevicesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "List cameras and virtual cameras with their formats, sizes and rates.")

    @Flag(help: "Print one JSON object, the reply of the socket's request `devices`.")
    var json = false

    func run() throws {
        guard !json else { return print(JSON(encoding: DeviceListReply.here()).text) }
        let devices = listDevices()
        for device in devices { print(device) }
        if devices.isEmpty { log("no video devices: plug in a camera; for the virtual one load v4l2loopback") }
    }
}
