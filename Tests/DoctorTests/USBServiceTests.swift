import Foundation
import Frames
import Testing
import V4L2

@testable import Doctor
@testable import SystemKit

extension Machine {
    /// Adds the camera that Guise presents.
    fileprivate func addOwnCamera() {
        let capabilities = Capabilities(
            driver: "uvcvideo", card: "Guise Camera: Guise Camera", bus: "usb-vhci_hcd.0-1", isCapture: true,
            isOutput: false)
        system.devices.append(DeviceListing(path: "/dev/video4", capabilities: capabilities, isOwnCamera: true))
    }

    fileprivate func finding() -> Finding? { Check.usbCamera.probe(system) }
}

@Suite struct USBServiceTests {
    private let unit = "/etc/systemd/system/guise-camera.service"

    @Test func `with the USB camera nothing is wrong without a loopback`() throws {
        let machine = try Machine()
        #expect(Check.module.probe(machine.system)?.state == .error)
        machine.addOwnCamera()
        #expect(machine.finding()?.state == .ok)
        #expect(Check.module.probe(machine.system) == nil && Check.kernel.probe(machine.system) == nil)
        #expect(Check.camera.probe(machine.system)?.message.contains("there is no camera") == true)
        try machine.run("firefox", 12, on: "/dev/video4")
        #expect(machine.finding()?.message.contains("firefox (12)") == true)
    }

    @Test func `a running Guise that feeds something else is reported, with how to change that`() throws {
        let machine = try Machine()
        let socket = "/run/user/1000/guise/control.sock"
        let page = "page http://127.0.0.1:8787"
        func feed(_ outputs: String...) {
            let list = outputs.map { "\"\($0)\"" }.joined(separator: ", ")
            machine.system.query = { _, _ in .line("{\"ok\": {\"outputs\": [\(list)]}}") }
        }
        feed(page)
        try machine.put(socket)
        #expect(Check.feeder.probe(machine.system) == nil, "there is no USB camera")
        machine.addOwnCamera()
        try machine.expect(
            .feeder, .warning, "feeds \(page), but not the USB camera (/dev/video4)",
            fix: "end it, and start it with `guise run --sink usb`")
        machine.unit("guise.service", "LoadState=loaded", "ActiveState=active")
        machine.system.setting = .read(file: "/home/ann/.config/guise/config.json", width: 1280, height: 720)
        try machine.expect(
            .feeder, .warning, "placeholder",
            fix: "set \"sinks\" to [\"auto\"] in /home/ann/.config/guise/config.json, "
                + "then: systemctl --user restart guise.service")
        feed("Guise Camera (USB)", page)
        try machine.expect(.feeder, .ok, "feeds the USB camera")
        machine.system.query = { _, _ in .line("{\"error\": {}}") }
        #expect(Check.feeder.probe(machine.system) == nil, "it is not a daemon of this version")
        machine.unit("guise.service", "LoadState=loaded", "ActiveState=inactive")
        machine.unit("guise.socket", "LoadState=loaded", "ActiveState=active")
        machine.system.query = { _, _ in
            Issue.record("the daemon was started")
            return .silent
        }
        #expect(Check.feeder.probe(machine.system) == nil)
    }

    @Test func `two cameras of the same name are a warning`() throws {
        let machine = try Machine()
        try machine.load()
        machine.addOwnCamera()
        machine.addLoopback(capture: false, output: true)
        let finding = try #require(machine.finding())
        #expect(finding.state == .warning && finding.fix.contains("modprobe -r v4l2loopback"))
    }

    @Test(arguments: [
        ("ID=debian\n", "sudo apt install linux-image-amd64 && sudo reboot"),
        ("ID=ubuntu\nID_LIKE=debian\n", "sudo apt install linux-modules-extra-6.1.0-31-amd64"),
        ("ID=fedora\n", "sudo dnf install kernel-modules-extra"), ("ID=arch\n", "install your system's package"),
    ])
    func `the package that brings the missing module is named`(_ release: String, _ fix: String) throws {
        let machine = try Machine()
        try machine.put("/etc/os-release", release)
        #expect(machine.finding() == nil)
        try machine.put(unit)
        let finding = try #require(machine.finding())
        #expect(finding.state == .error && finding.message.contains("vhci-hcd") && finding.fix.hasPrefix(fix))
    }

    @Test func `Debian's kernel is named for the machine's architecture`() throws {
        let machine = try Machine()
        try machine.put("/etc/os-release", "ID=debian\n")
        try machine.put("/proc/sys/kernel/osrelease", "6.12.48+deb13-cloud-arm64\n")
        try machine.put(unit)
        #expect(machine.finding()?.fix == "sudo apt install linux-image-arm64 && sudo reboot")
    }

    @Test func `a service that is missing or not running is reported`() throws {
        let machine = try Machine()
        try machine.put("/lib/modules/\(Machine.kernel)/modules.dep", "kernel/drivers/usb/usbip/vhci-hcd.ko.xz:\n")
        #expect(machine.finding()?.fix == "guise install")
        try machine.put(unit)
        let finding = try #require(machine.finding())
        #expect(finding.state == .error && finding.fix == "sudo systemctl restart guise-camera")
        let packaged = try Machine()
        try packaged.put("/lib/modules/\(Machine.kernel)/modules.dep", "kernel/drivers/usb/usbip/vhci-hcd.ko.xz:\n")
        try packaged.put("/usr/lib/systemd/system/guise-camera.service")
        #expect(packaged.finding() == finding)
    }
}
