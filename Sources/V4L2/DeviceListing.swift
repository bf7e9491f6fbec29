import CLinux
import FoundationEssentials
import Glibc
import SystemKit
import USBCamera

/// A video node as `guise devices` lists it. A node that cannot be opened is listed with the reason.
public struct DeviceListing: Equatable, Sendable, CustomStringConvertible {
    /// The path of the node: "/dev/video0".
    public var path: String
    /// The capabilities; nil if the node could not be opened.
    public var capabilities: Capabilities?
    /// The offered capture formats; empty if they could not be queried.
    public var supportedFormats: [SupportedFormat]
    /// The reason why the node could not be opened, or the program that is using it.
    public var problem: Problem?
    /// The node's name in sysfs, which every user can read.
    public var name: String?
    /// Whether the node is a v4l2loopback, which is known from sysfs even if the node cannot be opened.
    public var isLoopback: Bool
    /// Whether the node is the camera that Guise itself presents over USB, which is never a source.
    public var isOwnCamera: Bool

    /// A listing by its parts.
    public init(
        path: String, capabilities: Capabilities? = nil, supportedFormats: [SupportedFormat] = [],
        problem: Problem? = nil,
        name: String? = nil, isLoopback: Bool = false, isOwnCamera: Bool = false
    ) {
        (self.path, self.capabilities, self.supportedFormats) = (path, capabilities, supportedFormats)
        (self.problem, self.name, self.isLoopback) = (problem, name, isLoopback)
        self.isOwnCamera = isOwnCamera
    }

    /// The label of the loopback that Guise's set-up creates.
    public static let ownLabel = "Guise Camera"
    /// What Guise calls the camera that it presents over USB, as an output.
    public static let ownUSBTitle = "\(ownLabel) (USB)"
    /// The start of the labels that v4l2loopback gives to devices without a `card_label`.
    private static let defaultLabel = "Dummy video device"

    /// The name that programs show; nil if it is unknown.
    public var label: String? { capabilities?.card ?? name }

    /// The node and its name, for messages: "/dev/video0 (Webcam)".
    public var title: String { "\(path) (\(label ?? "unknown"))" }

    /// Whether the node is a loopback that another program was set up for, such as v4l2-relayd. While that program
    /// writes to it, it is a camera; writing to it would break that camera.
    public var isForeignLoopback: Bool {
        guard isLoopback, let label else { return false }
        return label != Self.ownLabel && !label.hasPrefix(Self.defaultLabel)
    }

    /// Whether the node is a capture device with a usable format, but not a metadata node or codec, and not Guise's own
    /// camera or loopback.
    public var isCamera: Bool {
        guard let capabilities else { return false }
        return capabilities.isCapture && !capabilities.isOutput && capabilities.canStream && !isOwnCamera
            && (!isLoopback || isForeignLoopback)
            && supportedFormats.contains { Mode.cost(of: $0.fourCC) != nil }
    }

    /// Whether a usable format has colour; false for infrared cameras, which only offer grey.
    public var hasColor: Bool { supportedFormats.contains { $0.fourCC != "GREY" && Mode.cost(of: $0.fourCC) != nil } }

    /// The text for users, one or more lines.
    public var description: String {
        let title = "\(path)  \(label ?? "unknown")"
        guard let capabilities else { return "\(title)\n    \(problem?.description ?? "")" }
        let role =
            switch (isLoopback, capabilities.isCapture, capabilities.isOutput) {
            case (true, _, _) where isForeignLoopback:
                "another program's virtual camera" + (isCamera ? ", a camera" : "")
            case (true, true, false): "loopback, in use by a writer"
            case (true, _, _): "loopback, free for a writer"
            case (false, true, _) where isOwnCamera: "Guise's own camera"
            case (false, true, _): isCamera ? "camera" : "camera without a usable format"
            case (false, false, true): "output"
            case (false, false, false): "no pictures (metadata or a codec)"
            }
        var lines = ["\(title)  (\(capabilities.driver), \(capabilities.bus))", "    \(role)"]
        // A free loopback accepts every format, and lists them all.
        if !isLoopback || capabilities.isCapture && !capabilities.isOutput { lines += offerLines }
        if let problem { lines.append("    \(problem)") }
        return lines.joined(separator: "\n")
    }

    /// One line per group of formats with equal sizes and rates; formats that cannot be decoded are only named.
    private var offerLines: [String] {
        var groups: [(formats: [String], sizes: String)] = []
        var useless: [String] = []
        var seen: Set<FourCC> = []
        for format in supportedFormats.map(\.fourCC) where seen.insert(format).inserted {
            guard Mode.cost(of: format) != nil else {
                useless.append(format.description)
                continue
            }
            let sizes = supportedFormats.filter { $0.fourCC == format }.map(\.description).joined(separator: "; ")
            if let known = groups.firstIndex(where: { $0.sizes == sizes }) {
                groups[known].formats.append(format.description)
            } else {
                groups.append(([format.description], sizes))
            }
        }
        let lines = groups.map { "    \($0.formats.joined(separator: ", ")): \($0.sizes)" }
        return useless.isEmpty ? lines : lines + ["    not used: \(useless.joined(separator: ", "))"]
    }
}

extension [DeviceListing] {
    /// The loopbacks that Guise may choose to write to: those with its own label first, then those without a label.
    public var loopbacksForGuise: [DeviceListing] {
        let usable = filter { $0.isLoopback && !$0.isForeignLoopback }
        return usable.filter { $0.label == DeviceListing.ownLabel }
            + usable.filter { $0.label != DeviceListing.ownLabel }
    }
}

/// Lists all video nodes, sorted by number. Opening them doesn't disturb other programs.
public func listDevices() -> [DeviceListing] {
    let nodes = (try? FileManager.default.contentsOfDirectory(atPath: "/dev")) ?? []
    let numbers = nodes.compactMap { $0.hasPrefix("video") ? Int($0.dropFirst(5)) : nil }
    return numbers.sorted().map { DeviceListing(node: "video\($0)") }
}

extension DeviceListing {
    /// Queries a node such as "video0".
    init(node: String) {
        self.init(
            path: "/dev/\(node)", name: firstLine(ofFile: "/sys/class/video4linux/\(node)/name"),
            isLoopback: Device.isLoopback(node: node),
            isOwnCamera: Device.isOwnCamera(sysfs: "/sys/class/video4linux/\(node)"))
        do {
            let device = try Device(path: path)
            capabilities = device.capabilities
            isLoopback = device.capabilities.isLoopback
            if device.capabilities.isCapture { supportedFormats = device.supportedFormats(for: .capture) }
        } catch {
            problem = error
        }
    }
}

extension Device {
    /// Whether the v4l2loopback driver is older than 0.14, which lets two writers mix their frames
    /// (`/sys/module/v4l2loopback/version`).
    public var mixesWriters: Bool { Self.isDriver(before: [0, 14]) }

    /// Whether the v4l2loopback driver is 0.13: without a stream, its write(2) rejects a second writer, but its
    /// streaming interface accepts one.
    public var refusesSecondWrite: Bool { mixesWriters && !Self.isDriver(before: [0, 13]) }

    private static func isDriver(before limit: [Int]) -> Bool {
        guard let version = firstLine(ofFile: "/sys/module/v4l2loopback/version") else { return true }
        return version.split(separator: ".").map { Int($0) ?? 0 }.lexicographicallyPrecedes(limit)
    }

    /// Whether a loopback of version 0.13 or later has a stream, or keeps its format (sysfs `state`).
    public var hasStream: Bool { firstLine(ofFile: "/sys/class/video4linux/\(Self.node(of: path))/state") == "capture" }

    /// Whether another process has a loopback open: the one at `path` if the kernel shows this user's processes, or any
    /// loopback if it doesn't, as in a user namespace such as that of the service.
    public static func isOpenElsewhere(_ path: String) -> Bool {
        if !holders(of: path).isEmpty { return true }
        // Only outside of user namespaces, all users are mapped (user_namespaces(7)).
        guard let users = firstLine(ofFile: "/proc/self/uid_map"), !users.contains("\(UInt32.max)") else {
            return false
        }
        return loopbackUsersElsewhere > 0
    }

    /// The number of times other processes have this node open, as far as that is known. Sandboxed browsers hide their
    /// open files; if there is no other loopback, the use count of the module is used instead.
    static func usersElsewhere(of path: String) -> Int {
        let known = holders(of: path).count
        if known > 0 { return known }
        let nodes = (try? FileManager.default.contentsOfDirectory(atPath: "/sys/class/video4linux")) ?? []
        return nodes.count(where: isLoopback) == 1 ? loopbackUsersElsewhere : 0
    }

    /// The number of times other processes have any loopback open.
    static var loopbackUsersElsewhere: Int {
        // Every open file, ours included, holds a reference to the module.
        let openCount = firstLine(ofFile: "/sys/module/v4l2loopback/refcnt").flatMap { Int($0) } ?? 0
        let own = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let loopbacks = own.count { descriptor in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            guard let target, target.hasPrefix("/dev/video") else { return false }
            return isLoopback(node: node(of: target))
        }
        return max(0, openCount - loopbacks)
    }

    /// Whether the driver is v4l2loopback, which alone has this file.
    static func isLoopback(node: String) -> Bool {
        FileManager.default.fileExists(atPath: "/sys/class/video4linux/\(node)/max_openers")
    }

    /// Whether this is the camera that Guise itself presents over USB, whatever path it was opened by.
    public var isOwnCamera: Bool {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return false }
        // The halves of a device number, as in <sys/sysmacros.h>; V4L2's fit into the lower bits.
        let (major, minor) = (status.st_rdev >> 8 & 0xFFF, status.st_rdev & 0xFF | status.st_rdev >> 12 & 0xFFF00)
        return Self.isOwnCamera(sysfs: "/sys/dev/char/\(major):\(minor)")
    }

    /// Whether a device's folder in sysfs is that of an interface of Guise's USB camera: it has the service's serial
    /// number and hangs on the virtual host controller.
    static func isOwnCamera(sysfs: String) -> Bool {
        guard let interface = realPath(of: "\(sysfs)/device"), interface.contains("/vhci_hcd.") else { return false }
        return firstLine(ofFile: "\(interface)/../serial") == CameraIdentity.serial
    }

    /// The number of buffers of a loopback; nil for other devices.
    public var bufferCount: Int? {
        firstLine(ofFile: "/sys/class/video4linux/\(Self.node(of: path))/buffers").flatMap { Int($0) }
    }

    /// The offered formats, sizes and rates (VIDIOC_ENUM_FMT, VIDIOC_ENUM_FRAMESIZES, VIDIOC_ENUM_FRAMEINTERVALS). A
    /// format for which the driver names no sizes is left out.
    public func supportedFormats(for direction: Direction) -> [SupportedFormat] {
        formats(for: direction).flatMap { format in
            sizes(of: format).map { size in
                SupportedFormat(
                    fourCC: format, width: size.width, height: size.height,
                    rates: rates(of: format, width: size.width.max, height: size.height.max))
            }
        }
    }

    // The most items enumerated, for drivers that never end a list.
    private static let maxItems: UInt32 = 256

    /// Pixel formats in the driver's order (VIDIOC_ENUM_FMT).
    public func formats(for direction: Direction) -> [FourCC] {
        var found: [FourCC] = []
        for index in 0..<Self.maxItems {
            var item = v4l2_fmtdesc()
            (item.index, item.type) = (index, direction.bufferType)
            guard control(clinux_enum_fmt, &item) == 0 else { break }
            found.append(FourCC(rawValue: item.pixelformat))
        }
        return found
    }

    private func sizes(of format: FourCC) -> [(width: SupportedFormat.SizeRange, height: SupportedFormat.SizeRange)] {
        var found: [(width: SupportedFormat.SizeRange, height: SupportedFormat.SizeRange)] = []
        for index in 0..<Self.maxItems {
            var item = v4l2_frmsizeenum()
            (item.index, item.pixel_format) = (index, format.rawValue)
            guard control(clinux_enum_framesizes, &item) == 0 else { break }
            if item.type == V4L2_FRMSIZE_TYPE_DISCRETE.rawValue {
                found.append(
                    (
                        SupportedFormat.SizeRange(Int(item.discrete.width)),
                        SupportedFormat.SizeRange(Int(item.discrete.height))
                    ))
                continue
            }
            let range = item.stepwise
            let width = SupportedFormat.SizeRange(
                min: Int(range.min_width), max: Int(range.max_width), step: Int(range.step_width))
            let height = SupportedFormat.SizeRange(
                min: Int(range.min_height), max: Int(range.max_height), step: Int(range.step_height))
            found.append((width, height))
            break
        }
        return found
    }

    private func rates(of format: FourCC, width: Int, height: Int) -> SupportedFormat.Rates {
        var listed: [Double] = []
        for index in 0..<Self.maxItems {
            var item = v4l2_frmivalenum()
            (item.index, item.pixel_format) = (index, format.rawValue)
            (item.width, item.height) = (UInt32(clamping: width), UInt32(clamping: height))
            guard control(clinux_enum_frameintervals, &item) == 0 else { break }
            if item.type == V4L2_FRMIVAL_TYPE_DISCRETE.rawValue {
                if let rate = item.discrete.rate { listed.append(rate) }
                continue
            }
            // The shortest interval is the highest rate.
            guard let high = item.stepwise.min.rate, let low = item.stepwise.max.rate else { break }
            return .between(min(low, high), max(low, high))
        }
        return listed.isEmpty ? .unknown : .listed(listed.sorted(by: >))
    }
}
