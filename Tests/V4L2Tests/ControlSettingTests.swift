import Testing

@testable import V4L2

@Suite struct ControlSettingTests {
    private func setting(_ id: UInt32, _ value: Int32) -> ControlSetting {
        ControlSetting(id: id, value: value, defaultValue: 128)
    }

    @Test func `the user's control values are restored, and nothing else is changed`() {
        let before = [setting(1, 60), setting(2, 128), setting(3, 200), setting(4, 10), setting(5, 90)]
        // The second was not the user's, the third has been set again, the fourth is controlled by an automatic one,
        // the fifth is unchanged.
        let now = [setting(1, 128), setting(2, 128), setting(3, 150), setting(5, 90)]
        #expect(ControlSetting.lost(of: before, now: now) == [setting(1, 60)])
        #expect(ControlSetting.lost(of: before, now: before).isEmpty)
        #expect(ControlSetting.lost(of: [], now: now).isEmpty)
    }
}
