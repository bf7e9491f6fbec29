import Foundation
import Testing

@testable import Doctor

private let load = "modprobe v4l2loopback exclusive_caps=1 card_label=\"Guise Camera\" video_nr=10"
private let folder = "/lib/modules/\(Machine.kernel)"

@Test func `a missing module is installed with the headers that it needs`() throws {
    let machine = try Machine()
    try machine.put("\(folder)/modules.dep")
    try machine.expect(
        .module, .error, "not installed",
        fix: "sudo apt install v4l2loopback-dkms linux-headers-\(Machine.kernel)")
    try machine.put("\(folder)/build/Makefile")
    try machine.expect(.module, .error, "not installed", fix: "sudo apt install v4l2loopback-dkms")
    #expect(Check.kernel.probe(machine.system) == nil, "nothing is there to be built")
}

@Test func `an installed module is loaded, with options unless they are installed`() throws {
    let machine = try Machine()
    try machine.put("\(folder)/modules.dep", "updates/dkms/v4l2loopback.ko: kernel/videodev.ko\n")
    try machine.expect(.module, .error, "not loaded", fix: "sudo \(load)")
    try machine.put("/etc/modprobe.d/guise.conf", "options v4l2loopback exclusive_caps=1\n")
    try machine.expect(.module, .error, "not loaded", fix: "sudo modprobe v4l2loopback")
    try machine.expect(.kernel, .ok, "built for the running kernel")
    try machine.load()
    try machine.expect(.module, .ok, "is loaded")
}

@Test func `a module that is not built for the running kernel is built, after its headers`() throws {
    let machine = try Machine()
    try machine.put("/usr/src/v4l2loopback-0.12.7/Makefile")
    try machine.put("\(folder)/modules.dep", "kernel/videodev.ko:\n")
    try machine.expect(
        .kernel, .error, "headers are missing", fix: "sudo apt install linux-headers-\(Machine.kernel)")
    try machine.put("\(folder)/build/Makefile")
    try machine.expect(.kernel, .error, "not built", fix: "sudo dkms autoinstall -k \(Machine.kernel)")
    #expect(Check.module.probe(machine.system) == nil, "one error is told once")
}

@Test func `a container and an updated kernel are distinguished`() throws {
    let machine = try Machine()
    try machine.expect(
        .module, .error, "container", fix: "load it on the machine that runs the container: sudo \(load)")
    try machine.put("/lib/modules/6.1.0-32-amd64/modules.dep")
    try machine.expect(.module, .error, "updated", fix: "sudo reboot")
}

@Test(arguments: [
    ("0.12.5", Finding.State.warning, "older"), ("0.12.7", .ok, "several programs"), ("0.13.2", .ok, "one program"),
    ("0.15.4", .ok, "one program"),
])
func `the module's version determines how many may read`(version: String, state: Finding.State, message: String) throws
{
    let machine = try Machine()
    try machine.load(version)
    try machine.expect(
        .version, state, message, fix: state == .ok ? "" : "sudo apt install --only-upgrade v4l2loopback-dkms")
}

@Test func `a module without a version is an old one, whatever DKMS has since`() throws {
    let machine = try Machine()
    try machine.load("0.12.7")
    try machine.put("/usr/src/v4l2loopback-0.15.0/Makefile")
    try machine.expect(.version, .ok, "older than 0.13: several programs")
    try FileManager.default.removeItem(atPath: "\(machine.root)/usr/src/v4l2loopback-0.12.7")
    try machine.expect(.version, .ok, "older than 0.13: several programs")
}

@Test func `Secure Boot is reported if it keeps the module out`() throws {
    let machine = try Machine()
    let variable = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    let key = "/var/lib/dkms/mok.pub"
    try machine.expect(.secureBoot, .ok, "off")
    try machine.put(variable, Data([6, 0, 0, 0, 0]))
    try machine.expect(.secureBoot, .ok, "off")
    try machine.put(variable, Data([6, 0, 0, 0, 1]))
    try machine.put("\(folder)/modules.dep", "updates/dkms/v4l2loopback.ko:\n")
    try machine.expect(.secureBoot, .warning, "no key", fix: "sudo dkms autoinstall --force")
    try machine.put(key)
    try machine.expect(.secureBoot, .warning, "mokutil is not", fix: "sudo apt install mokutil")
    machine.programs["mokutil --test-key \(key)"] = .text("\(key) is not enrolled\n")
    try machine.expect(.secureBoot, .error, "rejects v4l2loopback", fix: "sudo mokutil --import \(key)")
    machine.programs["mokutil --test-key \(key)"] = .text("\(key) is already enrolled\n")
    try machine.expect(.secureBoot, .ok, "DKMS's key is enrolled")
    try machine.load()
    try machine.expect(.secureBoot, .ok, "and v4l2loopback is loaded")
}

@Test func `a user without permission joins the group, or logs in again`() throws {
    let machine = try Machine()
    machine.addCamera()
    try machine.expect(.permission, .ok, "all 1")
    machine.addForbidden("/dev/video2")
    try machine.put("/etc/group", "root:x:0:\nvideo:x:44:bob,joann\n")
    try machine.expect(.permission, .error, "/dev/video2", fix: "sudo usermod -aG video ann")
    try machine.put("/etc/group", "root:x:0:\nvideo:x:44:bob,ann\n")
    try machine.expect(.permission, .error, "began before ann joined", fix: "log out and in again")
}
