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

/// The camera in use, and the controls that can be set on it.
struct CameraReply: Codable, Sendable {
    /// A control of a camera.
    struct Control: Codable, Sendable {
        enum Kind: String, Codable { case integer, boolean, menu }

        /// A value of a menu.
        struct Item: Codable, Sendable {
            let value: Int
            let name: String
        }

        /// The name in requests: "exposure".
        let name: String
        /// The driver's name.
        let title: String
        let kind: Kind
        let min: Int
        let max: Int
        let step: Int
        /// The camera's own default.
        let defaultValue: Int
        let value: Int
        /// The items of a menu.
        let items: [Item]?
        /// Whether the value has no effect now.
        let inactive: Bool
        /// Whether the camera sets the value itself; left out if it can't.
        let automatic: Bool?
        /// The control that makes it do so; left out if there is none.
        let autoControl: String?

        private enum CodingKeys: String, CodingKey {
            case name, title, kind, min, max, step, defaultValue = "default", value, items, inactive, automatic,
                autoControl
        }

        init(_ control: CameraControl, among controls: [CameraControl]) {
            (name, title) = (control.name, control.title)
            (min, max) = (Int(control.range.lowerBound), Int(control.range.upperBound))
            (step, defaultValue, value) = (Int(control.step), Int(control.defaultValue), Int(control.value))
            switch control.kind {
            case .integer: (kind, items) = (.integer, nil)
            case .boolean: (kind, items) = (.boolean, nil)
            case .menu(let items):
                (kind, self.items) = (.menu, items.map { Item(value: Int($0.value), name: $0.name) })
            }
            inactive = control.isInactive
            let autoControl = control.autoControl(in: controls)
            (self.autoControl, automatic) = (
                autoControl?.control.name, autoControl.map { $0.control.value != $0.manualValue }
            )
        }
    }

    /// The camera's name; null if the source is not a camera, or none is connected.
    @Nullable var camera: String?
    /// The camera's device node.
    @Nullable var path: String?
    let controls: [Control]

    init(camera: String?, path: String?, controls: [CameraControl]) {
        (self.camera, self.path) = (camera, path)
        self.controls = controls.map { Control($0, among: controls) }
    }
}

/// The source after a change.
struct SourceReply: Codable {
    let source: String
}
