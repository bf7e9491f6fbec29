import CLinux
import Frames

/// How one of a camera's controls is set: brightness and the like.
public struct ControlSetting: Equatable, Sendable {
    /// V4L2's number of the control.
    public var id: UInt32
    /// In the driver's own unit.
    public var value: Int32
    /// What the driver begins with.
    public var standard: Int32

    /// A setting by its parts.
    public init(id: UInt32, value: Int32, standard: Int32) {
        (self.id, self.value, self.standard) = (id, value, standard)
    }

    /// Those that somebody had set, and that stand at the driver's own again.
    public static func lost(of before: [ControlSetting], now: [ControlSetting]) -> [ControlSetting] {
        before.filter { old in
            old.value != old.standard && now.contains { $0.id == old.id && $0.value == $0.standard }
        }
    }
}

extension Device {
    /// No camera has so many controls: a driver that names one again and again is not asked for ever.
    private static let mostSettings = 200

    /// The controls that can be set now, and how they are: whole numbers, switches and choices (VIDIOC_QUERYCTRL,
    /// VIDIOC_G_CTRL). What an automatic control rules is not among them.
    public var settings: [ControlSetting] {
        let barred = UInt32(
            V4L2_CTRL_FLAG_DISABLED | V4L2_CTRL_FLAG_GRABBED | V4L2_CTRL_FLAG_READ_ONLY | V4L2_CTRL_FLAG_INACTIVE
                | V4L2_CTRL_FLAG_WRITE_ONLY | V4L2_CTRL_FLAG_VOLATILE | V4L2_CTRL_FLAG_EXECUTE_ON_WRITE)
        let kinds = [V4L2_CTRL_TYPE_INTEGER, V4L2_CTRL_TYPE_BOOLEAN, V4L2_CTRL_TYPE_MENU, V4L2_CTRL_TYPE_INTEGER_MENU]
            .map(\.rawValue)
        var settings: [ControlSetting] = []
        var query = v4l2_queryctrl()
        for _ in 0..<Self.mostSettings {
            query.id |= UInt32(V4L2_CTRL_FLAG_NEXT_CTRL)
            guard control(clinux_queryctrl, &query) == 0 else { break }
            guard query.flags & barred == 0, kinds.contains(query.type) else { continue }
            var value = v4l2_control()
            value.id = query.id
            guard control(clinux_g_ctrl, &value) == 0 else { continue }
            settings.append(ControlSetting(id: query.id, value: value.value, standard: query.default_value))
        }
        return settings
    }

    /// Sets controls as they were (VIDIOC_S_CTRL). One that is not there any more, or refuses, stays as it is.
    public func set(_ settings: [ControlSetting]) {
        // Twice: what an automatic control rules can be set once that one is off.
        for _ in 0..<2 {
            for setting in settings {
                var value = v4l2_control()
                (value.id, value.value) = (setting.id, setting.value)
                _ = control(clinux_s_ctrl, &value)
            }
        }
    }
}
