import V4L2

extension System {
    /// The loopback device that Guise uses: the one labelled `Guise Camera`, or else the first that was not set up for
    /// another program.
    var loopback: DeviceListing? { devices.loopbacksForGuise.first }

    /// Whether a program writes to the loopback device, or the device keeps a previous writer's format.
    func hasStream(_ loopback: DeviceListing) -> Bool {
        if let capabilities = loopback.capabilities, capabilities.isCapture, !capabilities.isOutput { return true }
        // v4l2loopback 0.13 and later; in older versions, a device with both capabilities gives no answer.
        return line("\(sysfs(loopback))/state") == "capture"
    }

    func sysfs(_ device: DeviceListing) -> String { "/sys/class/video4linux/\(Device.node(of: device.path))" }

    /// The value of the module's exclusive_caps parameter for a device; nil if it is unknown.
    fileprivate func isExclusive(_ loopback: DeviceListing) -> Bool? {
        let folder = "/sys/module/\(Module.name)/parameters"
        let number = Device.node(of: loopback.path).dropFirst("video".count)
        guard let numbers = line("\(folder)/video_nr")?.split(separator: ","),
            let flags = line("\(folder)/exclusive_caps")?.split(separator: ","),
            // Without explicit numbers (-1), devices are in the order of their creation.
            let index = numbers.firstIndex(of: number)
                ?? devices.filter(\.isLoopback).firstIndex(where: { $0.path == loopback.path }),
            flags.indices.contains(index)
        else { return nil }
        return flags[index] == "Y"
    }
}

extension Check {
    static let device = Check("device") { system in
        guard system.moduleIsLoaded else { return nil }
        guard let loopback = system.loopback else {
            let others = system.devices.filter(\.isForeignLoopback).map(\.title)
            guard !others.isEmpty else { return .error("v4l2loopback is loaded but has no device", fix: system.reload) }
            return .error(
                "v4l2loopback has no device for Guise: \(others.joined(separator: ", ")) was set up for another program",
                fix: "guise install")
        }
        return .ok("the virtual camera is \(loopback.path)")
    }

    static let relay = Check("relay") { system in
        let relays = system.relays.joined(separator: ", ")
        guard !relays.isEmpty else { return nil }
        let loopbacks = system.devices.filter(\.isForeignLoopback).map(\.title)
        return loopbacks.isEmpty
            ? .warning(
                "\(relays) is running without a loopback of its own: it may write to Guise's",
                fix: Module.optionsForBoth)
            : .ok(
                "\(relays) is running: Guise never writes to \(loopbacks.joined(separator: ", ")), and uses it as a "
                    + "camera")
    }

    static let exclusiveCaps = Check("exclusive caps") { system in
        guard let loopback = system.loopback, let capabilities = loopback.capabilities else { return nil }
        // An idle device that shows both capabilities was loaded without exclusive_caps.
        let isExclusive = system.isExclusive(loopback) ?? !(capabilities.isCapture && capabilities.isOutput)
        return isExclusive
            ? .ok("\(loopback.path) is shown only as a camera, as Chrome requires (exclusive_caps=1)")
            : .error(
                "\(loopback.path) was loaded without exclusive_caps=1: Chrome does not list it", fix: system.reload)
    }

    static let capabilities = Check("capabilities") { system in
        guard let loopback = system.loopback, let capabilities = loopback.capabilities else { return nil }
        switch (capabilities.isCapture, capabilities.isOutput) {
        case (false, false):
            // v4l2loopback 0.12 after a writer that never called STREAMON (v4l2loopback issue 442).
            return .error(
                "\(loopback.path) is stuck: it accepts no writer and is not shown as a camera", fix: system.reload)
        case (true, false): return .ok("\(loopback.path) is a camera now")
        case (false, true): return .ok("\(loopback.path) is waiting for a writer")
        case (true, true): return .ok("\(loopback.path) accepts a writer and a reader")
        }
    }

    static let label = Check("label") { system in
        guard let loopback = system.loopback, let name = loopback.label else { return nil }
        return name == DeviceListing.ownLabel
            ? .ok("programs list it as \(name)")
            : .warning("programs list \(loopback.path) as \(name)", fix: system.reload)
    }

    /// The sizes that Firefox requests from a camera (libwebrtc's device_info_v4l2.cc). A loopback offers a single
    /// size.
    private static let firefoxSizes = [
        "128x96", "160x120", "176x144", "320x240", "352x288", "640x480", "704x576", "800x600", "960x720", "1280x720",
        "1024x768", "1440x1080", "1920x1080",
    ]
    /// The pixel formats that both Chromium and Firefox accept.
    private static let browserFormats = ["YUYV", "UYVY", "NV12", "YU12", "MJPG"]

    static let size = Check("size") { system in
        // "YUYV:1280x720@30" if a writer has set the format, or the device keeps it.
        if let loopback = system.loopback, let format = system.line("\(system.sysfs(loopback))/format") {
            let parts = format.split { ":@".contains($0) }.map(String.init)
            guard parts.count >= 2 else { return nil }
            if !browserFormats.contains(parts[0]) {
                return .error(
                    "\(loopback.path) is fixed at \(parts[0]), which browsers do not support", fix: system.reload)
            }
            if !firefoxSizes.contains(parts[1]) {
                return .warning(
                    "\(loopback.path) is fixed at \(parts[1]): Firefox does not list it", fix: system.reload)
            }
            return .ok("\(loopback.path) provides \(parts[0]) \(parts[1]), which all browsers support")
        }
        guard case .read(let file, let width, let height) = system.setting else { return nil }
        let size = "\(width)x\(height)"
        return firefoxSizes.contains(size)
            ? .ok("the output is \(size), which all browsers support")
            : .warning(
                "the output is \(size): Firefox does not list cameras of that size",
                fix: "set \"output\" to 1280x720 in \(file ?? "config.json")")
    }

    static let writer = Check("writer") { system in
        guard let loopback = system.loopback, loopback.problem?.kind != .forbidden else { return nil }
        let holders = system.holders(of: loopback.path)
        if let guise = holders.first(where: \.isGuise) { return .ok("\(guise) uses \(loopback.path)") }
        guard system.hasStream(loopback) else {
            let hasService = system.unit("guise.service")?.isLoaded ?? false
            return .warning(
                "no program writes to \(loopback.path): it is listed only while Guise is running",
                fix: hasService ? "systemctl --user start guise.service" : "guise run")
        }
        guard !holders.isEmpty else {
            return .error(
                "\(loopback.path) is written to by \(system.unseenHolder), or keeps a format (keep_format)",
                fix: "sudo fuser -v \(loopback.path)")
        }
        return .error(
            "\(loopback.path) is written to by another program: \(holders.list)",
            fix: holders.count == 1 ? "kill \(holders[0].id)" : "fuser -v \(loopback.path)")
    }

    static let readers = Check("readers") { system in
        guard let loopback = system.loopback, system.hasStream(loopback) else { return nil }
        let holders = system.holders(of: loopback.path)
        // If Guise is not among the processes, one of them is the writer.
        guard holders.contains(where: \.isGuise) else { return nil }
        let readers = holders.filter { !$0.isGuise }
        if readers.isEmpty {
            return system.showsHolders ? .ok("no program of this user has \(loopback.path) open") : nil
        }
        guard system.hasOneReader else { return .ok("\(readers.list) may be reading \(loopback.path)") }
        if readers.count == 1, readers[0].isMediaServer {
            return .warning(
                "\(readers[0]) has \(loopback.path) open, and this v4l2loopback gives frames to one program at a time",
                fix: "systemctl --user restart wireplumber")
        }
        guard readers.count > 1 else {
            return .ok("\(readers[0]) has \(loopback.path) open; a second program would get no picture")
        }
        return .warning(
            "\(readers.list) have \(loopback.path) open, and this v4l2loopback gives frames to one of them only",
            fix: "close all but one, or use the page: guise run --sink loopback --sink page")
    }
}
