import CLinux

/// The setting of a camera control such as brightness.
public struct ControlSetting: Equatable, Sendable {
    /// The control's V4L2 id.
    public var id: UInt32
    /// The value, in the driver's own unit.
    public var value: Int32
    /// The driver's default.
    public var standard: Int32

    /// A setting by its parts.
    public init(id: UInt32, value: Int32, standard: Int32) {
        (self.id, self.value, self.standard) = (id, value, standard)
    }

    /// The settings that differed from the default before and are at the default now.
    public static func lost(of before: [ControlSetting], now: [ControlSetting]) -> [ControlSetting] {
        before.filter { old in
            old.value != old.standard && now.contains { $0.id == old.id && $0.value == $0.standard }
        }
    }
}

extension Device {
    /// The most controls that are enumerated, so that a driver that repeats one forever causes no endless loop.
    private static let maxSettings = 200

    /// The settings of all integer, Boolean and menu controls that can currently be set (VIDIOC_QUERYCTRL,
    /// VIDIOC_G_CTRL). Controls that are inactive because an automatic control governs them are not included.
    public var settings: [ControlSetting] {
        let barred = UInt32(
            V4L2_CTRL_FLAG_DISABLED | V4L2_CTRL_FLAG_GRABBED | V4L2_CTRL_FLAG_READ_ONLY | V4L2_CTRL_FLAG_INACTIVE
                | V4L2_CTRL_FLAG_WRITE_ONLY | V4L2_CTRL_FLAG_VOLATILE | V4L2_CTRL_FLAG_EXECUTE_ON_WRITE)
        let kinds = [V4L2_CTRL_TYPE_INTEGER, V4L2_CTRL_TYPE_BOOLEAN, V4L2_CTRL_TYPE_MENU, V4L2_CTRL_TYPE_INTEGER_MENU]
            .map(\.rawValue)
        var settings: [ControlSetting] = []
        var query = v4l2_queryctrl()
        for _ in 0..<Self.maxSettings {
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

    /// Restores settings (VIDIOC_S_CTRL). A control that no longer exists, or rejects its value, is skipped.
    public func set(_ settings: [ControlSetting]) {
        // Twice: some controls can only be set after their automatic control was switched off.
        for _ in 0..<2 {
            for setting in settings {
                var value = v4l2_control()
                (value.id, value.value) = (setting.id, setting.value)
                _ = control(clinux_s_ctrl, &value)
            }
        }
    }
}
