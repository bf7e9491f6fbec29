import SystemKit
import V4L2

/// The system service that presents the USB camera: its files, and what it needs from the kernel.
enum USBService {
    /// The service's program, unit, user and folder.
    static let name = "guise-camera"
    /// The program, which root owns: a service that starts as root must not run a file that a user may change.
    static let program = "/usr/local/libexec/guise/guise-camera"
    /// The units: the service, and what stops it while the machine sleeps.
    static let units = ["guise-camera.service", "guise-camera-sleep.service"]
    /// The file that makes the service's user.
    static let userFile = "/etc/sysusers.d/guise-camera.conf"
    /// The files that `guise install` writes, by their names in the folder `systemd`.
    static let files =
        [(name: "sysusers.d/guise-camera.conf", path: userFile)]
        + units.map { (name: "system/\($0)", path: "/etc/systemd/system/\($0)") }
    /// The links by which systemd starts the units; the last that `guise install` makes.
    static let links = [
        "/etc/systemd/system/multi-user.target.wants/guise-camera.service",
        "/etc/systemd/system/sleep.target.wants/guise-camera-sleep.service",
    ]
    /// The unit that the Debian package installs.
    static let packagedUnit = "/usr/lib/systemd/system/guise-camera.service"
    /// The kernel module of the virtual USB controller.
    static let module = "vhci-hcd"
}

extension System {
    /// The USB camera, once it is plugged in.
    var usbCamera: DeviceListing? {
        devices.first { $0.isOwnCamera && $0.capabilities?.isCapture ?? true }
    }

    /// Whether the kernel has its virtual USB controller, loaded or not.
    var hasVirtualUSB: Bool {
        has("/sys/devices/platform/vhci_hcd.0")
            || text("/lib/modules/\(kernel)/modules.dep")?.contains("/\(USBService.module).ko") ?? false
    }

    /// The command that installs the virtual USB controller's module.
    fileprivate var installVirtualUSB: String {
        let release = text("/etc/os-release")?.split(separator: "\n") ?? []
        let names = release.filter { $0.hasPrefix("ID=") || $0.hasPrefix("ID_LIKE=") }.joined(separator: " ")
        if names.contains("ubuntu") { return "sudo apt install linux-modules-extra-\(kernel)" }
        if names.contains("fedora") { return "sudo dnf install kernel-modules-extra" }
        // Debian's kernels have the module, except for those of clouds.
        if names.contains("debian") {
            let architecture = kernel.hasSuffix("arm64") ? "arm64" : "amd64"
            return "sudo apt install linux-image-\(architecture) && sudo reboot"
        }
        return "install your system's package that contains \(USBService.module).ko, or use v4l2loopback"
    }
}

extension Check {
    static let feeder = Check("feeder") { system in
        guard let camera = system.usbCamera, let outputs = system.daemonOutputs else { return nil }
        guard !outputs.contains(DeviceListing.ownUSBTitle) else { return .ok("Guise feeds the USB camera") }
        var file = "config.json"
        if case .read(let path?, _, _) = system.setting { file = path }
        let isService = system.unit("guise.service")?.isActive ?? false
        return .warning(
            "Guise feeds \(outputs.isEmpty ? "nothing" : outputs.joined(separator: ", ")), but not the USB camera "
                + "(\(camera.path)), in which programs see a placeholder",
            fix: isService
                ? "set \"sinks\" to [\"auto\"] in \(file), then: systemctl --user restart guise.service"
                : "end it, and start it with `guise run --sink usb`")
    }

    static let usbCamera = Check("usb camera") { system in
        if let camera = system.usbCamera {
            if let loopback = system.loopback, loopback.label == DeviceListing.ownLabel {
                return .warning(
                    "two cameras are called \(DeviceListing.ownLabel): \(camera.path) (USB) and \(loopback.path) (loopback)",
                    fix: "sudo modprobe -r \(Module.name) && sudo rm -f \(Module.optionsFile) \(Module.loadFile)")
            }
            let readers = system.holders(of: camera.path).filter { !$0.isMediaServer }
            return readers.isEmpty
                ? .ok("the USB camera is \(camera.path); one program may watch at a time")
                : .ok("\(readers.list) may be watching \(camera.path); a second program would be told that it is busy")
        }
        guard (USBService.files.map(\.path) + [USBService.packagedUnit]).contains(where: system.has) else {
            // The loopback's checks say what else can be done.
            guard system.hasVirtualUSB, !system.moduleIsLoaded else { return nil }
            return .warning("the USB camera, which needs no v4l2loopback, is not installed", fix: "guise install")
        }
        guard system.hasVirtualUSB else {
            return .error(
                "the running kernel (\(system.kernel)) lacks the module \(USBService.module), which the USB camera needs",
                fix: system.installVirtualUSB)
        }
        return .error(
            "the USB camera is installed, but its service is not running", fix: "sudo systemctl restart guise-camera")
    }
}
