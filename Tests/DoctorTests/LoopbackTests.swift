import Foundation
import Frames
import Testing

@testable import Doctor

private let reload =
    "sudo sh -c 'modprobe -r v4l2loopback && modprobe v4l2loopback exclusive_caps=1 card_label=\"Guise Camera\" "
    + "video_nr=10'"

@Test func `a module without a device is reloaded`() throws {
    let machine = try Machine()
    try machine.load()
    try machine.expect(.device, .error, "no device", fix: reload)
    #expect(Report(machine.system).errors > 0)
    machine.addLoopback("/dev/video4", card: "OBS", capture: false, output: true)
    machine.addLoopback(capture: false, output: true)
    try machine.expect(.device, .ok, "/dev/video10")
}

@Test func `another program's loopback is not Guise's`() throws {
    let machine = try Machine()
    try machine.load()
    machine.addLoopback("/dev/video4", card: "Intel MIPI Camera", capture: true, output: false)
    try machine.expect(
        .device, .error, "/dev/video4 (Intel MIPI Camera) was set up for another program", fix: "guise install")
    #expect(machine.system.loopback == nil)
}

@Test func `a relay is named by its service`() throws {
    let machine = try Machine()
    try machine.put("/proc/80/comm", "bash\n")
    #expect(Check.relay.probe(machine.system) == nil)
    try machine.put("/proc/81/comm", "v4l2-relayd\n")
    let group = "/system.slice/system-v4l2\\x2drelayd.slice/v4l2-relayd@ipu6.service"
    try machine.put("/proc/81/cgroup", "0::\(group)\n")
    try machine.expect(
        .relay, .warning, "v4l2-relayd@ipu6.service is running without a loopback of its own",
        fix: "describe the devices of both in one line: devices=2, with two values each for card_label and "
            + "exclusive_caps")
    machine.addLoopback("/dev/video4", card: "Intel MIPI Camera", capture: true, output: false)
    try machine.expect(.relay, .ok, "Guise never writes to /dev/video4 (Intel MIPI Camera)")
    // One that somebody started by hand.
    try machine.put("/proc/82/comm", "v4l2-relayd\n")
    try machine.put("/proc/82/cgroup", "0::/user.slice/user-1000.slice/session-2.scope\n")
    try machine.expect(.relay, .ok, "v4l2-relayd@ipu6.service, v4l2-relayd (82) is running")
    // Whose device this user can't see.
    machine.addLoopback(capture: true, output: false)
    try machine.expect(
        .writer, .error, "another user's program, maybe v4l2-relayd@ipu6.service", fix: "sudo fuser -v /dev/video10")
}

@Test func `another program's options for the module are reported`() throws {
    let machine = try Machine()
    try machine.load()
    #expect(Check.options.probe(machine.system) == nil)
    try machine.put("/etc/modprobe.d/guise.conf", "options v4l2loopback devices=1\n")
    try machine.put("/usr/lib/modprobe.d/relay.conf", "# options v4l2loopback none\n")
    #expect(Check.options.probe(machine.system) == nil)
    try machine.put("/usr/lib/modprobe.d/relay.conf", "options v4l2loopback card_label=\"Intel MIPI Camera\"\n")
    machine.addLoopback(card: "Intel MIPI Camera", capture: true, output: false)
    try machine.expect(
        .options, .warning, "/usr/lib/modprobe.d/relay.conf has options",
        fix: "describe the devices of both in one line: devices=2, with two values each for card_label and "
            + "exclusive_caps")
    machine.addLoopback("/dev/video11", capture: false, output: true)
    try machine.expect(.options, .ok, "Guise's device exists")
}

@Test(arguments: [
    ("Y,N", "10,-1", true), ("N,Y", "10,11", false), ("N,Y", "11,10", true), ("Y", "-1", true), ("N", "-1", false),
])
func `exclusive_caps is read for the device`(flags: String, numbers: String, isExclusive: Bool) throws {
    let machine = try Machine()
    try machine.load(exclusive: flags, numbers: numbers)
    machine.addLoopback(capture: false, output: true)
    try machine.expect(
        .exclusiveCaps, isExclusive ? .ok : .error, isExclusive ? "only as a camera" : "Chrome does not list it",
        fix: isExclusive ? "" : reload)
}

@Test func `without the module's parameter the device's own is used`() throws {
    let machine = try Machine()
    machine.addLoopback(capture: true, output: true)
    try machine.expect(.exclusiveCaps, .error, "without exclusive_caps", fix: reload)
}

@Test func `a stuck device is reloaded`() throws {
    let machine = try Machine()
    try machine.load()
    machine.addLoopback(capture: false, output: false)
    try machine.expect(.capabilities, .error, "stuck", fix: reload)
    machine.system.devices = []
    machine.addLoopback(capture: false, output: true)
    try machine.expect(.capabilities, .ok, "is waiting for a writer")
}

@Test func `another label is reported`() throws {
    let machine = try Machine()
    machine.addLoopback(card: "Dummy video device (0x0000)", capture: false, output: true)
    try machine.expect(.label, .warning, "Dummy video device (0x0000)", fix: reload)
    machine.addLoopback("/dev/video11", capture: false, output: true)
    try machine.expect(.label, .ok, "Guise Camera")
}

@Test(arguments: [
    ("YUYV:1280x720@30", Finding.State.ok, "YUYV 1280x720"), ("YUYV:848x480@30", .warning, "Firefox does not list it"),
    ("YU12:640x480@15", .ok, "YU12 640x480"), ("RGB3:640x480@30", .error, "browsers do not support"),
])
func `a fixed size is compared with Firefox's list`(format: String, state: Finding.State, message: String) throws {
    let machine = try Machine()
    machine.addLoopback(capture: true, output: false)
    try machine.put("/sys/class/video4linux/video10/format", "\(format)\n")
    try machine.expect(.size, state, message, fix: state == .ok ? "" : reload)
}

@Test func `the configured size is compared with it too`() throws {
    let machine = try Machine()
    machine.addLoopback(capture: false, output: true)
    try machine.put("/sys/class/video4linux/video10/format", "")
    try machine.expect(.size, .ok, "1280x720")
    machine.system.setting = .read(file: "/home/ann/.config/guise/config.json", width: 960, height: 540)
    try machine.expect(
        .size, .warning, "960x540", fix: "set \"output\" to 1280x720 in /home/ann/.config/guise/config.json")
}

@Test func `the writer is named, with how to end it`() throws {
    let machine = try Machine()
    try machine.load("0.15.0")
    machine.addLoopback(capture: false, output: true)
    try machine.expect(.writer, .warning, "no program writes", fix: "guise run")
    machine.unit("guise.service", "LoadState=loaded")
    try machine.expect(.writer, .warning, "no program writes", fix: "systemctl --user start guise.service")
    machine.system.devices = []
    machine.addLoopback(capture: true, output: false)
    try machine.expect(.writer, .error, "another user's program", fix: "sudo fuser -v /dev/video10")
    try machine.run("ffmpeg", 55, on: "/dev/video10")
    try machine.expect(.writer, .error, "ffmpeg (55)", fix: "kill 55")
    try machine.run("firefox", 56, on: "/dev/video10")
    try machine.expect(.writer, .error, "firefox (56)", fix: "fuser -v /dev/video10")
    try machine.run("guise", 57, on: "/dev/video10")
    try machine.expect(.writer, .ok, "guise (57)")
}

@Test func `a stream that only sysfs shows is detected`() throws {
    let machine = try Machine()
    try machine.load("0.13.2")
    machine.addLoopback(capture: true, output: true)
    try machine.put("/sys/class/video4linux/video10/state", "output\n")
    try machine.expect(.writer, .warning, "no program writes", fix: "guise run")
    try machine.put("/sys/class/video4linux/video10/state", "capture\n")
    try machine.expect(.writer, .error, "another user's program", fix: "sudo fuser -v /dev/video10")
}

@Test func `a second reader is reported if the driver refuses it`() throws {
    let machine = try Machine()
    machine.addLoopback(capture: true, output: false)
    try machine.load("0.15.0")
    try machine.run("guise", 57, on: "/dev/video10")
    try machine.expect(.readers, .ok, "no program")
    try machine.run("wireplumber", 60, on: "/dev/video10")
    try machine.expect(.readers, .warning, "wireplumber (60)", fix: "systemctl --user restart wireplumber")
    try machine.run("zoom", 61, on: "/dev/video10")
    try machine.expect(
        .readers, .warning, "one of them only",
        fix: "close all but one, or use the page: guise run --sink loopback --sink page")
    try machine.load("0.12.7")
    try machine.expect(.readers, .ok, "may be reading")
}

@Test func `the program that uses the camera is named`() throws {
    let machine = try Machine()
    try machine.expect(.camera, .warning, "no camera", fix: "plug a camera in")
    machine.addCamera()
    try machine.expect(.camera, .ok, "Webcam (/dev/video0) is free")
    // An open device is not necessarily in use.
    try machine.run("zoom", 70, on: "/dev/video0")
    try machine.expect(.camera, .ok, "is free")
    machine.system.isTaken = { $0 == "/dev/video0" }
    try machine.expect(.camera, .error, "zoom (70)", fix: "kill 70")
    machine.addCamera("/dev/video2")
    try machine.expect(.camera, .ok, "/dev/video2")
    machine.system.devices.removeLast()
    try FileManager.default.removeItem(atPath: "\(machine.root)/proc/70")
    try machine.expect(.camera, .error, "another user's program", fix: "sudo fuser -v /dev/video0")
    try machine.run("guise", 71, on: "/dev/video0")
    try machine.expect(.camera, .ok, "guise (71)")
    // Also if another one is free.
    machine.addCamera("/dev/video2")
    try machine.run("guise", 72, on: "/dev/video2")
    try FileManager.default.removeItem(atPath: "\(machine.root)/proc/71")
    machine.system.isTaken = { $0 == "/dev/video2" }
    try machine.expect(.camera, .ok, "guise (72) uses /dev/video2")
}

@Test func `the daemon that runs the checks itself is among the holders of its devices`() throws {
    let machine = try Machine()
    machine.addCamera()
    machine.addLoopback(capture: true, output: false)
    machine.system.isTaken = { _ in true }
    // The service's user namespace, in which other processes' files are not shown.
    try machine.put("/proc/self/uid_map", "      1000       1000          1\n")
    try machine.expect(.camera, .error, "by another program", fix: "sudo fuser -v /dev/video0")
    try machine.expect(.writer, .error, "by another program", fix: "sudo fuser -v /dev/video10")
    try machine.run("guise", Int(getpid()), on: "/dev/video0")
    try machine.expect(.camera, .ok, "guise (\(getpid())) uses /dev/video0")
    try FileManager.default.removeItem(atPath: "\(machine.root)/proc/\(getpid())")
    try machine.run("guise", Int(getpid()), on: "/dev/video10")
    try machine.expect(.writer, .ok, "guise (\(getpid())) uses /dev/video10")
    #expect(Check.readers.probe(machine.system) == nil)
    try machine.put("/proc/self/uid_map", "         0          0 4294967295\n")
    try machine.expect(.readers, .ok, "no program of this user")
}

@Test func `a camera without permission is reported once`() throws {
    let machine = try Machine()
    machine.addForbidden("/dev/video0")
    #expect(Check.camera.probe(machine.system) == nil)
}
