import CLinux
import SystemKit

/// A control of a camera, such as brightness, as its driver describes it.
public struct CameraControl: Equatable, Sendable {
    /// The values that a control takes.
    public enum Kind: Equatable, Sendable {
        /// A whole number of `range`, in the driver's own unit.
        case integer
        /// 0 or 1.
        case boolean
        /// One of the items, by their numbers in the driver's order.
        case menu([MenuItem])
    }

    /// A value of a menu.
    public struct MenuItem: Equatable, Sendable {
        /// The value.
        public var value: Int32
        /// The driver's name for it: "Aperture Priority Mode".
        public var name: String

        /// An item by its parts.
        public init(value: Int32, name: String) { (self.value, self.name) = (value, name) }
    }

    /// The V4L2 id.
    public var id: UInt32
    /// The driver's name: "Exposure Time, Absolute".
    public var title: String
    /// The values that it takes.
    public var kind: Kind
    /// The lowest and the highest value.
    public var range: ClosedRange<Int32>
    /// The difference between neighbouring values.
    public var step: Int32
    /// The camera's own default.
    public var defaultValue: Int32
    /// The current value.
    public var value: Int32
    /// Whether the value has no effect now, such as an exposure time while the exposure is automatic.
    public var isInactive: Bool

    /// A control by its parts.
    public init(
        id: UInt32, title: String, kind: Kind = .integer, range: ClosedRange<Int32> = 0...255, step: Int32 = 1,
        defaultValue: Int32 = 0, value: Int32 = 0, isInactive: Bool = false
    ) {
        (self.id, self.title, self.kind, self.range, self.step) = (id, title, kind, range, step)
        (self.defaultValue, self.value, self.isInactive) = (defaultValue, value, isInactive)
    }

    /// The name in requests and commands: a short one for controls that many cameras have, or else the driver's, as
    /// "power-line-frequency".
    public var name: String {
        let own = Self.slug(title)
        return Self.names[id] ?? (own.isEmpty ? "control-\(id)" : own)
    }

    /// Letters and digits in lower case, with single hyphens between the words.
    static func slug(_ title: String) -> String {
        let words = title.lowercased().split { !$0.isASCII || !($0.isLetter || $0.isNumber) }
        return words.joined(separator: "-")
    }

    private static let names: [UInt32: String] = [
        UInt32(V4L2_CID_AUTOBRIGHTNESS): "auto-brightness", UInt32(V4L2_CID_HUE_AUTO): "auto-hue",
        UInt32(V4L2_CID_AUTOGAIN): "auto-gain",
        UInt32(V4L2_CID_EXPOSURE_AUTO): "auto-exposure", UInt32(V4L2_CID_EXPOSURE_ABSOLUTE): "exposure",
        UInt32(V4L2_CID_EXPOSURE_AUTO_PRIORITY): "dynamic-rate",
        UInt32(V4L2_CID_AUTO_WHITE_BALANCE): "auto-white-balance",
        UInt32(V4L2_CID_WHITE_BALANCE_TEMPERATURE): "white-balance",
        UInt32(V4L2_CID_FOCUS_AUTO): "auto-focus", UInt32(V4L2_CID_FOCUS_ABSOLUTE): "focus",
        UInt32(V4L2_CID_ZOOM_ABSOLUTE): "zoom", UInt32(V4L2_CID_PAN_ABSOLUTE): "pan",
        UInt32(V4L2_CID_TILT_ABSOLUTE): "tilt", UInt32(V4L2_CID_IRIS_ABSOLUTE): "iris",
    ]

    /// The controls that an automatic one governs, with the latter's value for "by hand". The values of the exposure
    /// are those of `v4l2_exposure_auto_type`.
    private static let autoControls: [(automatic: UInt32, governed: UInt32, manualValue: Int32)] = [
        (UInt32(V4L2_CID_AUTOBRIGHTNESS), UInt32(V4L2_CID_BRIGHTNESS), 0),
        (UInt32(V4L2_CID_HUE_AUTO), UInt32(V4L2_CID_HUE), 0),
        (UInt32(V4L2_CID_AUTOGAIN), UInt32(V4L2_CID_GAIN), 0),
        (
            UInt32(V4L2_CID_EXPOSURE_AUTO), UInt32(V4L2_CID_EXPOSURE_ABSOLUTE), Int32(V4L2_EXPOSURE_MANUAL.rawValue)
        ),
        (UInt32(V4L2_CID_AUTO_WHITE_BALANCE), UInt32(V4L2_CID_WHITE_BALANCE_TEMPERATURE), 0),
        (UInt32(V4L2_CID_FOCUS_AUTO), UInt32(V4L2_CID_FOCUS_ABSOLUTE), 0),
    ]

    /// The automatic control that governs this one, with its value for "by hand"; nil if there is none.
    public func autoControl(in controls: [CameraControl]) -> (control: CameraControl, manualValue: Int32)? {
        guard let known = Self.autoControls.first(where: { $0.governed == id }),
            let control = controls.first(where: { $0.id == known.automatic }), control.allows(known.manualValue)
        else { return nil }
        return (control, known.manualValue)
    }

    /// Whether the control governs another one.
    var isAutomatic: Bool { Self.autoControls.contains { $0.automatic == id } }

    /// The value that makes this control, which governs another one, automatic again.
    func automatic(otherThan manualValue: Int32) -> Int32? {
        guard case .menu(let items) = kind else { return 1 }
        return defaultValue != manualValue ? defaultValue : items.first { $0.value != manualValue }?.value
    }

    /// Whether a value is in the range, and in the menu.
    public func allows(_ value: Int32) -> Bool {
        guard case .menu(let items) = kind else { return range.contains(value) }
        return items.contains { $0.value == value }
    }

    /// The allowed values in words: "a whole number from 0 to 255".
    public var allowedText: String {
        switch kind {
        case .integer: "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .boolean: "on, off"
        case .menu(let items): items.map { "\($0.value) (\($0.name))" }.joined(separator: ", ")
        }
    }

    /// A value in words, as `value(of:)` reads it.
    public func text(of value: Int32) -> String { kind.text(of: value) }

    /// The value that a text means: a number, `on` and `off`, the name of a menu's item, or `default`.
    /// - Throws: `Problem` of kind `invalid` that says what is allowed.
    func value(of text: String) throws(Problem) -> Int32 {
        let word = text.lowercased()
        let named: Int32? =
            switch kind {
            case _ where word == "default": defaultValue
            case .integer: nil
            case .boolean: ["on": 1, "true": 1, "off": 0, "false": 0][word]
            case .menu(let items):
                items.first { $0.name.lowercased() == word || Self.slug($0.name) == Self.slug(word) }?.value
            }
        guard let value = named ?? Int32(text), allows(value) else {
            throw Problem(.invalid, "'\(name)' is '\(text)'", fix: "allowed: \(allowedText), default")
        }
        return value
    }
}

extension CameraControl.Kind {
    /// A value in words: a number, "on" or "off", or the name of a menu's item.
    public func text(of value: Int32) -> String {
        switch self {
        case .integer: "\(value)"
        case .boolean: value == 0 ? "off" : "on"
        case .menu(let items): items.first { $0.value == value }?.name ?? "\(value)"
        }
    }
}

/// A camera's controls: those of a device, or fakes in tests.
public protocol CameraControls: ~Copyable {
    /// The camera's name and bus.
    var capabilities: Capabilities { get }
    /// The controls that can be set, in the driver's order.
    var controls: [CameraControl] { get }
    /// Sets a control. Returns 0 or the `errno`.
    func set(_ id: UInt32, to value: Int32) -> CInt
    /// The `Problem` for an `errno` of the camera, with its fix.
    func problem(_ code: CInt, _ what: String) -> Problem
}

extension CameraControls where Self: ~Copyable {
    /// Sets a control by its name. One that an automatic control governs is set by hand from then on, or, to `auto`,
    /// automatically.
    /// - Parameter text: as `CameraControl.value(of:)` reads it, or `auto`.
    /// - Returns: the controls that were set, with their values.
    /// - Throws: `Problem` of kind `invalid`, with what is allowed, for an unknown name or value; `unusable` if the
    ///   control has no effect now; and for what the camera refuses. Then nothing has changed.
    public func set(_ name: String, to text: String) throws(Problem) -> [(name: String, value: Int32)] {
        let all = controls
        guard let control = all.first(where: { $0.name == name }) else {
            throw Problem(
                .invalid, "the camera has no control '\(name)'",
                fix: all.isEmpty ? "it has none" : "it has: \(all.map(\.name).joined(separator: ", "))")
        }
        let autoControl = control.autoControl(in: all)
        if text.lowercased() == "auto", let autoControl {
            guard let value = autoControl.control.automatic(otherThan: autoControl.manualValue) else {
                throw Problem(.unusable, "'\(name)' can only be set by hand on this camera")
            }
            try set(autoControl.control, to: value)
            return [(autoControl.control.name, value)]
        }
        let value = try control.value(of: text)
        let isAutomatic = autoControl.map { $0.control.value != $0.manualValue } ?? false
        guard isAutomatic || control.isInactive else {
            try set(control, to: value)
            return [(name, value)]
        }
        guard isAutomatic, let autoControl else {
            throw Problem(
                .unusable, "'\(name)' has no effect now: another control of the camera governs it",
                fix: "change that first; `guise camera` lists the controls")
        }
        try set(autoControl.control, to: autoControl.manualValue)
        do throws(Problem) { try set(control, to: value) } catch {
            _ = set(autoControl.control.id, to: autoControl.control.value)
            throw error
        }
        return [(autoControl.control.name, autoControl.manualValue), (name, value)]
    }

    private func set(_ control: CameraControl, to value: Int32) throws(Problem) {
        let code = set(control.id, to: value)
        guard code == 0 else {
            throw problem(code, "could not set the camera's '\(control.name)' to \(control.text(of: value))")
        }
    }

    /// Sets controls as far as the camera has them and accepts the values.
    public func restore(_ values: [String: Int32]) {
        // What an automatic control governs is set before and after it: it can only be set while that is off.
        for isAutomatic in [false, true, false] {
            for control in controls where control.isAutomatic == isAutomatic {
                guard let value = values[control.name], value != control.value else { continue }
                _ = set(control.id, to: value)
            }
        }
    }

    /// Sets all controls to the camera's own defaults.
    public func reset() {
        restore(Dictionary(controls.map { ($0.name, $0.defaultValue) }) { first, _ in first })
    }
}
