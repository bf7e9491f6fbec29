import CLinux
import FoundationEssentials
import Frames

/// One video node as `guise devices` shows it. A node that cannot be opened is listed with the reason.
public struct DeviceListing: Equatable, Sendable, CustomStringConvertible {
    /// "/dev/video0".
    public var path: String
    /// Nil where the node could not be opened.
    public var capabilities: Capabilities?
    /// What it captures; empty where it could not be asked.
    public var offers: [Offer]
    /// Why the node could not be opened, or who holds it.
    public var problem: Problem?
    /// What sysfs calls the node, readable by everybody.
    public var name: String?
    /// v4l2loopback alone has these files, so that it is known even where the node may not be opened.
    public var isLoopback: Bool

    /// A node with what is known of it.
    public init(
        path: String, capabilities: Capabilities? = nil, offers: [Offer] = [], problem: Problem? = nil,
        name: String? = nil, isLoopback: Bool = false
    ) {
        (self.path, self.capabilities, self.offers) = (path, capabilities, offers)
        (self.problem, self.name, self.isLoopback) = (problem, name, isLoopback)
    }

    /// True for a node that gives pictures and is no loopback; metadata nodes and decoders are none.
    public var isCamera: Bool {
        guard let capabilities else { return false }
        return capabilities.isCapture && !capabilities.isOutput && capabilities.canStream && !isLoopback
            && offers.contains { Mode.cost(of: $0.fourCC) != nil }
    }

    /// False for infrared cameras, which offer grey alone.
    public var hasColor: Bool { offers.contains { $0.fourCC != "GREY" && Mode.cost(of: $0.fourCC) != nil } }

    /// What the user reads, one or more lines.
    public var description: String {
        let title = "\(path)  \(capabilities?.card ?? name ?? "unknown")"
        guard let capabilities else { return "\(title)\n    \(problem?.description ?? "")" }
        let role =
            switch (isLoopback, capabilities.isCapture, capabilities.isOutput) {
            case (true, true, false): "loopback, in use by a writer"
            case (true, _, _): "loopback, free for a writer"
            case (false, true, _): isCamera ? "camera" : "camera without a usable format"
            case (false, false, true): "output"
            case (false, false, false): "no pictures (metadata or a codec)"
            }
        var lines = ["\(title)  (\(capabilities.driver), \(capabilities.bus))", "    \(role)"]
        // A free loopback takes any format, and lists them all.
        if !isLoopback || capabilities.isCapture && !capabilities.isOutput { lines += offerLines }
        if let problem { lines.append("    \(problem)") }
        return lines.joined(separator: "\n")
    }

    /// One line for formats of the same sizes and rates; those that nobody can decode are only named.
    private var offerLines: [String] {
        var groups: [(formats: [String], sizes: String)] = []
        var useless: [String] = []
        var seen: Set<FourCC> = []
        for format in offers.map(\.fourCC) where seen.insert(format).inserted {
            guard Mode.cost(of: format) != nil else {
                useless.append(format.description)
                continue
            }
            let sizes = offers.filter { $0.fourCC == format }.map(\.description).joined(separator: "; ")
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

/// All video nodes, by number. Opening them disturbs nobody.
public func listDevices() -> [DeviceListing] {
    let nodes = (try? FileManager.default.contentsOfDirectory(atPath: "/dev")) ?? []
    let numbers = nodes.compactMap { $0.hasPrefix("video") ? Int($0.dropFirst(5)) : nil }
    return numbers.sorted().map { DeviceListing(node: "video\($0)") }
}

extension DeviceListing {
    /// Asks one node, "video0", what it is.
    init(node: String) {
        self.init(
            path: "/dev/\(node)", name: firstLine(ofFile: "/sys/class/video4linux/\(node)/name"),
            isLoopback: Device.isLoopback(node: node))
        do {
            let device = try Device(path: path)
            capabilities = device.capabilities
            isLoopback = device.capabilities.isLoopback
            if device.capabilities.isCapture { offers = device.offers(for: .capture) }
        } catch {
            problem = error
        }
    }
}

extension Device {
    /// A loopback of before 0.14, which lets two writers mix their frames (`/sys/module/v4l2loopback/version`).
    public var mixesWriters: Bool { Self.isDriver(before: [0, 14]) }

    /// A loopback of 0.13, whose write(2) without a stream refuses a second writer, though its stream takes it in.
    public var refusesSecondWrite: Bool { mixesWriters && !Self.isDriver(before: [0, 13]) }

    private static func isDriver(before limit: [Int]) -> Bool {
        guard let version = firstLine(ofFile: "/sys/module/v4l2loopback/version") else { return true }
        return version.split(separator: ".").map { Int($0) ?? 0 }.lexicographicallyPrecedes(limit)
    }

    /// True while a loopback of 0.13 or later has a stream, or keeps its format (sysfs `state`).
    public var hasStream: Bool { firstLine(ofFile: "/sys/class/video4linux/\(Self.node(of: path))/state") == "capture" }

    /// Whether another process has a loopback open: that of `path` where the kernel tells of this user's processes, and
    /// any of them where it does not, which is in a user namespace as the service's.
    public static func isOpenElsewhere(_ path: String) -> Bool {
        if !holders(of: path).isEmpty { return true }
        // All users are mapped outside of namespaces alone (user_namespaces(7)).
        guard let users = firstLine(ofFile: "/proc/self/uid_map"), !users.contains("\(UInt32.max)") else {
            return false
        }
        return loopbackOpeningsElsewhere > 0
    }

    /// How often other processes have this node open, as far as that can be known. Sandboxed browsers hide what they have
    /// open; where there is no other loopback, the module's own count tells.
    static func openingsElsewhere(of path: String) -> Int {
        let known = holders(of: path).count
        if known > 0 { return known }
        let nodes = (try? FileManager.default.contentsOfDirectory(atPath: "/sys/class/video4linux")) ?? []
        return nodes.count(where: isLoopback) == 1 ? loopbackOpeningsElsewhere : 0
    }

    /// How often other processes have any loopback open.
    static var loopbackOpeningsElsewhere: Int {
        // The module is held once for each opening, ours included.
        let openings = firstLine(ofFile: "/sys/module/v4l2loopback/refcnt").flatMap { Int($0) } ?? 0
        let own = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let loopbacks = own.count { descriptor in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            guard let target, target.hasPrefix("/dev/video") else { return false }
            return isLoopback(node: node(of: target))
        }
        return max(0, openings - loopbacks)
    }

    /// v4l2loopback alone has this file.
    static func isLoopback(node: String) -> Bool {
        FileManager.default.fileExists(atPath: "/sys/class/video4linux/\(node)/max_openers")
    }

    /// The buffers that a loopback keeps; nil for other devices.
    public var bufferCount: Int? {
        firstLine(ofFile: "/sys/class/video4linux/\(Self.node(of: path))/buffers").flatMap { Int($0) }
    }

    /// What the node offers (VIDIOC_ENUM_FMT and below). Where it names no sizes, none is offered.
    public func offers(for direction: Direction) -> [Offer] {
        formats(for: direction).flatMap { format in
            sizes(of: format).map { size in
                Offer(
                    fourCC: format, width: size.width, height: size.height,
                    rates: rates(of: format, width: size.width.most, height: size.height.most))
            }
        }
    }

    // Drivers that never say "no more" are cut off here.
    private static let mostItems: UInt32 = 256

    /// Pixel formats in the driver's order (VIDIOC_ENUM_FMT).
    public func formats(for direction: Direction) -> [FourCC] {
        var found: [FourCC] = []
        for index in 0..<Self.mostItems {
            var item = v4l2_fmtdesc()
            (item.index, item.type) = (index, direction.bufferType)
            guard control(clinux_enum_fmt, &item) == 0 else { break }
            found.append(FourCC(rawValue: item.pixelformat))
        }
        return found
    }

    private func sizes(of format: FourCC) -> [(width: Offer.Extent, height: Offer.Extent)] {
        var found: [(width: Offer.Extent, height: Offer.Extent)] = []
        for index in 0..<Self.mostItems {
            var item = v4l2_frmsizeenum()
            (item.index, item.pixel_format) = (index, format.rawValue)
            guard control(clinux_enum_framesizes, &item) == 0 else { break }
            if item.type == V4L2_FRMSIZE_TYPE_DISCRETE.rawValue {
                found.append((Offer.Extent(Int(item.discrete.width)), Offer.Extent(Int(item.discrete.height))))
                continue
            }
            let range = item.stepwise
            let width = Offer.Extent(
                least: Int(range.min_width), most: Int(range.max_width), step: Int(range.step_width))
            let height = Offer.Extent(
                least: Int(range.min_height), most: Int(range.max_height), step: Int(range.step_height))
            found.append((width, height))
            break
        }
        return found
    }

    private func rates(of format: FourCC, width: Int, height: Int) -> Offer.Rates {
        var listed: [Double] = []
        for index in 0..<Self.mostItems {
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
