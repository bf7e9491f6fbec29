import V4L2

/// The v4l2loopback kernel module: its options, files and versions.
enum Module {
    static let name = "v4l2loopback"
    /// The load options, the same as in `systemd/modprobe.d/guise.conf`, for systems without that file.
    static let options = "exclusive_caps=1 card_label=\"Guise Camera\" video_nr=10"
    /// What to do if another program needs a device too.
    static let optionsForBoth =
        "describe the devices of both in one line: devices=2, with two values each for card_label and exclusive_caps"
    /// The file to which `guise install` writes the options.
    static let optionsFile = "/etc/modprobe.d/guise.conf"
    /// The file with which `guise install` has the module loaded at boot.
    static let loadFile = "/etc/modules-load.d/guise.conf"

    /// The oldest version that Guise is tested with.
    static let oldest = [0, 12, 7]
    /// The first version that gives frames to only one program at a time.
    static let oneReader = [0, 13]

    /// Splits a version into numbers: "0.12.7" becomes [0, 12, 7].
    static func numbers(_ version: String) -> [Int] { version.split(separator: ".").map { Int($0) ?? 0 } }
}

extension System {
    var moduleIsLoaded: Bool { has("/sys/module/\(Module.name)") }
    /// The module's version. The loaded module reports it from 0.13 on; for older ones it is read from the name of the
    /// DKMS source folder. Nil if there is not exactly one such folder, or it is of a newer version.
    var moduleVersion: String? {
        if let version = line("/sys/module/\(Module.name)/version") { return version }
        let sources = names(in: "/usr/src").filter { $0.hasPrefix("\(Module.name)-") }
        let version = sources.first.map { String($0.dropFirst(Module.name.count + 1)) } ?? ""
        // The source of 0.13 or later is not that of the loaded module, which would have reported its version.
        let isOld = Module.numbers(version).lexicographicallyPrecedes(Module.oneReader)
        return sources.count == 1 && isOld ? version : nil
    }
    /// Whether the module gives frames to only one program at a time.
    var hasOneReader: Bool {
        moduleVersion.map { !Module.numbers($0).lexicographicallyPrecedes(Module.oneReader) } ?? false
    }
    /// Whether the module is built for the running kernel, according to modules.dep.
    var moduleIsBuilt: Bool { text("/lib/modules/\(kernel)/modules.dep")?.contains("/\(Module.name).ko") ?? false }
    /// Whether the module's source is installed, for DKMS to build.
    var moduleHasSource: Bool { names(in: "/usr/src").contains { $0.hasPrefix("\(Module.name)-") } }

    /// The command that loads the module. It includes the options unless the options file is installed.
    var modprobe: String {
        has(Module.optionsFile) ? "modprobe \(Module.name)" : "modprobe \(Module.name) \(Module.options)"
    }
    /// The command that reloads the module: options take effect only when it is loaded.
    var reload: String { "sudo sh -c '\("modprobe -r \(Module.name) && \(modprobe)")'" }

    /// The folders in which modprobe looks for options (modprobe.d(5)).
    private static let optionFolders = [
        "/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d",
    ]

    /// Files of other programs that set options of v4l2loopback.
    var otherOptionFiles: [String] {
        let files = Self.optionFolders.flatMap { folder in names(in: folder).map { "\(folder)/\($0)" } }
        return files.filter { path in
            path != Module.optionsFile
                && text(path)?.split(separator: "\n").contains { $0.hasPrefix("options \(Module.name) ") } ?? false
        }
    }
}

extension Check {
    static let options = Check("options") { system in
        let files = system.otherOptionFiles.joined(separator: ", ")
        guard !files.isEmpty, system.usbCamera == nil else { return nil }
        if system.loopback?.label == DeviceListing.ownLabel {
            return .ok("\(files) has options for v4l2loopback too, and Guise's device exists")
        }
        return .warning(
            "\(files) has options for v4l2loopback, which replace Guise's",
            fix: Module.optionsForBoth)
    }

    static let module = Check("module") { system in
        if system.moduleIsLoaded { return .ok("v4l2loopback is loaded") }
        // Nothing is missing without a loopback.
        guard system.usbCamera == nil else { return nil }
        let folder = "/lib/modules/\(system.kernel)"
        guard system.has(folder) else {
            return system.names(in: "/lib/modules").isEmpty
                ? .error(
                    "v4l2loopback is not loaded, and there are no kernel modules here: this seems to be a container",
                    fix: "load it on the machine that runs the container: sudo \(system.modprobe)")
                : .error(
                    "v4l2loopback is not loaded, and the running kernel's modules (\(system.kernel)) are gone: "
                        + "the kernel was updated since the last boot",
                    fix: "sudo reboot")
        }
        if system.moduleIsBuilt {
            return .error("v4l2loopback is installed but not loaded", fix: "sudo \(system.modprobe)")
        }
        // A module that is installed and not built is reported by the kernel check.
        return system.moduleHasSource
            ? nil
            : .error(
                "v4l2loopback is not installed",
                fix: "sudo apt install v4l2loopback-dkms"
                    + (system.has("\(folder)/build") ? "" : " linux-headers-\(system.kernel)"))
    }

    static let kernel = Check("kernel") { system in
        guard system.usbCamera == nil else { return nil }
        guard !system.moduleIsLoaded, !system.moduleIsBuilt else {
            return .ok("v4l2loopback is built for the running kernel \(system.kernel)")
        }
        let folder = "/lib/modules/\(system.kernel)"
        guard system.moduleHasSource, system.has(folder) else { return nil }
        let what = "v4l2loopback is installed but not built for the running kernel \(system.kernel)"
        return system.has("\(folder)/build")
            ? .error(what, fix: "sudo dkms autoinstall -k \(system.kernel)")
            // The headers package triggers the DKMS build.
            : .error("\(what): its headers are missing", fix: "sudo apt install linux-headers-\(system.kernel)")
    }

    static let version = Check("version") { system in
        guard system.moduleIsLoaded else { return nil }
        guard let version = system.moduleVersion else {
            return .ok("v4l2loopback is older than 0.13: several programs may watch at once")
        }
        let numbers = Module.numbers(version)
        if numbers.lexicographicallyPrecedes(Module.oldest) {
            return .warning(
                "v4l2loopback \(version) is older than 0.12.7, the oldest that Guise is tested with",
                fix: "sudo apt install --only-upgrade v4l2loopback-dkms")
        }
        return system.hasOneReader
            ? .ok("v4l2loopback \(version): one program may watch at a time")
            : .ok("v4l2loopback \(version): several programs may watch at once")
    }

    static let secureBoot = Check("secure boot") { system in
        // The UEFI variable: four bytes of attributes, then 1 if Secure Boot is on.
        let variable = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
        guard system.bytes(variable)?.last == 1 else { return .ok("Secure Boot is off") }
        if system.moduleIsLoaded { return .ok("Secure Boot is on, and v4l2loopback is loaded") }
        guard system.moduleIsBuilt, system.usbCamera == nil else { return nil }
        // The paths on Ubuntu and Debian of the key that DKMS signs modules with.
        let keys = ["/var/lib/shim-signed/mok/MOK.der", "/var/lib/dkms/mok.pub"]
        guard let key = keys.first(where: system.has) else {
            return .warning(
                "Secure Boot is on, and DKMS has no key to sign modules with",
                fix: "sudo dkms autoinstall --force")
        }
        switch system.run(["mokutil", "--test-key", key]) {
        case .text(let text) where text.contains("already enrolled"):
            return .ok("Secure Boot is on, and DKMS's key is enrolled")
        // mokutil exits with 1 both for "already enrolled" and if it cannot read the keys.
        case .failed:
            return .warning(
                "Secure Boot is on; could not check whether DKMS's key is enrolled", fix: "mokutil --test-key \(key)")
        case .absent:
            return .warning("Secure Boot is on, and mokutil is not installed", fix: "sudo apt install mokutil")
        case .text:
            return .error(
                "Secure Boot is on, and rejects v4l2loopback until DKMS's key is enrolled "
                    + "(choose a password, reboot, and enter it there)",
                fix: "sudo mokutil --import \(key)")
        }
    }

    static let permission = Check("permission") { system in
        let forbidden = system.devices.filter { $0.problem?.kind == .forbidden }.map(\.path)
        guard !system.devices.isEmpty else { return nil }
        guard !forbidden.isEmpty else { return .ok("this user may open all \(system.devices.count) video devices") }
        let name = system.environment["USER"] ?? ""
        let group = system.text("/etc/group")?.split(separator: "\n").first { $0.hasPrefix("video:") }
        let members = group?.split(separator: ":", omittingEmptySubsequences: false).last?.split(separator: ",") ?? []
        let list = forbidden.joined(separator: ", ")
        return members.contains { $0 == name }
            ? .error(
                "\(list): this session has no access, because it began before \(name) joined the group video",
                fix: "log out and in again")
            : .error(
                "\(list): this user may not open them", fix: "sudo usermod -aG video \(name.isEmpty ? "$USER" : name)")
    }
}
