import Foundation
import Testing

@testable import Doctor

private let analyser = "/usr/bin/systemd-analyze"

/// Both units in a folder of their own, with a program that is there.
private func units() throws -> Machine {
    let machine = try Machine()
    for name in ["guise.service", "guise.socket"] {
        let text = try String(contentsOfFile: "\(Machine.package)/systemd/\(name)", encoding: .utf8)
        try machine.put("/units/\(name)", text.replacing(Installer.packagedProgram, with: "/usr/bin/true"))
    }
    try machine.put("/runtime/kept", "")
    return machine
}

private func analyse(_ machine: Machine, _ arguments: String...) -> (code: Int32, text: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: analyser)
    process.arguments = ["--user", "--no-pager"] + arguments
    process.environment = ["XDG_RUNTIME_DIR": "\(machine.root)/runtime", "HOME": machine.root, "PATH": "/usr/bin:/bin"]
    let pipe = Pipe()
    (process.standardOutput, process.standardError) = (pipe, pipe)
    do { try process.run() } catch { return (-1, "\(error)") }
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
}

@Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyser)))
func `systemd finds nothing wrong with the units, and little exposed`() throws {
    let machine = try units()
    let verified = analyse(
        machine, "verify", "\(machine.root)/units/guise.service", "\(machine.root)/units/guise.socket")
    #expect(verified.code == 0 && verified.text.isEmpty, "\(verified)")
    // 40 is 4.0 of 10.
    let security = analyse(
        machine, "security", "--offline=true", "--threshold=40", "\(machine.root)/units/guise.service")
    print(security.text.split(separator: "\n").last ?? "")
    #expect(security.code == 0, "\(security.text.suffix(500))")
}

@Test func `what the daemon is promised stands in the service`() throws {
    let service = try String(contentsOfFile: "\(Machine.package)/systemd/guise.service", encoding: .utf8)
    let lines = Set(service.split(separator: "\n").map(String.init))
    for line in [
        "Type=notify", "NotifyAccess=main", "Restart=on-failure", "TimeoutStopSec=2", "LimitCORE=0",
        "ExecReload=kill -HUP $MAINPID", "ExecStopPost=-/usr/bin/guise card",
    ] {
        #expect(lines.contains(line), "\(line)")
    }
    #expect(lines.contains { $0.hasPrefix("WatchdogSec=") } && lines.contains { $0.hasPrefix("StartLimitBurst=") })
    #expect(lines.contains { $0.hasPrefix("Before=") && $0.contains("wireplumber.service") })
}
