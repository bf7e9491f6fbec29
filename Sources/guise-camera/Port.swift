import CCamera
import Glibc
import SystemKit

/// A port of the kernel's virtual host controller, to which the camera is plugged in.
struct Port: ~Copyable {
    /// The socket over which the kernel and the camera exchange USB/IP messages.
    let descriptor: CInt
    /// The controller's number of the port.
    let number: Int

    private static let folder = "/sys/devices/platform/vhci_hcd.0"
    /// The kernel's number of SuperSpeed, in enum usb_device_speed.
    private static let superSpeed: CInt = 5
    /// The state of a port without a device.
    private static let free = 4

    /// Plugs a device into a free port. Needs root.
    init() throws(Problem) {
        guard isFolder(Self.folder) else {
            throw Problem(
                .missing, "the kernel module vhci-hcd is not loaded",
                fix: "run `sudo modprobe vhci-hcd`; some systems have it in a package of its own, such as "
                    + "linux-modules-extra or kernel-modules-extra")
        }
        guard let port = Self.states().first(where: { $0.isFast && $0.state == Self.free }) else {
            throw Problem(
                .busy, "the virtual USB controller has no free port", fix: "unplug a device with `usbip detach`")
        }
        let descriptor = unsafe ccamera_attach("\(Self.folder)/attach", CInt(port.number), Self.superSpeed)
        guard descriptor >= 0 else {
            throw Problem(
                descriptor == -EACCES ? .forbidden : .system,
                "could not plug in the camera: \(errorMessage(of: -descriptor))", fix: "run this service as root")
        }
        (self.descriptor, number) = (descriptor, port.number)
    }

    /// Takes over a port into which the camera is plugged already.
    init(descriptor: CInt, number: Int) { (self.descriptor, self.number) = (descriptor, number) }

    deinit { close(descriptor) }

    /// Unplugs the device, and waits until the port is free: the kernel refuses to suspend before.
    func unplug() {
        shutdown(descriptor, CInt(SHUT_RDWR))
        if !Self.waitUntilFree({ $0.number == number }) {
            report("port \(number) is still in use", .warning)
        }
    }

    /// Waits until no camera of this service is plugged in, at most three seconds.
    static func waitUntilUnplugged() -> Bool { waitUntilFree { $0.device == ccamera_device_id() } }

    private static func waitUntilFree(_ isMeant: (State) -> Bool) -> Bool {
        for _ in 0..<60 {
            guard states().contains(where: { isMeant($0) && $0.state != free }) else { return true }
            usleep(50_000)
        }
        return false
    }

    private struct State {
        let number: Int
        let isFast: Bool
        let state: Int
        /// The number that the device was plugged in with; 0 for a free port.
        let device: UInt32

        /// - Parameter line: such as "ss  0008 006 005 00010002 000005 1-1".
        init?(_ line: Substring) {
            let words = line.split(separator: " ")
            guard words.count >= 5, let number = Int(words[1]), let state = Int(words[2]),
                let device = UInt32(words[4], radix: 16)
            else { return nil }
            (self.number, isFast, self.state, self.device) = (number, words[0] == "ss", state, device)
        }
    }

    /// The ports of all controllers.
    private static func states() -> [State] {
        // Other controllers' ports are in status.1 and so on.
        let files = entries(of: folder).filter { $0 == "status" || $0.hasPrefix("status.") }
        return files.flatMap { name in
            let text = (try? contents(of: "\(folder)/\(name)")).map { String(decoding: $0, as: UTF8.self) } ?? ""
            return text.split(separator: "\n").compactMap { State($0) }
        }
    }
}
