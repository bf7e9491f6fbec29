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
