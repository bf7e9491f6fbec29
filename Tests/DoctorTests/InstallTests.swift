import Foundation
import Frames
import Testing

@testable import Doctor
@testable import SystemKit

/// Installation as a user: what was printed and run.
private final class Session {
    var said: [String] = []
    var ran: [[String]] = []
    var questions = 0

    /// - Parameter answer: the answer to every question; nil: there is no terminal.
    func installer(
        _ machine: Machine, answer: Bool? = nil, includesModule: Bool = false, isDryRun: Bool = false,
        force: Bool = false,
        program: String = "/home/ann/.local/bin/guise"
    ) throws -> Installer {
        (said, ran, questions) = ([], [], 0)
        var options = Installer.Options()
        (options.isDryRun, options.includesModule, options.force) = (isDryRun, includesModule, force)
        let user = Installer.Console(
            print: { self.said.append($0) },
            confirm: answer.map { answer in
                { _ in
                    self.questions += 1
                    return answer
                }
            },
            runInTerminal: {
                self.ran.append($0)
                return 0
            })
        return try Installer(
            machine.system, program: program,
            completions: [.bash: "complete guise\n", .zsh: "#compdef guise\n", .fish: "complete -c guise"],
            options: options, user: user)
    }

    func printed(_ text: String) -> Bool { said.contains { $0.contains(text) } }
}

private let units = "/home/ann/.config/systemd/user"
private let bash = "/home/ann/.local/share/bash-completion/completions/guise"

/// A machine with a user manager, a shell, and a home with existing files.
private func home() throws -> Machine {
    let machine = try Machine()
    try machine.put("/bin/bash")
    try machine.put("/home/ann/.config/other/file", "x")
    try machine.put("/home/ann/.local/share/other", "x")
    for command in ["daemon-reload", "enable --now guise.socket", "disable --now guise.socket guise.service"] {
        machine.programs["systemctl --user \(command)"] = .text("")
    }
    return machine
}

@Test func `without user namespaces the service omits what needs them`() throws {
    let machine = try home()
    let session = Session()
    machine.programs["systemd-run --user --quiet --wait true"] = .text("")
    try session.installer(machine).install()
    let bare = try #require(machine.text("\(units)/guise.service"))
    #expect(!bare.contains("\nPrivateUsers=") && !bare.contains("\nProtect"))
    #expect(bare.contains("\nNoNewPrivileges=yes\n"))
    #expect(session.printed("users can't create namespaces"))
    machine.programs["systemd-run --user --quiet --wait --property=PrivateUsers=yes true"] = .text("")
    try session.installer(machine).install()
    #expect(machine.text("\(units)/guise.service")?.contains("\nPrivateUsers=yes\n") == true)
    #expect(!session.printed("namespaces"))
}

@Test func `uninstall removes what install wrote, and nothing else`() throws {
    let machine = try home()
    let corrections = "/home/ann/.local/state/guise/corrections"
    try machine.put("/home/ann/.local/share/guise/Things/card/1.jpg")
    try machine.put("\(corrections)/1.json")
    let before = machine.paths
    let session = Session()
    try session.installer(machine).install()
    let service = try #require(machine.text("\(units)/guise.service"))
    #expect(service.contains("\nExecStart=/home/ann/.local/bin/guise run\n"))
    #expect(!service.contains(Installer.packagedProgram), "no other guise is started")
    #expect(machine.text("\(units)/guise.socket")?.contains("ListenStream=%t/guise/control.sock\n") == true)
    #expect(machine.text(bash)?.hasPrefix("complete guise\n") == true)
    #expect(!machine.paths.contains("home/ann/.config/fish"), "no completions for a shell that is not there")
    #expect(session.printed("Guise now starts with the first command"))
    // Files that the daemon and systemctl leave.
    try machine.put("/home/ann/.cache/guise/landmarks-68.v1", "x")
    for name in ["masks.json", ".page-secret.part"] { try machine.put("/home/ann/.local/state/guise/\(name)", "[]") }
    try machine.put("/run/user/1000/guise/video10.lock", "9")
    try machine.put("\(units)/default.target.wants/guise.service", "x")
    try session.installer(machine).uninstall()
    #expect(session.printed("kept, because it is yours: /home/ann/.local/share/guise/Things"))
    #expect(session.printed("kept, because it is yours: \(corrections)"))
    // The session's folder, which this machine did not have.
    let sessions = ["run", "run/user", "run/user/1000"]
    let left = machine.paths.subtracting(sessions)
    #expect(left == before, "\(left.symmetricDifference(before).sorted())")
    try FileManager.default.removeItem(atPath: machine.root + corrections)
    try machine.put("/home/ann/.local/state/guise/masks.json", "[]")
    try session.installer(machine).uninstall()
    #expect(!machine.paths.contains("home/ann/.local/state"))
}

@Test func `installing again changes nothing`() throws {
    let machine = try home()
    let session = Session()
    try session.installer(machine).install()
    let service = machine.text("\(units)/guise.service")
    try session.installer(machine).install()
    #expect(session.printed("already installed: \(units)/guise.service"))
    #expect(!session.printed("wrote"))
    #expect(machine.text("\(units)/guise.service") == service)
    // The program has moved: files that nobody edited are updated.
    try session.installer(machine, program: "/opt/my guise/100%/guise").install()
    #expect(machine.text("\(units)/guise.service")?.contains("ExecStart=\"/opt/my guise/100%%/guise\" run\n") == true)
}

@Test func `an edited file is kept and reported, unless forced`() throws {
    let machine = try home()
    let session = Session()
    try session.installer(machine).install()
    let edited = try #require(machine.text("\(units)/guise.service")).replacing(
        "WatchdogSec=10", with: "WatchdogSec=60")
    try machine.put("\(units)/guise.service", edited)
    try session.installer(machine).install()
    #expect(machine.text("\(units)/guise.service") == edited)
    #expect(session.printed("kept, because it was edited (--force replaces it): \(units)/guise.service"))
    try session.installer(machine).uninstall()
    #expect(machine.text("\(units)/guise.service") == edited)
    #expect(machine.text("\(units)/guise.socket") == nil, "the rest goes")
    #expect(session.printed("kept, because it was edited (--force removes it): \(units)/guise.service"))
    try session.installer(machine, force: true).install()
    #expect(machine.text("\(units)/guise.service")?.contains("WatchdogSec=10\n") == true)
    try machine.put("\(units)/guise.service", edited)
    try session.installer(machine, force: true).uninstall()
    #expect(machine.text("\(units)/guise.service") == nil)
}

@Test func `an unrelated file of the same name is kept`() throws {
    let machine = try home()
    try machine.put(bash, "mine\n")
    let session = Session()
    try session.installer(machine).install()
    try session.installer(machine).uninstall()
    #expect(machine.text(bash) == "mine\n")
}

@Test func `root and a missing home are errors`() throws {
    let machine = try home()
    machine.system.user = 0
    #expect {
        try Session().installer(machine)
    } throws: { error in
        "\(error)".contains("not root's") && (error as? Problem)?.kind == .forbidden
    }
    machine.system.user = 1000
    machine.system.environment["HOME"] = nil
    #expect(throws: Problem.self) { try Session().installer(machine) }
}

@Test func `without a user manager the commands are printed`() throws {
    let machine = try home()
    machine.programs = [:]
    let session = Session()
    try session.installer(machine).install()
    #expect(machine.text("\(units)/guise.service") != nil)
    #expect(
        session.printed(
            "in your session, run: systemctl --user daemon-reload && systemctl --user enable --now guise.socket"))
}

@Test func `a dry run changes nothing and prints what it would do`() throws {
    let machine = try home()
    machine.programs = [:]
    let before = machine.paths
    let session = Session()
    try session.installer(machine, answer: true, includesModule: true, isDryRun: true).install()
    #expect(machine.paths == before)
    #expect(session.ran.isEmpty && session.questions == 0)
    #expect(session.printed("would write: \(units)/guise.service"))
    #expect(session.printed("would run: systemctl --user enable --now guise.socket"))
    try session.installer(machine).install()
    let installed = machine.paths
    try session.installer(machine, answer: true, includesModule: true, isDryRun: true).uninstall()
    #expect(machine.paths == installed)
    #expect(session.printed("would remove: \(units)/guise.service"))
}

@Test func `root's commands are shown, and run only after a yes`() throws {
    let machine = try home()
    try machine.put("/bin/sudo")
    try machine.put("/lib/modules/\(Machine.kernel)/modules.dep", "updates/dkms/v4l2loopback.ko:\n")
    let shared = "\(Machine.package)/systemd"
    let commands = [
        ["sudo", "install", "-D", "-m", "644", "\(shared)/modprobe.d/guise.conf", "/etc/modprobe.d/guise.conf"],
        [
            "sudo", "install", "-D", "-m", "644", "\(shared)/modules-load.d/guise.conf",
            "/etc/modules-load.d/guise.conf",
        ],
        ["sudo", "modprobe", "v4l2loopback"],
    ]
    let session = Session()
    for answer in [nil, false, true] {
        try session.installer(machine, answer: answer, includesModule: true).install()
        for command in commands { #expect(session.printed(command.joined(separator: " "))) }
        #expect(session.printed("    options v4l2loopback devices=1 video_nr=10"), "the file is shown")
        #expect(session.ran == (answer == true ? commands : []))
        #expect(session.questions == (answer == nil ? 0 : 1))
    }
    try session.installer(machine, answer: true, includesModule: false).install()
    #expect(session.ran.isEmpty && !session.printed("/etc/"))
}

/// A machine that can have the USB camera.
private func homeWithCamera() throws -> Machine {
    let machine = try home()
    try machine.put("/bin/sudo")
    try machine.put("/run/systemd/system/x")
    try machine.put("/sys/devices/platform/vhci_hcd.0/status")
    try machine.put("/home/ann/.local/libexec/guise/guise-camera", "the program")
    return machine
}

@Test func `the USB camera is offered first, and the loopback only if it is declined`() throws {
    let machine = try homeWithCamera()
    machine.programs["systemctl --user try-restart guise.service"] = .text("")
    let session = Session()
    try session.installer(machine, answer: true, includesModule: true).install()
    #expect(session.questions == 1 && !session.printed("modprobe"))
    #expect(session.printed("it has started again, and feeds the camera"))
    #expect(session.ran.allSatisfy { $0.first == "sudo" })
    // A service that starts as root runs a copy that only root can change.
    #expect(session.ran.first?.suffix(1) == ["/usr/local/libexec/guise/guise-camera"])
    let unit = try String(contentsOfFile: "\(Machine.package)/systemd/system/guise-camera.service", encoding: .utf8)
    #expect(unit.contains("\nExecStart=/usr/local/libexec/guise/guise-camera\n"))
    #expect(session.ran.last == ["sudo", "systemctl", "restart", "guise-camera.service"])
    try session.installer(machine, answer: false, includesModule: true).install()
    #expect(session.questions == 2 && session.ran.isEmpty && session.printed("/etc/modprobe.d/guise.conf"))
    #expect(!session.printed("it has started again"))
    try session.installer(machine, answer: true, includesModule: false).install()
    #expect(session.questions == 0 && session.ran.isEmpty)
}

@Test func `an installed USB camera needs no root, and all of it is removed`() throws {
    let machine = try homeWithCamera()
    for name in ["sysusers.d/guise-camera.conf", "system/guise-camera.service", "system/guise-camera-sleep.service"] {
        let text = try String(contentsOfFile: "\(Machine.package)/systemd/\(name)", encoding: .utf8)
        try machine.put("/etc/\(name.hasPrefix("system/") ? "systemd/" : "")\(name)", text)
    }
    try machine.put("/usr/local/libexec/guise/guise-camera", "the program")
    try machine.put("/etc/passwd", "root:x:0:0::/:/bin/sh\nguise-camera:x:999:999::/:/usr/sbin/nologin\n")
    let session = Session()
    // An interrupted installation is finished: nothing is copied again, and the units are enabled.
    try session.installer(machine, answer: true, includesModule: true).install()
    #expect(session.ran.count == 4 && session.ran.contains { $0.contains("enable") }, "\(session.ran)")
    for link in ["multi-user.target.wants/guise-camera.service", "sleep.target.wants/guise-camera-sleep.service"] {
        try machine.put("/etc/systemd/system/\(link)")
    }
    try session.installer(machine, answer: true, includesModule: true).install()
    #expect(session.ran.isEmpty && session.questions == 0)
    try session.installer(machine, answer: true, includesModule: true).uninstall()
    let removed = session.ran.first { $0.contains("rm") } ?? []
    #expect(removed.count == 3 + 4, "\(removed)")
    #expect(session.ran.contains(["sudo", "rmdir", "--ignore-fail-on-non-empty", "/usr/local/libexec/guise"]))
    #expect(session.ran.contains(["sudo", "userdel", "guise-camera"]))
    // A new version of the program is installed over the old one.
    try machine.put("/usr/local/libexec/guise/guise-camera", "an old program")
    try session.installer(machine, answer: true, includesModule: true).install()
    #expect(session.ran.first?.contains("755") == true && session.ran.count == 5)
}

@Test func `existing module files need no root, and are removed after a yes`() throws {
    let machine = try home()
    try machine.put("/bin/sudo")
    for name in ["modprobe.d/guise.conf", "modules-load.d/guise.conf"] {
        try machine.put(
            "/etc/\(name)", try Data(contentsOf: URL(fileURLWithPath: "\(Machine.package)/systemd/\(name)")))
    }
    let session = Session()
    try session.installer(machine, answer: true, includesModule: true).install()
    #expect(session.ran.isEmpty && session.questions == 0)
    try session.installer(machine, answer: true, includesModule: true).uninstall()
    #expect(session.ran == [["sudo", "rm", "-f", "/etc/modprobe.d/guise.conf", "/etc/modules-load.d/guise.conf"]])
    #expect(!session.printed("was edited"))
    try machine.put("/etc/modprobe.d/guise.conf", "options v4l2loopback video_nr=4\n")
    try session.installer(machine, answer: false, includesModule: true).uninstall()
    #expect(session.printed("/etc/modprobe.d/guise.conf was edited"))
    #expect(session.ran.isEmpty)
    try session.installer(machine, answer: false, includesModule: true).install()
    #expect(session.printed("/etc/modprobe.d/guise.conf exists with different content"))
}

@Test func `a loaded module and other files' options are reported`() throws {
    let machine = try home()
    try machine.load()
    try machine.put("/etc/modprobe.d/obs.conf", "# OBS\noptions v4l2loopback video_nr=2\n")
    let session = Session()
    try session.installer(machine, includesModule: true).install()
    #expect(session.printed("/etc/modprobe.d/obs.conf has options for v4l2loopback too"))
    #expect(session.printed("is already loaded"))
    #expect(!session.printed("sudo modprobe v4l2loopback"))
}

@Test func `the shipped options are those that the fixes name`() throws {
    let file = try String(contentsOfFile: "\(Machine.package)/systemd/modprobe.d/guise.conf", encoding: .utf8)
    let line = try #require(file.split(separator: "\n").first { $0.hasPrefix("options v4l2loopback ") })
    for option in ["exclusive_caps=1", "card_label=\"Guise Camera\"", "video_nr=10"] {
        #expect(line.contains(option))
        #expect(Module.options.contains(option))
    }
}

@Test func `the runtime folder stays while a daemon answers`() throws {
    let machine = try home()
    try machine.put("/run/user/1000/guise/control.sock")
    machine.system.query = { _, _ in .line("{\"ok\": {}}") }
    let session = Session()
    try session.installer(machine).uninstall()
    #expect(session.printed("kept while Guise is running: /run/user/1000/guise"))
    #expect(machine.paths.contains("run/user/1000/guise/control.sock"))
}

/// A machine with the Debian package.
private func homeWithPackage() throws -> Machine {
    let machine = try homeWithCamera()
    try machine.put("/usr/lib/systemd/user/guise.socket")
    try machine.put("/usr/lib/systemd/system/guise-camera.service")
    machine.programs["systemctl --user start guise.socket"] = .text("")
    return machine
}

@Test func `with the package nothing is written, and the session learns of its units`() throws {
    let machine = try homeWithPackage()
    let before = machine.paths
    let session = Session()
    try session.installer(machine, answer: true, includesModule: true, program: "/usr/bin/guise").install()
    #expect(machine.paths == before, "\(machine.paths.symmetricDifference(before))")
    #expect(session.printed("the package has installed") && session.printed("Guise now starts with the first command"))
    // The service could not start while the package was installed.
    #expect(session.ran == [["sudo", "systemctl", "restart", "guise-camera.service"]])
    try session.installer(machine, answer: true, includesModule: true, program: "/usr/bin/guise").uninstall()
    #expect(machine.paths == before && session.printed("sudo apt purge guise"))
    #expect(session.ran.isEmpty, "the package's own files stay")
    // The package's socket listens there: a request would start a daemon.
    machine.system.query = { _, _ in
        Issue.record("a daemon was asked")
        return .refused
    }
    try machine.put("/run/user/1000/guise/control.sock")
    try session.installer(machine, program: "/usr/bin/guise").uninstall()
    #expect(machine.text("/run/user/1000/guise/control.sock") != nil)
    // Nor does the removal of an installation by hand disable the package's service, or delete its user.
    try machine.put("/etc/systemd/system/guise-camera.service", "an old unit")
    try machine.put("/etc/passwd", "guise-camera:x:999:999::/:/usr/sbin/nologin\n")
    for program in ["/usr/bin/guise", "/home/ann/.local/bin/guise"] {
        try session.installer(machine, answer: true, includesModule: true, program: program).uninstall()
        #expect(
            session.ran == [
                ["sudo", "rm", "-f", "/etc/systemd/system/guise-camera.service"],
                ["sudo", "systemctl", "daemon-reload"], ["sudo", "systemctl", "restart", "guise-camera.service"],
            ])
    }
}

@Test func `an installation by hand makes way for the package, but for files that were edited`() throws {
    let machine = try homeWithPackage()
    let before = machine.paths
    let session = Session()
    try session.installer(machine).install()
    let old = "/etc/systemd/system/guise-camera.service"
    try machine.put(old, "an old unit")
    machine.unit(
        "guise.service", "LoadState=loaded", "ActiveState=inactive",
        "ExecStart={ path=/home/ann/.local/bin/guise ; argv[]=/home/ann/.local/bin/guise run }")
    machine.unit("guise.socket", "LoadState=loaded", "ActiveState=active")
    try machine.put("/home/ann/.local/bin/guise")
    try machine.expect(.service, .warning, "/home/ann/.local/bin/guise instead of", fix: "guise install")
    try session.installer(machine, answer: true, includesModule: true, program: "/usr/bin/guise").install()
    #expect(machine.text("\(units)/guise.service") == nil && machine.text(bash) == nil)
    #expect(session.ran.first == ["sudo", "rm", "-f", old] && session.ran.last?.contains("restart") == true)
    try machine.put("\(units)/guise.service", "mine\n")
    try session.installer(machine, program: "/usr/bin/guise").install()
    #expect(machine.text("\(units)/guise.service") == "mine\n" && session.printed("kept, because it was edited"))
    #expect(before.isSubset(of: machine.paths))
}

@Test func `with the package and without user namespaces, a service that needs none takes its place`() throws {
    let machine = try homeWithPackage()
    machine.programs["systemd-run --user --quiet --wait true"] = .text("")
    let session = Session()
    for _ in 0..<2 {
        try session.installer(machine, program: "/usr/bin/guise").install()
        let service = try #require(machine.text("\(units)/guise.service"))
        #expect(service.contains("\nExecStart=/usr/bin/guise run\n") && !service.contains("\nPrivateUsers="))
        #expect(machine.text("\(units)/guise.socket") == nil && machine.text(bash) == nil)
    }
    #expect(session.printed("already installed: \(units)/guise.service"))
    machine.programs["systemd-run --user --quiet --wait --property=PrivateUsers=yes true"] = .text("")
    try session.installer(machine, program: "/usr/bin/guise").install()
    #expect(machine.text("\(units)/guise.service") == nil)
}

@Test func `with the package, a kernel without the USB controller gets the loopback's options`() throws {
    let machine = try homeWithPackage()
    try FileManager.default.removeItem(atPath: machine.root + "/sys/devices/platform/vhci_hcd.0")
    let session = Session()
    try session.installer(machine, answer: true, includesModule: true, program: "/usr/bin/guise").install()
    #expect(session.ran.contains { $0.contains("/etc/modprobe.d/guise.conf") })
}
