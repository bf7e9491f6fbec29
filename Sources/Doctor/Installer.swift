import FoundationEssentials
import Glibc
import SystemKit

/// Installs and uninstalls what Guise needs in the user's session: systemd units, shell completions, and the two
/// v4l2loopback configuration files or the USB camera's service, which need root.
public struct Installer {
    private let system: System
    /// The path of the guise executable, as the units start it.
    private let program: String
    private let completions: [Shell: String]
    private let options: Options
    private let user: Console

    /// The options of the command.
    public struct Options: Sendable {
        /// Only print what would be done.
        public var isDryRun = false
        /// Also install or remove the virtual camera, which needs root.
        public var includesModule = true
        /// Also replace or remove files that the user has edited.
        public var force = false

        /// The defaults, as without options.
        public init() {}
    }

    /// Access to the user at the terminal.
    public struct Console {
        /// Prints a line.
        let print: (String) -> Void
        /// Asks a yes-or-no question; nil if the session is not interactive.
        let confirm: ((String) -> Bool)?
        /// Runs a program in the terminal and returns its exit status.
        let runInTerminal: ([String]) -> Int

        /// Creates a console from functions that print a line, ask a question and run an interactive program.
        public init(
            print: @escaping (String) -> Void, confirm: ((String) -> Bool)?, runInTerminal: @escaping ([String]) -> Int
        ) {
            (self.print, self.confirm, self.runInTerminal) = (print, confirm, runInTerminal)
        }
    }

    /// Creates an installer for a user's session.
    /// - Parameters:
    ///   - program: the path of the executable, absolute and without links, because systemd starts it from there.
    ///   - completions: the completion scripts; a shell without one gets no completions.
    /// - Throws: `Problem` of kind `forbidden` for root, `missing` without a home folder.
    public init(
        _ system: System, program: String, completions: [Shell: String], options: Options, user: Console
    ) throws(Problem) {
        guard system.user != 0 else {
            throw Problem(
                .forbidden, "guise install and uninstall change a user's own session, not root's",
                fix: "run it as that user, without sudo; it asks before it runs commands as root")
        }
        guard system.unitFolder != nil else {
            throw Problem(.missing, "there is no home folder to install into", fix: "set HOME")
        }
        (self.system, self.program, self.completions) = (system, program, completions)
        (self.options, self.user) = (options, user)
    }

    // MARK: install

    /// Installs everything. Existing files that match stay as they are, so running it again is harmless.
    /// - Throws: `Problem` if a file of Guise is missing or a file cannot be written.
    public func install() throws(Problem) {
        guard !isPackaged else { return try installPackaged() }
        for file in try files() { try write(file) }
        startUnits()
        if completions[.zsh] != nil, let folder = system.completionFile(.zsh)?.parent, isInstalled(.zsh) {
            user.print("for completion in zsh, add this line to ~/.zshrc, before compinit: fpath+=(\(folder))")
        }
        guard options.includesModule else { return }
        // One virtual camera is enough: two of the same name confuse.
        if try !installCamera() { try installModule() }
    }

    private static let units = ["guise.service", "guise.socket"]
    /// The program's path in the shipped service file. Packagers keep it.
    static let packagedProgram = "/usr/bin/guise"

    /// Settings that a user service can have only inside its own user namespace: mounts, and dropped capabilities.
    private static let namespaced = [
        "PrivateUsers", "CapabilityBoundingSet", "ProtectSystem", "ReadWritePaths", "InaccessiblePaths",
        "PrivateMounts", "ProtectControlGroups", "ProtectHostname", "ProtectKernelLogs", "ProtectKernelModules",
        "ProtectKernelTunables",
    ]

    private func isInstalled(_ shell: Shell) -> Bool { system.program(shell.rawValue) != nil }

    private func files() throws(Problem) -> [InstalledFile] {
        guard let units = system.unitFolder else { return [] }
        var files: [InstalledFile] = []
        for name in Self.units {
            // systemd expands % as a specifier and ends a path at a space.
            let program = program.replacing("%", with: "%%")
            let quoted = program.contains { $0 == " " } ? "\"\(program)\"" : program
            var text = try shipped(name).replacing(Self.packagedProgram, with: quoted)
            if name == "guise.service", !system.hasUserNamespaces {
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
                text = lines.filter { line in !Self.namespaced.contains { line.hasPrefix("\($0)=") } }
                    .joined(separator: "\n")
                user.print(
                    "users can't create namespaces on this system: guise.service omits the settings that need one")
            }
            files.append(InstalledFile(path: "\(units)/\(name)", body: text))
        }
        for shell in Shell.allCases where isInstalled(shell) {
            guard let script = completions[shell], let path = system.completionFile(shell) else { continue }
            files.append(InstalledFile(path: path, body: script))
        }
        return files
    }

    /// The path of a file in the `systemd` folder shipped with Guise.
    private func shippedPath(_ name: String) throws(Problem) -> String {
        guard let shared = system.shared, isReadable("\(shared)/systemd/\(name)") else {
            throw Problem(
                .missing, "Guise's own file systemd/\(name) was not found", fix: "run `make install` again")
        }
        return "\(shared)/systemd/\(name)"
    }

    private func shipped(_ name: String) throws(Problem) -> String {
        let path = try shippedPath(name)
        guard let bytes = try? contents(of: path) else { throw Problem(.forbidden, "\(path) cannot be read") }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func write(_ file: InstalledFile) throws(Problem) {
        let there = system.text(file.path)
        guard there != file.text else { return user.print("already installed: \(file.path)") }
        if InstalledFile.state(of: there) == .edited, !options.force {
            return user.print("kept, because it was edited (--force replaces it): \(file.path)")
        }
        user.print("\(options.isDryRun ? "would write" : "wrote"): \(file.path)")
        guard !options.isDryRun else { return }
        let path = system.root + file.path
        do {
            try FileManager.default.createDirectory(atPath: path.parent, withIntermediateDirectories: true)
            try replaceFile(Array(file.text.utf8), at: path)
        } catch {
            throw Problem(
                .forbidden, "\(file.path) cannot be written", fix: "check its folder: ls -ld \(file.path.parent)")
        }
    }

    /// - Parameter enabling: false if the package enables the socket for all users.
    private func startUnits(enabling: Bool = true) {
        let start = enabling ? ["enable", "--now", "guise.socket"] : ["start", "guise.socket"]
        let commands = [["daemon-reload"], start].map { ["systemctl", "--user"] + $0 }
        if options.isDryRun { return commands.forEach { user.print("would run: \($0.joined(separator: " "))") } }
        // Without a user manager, as in a container or after su, the units take effect at the next login.
        for command in commands where system.run(command).text == nil {
            return user.print(
                "the user's systemd did not answer; in your session, run: "
                    + commands.map { $0.joined(separator: " ") }.joined(separator: " && "))
        }
        user.print("Guise now starts with the first command (guise.socket)")
        user.print(
            "to start it at each login, before programs look for cameras: systemctl --user enable guise.service")
    }

    // MARK: the package

    /// Whether the program is the Debian package's, which brings the units, completions and the USB camera.
    private var isPackaged: Bool { program == Self.packagedProgram && system.isPackaged }

    /// Makes this session use the package: removes an earlier installation by hand, which would take precedence, and
    /// starts what the package could not.
    private func installPackaged() throws(Problem) {
        user.print("the package has installed the units, the completions and the USB camera's service")
        // Without user namespaces the package's service would not start: one that needs none takes its place.
        let own = try system.hasUserNamespaces ? [] : files().filter { $0.path.hasSuffix("/guise.service") }
        for path in ownFiles where !own.contains(where: { $0.path == path }) { try removeOwn(path) }
        for file in own { try write(file) }
        startUnits(enabling: false)
        guard options.includesModule else { return }
        guard system.hasVirtualUSB, system.has("/run/systemd/system") else { return try installModule() }
        let old = (USBService.files.map(\.path) + [USBService.program]).filter { system.has($0) }
        guard !old.isEmpty || system.usbCamera == nil else { return }
        var commands: [[String]] = old.isEmpty ? [] : [["rm", "-f"] + old, ["systemctl", "daemon-reload"]]
        commands.append(["systemctl", "restart", "\(USBService.name).service"])
        runAsRoot(commands)
    }

    // MARK: the module

    private static let moduleFiles = [
        ("modprobe.d/guise.conf", Module.optionsFile), ("modules-load.d/guise.conf", Module.loadFile),
    ]

    private func installModule() throws(Problem) {
        var commands: [[String]] = []
        for (name, path) in Self.moduleFiles {
            let text = try shipped(name)
            guard system.text(path) != text else { continue }
            user.print(
                system.has(path) ? "\(path) exists with different content, and would become:" : "\(path) would contain:"
            )
            for line in text.split(separator: "\n") { user.print("    \(line)") }
            commands.append(["install", "-D", "-m", "644", try shippedPath(name), path])
        }
        guard !commands.isEmpty else {
            return user.print("already installed: \(Self.moduleFiles.map(\.1).joined(separator: " and "))")
        }
        for path in system.otherOptionFiles {
            user.print("\(path) has options for v4l2loopback too; both files apply")
        }
        if system.moduleIsLoaded {
            user.print(
                "v4l2loopback is already loaded; these options take effect after a reboot, or: \(system.reload)")
        } else if system.moduleIsBuilt {
            commands.append(["modprobe", Module.name])
        } else {
            user.print("v4l2loopback is not installed: sudo apt install v4l2loopback-dkms")
        }
        runAsRoot(commands)
    }

    // MARK: the USB camera

    /// Offers to install the service of the USB camera.
    /// - Returns: false if this system can't have it, or the user did not want it.
    private func installCamera() throws(Problem) -> Bool {
        let folders = [program.parent, "\(program.parent.parent)/libexec/guise"]
        let service = folders.map { "\($0)/\(USBService.name)" }.first { system.has($0) }
        guard let service, system.hasVirtualUSB, system.has("/run/systemd/system") else { return false }
        var commands: [[String]] = []
        if system.bytes(service) != system.bytes(USBService.program) {
            commands.append(["install", "-D", "-m", "755", service, USBService.program])
        }
        for (name, path) in USBService.files where system.text(path) != (try shipped(name)) {
            commands.append(["install", "-D", "-m", "644", try shippedPath(name), path])
        }
        // An installation that was interrupted has the files, but nothing that starts them.
        guard !commands.isEmpty || !USBService.links.allSatisfy(system.has) else {
            user.print("already installed: \(USBService.files.map(\.path).joined(separator: " and "))")
            return true
        }
        user.print("the USB camera needs no kernel module to build; its service starts as root and gives up its rights")
        commands += [
            ["systemd-sysusers", USBService.userFile], ["systemctl", "daemon-reload"],
            ["systemctl", "enable"] + USBService.units, ["systemctl", "restart", "\(USBService.name).service"],
        ]
        guard runAsRoot(commands) else { return false }
        // A daemon looks for the virtual cameras once, when it starts.
        if !options.isDryRun, user.confirm != nil, rootHelper != nil,
            system.run(["systemctl", "--user", "try-restart", "guise.service"]).text != nil
        {
            user.print("if guise.service was running, it has started again, and feeds the camera")
        }
        return true
    }

    private func uninstallCamera() {
        let there = (USBService.files.map(\.path) + [USBService.program]).filter { system.has($0) }
        guard !there.isEmpty else { return }
        var removal = [["rm", "-f"] + there]
        if there.contains(USBService.program) {
            removal.append(["rmdir", "--ignore-fail-on-non-empty", USBService.program.parent])
        }
        // The package's service has the same name and user, and takes over.
        guard !system.isPackaged else {
            runAsRoot(
                removal + [["systemctl", "daemon-reload"], ["systemctl", "restart", "\(USBService.name).service"]])
            return
        }
        var commands =
            [["systemctl", "disable", "--now"] + USBService.units] + removal + [["systemctl", "daemon-reload"]]
        let users = system.text("/etc/passwd") ?? ""
        if users.split(separator: "\n").contains(where: { $0.hasPrefix("\(USBService.name):") }) {
            commands.append(["userdel", USBService.name])
        }
        runAsRoot(commands)
    }

    /// The program that runs others as root; nil if none is installed.
    private var rootHelper: String? { ["sudo", "pkexec"].first { system.program($0) != nil } }

    /// Prints the commands, asks for confirmation, and runs them as root.
    /// - Returns: false if the user declined, or a command failed.
    @discardableResult
    private func runAsRoot(_ commands: [[String]]) -> Bool {
        let helper = rootHelper
        user.print("this needs root:")
        for command in commands {
            user.print("    " + ([helper].compactMap { $0 } + command).map(\.quoted).joined(separator: " "))
        }
        guard !options.isDryRun else { return true }
        guard let helper, let confirm = user.confirm else {
            user.print(
                helper == nil
                    ? "neither sudo nor pkexec is installed: run it as root" : "this is not a terminal: run it yourself"
            )
            return true
        }
        guard confirm("run it now? [y/N] ") else {
            user.print("skipped")
            return false
        }
        for command in commands {
            let status = user.runInTerminal([helper] + command)
            guard status == 0 else {
                user.print(
                    "`\(command.joined(separator: " "))` failed with exit status \(status); the rest was skipped")
                return false
            }
        }
        return true
    }

    // MARK: uninstall

    /// Removes everything that `install` and the daemon created. Masks, config.json, taught things and landmarks that
    /// were placed by hand belong to the user and stay.
    /// - Throws: `Problem` if a file cannot be removed.
    public func uninstall() throws(Problem) {
        stopUnits()
        for path in ownFiles { try removeOwn(path) }
        // The links that `enable` creates, if systemctl did not remove them.
        if let units = system.unitFolder {
            for link in ["sockets.target.wants/guise.socket", "default.target.wants/guise.service"] {
                try remove("\(units)/\(link)")
            }
        }
        if !options.isDryRun { _ = system.run(["systemctl", "--user", "daemon-reload"]) }
        if let cache = system.path(.cache) { try remove("\(cache)/guise") }
        try removeState()
        // The package's socket stays, and a request would start a daemon.
        if !system.isPackaged, let socket = system.socket {
            // A daemon that was started by hand may still use the folder.
            if case .line = system.query(socket, "{\"request\": \"status\"}") {
                user.print("kept while Guise is running: \(socket.parent)")
            } else {
                try remove(socket.parent)
            }
        }
        let own = [
            system.path(.configuration).map { "\($0)/guise" }, system.path(.data).map { "\($0)/guise/Things" },
            system.path(.state).map { "\($0)/guise/\(Self.corrections)" },
        ]
        for path in own.compactMap({ $0 }) where system.has(path) { user.print("kept, because it is yours: \(path)") }
        if isPackaged { user.print("the package stays; to remove it: sudo apt purge guise") }
        guard options.includesModule else { return }
        uninstallCamera()
        uninstallModule()
    }

    /// The folder of the landmarks that the user has placed by hand in photos, in the state folder.
    private static let corrections = "corrections"

    /// Removes the state folder, but for what the user has made.
    private func removeState() throws(Problem) {
        guard let folder = system.path(.state).map({ "\($0)/guise" }) else { return }
        guard system.has("\(folder)/\(Self.corrections)") else { return try remove(folder) }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: system.root + folder)) ?? []
        for name in names.sorted() where name != Self.corrections { try remove("\(folder)/\(name)") }
    }

    /// The paths of the files that `install` may have written into the user's folders.
    private var ownFiles: [String] {
        Self.units.map { "\(system.unitFolder ?? "")/\($0)" } + Shell.allCases.compactMap(system.completionFile)
    }

    /// Removes a file that `install` wrote, unless the user has edited it.
    private func removeOwn(_ path: String) throws(Problem) {
        switch InstalledFile.state(of: system.text(path)) {
        case .absent: break
        case .edited where !options.force:
            user.print("kept, because it was edited (--force removes it): \(path)")
        case .ours, .edited: try remove(path)
        }
    }

    private func stopUnits() {
        let command = ["systemctl", "--user", "disable", "--now", "guise.socket", "guise.service"]
        guard system.has("\(system.unitFolder ?? "")/guise.socket") else { return }
        if options.isDryRun { return user.print("would run: \(command.joined(separator: " "))") }
        if system.run(command).text != nil { user.print("stopped guise.socket and guise.service") }
    }

    /// Removes a file or folder, and then its empty parent folders, up to the folders of the XDG variables.
    private func remove(_ path: String) throws(Problem) {
        let files = FileManager.default
        // A dangling link counts as existing.
        guard (try? files.attributesOfItem(atPath: system.root + path)) != nil else { return }
        user.print("\(options.isDryRun ? "would remove" : "removed"): \(path)")
        guard !options.isDryRun else { return }
        do { try files.removeItem(atPath: system.root + path) } catch {
            throw Problem(.forbidden, "\(path) cannot be removed", fix: "remove it by hand")
        }
        // Folders that the XDG variables name belong to the user; other parents may have been created by Guise.
        let variables = ["HOME", UserFolder.runtimeVariable] + UserFolder.allCases.map(\.variable)
        let ends = variables.compactMap { system.environment[$0] }
        var folder = path.parent
        while !folder.isEmpty, !ends.contains(folder), unsafe rmdir(system.root + folder) == 0 {
            folder = folder.parent
        }
    }

    private func uninstallModule() {
        let there = Self.moduleFiles.filter { system.has($0.1) }
        guard !there.isEmpty else { return }
        for (name, path) in there where system.text(path) != (try? shipped(name)) {
            user.print("\(path) was edited")
        }
        runAsRoot([["rm", "-f"] + there.map(\.1)])
        if system.moduleIsLoaded {
            user.print("v4l2loopback stays loaded until the next reboot, or: sudo modprobe -r \(Module.name)")
        }
    }
}

extension String {
    /// The folder of a path.
    fileprivate var parent: String { parentFolder(of: self) }

    /// The string, quoted as a single shell word if necessary.
    fileprivate var quoted: String {
        let isPlain = !isEmpty && allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_./=:@%+".contains($0)) }
        return isPlain ? self : "'\(replacing("'", with: "'\\''"))'"
    }
}
