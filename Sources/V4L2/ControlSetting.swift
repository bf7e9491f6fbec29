import CLinux

/// The setting of a camera control such as brightness.
public struct ControlSetting: Equatable, Sendable {
    /// The control's V4L2 id.
    public var id: UInt32
    /// The value, in the driver's own unit.
    public var value: Int32
    /// The driver's default.
    public var defaultValue: Int32

    /// A setting by its parts.
    public init(id: UInt32, value: Int32, defaultValue: Int32) {
        (self.id, self.value, self.defaultValue) = (id, value, defaultValue)
    }

    /// The settings that differed from the default before and are at the default now.
    public static func lost(of before: [ControlSetting], now: [ControlSetting]) -> [ControlSetting] {
        before.filter { old in
            old.value != old.defaultValue && now.contains { $0.id == old.id && $0.value == $0.defaultValue }
        }
    }
}

extension Device: CameraControls {
    /// The most controls that are enumerated, so that a driver that repeats one forever causes no endless loop.
    private static let maxControls = 200
    /// The most items of a menu that are queried.
    private static let maxItems: ClosedRange<Int32> = 0...63

    private static let settableKinds = [
        V4L2_CTRL_TYPE_INTEGER, V4L2_CTRL_TYPE_BOOLEAN, V4L2_CTRL_TYPE_MENU, V4L2_CTRL_TYPE_INTEGER_MENU,
    ].map(\.rawValue)

    /// The integer, Boolean and menu controls without any of the `flags`, with their values (VIDIOC_QUERYCTRL,
    /// VIDIOC_G_CTRL).
    private func queriedControls(without flags: CInt) -> [(query: v4l2_queryctrl, value: Int32)] {
        let barred = UInt32(
            V4L2_CTRL_FLAG_DISABLED | V4L2_CTRL_FLAG_READ_ONLY | V4L2_CTRL_FLAG_WRITE_ONLY
                | V4L2_CTRL_FLAG_EXECUTE_ON_WRITE | flags)
        var found: [(query: v4l2_queryctrl, value: Int32)] = []
        var query = v4l2_queryctrl()
        for _ in 0..<Self.maxControls {
            query.id |= UInt32(V4L2_CTRL_FLAG_NEXT_CTRL)
            guard control(clinux_queryctrl, &query) == 0 else { break }
            guard query.flags & barred == 0, Self.settableKinds.contains(query.type) else { continue }
            var value = v4l2_control()
            value.id = query.id
            guard control(clinux_g_ctrl, &value) == 0 else { continue }
            found.append((query, value.value))
        }
        return found
    }

    /// The settings of all integer, Boolean and menu controls that can currently be set. Controls that are inactive
    /// because an automatic control governs them are not included.
    public var settings: [ControlSetting] {
        let governed = V4L2_CTRL_FLAG_GRABBED | V4L2_CTRL_FLAG_INACTIVE | V4L2_CTRL_FLAG_VOLATILE
        return queriedControls(without: governed).map { query, value in
            ControlSetting(id: query.id, value: value, defaultValue: query.default_value)
        }
    }

    /// Restores settings (VIDIOC_S_CTRL). A control that no longer exists, or rejects its value, is skipped.
    public func set(_ settings: [ControlSetting]) {
        // Twice: some controls can only be set after their automatic control was switched off.
        for _ in 0..<2 {
            for setting in settings { _ = set(setting.id, to: setting.value) }
        }
    }

    /// All integer, Boolean and menu controls that can be set, now or after an automatic one was switched off.
    public var controls: [CameraControl] {
        queriedControls(without: 0).compactMap { query, value in
            let (low, high) = (query.minimum, query.maximum)
            guard low <= high else { return nil }
            let kind: CameraControl.Kind =
                switch query.type {
                case V4L2_CTRL_TYPE_INTEGER.rawValue: .integer
                case V4L2_CTRL_TYPE_BOOLEAN.rawValue: .boolean
                default: .menu(menu(of: query))
                }
            return CameraControl(
                id: query.id, title: text(query.name), kind: kind, range: low...high, step: max(query.step, 1),
                defaultValue: query.default_value, value: value,
                isInactive: query.flags & UInt32(V4L2_CTRL_FLAG_INACTIVE | V4L2_CTRL_FLAG_GRABBED) != 0)
        }
    }

    /// Sets a control (VIDIOC_S_CTRL). Returns 0 or the `errno`.
    public func set(_ id: UInt32, to value: Int32) -> CInt {
        var setting = v4l2_control()
        (setting.id, setting.value) = (id, value)
        return control(clinux_s_ctrl, &setting)
    }

    /// The items of a menu (VIDIOC_QUERYMENU); drivers leave out numbers that the camera lacks.
    private func menu(of query: v4l2_queryctrl) -> [CameraControl.MenuItem] {
        let numbers = (query.minimum...query.maximum).clamped(to: Self.maxItems)
        return numbers.compactMap { number in
            var item = clinux_menu_item()
            let isNumber = query.type == V4L2_CTRL_TYPE_INTEGER_MENU.rawValue
            guard unsafe clinux_query_menu(descriptor, query.id, UInt32(clamping: number), &item) == 0 else {
                return nil
            }
            return CameraControl.MenuItem(value: number, name: isNumber ? "\(item.value)" : text(item.name))
        }
    }
}
