/// How the camera presents itself. All of it is fixed, so that nothing can plug in another device through the service.
public enum CameraIdentity {
    /// The USB vendor number. 0xF055 belongs to nobody; open hardware without a number of its own uses it.
    public static let vendor = 0xF055
    /// The USB product number, our own choice.
    public static let product = 0x6743
    /// The serial number.
    public static let serial = "guise-camera"
    /// The manufacturer's name.
    public static let manufacturer = "Guise"
    /// The name that programs show.
    public static let name = "Guise Camera"
}

/// The camera's USB descriptors (USB 3.2, 9.6; USB Video Class 1.0).
enum Descriptors {
    static let controlInterface = 0
    static let streamingInterface = 1
    /// The endpoint of the video, IN.
    static let endpoint: UInt8 = 0x81

    // Terminals of the video function.
    private static let cameraTerminal: UInt8 = 1
    private static let outputTerminal: UInt8 = 2

    /// The descriptor of a type and index; nil if there is none.
    static func descriptor(type: Int, index: Int) -> [UInt8]? {
        switch (type, index) {
        case (1, 0): device
        case (2, 0): configuration
        case (3, 0): [4, 3, 0x09, 0x04]  // the only language: English (US)
        case (3, 1): string(CameraIdentity.manufacturer)
        case (3, 2): string(CameraIdentity.name)
        case (3, 3): string(CameraIdentity.serial)
        case (15, 0): capabilities
        default: nil
        }
    }

    static let device: [UInt8] = {
        var bytes: [UInt8] = [18, 1, 0x00, 0x03]  // USB 3.0
        bytes += [0xEF, 2, 1]  // a class that is given by interface associations
        bytes.append(9)  // control packets of 2^9 bytes
        bytes.append(littleEndian16: CameraIdentity.vendor)
        bytes.append(littleEndian16: CameraIdentity.product)
        bytes += [0x00, 0x01]  // release 1.0
        bytes += [1, 2, 3]  // strings: manufacturer, name, serial number
        bytes.append(1)  // configurations
        return bytes
    }()

    /// The device's capabilities (BOS), which SuperSpeed requires.
    private static let capabilities: [UInt8] =
        [5, 15, 22, 0, 2]
        + [7, 16, 2, 0, 0, 0, 0]  // USB 2.0 extension: no link power management
        + [10, 16, 3, 0, 0x0E, 0x00, 1, 10, 0xFF, 0x07]  // SuperSpeed, usable from full speed on

    private static func string(_ text: String) -> [UInt8] {
        [UInt8(2 + 2 * text.utf8.count), 3] + text.utf8.flatMap { [$0, 0] }
    }

    static let configuration: [UInt8] = {
        var body = association + control + streaming
        for (index, size) in CameraMode.packetSizes.enumerated() { body += alternate(index + 1, packetSize: size) }
        var bytes: [UInt8] = [9, 2]
        bytes.append(littleEndian16: 9 + body.count)
        bytes += [2, 1, 0, 0x80, 50]  // 2 interfaces, configuration 1, powered by the bus
        return bytes + body
    }()

    private static let association: [UInt8] = [8, 11, 0, 2, 14, 3, 0, 2]

    /// The control interface: a camera terminal and an output terminal, both without controls.
    private static let control: [UInt8] = {
        let camera: [UInt8] =
            [18, 0x24, 2, cameraTerminal, 0x01, 0x02, 0, 0] + [0, 0, 0, 0, 0, 0] + [3, 0, 0, 0]
        let output: [UInt8] = [9, 0x24, 3, outputTerminal, 0x01, 0x01, 0, cameraTerminal, 0]
        var bytes: [UInt8] = [9, 4, 0, 0, 0, 14, 1, 0, 2]
        bytes += [13, 0x24, 1, 0x00, 0x01]  // UVC 1.0
        bytes.append(littleEndian16: 13 + camera.count + output.count)
        bytes.append(littleEndian: 48_000_000)  // the clock, which is not used
        bytes += [1, UInt8(streamingInterface)]
        return bytes + camera + output
    }()

    /// The streaming interface without bandwidth (alternate setting 0), and the formats.
    private static let streaming: [UInt8] = {
        var formats: [UInt8] = [27, 0x24, 4, 1, UInt8(CameraMode.all.count)]
        // The GUID of YUY2.
        formats += [0x59, 0x55, 0x59, 0x32, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]
        formats += [16, 1, 0, 0, 0, 0]  // 16 bits per pixel, the first size is the default
        for (index, mode) in CameraMode.all.enumerated() {
            formats += [UInt8(26 + 4 * CameraMode.intervals.count), 0x24, 5, UInt8(index + 1), 0]
            formats.append(littleEndian16: mode.width)
            formats.append(littleEndian16: mode.height)
            formats.append(littleEndian: UInt32(mode.frameBytes * 8 * 15))
            formats.append(littleEndian: UInt32(mode.frameBytes * 8 * 30))
            formats.append(littleEndian: UInt32(mode.frameBytes))
            formats.append(littleEndian: CameraMode.intervals[0])
            formats.append(UInt8(CameraMode.intervals.count))
            for interval in CameraMode.intervals { formats.append(littleEndian: interval) }
        }
        // The colours of YUYV as Guise produces it: BT.709 primaries and transfer, the matrix of BT.601.
        formats += [6, 0x24, 13, 1, 1, 4]
        var bytes: [UInt8] = [9, 4, 1, 0, 0, 14, 2, 0, 0]
        bytes += [14, 0x24, 1, 1]
        bytes.append(littleEndian16: 14 + formats.count)
        bytes += [endpoint, 0, outputTerminal, 0, 0, 0, 1, 0]
        return bytes + formats
    }()

    /// An alternate setting of the streaming interface, with the endpoint for packets of a size.
    private static func alternate(_ number: Int, packetSize: Int) -> [UInt8] {
        var bytes: [UInt8] = [9, 4, 1, UInt8(number), 1, 14, 2, 0, 0]
        bytes += [7, 5, endpoint, 5, 0x00, 0x04, 1]  // isochronous, asynchronous, 1024 bytes
        bytes += [6, 0x30, 15, 2]  // SuperSpeed: 16 packets in each of 3 bursts
        bytes.append(littleEndian16: packetSize)
        return bytes
    }
}
