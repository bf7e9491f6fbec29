import Testing

@testable import Doctor
@testable import SystemKit

/// What `guise` says without a command.
@Suite struct FirstStepsTests {
    private let socket = "/run/user/1000/guise/control.sock"

    @Test func `three lines say what is missing, with the command that brings it`() throws {
        let machine = try Machine()
        try machine.put("/lib/modules/\(Machine.kernel)/modules.dep", "kernel/drivers/usb/usbip/vhci-hcd.ko.xz:\n")
        let steps = machine.system.firstSteps
        #expect(steps.count == 3)
        #expect(steps[0].contains("none, so Guise shows a sample"))
        #expect(steps[1].hasSuffix("fix: guise install"))
        #expect(steps[2].contains("guise page"))
    }

    @Test func `a kernel that can have only the loopback gets its package`() throws {
        let machine = try Machine()
        try machine.put("/lib/modules/\(Machine.kernel)/modules.dep", "")
        #expect(machine.system.firstSteps[1].contains("sudo apt install v4l2loopback-dkms"))
    }

    @Test func `what is there is named`() throws {
        let machine = try Machine()
        machine.addCamera()
        machine.addLoopback(capture: false, output: true)
        let steps = machine.system.firstSteps
        #expect(steps[0] == "camera: Webcam (/dev/video0)")
        #expect(steps[1].contains("Guise Camera (/dev/video10)") && steps[1].contains("in your call"))
    }

    @Test func `a running daemon is found, and a socket on which systemd listens starts none`() throws {
        let machine = try Machine()
        #expect(!machine.system.isDaemonRunning)
        try machine.put(socket)
        #expect(!machine.system.isDaemonRunning, "a socket that a daemon left behind")
        machine.system.query = { _, _ in .line("{\"ok\": {}}") }
        #expect(machine.system.isDaemonRunning, "started by hand")
        machine.unit("guise.socket", "LoadState=loaded", "ActiveState=active")
        machine.unit("guise.service", "LoadState=loaded", "ActiveState=inactive")
        #expect(!machine.system.isDaemonRunning)
        machine.unit("guise.service", "LoadState=loaded", "ActiveState=active")
        #expect(machine.system.isDaemonRunning)
        #expect(machine.system.firstSteps[2].contains("Guise is running"))
    }

    @Test func `the launcher makes systemd read the units before it starts the socket`() throws {
        let machine = try Machine()
        #expect(!machine.system.startSocket(), "no user manager")
        machine.programs["systemctl --user daemon-reload"] = .text("")
        machine.programs["systemctl --user start guise.socket"] = .failed
        #expect(!machine.system.startSocket(), "no unit")
        machine.programs["systemctl --user start guise.socket"] = .text("")
        #expect(machine.system.startSocket())
    }
}
