import Glibc
import Synchronization
import SystemKit
import Testing

@testable import V4L2

/// A camera whose driver behaves like uvcvideo: a value that an automatic control governs can't be set.
struct FakeCamera: CameraControls {
    final class State: Sendable {
        let controls: Mutex<[CameraControl]>
        /// The ids of controls that can't be set.
        let refused: Set<UInt32>

        init(_ controls: [CameraControl], refused: Set<UInt32>) {
            self.controls = Mutex(controls)
            self.refused = refused
        }
    }

    static let menu = [
        CameraControl.MenuItem(value: 1, name: "Manual Mode"),
        CameraControl.MenuItem(value: 3, name: "Aperture Priority Mode"),
    ]
    static let brightness: UInt32 = 0x98_0900
    static let autoWhiteBalance: UInt32 = 0x98_090C
    static let whiteBalance: UInt32 = 0x98_091A
    static let autoExposure: UInt32 = 0x9A_0901
    static let exposure: UInt32 = 0x9A_0902
    static let vendor: UInt32 = 0x98_0A01

    let capabilities = Capabilities(
        driver: "uvcvideo", card: "Webcam", bus: "usb-1", isCapture: true, isOutput: false)
    let state: State

    init(refused: Set<UInt32> = []) {
        state = State(
            [
                CameraControl(id: Self.brightness, title: "Brightness", defaultValue: 128, value: 128),
                CameraControl(
                    id: Self.autoWhiteBalance, title: "White Balance, Automatic", kind: .boolean, range: 0...1,
                    defaultValue: 1, value: 1),
                CameraControl(
                    id: Self.whiteBalance, title: "White Balance Temperature", range: 2800...6500, step: 10,
                    defaultValue: 4600, value: 4600, isInactive: true),
                CameraControl(
                    id: Self.autoExposure, title: "Auto Exposure", kind: .menu(Self.menu), range: 0...3,
                    defaultValue: 3,
                    value: 3),
                CameraControl(
                    id: Self.exposure, title: "Exposure Time, Absolute", range: 3...2047, defaultValue: 250, value: 250,
                    isInactive: true),
                CameraControl(id: Self.vendor, title: "LED1 Mode (V)", isInactive: true),
            ], refused: refused)
    }

    var controls: [CameraControl] { state.controls.withLock { $0 } }

    func value(_ name: String) -> Int32? { controls.first { $0.name == name }?.value }

    func set(_ id: UInt32, to value: Int32) -> CInt {
        guard !state.refused.contains(id) else { return EIO }
        return state.controls.withLock { controls in
            guard let place = controls.firstIndex(where: { $0.id == id }) else { return EINVAL }
            guard !controls[place].isInactive else { return EACCES }
            controls[place].value = value
            for other in controls.indices {
                guard let autoControl = controls[other].autoControl(in: controls) else { continue }
                controls[other].isInactive = autoControl.control.value != autoControl.manualValue
            }
            return 0
        }
    }

    func problem(_ code: CInt, _ what: String) -> Problem { Problem(.system, "\(what): error \(code)") }
}

/// Setting and restoring the controls of a camera.
struct CameraControlTests {
    private func problem(_ camera: FakeCamera, _ name: String, _ text: String) -> Problem? {
        #expect(throws: Problem.self) { _ = try camera.set(name, to: text) }
    }

    @Test func `controls have the usual short names, and others the driver's`() {
        let names = FakeCamera().controls.map(\.name)
        #expect(
            names == [
                "brightness", "auto-white-balance", "white-balance", "auto-exposure", "exposure", "led1-mode-v",
            ])
        #expect(CameraControl(id: 7, title: "曝光").name == "control-7")
    }

    @Test(arguments: [
        ("brightness", "140", 140), ("brightness", "default", 128), ("auto-white-balance", "off", 0),
        ("auto-white-balance", "true", 1), ("auto-exposure", "1", 1), ("auto-exposure", "Manual mode", 1),
        ("auto-exposure", "aperture-priority-mode", 3),
    ])
    func `a control is set to a number, a word or an item`(name: String, text: String, value: Int32) throws {
        let camera = FakeCamera()
        let set = try camera.set(name, to: text)
        #expect(set.map(\.name) == [name] && set.map(\.value) == [value])
        #expect(camera.value(name) == value)
    }

    @Test(arguments: [
        ("brightness", "256", "a whole number from 0 to 255"), ("brightness", "1.5", "a whole number from 0 to 255"),
        ("brightness", "bright", "a whole number"), ("brightness", "auto", "a whole number"),
        ("auto-exposure", "2", "1 (Manual Mode), 3 (Aperture Priority Mode)"), ("auto-white-balance", "2", "on, off"),
        ("sharpnes", "3", "it has: brightness, auto-white-balance"),
    ])
    func `a wrong name or value says what is allowed, and changes nothing`(name: String, text: String, words: String) {
        let camera = FakeCamera()
        let before = camera.controls
        let problem = problem(camera, name, text)
        #expect(problem?.kind == .invalid && problem?.fix.contains(words) == true, "\(problem?.description ?? "none")")
        #expect(camera.controls == before)
    }

    @Test func `a value set by hand ends the automatic, and auto begins it again`() throws {
        let camera = FakeCamera()
        let set = try camera.set("exposure", to: "200")
        #expect(set.map(\.name) == ["auto-exposure", "exposure"] && set.map(\.value) == [1, 200])
        #expect(camera.value("auto-exposure") == 1 && camera.value("exposure") == 200)
        _ = try camera.set("exposure", to: "auto")
        #expect(camera.value("auto-exposure") == 3 && camera.value("exposure") == 200)
        #expect(camera.controls.first { $0.name == "exposure" }?.isInactive == true)
        _ = try camera.set("white-balance", to: "3000")
        #expect(camera.value("auto-white-balance") == 0 && camera.value("white-balance") == 3000)
    }

    @Test func `if the camera refuses a value, it stays automatic`() {
        let camera = FakeCamera(refused: [FakeCamera.exposure])
        let before = camera.controls
        let problem = problem(camera, "exposure", "200")
        #expect(problem?.message.contains("'exposure' to 200") == true)
        #expect(camera.controls == before)
    }

    @Test func `a control that another one governs in an unknown way is refused with the reason`() {
        let camera = FakeCamera()
        #expect(problem(camera, "led1-mode-v", "1")?.kind == .unusable)
        #expect(camera.value("led1-mode-v") == 0)
    }

    @Test func `values are restored whether the camera is automatic or not`() {
        let camera = FakeCamera()
        camera.restore(["exposure": 200, "auto-exposure": 1, "brightness": 90, "unknown": 4])
        #expect(camera.value("exposure") == 200 && camera.value("brightness") == 90)
        #expect(camera.value("auto-white-balance") == 1)
        // Back: the governed value too, though it can't be set afterwards.
        camera.reset()
        #expect(camera.controls == FakeCamera().controls)
    }
}
