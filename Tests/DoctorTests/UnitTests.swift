import Foundation
import Testing

@testable import Doctor

private let analyser = "/usr/bin/systemd-analyze"

/// Both units in a temporary folder, with an existing program.
private func units() throws -> Machine {
    let machine = try Machine()
    for name in ["guise.service", "guise.socket"] {
        let text = try String(contentsOfFile: "\(Machine.package)/systemd/\(name)", encoding: .utf8)
        try machine.put("/units/\(name)", text.replacing(Installer.packagedProgram, with: "/usr/bin/true"))
    }
    try machine.put("/runtime/kept", "")
    return machine
}

/// Runs systemd-analyze with a home and runtime folder of its own, and returns its output.
private func analyse(_ machine: Machine, _ words: String) -> System.Output {
    let line =
        "XDG_RUNTIME_DIR=\(machine.root)/runtime HOME=\(machine.root) \(analyser) --user --no-pager \(words) 2>&1"
    return runProgram(["bash", "-c", "cd \(machine.root)/units && \(line)"], timeout: 1000)
}

@Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyser), "needs Debian's systemd"))
func `systemd reports no error in the units, and a low exposure`() throws {
    let machine = try units()
    #expect(analyse(machine, "verify ./guise.service ./guise.socket") == .text(""))
    // The limit of the exposure: 40 is 4.0 of 10.
    let security = analyse(machine, "security --offline=true --threshold=40 ./guise.service")
    let exposure = security.text?.split(separator: "\n").last { $0.contains("Overall exposure level") }
    print(exposure ?? "no exposure")
    #expect(exposure != nil, "\(security)")
}

@Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyser), "needs Debian's systemd"))
func `systemd reports no error in the system's units, and a low exposure`() throws {
    let machine = try Machine()
    for name in USBService.units {
        let text = try String(contentsOfFile: "\(Machine.package)/systemd/system/\(name)", encoding: .utf8)
        try machine.put("/units/\(name)", text.replacing(USBService.program, with: "/usr/bin/true"))
    }
    let names = USBService.units.map { "./\($0)" }.joined(separator: " ")
    let run = { (words: String) in
        runProgram(["bash", "-c", "cd \(machine.root)/units && \(analyser) --no-pager \(words) 2>&1"], timeout: 1000)
    }
    #expect(run("verify \(names)") == .text(""))
    // 2.0 of 10.
    #expect(run("security --offline=true --threshold=20 ./guise-camera.service").text != nil)
}

@Test func `the USB camera's unit grants what the service needs, and it is stopped before sleep`() throws {
    let lines = try USBService.units.map { name in
        let text = try String(contentsOfFile: "\(Machine.package)/systemd/system/\(name)", encoding: .utf8)
        return Set(text.split(separator: "\n").map(String.init))
    }
    for line in [
        "Type=notify", "ExecStart=\(USBService.program)", "RuntimeDirectory=guise-camera", "LimitCORE=0",
        "CapabilityBoundingSet=CAP_SETUID CAP_SETGID CAP_NET_ADMIN", "SystemCallFilter=@system-service seccomp",
    ] {
        #expect(lines[0].contains(line), "\(line)")
    }
    // Makes /sys read-only, where the camera is plugged in.
    #expect(!lines[0].contains { $0.hasPrefix("ProtectKernelTunables=") || $0.hasPrefix("User=") })
    for line in [
        "Before=sleep.target", "WantedBy=sleep.target", "StopWhenUnneeded=yes", "RemainAfterExit=yes",
        "ExecStart=/bin/systemctl stop guise-camera.service",
    ] {
        #expect(lines[1].contains(line), "\(line)")
    }
}

@Test func `the service grants what the daemon needs`() throws {
    let service = try String(contentsOfFile: "\(Machine.package)/systemd/guise.service", encoding: .utf8)
    let lines = Set(service.split(separator: "\n").map(String.init))
    for line in [
        "Type=notify", "NotifyAccess=main", "Restart=on-failure", "TimeoutStopSec=2", "LimitCORE=0",
        "ExecReload=kill -HUP $MAINPID",
    ] {
        #expect(lines.contains(line), "\(line)")
    }
    #expect(lines.contains { $0.hasPrefix("WatchdogSec=") } && lines.contains { $0.hasPrefix("StartLimitBurst=") })
    #expect(lines.contains { $0.hasPrefix("Before=") && $0.contains("wireplumber.service") })
}
