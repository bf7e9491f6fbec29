import Control
import Foundation
import Glibc
import JSON
import Synchronization
import SystemKit
import TestSupport
import Testing
import V4L2

@testable import guise

/// The controls of the camera in use: what requests answer, and what is remembered for each camera.
@Suite(.ownThread) struct CameraSettingsTests {
    /// A camera with a brightness, and a gain that is automatic.
    struct FakeCamera: CameraControls {
        final class State: Sendable {
            let values = Mutex<[UInt32: Int32]>([:])
            /// Whether the camera does not answer.
            let isStuck = Atomic<Bool>(false)
        }

        static let (brightness, autoGain, gain): (UInt32, UInt32, UInt32) = (0x98_0900, 0x98_0912, 0x98_0913)

        let capabilities: Capabilities
        let state: State

        init(_ name: String = "Webcam", bus: String = "usb-1", _ state: State = State()) {
            capabilities = Capabilities(driver: "uvcvideo", card: name, bus: bus, isCapture: true, isOutput: false)
            self.state = state
        }

        var controls: [CameraControl] {
            while state.isStuck.load(ordering: .acquiring) { usleep(1000) }
            let values = state.values.withLock { $0 }
            let isAutomatic = values[Self.autoGain] ?? 1
            return [
                CameraControl(
                    id: Self.brightness, title: "Brightness", defaultValue: 128, value: values[Self.brightness] ?? 128),
                CameraControl(
                    id: Self.autoGain, title: "Gain, Automatic", kind: .boolean, range: 0...1, defaultValue: 1,
                    value: isAutomatic),
                CameraControl(
                    id: Self.gain, title: "Gain", range: 0...100, defaultValue: 20, value: values[Self.gain] ?? 20,
                    isInactive: isAutomatic == 1),
            ]
        }

        func set(_ id: UInt32, to value: Int32) -> CInt {
            state.values.withLock { $0[id] = value }
            return 0
        }

        func problem(_ code: CInt, _ what: String) -> Problem { Problem(.system, what) }
    }

    static func access(_ camera: FakeCamera?) -> CameraSettingsStore.Access {
        CameraSettingsStore.Access { source in
            switch source {
            case .automatic, .camera, .device: camera == nil ? nil : "/dev/video0"
            case .sample, .file: nil
            }
        } open: { _ in
            guard let camera else { throw Problem(.missing, "there is no camera") }
            return camera
        }
    }

    private let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private func store(_ camera: FakeCamera?) -> CameraSettingsStore {
        CameraSettingsStore(folder: scratch.path("state"), Self.access(camera))
    }

    private func text() throws -> String {
        try String(contentsOfFile: scratch.path("state/cameras.json"), encoding: .utf8)
    }

    @Test func `what was set is remembered for this camera, and for it alone`() throws {
        let first = store(FakeCamera())
        _ = try first.set("brightness", to: "140", of: .camera)
        _ = try first.set("gain", to: "50", of: .camera)
        try first.saveChanges()
        // Another Guise.
        let again = store(FakeCamera())
        #expect(try again.remembered(name: "Webcam", bus: "usb-1") == ["brightness": 140, "auto-gain": 0, "gain": 50])
        // At another socket it is still that camera, but not if there is one of the same name at its own.
        #expect(try again.remembered(name: "Webcam", bus: "usb-2")["brightness"] == 140)
        #expect(try again.remembered(name: "Other", bus: "usb-1").isEmpty)
        let second = store(FakeCamera(bus: "usb-2"))
        _ = try second.set("brightness", to: "90", of: .device("/dev/video0"))
        #expect(try second.remembered(name: "Webcam", bus: "usb-2")["brightness"] == 90)
        #expect(try second.remembered(name: "Webcam", bus: "usb-1")["brightness"] == 140)
        _ = try second.set(nil, to: "default", of: .device("/dev/video0"))
        #expect(try second.remembered(name: "Webcam", bus: "usb-2").isEmpty)
    }

    @Test func `default forgets one value, and a reset all of them`() throws {
        let camera = FakeCamera()
        let store = store(camera)
        _ = try store.set("brightness", to: "140", of: .camera)
        _ = try store.set("gain", to: "50", of: .camera)
        _ = try store.set("brightness", to: "default", of: .camera)
        #expect(try store.remembered(name: "Webcam", bus: "usb-1") == ["auto-gain": 0, "gain": 50])
        #expect(camera.controls[0].value == 128)
        _ = try store.set(nil, to: "default", of: .camera)
        #expect(try store.remembered(name: "Webcam", bus: "usb-1").isEmpty)
        #expect(camera.controls.allSatisfy { $0.value == $0.defaultValue })
        try store.saveChanges()
        #expect(try self.store(camera).remembered(name: "Webcam", bus: "usb-1").isEmpty)
    }

    @Test func `nothing is written before something was set, and a rejected value is not remembered`() throws {
        let store = store(FakeCamera())
        #expect(throws: Problem.self) { _ = try store.set("brightness", to: "300", of: .camera) }
        try store.saveChanges()
        #expect(!Fixtures.exists(scratch.path("state/cameras.json")))
    }

    @Test func `a damaged file is named, stays as it is, and the camera too`() throws {
        try scratch.write(#"{"cameras": [{"name": "Webcam", "bus": 3}]}"#, "state/cameras.json")
        let camera = FakeCamera()
        let store = store(camera)
        let problem = #expect(throws: Problem.self) { _ = try store.set("brightness", to: "140", of: .camera) }
        #expect(problem?.description.contains("cameras.json") == true, "\(problem?.description ?? "none")")
        #expect(camera.controls[0].value == 128)
        try store.saveChanges()
        #expect(try text().contains("\"bus\": 3"))
    }
}
