import Foundation
import Frames
import JSON
import TestSupport
import Testing

@testable import Doctor
@testable import SystemKit

private let socket = "/run/user/1000/guise/control.sock"

@Test func `missing requirements are reported with their packages`() throws {
    let machine = try Machine()
    try machine.expect(.landmarks, .warning, "landmark data", fix: "sudo apt install libdlib-data")
    try machine.put("/usr/share/dlib/shape_predictor_68_face_landmarks.dat", "x")
    try machine.expect(.landmarks, .ok, "is installed")
    try machine.expect(.ffmpeg, .warning, "not installed", fix: "sudo apt install ffmpeg")
    try machine.put("/bin/ffmpeg")
    try machine.expect(.ffmpeg, .ok, "/bin/ffmpeg")
}

@Test func `a missing cascade is reported with its package`() throws {
    let machine = try Machine()
    machine.system.shared = nil
    try machine.expect(.cascades, .error, "own files", fix: "make install")
    try machine.put(
        "/share/Cascades/catalogue.json",
        """
        {"version": 1, "cascades": [{"name": "no", "role": "face", "file": "no/such.xml", "window": 24,
        "eyes": [0.5, 0.4], "eyeDistance": 0.4}]}
        """)
    machine.system.shared = "\(machine.root)/share"
    try machine.expect(
        .cascades, .error, "cascade 'no' was not found", fix: "install its package: sudo apt install opencv-data")
    try machine.put("/share/Cascades/such.xml")
    try machine.expect(.cascades, .ok, "all 1 cascades")
}

@Test func `an invalid configuration is reported in its own words`() throws {
    let machine = try Machine()
    try machine.expect(.configuration, .ok, "defaults")
    machine.system.setting = .broken(Problem(.invalid, "c.json:3: 'maks' is no key", fix: "did you mean 'masks'?"))
    try machine.expect(.configuration, .error, "c.json:3", fix: "did you mean 'masks'?")
}

@Test func `the service is reported in each of its states`() throws {
    let machine = try Machine()
    try machine.expect(.service, .warning, "systemd does not answer", fix: "guise run")
    machine.unit("guise.service", "LoadState=not-found", "ActiveState=inactive")
    machine.unit("guise.socket", "LoadState=not-found", "ActiveState=inactive")
    try machine.expect(.service, .warning, "not installed", fix: "guise install")
    let program = "ExecStart={ path=/home/ann/bin/guise ; argv[]=/home/ann/bin/guise run ; ignore_errors=no }"
    machine.unit("guise.service", "LoadState=loaded", "ActiveState=inactive", program)
    try machine.expect(.service, .error, "/home/ann/bin/guise, which does not exist", fix: "guise install")
    try machine.put("/home/ann/bin/guise")
    try machine.expect(.service, .warning, "is not running", fix: "systemctl --user enable --now guise.socket")
    machine.unit("guise.socket", "LoadState=loaded", "ActiveState=active")
    try machine.expect(.service, .ok, "starts with the first command")
    machine.unit("guise.service", "LoadState=loaded", "ActiveState=active", program, "StatusText=2 faces, santa")
    try machine.expect(.service, .ok, "is running: 2 faces, santa")
    machine.unit("guise.service", "LoadState=loaded", "ActiveState=failed", "Result=watchdog")
    try machine.expect(.service, .error, "failed (watchdog)", fix: "journalctl --user -u guise.service -n 20")
    machine.unit(
        "guise.service", "LoadState=loaded", "ActiveState=failed", "Result=exit-code", "ExecMainStatus=217")
    try machine.expect(
        .service, .error, "guise.service failed (exit-code)", fix: "journalctl --user -u guise.service -n 20")
    machine.programs["systemd-run --user --quiet --wait true"] = .text("")
    try machine.expect(
        .service, .error, "users can't create namespaces",
        fix: "systemctl --user reset-failed guise.service guise.socket && guise install")
    machine.programs["systemd-run --user --quiet --wait true"] = nil
    machine.unit("guise.service", "LoadState=loaded", "ActiveState=failed", "Result=start-limit-hit")
    try machine.expect(
        .service, .error, "too often",
        fix: "systemctl --user reset-failed guise.service guise.socket && systemctl --user start guise.socket")
}

@Test func `the daemon is queried, and never started by the query`() throws {
    let machine = try Machine()
    try machine.expect(.socket, .warning, "no daemon is running", fix: "guise run")
    try machine.put(socket)
    try machine.expect(.socket, .warning, "left behind by a daemon that has ended", fix: "guise run")
    machine.system.query = { _, _ in .silent }
    try machine.expect(.socket, .error, "does not answer", fix: "guise run")
    machine.system.query = { path, line in .line(path == socket && line.contains("\"status\"") ? "{\"ok\": {}}" : "?") }
    try machine.expect(.socket, .ok, "answers at \(socket)")
    machine.system.query = { _, _ in .line("HTTP/1.1 400 Bad Request") }
    try machine.expect(.socket, .error, "HTTP/1.1 400", fix: "guise run")
    machine.unit("guise.service", "LoadState=loaded", "ActiveState=inactive")
    machine.unit("guise.socket", "LoadState=loaded", "ActiveState=active")
    machine.system.query = { _, _ in
        Issue.record("the daemon was started")
        return .silent
    }
    try machine.expect(.socket, .ok, "systemd listens")
    machine.system.environment["XDG_RUNTIME_DIR"] = nil
    try machine.expect(.socket, .error, "XDG_RUNTIME_DIR", fix: "export XDG_RUNTIME_DIR=/run/user/1000")
    machine.system.user = 1001
    try machine.expect(.socket, .error, "XDG_RUNTIME_DIR", fix: "log in as this user, not through su or sudo")
}

@Test func `an outdated list of PipeWire is reported while guise writes`() throws {
    let machine = try Machine()
    func dump(_ properties: String) -> System.Output {
        .text("[{\"id\": 3}, {\"id\": 40, \"info\": {\"props\": {\"media.class\": \(properties)}}}]")
    }
    machine.addLoopback(capture: false, output: true)
    machine.programs["pw-dump"] = dump("\"Video/Device\", \"api.v4l2.path\": \"/dev/video10\"")
    #expect(Check.pipeWire.probe(machine.system) == nil, "nobody writes yet")
    machine.system.devices = []
    machine.addLoopback(capture: true, output: false)
    try machine.expect(.pipeWire, .warning, "before Guise ran", fix: "systemctl --user restart wireplumber")
    machine.programs["pw-dump"] = dump("\"Video/Source\", \"api.v4l2.path\": \"/dev/video0\"")
    try machine.expect(.pipeWire, .warning, "before Guise ran", fix: "systemctl --user restart wireplumber")
    machine.programs["pw-dump"] = dump("\"Video/Source\", \"api.v4l2.path\": \"/dev/video10\"")
    try machine.expect(.pipeWire, .ok, "lists /dev/video10")
    machine.programs["pw-dump"] = .failed
    #expect(Check.pipeWire.probe(machine.system) == nil, "PipeWire does not run")
}

@Test func `snaps without a camera are named`() throws {
    let machine = try Machine()
    #expect(Check.snap.probe(machine.system) == nil)
    func table(_ slot: String, other: String = ":camera") -> System.Output {
        .text(
            """
            Interface  Plug             Slot     Notes
            audio      chromium:audio   :audio   -
            camera     chromium:camera  \(other)  -
            camera     zoom:camera      \(slot)  -

            """)
    }
    machine.programs["snap connections --all"] = table("-")
    try machine.expect(.snap, .warning, "zoom: snaps without access", fix: "sudo snap connect zoom:camera")
    machine.programs["snap connections --all"] = table("-", other: "-")
    try machine.expect(
        .snap, .warning, "chromium, zoom: snaps without access",
        fix: "sudo snap connect chromium:camera && sudo snap connect zoom:camera")
    machine.programs["snap connections --all"] = table(":camera")
    try machine.expect(.snap, .ok, "all 2 snaps")
}

@Test func `Flatpaks without devices are named, and overrides count`() throws {
    let machine = try Machine()
    #expect(Check.flatpak.probe(machine.system) == nil)
    let metadata = "app/org.signal.Signal/current/active/metadata"
    let own = "/home/ann/.local/share/flatpak"
    try machine.put("/var/lib/flatpak/\(metadata)", "[Context]\nshared=network;\ndevices=dri;\n")
    let fix = "flatpak override --user --device=all org.signal.Signal"
    try machine.expect(.flatpak, .warning, "org.signal.Signal", fix: fix)
    try machine.put("\(own)/overrides/org.signal.Signal", "[Context]\ndevices=all;\n")
    try machine.expect(.flatpak, .ok, "all 1 Flatpaks")
    try machine.put("/var/lib/flatpak/\(metadata)", "[Context]\ndevices=all;\n")
    try machine.put("\(own)/overrides/org.signal.Signal", "[Context]\ndevices=!all;\n")
    try machine.expect(.flatpak, .warning, "org.signal.Signal", fix: fix)
    try machine.put("/var/lib/flatpak/app/us.zoom.Zoom/current/active/metadata", "[Context]\n")
    try machine.expect(
        .flatpak, .warning, "org.signal.Signal, us.zoom.Zoom",
        fix: "\(fix) && flatpak override --user --device=all us.zoom.Zoom")
}

@Test func `a summary names distribution, kernel, processor, session and module`() throws {
    let machine = try Machine()
    try machine.put("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n")
    let processor = "processor: 0\nmodel name\t: Some CPU 3000\n"
    try machine.put("/proc/cpuinfo", processor + processor)
    machine.system.environment["XDG_SESSION_TYPE"] = "wayland"
    #expect(
        machine.system.summary == [
            "Debian GNU/Linux 12, kernel \(Machine.kernel)", "2 x Some CPU 3000", "session: wayland",
            "v4l2loopback not loaded, no USB camera",
        ])
    let arm = "processor\t: 0\nBogoMIPS\t: 108.00\n\n"
    try machine.put("/proc/cpuinfo", arm + arm + arm + arm)
    #expect(machine.system.summary[1] == "4 x unknown processor")
    try machine.load("0.15.1")
    #expect(machine.system.summary.last == "v4l2loopback 0.15.1, no USB camera")
}

@Test(arguments: [
    ("/home/ann/.config on box, Ann's, annex", "~/.config on HOST, USER's, annex"), ("ANN@BOX", "USER@HOST"),
    ("ann", "USER"), ("", ""), ("boxes annual", "boxes annual"),
])
func `names of the user and the computer are replaced as whole words`(text: String, redacted: String) {
    #expect(Redactor(environment: ["HOME": "/home/ann", "USER": "ann"], host: "box").redact(text) == redacted)
}

@Test func `short and common names are left, because they tell nobody`() {
    let text = "root is at localhost in /"
    #expect(Redactor(environment: ["HOME": "/", "USER": "root"], host: "localhost").redact(text) == text)
}

@Test func `the report counts its results, and its lines contain the fixes`() throws {
    let machine = try Machine()
    try machine.load(exclusive: "N")
    machine.addLoopback(card: "Dummy video device (0x0000)", capture: true, output: true)
    let report = Report(machine.system, checks: [.module, .exclusiveCaps, .label, .snap])
    #expect(report.errors == 1)
    #expect(report.warnings == 1)
    #expect(report.lines.count == 3, "a check that has nothing to look at has no line")
    #expect(report.lines[0] == "ok       module          v4l2loopback is loaded")
    #expect(report.lines[1].hasPrefix("error    exclusive caps  "))
    #expect(report.lines[1].contains("; fix: sudo sh -c '"))
    let json = JSON(encoding: report)
    #expect(json["errors"]?.number == 1 && json["warnings"]?.number == 1)
    let lines = json["checks"]?.elements ?? []
    #expect(lines.first?.text == #"{"check":"module","state":"ok","message":"v4l2loopback is loaded","fix":""}"#)
    #expect(lines.map { $0["state"]?.string } == ["ok", "error", "warning"])
    #expect(lines[1]["fix"]?.string?.hasPrefix("sudo sh -c") == true)
    #expect(Set(Check.all.map(\.name)).count == Check.all.count, "names tell checks apart")
}

@Test func `all checks that are declared are run`() throws {
    let folder = Fixtures.inPackage("Sources/Doctor")
    let text = try FileManager.default.contentsOfDirectory(atPath: folder)
        .map { try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8) }.joined()
    let declared = text.matches(of: /static let \w+ = Check\("([^"]+)"/).map { String($0.1) }
    #expect(declared.count > 15)
    #expect(declared.sorted() == Check.all.map(\.name).sorted())
}

@Test func `programs are run to their end, and not beyond timeout`() {
    #expect(runProgram(["echo", "a b"], timeout: 1000) == .text("a b\n"))
    #expect(runProgram(["false"]) == .failed)
    #expect(runProgram(["guise-no-such-program"]) == .absent)
    // Run to its end, it would have been text.
    #expect(runProgram(["sleep", "30"], timeout: 0.3) == .failed)
}

@Test(.ownThread) func `a socket that answers, one that does not, and a stale one`() throws {
    let scratch = try ScratchFolder()
    let path = scratch.path("socket")
    #expect(querySocket(path, "x") == .refused)
    // Answers only its first client, line for line.
    let listener = try Running(
        [
            "-c",
            """
            import socket, sys
            s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(1)
            print("listening", file=sys.stderr, flush=True)
            c, _ = s.accept(); c.sendall(b"said " + c.recv(100) + b"more")
            while True: c.recv(100) or sys.stdin.read() or __import__("signal").pause()
            """, path,
        ], of: "python3", in: scratch)
    try #require(listener.waits(for: "listening"), "\(listener.said)")
    #expect(querySocket(path, "hello", timeout: 1000) == .line("said hello"))
    #expect(querySocket(path, "hello", timeout: 0.3) == .silent)
    listener.send(signal: SIGKILL)
    listener.wait()
    #expect(querySocket(path, "hello", timeout: 1000) == .refused)
}
