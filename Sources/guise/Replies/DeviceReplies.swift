import JSON
import V4L2

/// The video devices.
struct DeviceListReply: Encodable {
    let devices: [DeviceDescription]

    /// Lists the devices, which may take a while.
    static func here() -> DeviceListReply { DeviceListReply(devices: listDevices().map(DeviceDescription.init)) }
}

/// A video device.
struct DeviceDescription: Encodable {
    /// A size that a camera offers. A range of sizes is represented by the largest.
    struct CameraMode: Encodable {
        let format: String
        let width: Int
        let height: Int
        /// Frames per second: all of them, or the lowest and the highest.
        let rates: [Double]

        /// The mode of an offer; nil if its format is not supported.
        init?(_ offer: SupportedFormat) {
            guard Mode.cost(of: offer.fourCC) != nil else { return nil }
            (format, width, height) = (offer.fourCC.description, offer.width.max, offer.height.max)
            let rates: [Double] =
                switch offer.rates {
                case .listed(let rates): rates
                case .between(let low, let high): [low, high]
                case .unknown: []
                }
            self.rates = rates.map { rounded($0, 100) }
        }
    }

    /// The device node.
    let path: String
    @Nullable var name: String?
    let camera: Bool
    let loopback: Bool
    /// The reason that the device cannot be opened.
    @Nullable var problem: String?
    /// The sizes and rates of a camera.
    let modes: [CameraMode]

    init(_ device: DeviceListing) {
        path = device.path
        name = device.label
        (camera, loopback) = (device.isCamera, device.isLoopback)
        problem = device.problem?.description
        modes = device.isCamera ? device.supportedFormats.compactMap(CameraMode.init) : []
    }
}

/// The source after a change.
struct SourceReply: Codable {
    let source: String
}
