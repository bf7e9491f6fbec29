import JSON
import SystemKit
import V4L2

extension Check {
    static let service = Check("service") { system in
        guard let service = system.unit("guise.service"), let socket = system.unit("guise.socket") else {
            return .warning(
                "the user's systemd does not answer: guise.service cannot be checked",
                fix: system.runtime == nil ? system.findRuntime : "guise run")
        }
        guard service.isLoaded else { return .warning("guise.service is not installed", fix: "guise install") }
        if let program = service.program, !system.has(program) {
            return .error("guise.service starts \(program), which does not exist", fix: "guise install")
        }
        if let program = service.program, program != Installer.packagedProgram, system.isPackaged {
            return .warning(
                "guise.service starts \(program) instead of the installed package's program", fix: "guise install")
        }
        if service.hasFailed {
            // EXIT_USER, EXIT_CAPABILITIES and EXIT_NAMESPACE of systemd.exec(5).
            let status = service.properties["ExecMainStatus"] ?? ""
            if ["217", "218", "226"].contains(status), !system.hasUserNamespaces {
                return .error(
                    "guise.service could not start, because users can't create namespaces on this system",
                    fix: "systemctl --user reset-failed guise.service guise.socket && guise install")
            }
            let result = service.properties["Result"] ?? "unknown"
            return result == "start-limit-hit"
                ? .error(
                    "guise.service failed too often and is no longer started",
                    fix: "systemctl --user reset-failed guise.service guise.socket && "
                        + "systemctl --user start guise.socket")
                : .error("guise.service failed (\(result))", fix: "journalctl --user -u guise.service -n 20")
        }
        if service.isActive || service.isStarting {
            let status = service.statusText.isEmpty ? "" : ": \(service.statusText)"
            return .ok("guise.service is \(service.isActive ? "running" : "starting")\(status)")
        }
        return socket.isActive
            ? .ok("guise.service starts with the first command")
            : .warning("guise.service is not running", fix: "systemctl --user enable --now guise.socket")
    }

    static let socket = Check("socket") { system in
        guard let path = system.socket else {
            return .error(
                "XDG_RUNTIME_DIR is not set, so commands cannot find the daemon",
                fix: system.findRuntime)
        }
        let service = system.unit("guise.service")
        let restart = service?.isLoaded ?? false ? "systemctl --user restart guise.service" : "guise run"
        guard system.has(path) else {
            return .warning("no daemon is running: \(path) does not exist", fix: restart)
        }
        // A status request would start the daemon.
        if let service, !service.isActive, let socket = system.unit("guise.socket"), socket.isActive {
            return .ok("systemd listens at \(path)")
        }
        switch system.query(path, "{\"request\": \"status\"}") {
        case .refused: return .warning("\(path) was left behind by a daemon that has ended", fix: restart)
        case .silent: return .error("the daemon at \(path) does not answer", fix: restart)
        case .line(let line):
            guard let answer = try? JSON(Array(line.utf8), file: path), answer["ok"] != nil else {
                return .error(
                    "the process that listens at \(path) is not a daemon of this version: \(brief(line))", fix: restart)
            }
            return .ok("the daemon answers at \(path)")
        }
    }

    static let pipeWire = Check("pipewire") { system in
        // PipeWire examines a device only once. A device that was not a camera at that time is never listed
        // (v4l2loopback issue 672).
        guard let loopback = system.loopback, system.hasStream(loopback), let text = system.run(["pw-dump"]).text else {
            return nil
        }
        guard let dump = try? JSON(Array(text.utf8), file: "pw-dump"), case .array(let objects) = dump.value else {
            return .warning("the list of PipeWire's cameras could not be read", fix: "pw-dump")
        }
        let isListed = objects.contains { object in
            let properties = object["info"]?["props"]
            guard properties?["media.class"]?.string == "Video/Source" else { return false }
            return properties?["api.v4l2.path"]?.string == loopback.path
                || properties?["object.path"]?.string == "v4l2:\(loopback.path)"
        }
        return isListed
            ? .ok("PipeWire lists \(loopback.path) as a camera")
            : .warning(
                "PipeWire examined \(loopback.path) before Guise ran: programs that use it, such as Fedora's Firefox, "
                    + "do not list it",
                fix: "systemctl --user restart wireplumber")
    }

    static let snap = Check("snap") { system in
        guard let text = system.run(["snap", "connections", "--all"]).text else { return nil }
        // The columns are interface, plug, slot and notes; the slot is "-" for a plug that is not connected.
        let plugs = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
            .filter { $0.count >= 3 && $0[0] == "camera" && $0[1].contains(":") }
        guard !plugs.isEmpty else { return nil }
        let denied = plugs.filter { $0[2] == "-" }.map { $0[1] }
        guard !denied.isEmpty else { return .ok("all \(plugs.count) snaps that use a camera have access to it") }
        let names = denied.compactMap { $0.split(separator: ":").first.map(String.init) }
        return .warning(
            "\(names.joined(separator: ", ")): snaps without access to the camera",
            fix: denied.map { "sudo snap connect \($0)" }.joined(separator: " && "))
    }

    /// Flathub applications that make video calls or record.
    private static let callApplications = [
        "com.brave.Browser", "com.discordapp.Discord", "com.github.IsmaelMartinez.teams_for_linux", "com.google.Chrome",
        "com.microsoft.Edge", "com.obsproject.Studio", "com.slack.Slack", "dev.vencord.Vesktop", "im.riot.Riot",
        "io.github.ungoogled_software.ungoogled_chromium", "org.chromium.Chromium", "org.jitsi.jitsi-meet",
        "org.mozilla.firefox", "org.signal.Signal", "org.telegram.desktop", "us.zoom.Zoom",
    ]

    static let flatpak = Check("flatpak") { system in
        let folders = ["/var/lib/flatpak", system.path(.data).map { "\($0)/flatpak" }].compactMap { $0 }
        var (found, denied): ([String], [String]) = ([], [])
        for name in callApplications {
            let own = folders.compactMap { system.text("\($0)/app/\(name)/current/active/metadata") }
            guard !own.isEmpty else { continue }
            found.append(name)
            // Overrides apply after the application's own permissions, and the user's overrides last.
            let overrides = folders.flatMap { folder in
                ["global", name].compactMap { system.text("\(folder)/overrides/\($0)") }
            }
            if !allowsDevices(own + overrides) { denied.append(name) }
        }
        guard !found.isEmpty else { return nil }
        guard !denied.isEmpty else {
            return .ok("all \(found.count) Flatpaks that make calls have access to devices")
        }
        return .warning(
            "\(denied.joined(separator: ", ")): Flatpaks without access to cameras",
            fix: denied.map { "flatpak override --user --device=all \($0)" }.joined(separator: " && "))
    }

    /// Whether Flatpak key files grant `devices=all`. Later files take precedence; "!all" revokes it.
    private static func allowsDevices(_ files: [String]) -> Bool {
        var isAllowed = false
        for line in files.joined(separator: "\n").split(separator: "\n") where line.hasPrefix("devices=") {
            let words = line.dropFirst("devices=".count).split(separator: ";")
            if words.contains("all") { isAllowed = true }
            if words.contains("!all") { isAllowed = false }
        }
        return isAllowed
    }
}
