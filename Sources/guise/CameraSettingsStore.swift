import Capture
import Engine
import JSON
import Synchronization
import SystemKit
import V4L2

/// The identities and control settings of cameras. A camera that was unplugged is found again by its name and location,
/// because its number may belong to another camera by then. Its controls, such as brightness, are restored to their
/// last values. Values that were set through Guise are kept in `cameras.json` in the user's state folder, and set again
/// when the camera is first opened; otherwise Guise does not change controls.
final class CameraSettingsStore: Sendable {
    /// The way to the controls of cameras, which tests replace.
    struct Access: Sendable {
        /// The node of the camera that a source stands for; nil if it isn't a camera, or none is connected.
        var find: @Sendable (SourceSpec) -> String?
        /// Opens a camera's controls, also while another program reads its frames.
        var open: @Sendable (String) throws -> any CameraControls & ~Copyable

        static let devices = Access { source in
            switch source {
            case .automatic, .camera: try? Camera.best(in: listDevices())
            case .device(let path): realPath(of: path)
            case .sample, .file: nil
            }
        } open: { path in
            try Device(path: path)
        }
    }

    private struct Known {
        let identity: Camera.Identity
        /// The camera's last device node.
        let path: String
        /// The version of the device node. It differs after the camera was unplugged, because the node is created anew.
        let nodeVersion: FileVersion?
        /// The control settings when they were last read.
        var settings: [ControlSetting]
    }

    /// The values that were set through Guise on one camera.
    private struct Remembered: Codable, Equatable {
        var name: String
        var bus: String
        var controls: [String: Int32]
    }

    private struct CamerasFile: Codable {
        var cameras: [Remembered]
    }

    private struct Memory {
        /// nil until the file was read.
        var cameras: [Remembered]?
        var isChanged = false
    }

    /// A camera and its controls.
    struct Controlled {
        let name: String
        let path: String
        let controls: [CameraControl]
    }

    /// What to go back to after a change of a camera's controls.
    struct Earlier: Sendable {
        let name: String
        let bus: String
        /// The values of the controls that have changed, but for those that the camera set itself.
        let values: [String: Int32]
        /// The values that were remembered.
        let remembered: [String: Int32]
    }

    /// The file; nil without a home folder.
    let path: String?
    private let access: Access
    /// The known cameras, by requested source.
    private let known = Mutex<[SourceSpec: Known]>([:])
    private let memory = Mutex(Memory())
    /// Locked while controls are changed, so that no two changes mix.
    private let changing = Mutex(())

    /// The most cameras that are remembered; the one set longest ago is forgotten first.
    private static let maxCameras = 50

    /// - Parameter folder: the user's state folder; nil without a home folder.
    init(folder: String?, _ access: Access = .devices) {
        path = folder.map { "\($0)/cameras.json" }
        self.access = access
    }

    // MARK: - for the camera's thread

    /// Opens a source. A camera that was unplugged meanwhile gets its settings back.
    /// - Throws: `Problem` of kind `missing` if the camera is not there, and the errors of `openSource`.
    func open(_ wanted: CameraController.Target, _ context: AppContext) throws -> any FrameSource & ~Copyable {
        var path: String?
        let source = wanted.source == .automatic ? context.automaticSource(in: listDevices()) : wanted.source
        switch source {
        case .automatic, .camera: path = nil
        case .device(let node): path = node
        case let other: return try context.openSource(other, loop: true)
        }
        let before = known.withLock { $0[wanted.source] }
        if let identity = before?.identity {
            // A request for any camera may get another one; a request for this camera waits for it.
            guard identity.path != nil || path == nil else {
                throw Problem(
                    .missing, "\(identity.card) is no longer connected",
                    fix: "plug it in; it is opened again automatically")
            }
            path = identity.path ?? path
        }
        let size = wanted.camera
        let camera = try Camera(path: path, width: size.width, height: size.height, rate: size.rate)
        let nodeVersion = FileVersion(camera.path)
        let isSame = before?.identity == camera.identity
        if !isSame || before?.nodeVersion != nodeVersion {
            if isSame, let before { camera.set(ControlSetting.lost(of: before.settings, now: camera.settings)) }
            do {
                camera.restore(try remembered(name: camera.identity.card, bus: camera.identity.bus))
            } catch { logWarning("the camera's controls stay as they are: \(error)") }
        }
        let now = Known(
            identity: camera.identity, path: camera.path, nodeVersion: nodeVersion, settings: camera.settings)
        known.withLock { $0[wanted.source] = now }
        return camera
    }

    /// Stores the settings of the known cameras. Called before a camera is closed, because programs may have changed
    /// its settings.
    func saveSettings() {
        for (source, camera) in known.withLock({ $0 }) where camera.nodeVersion == FileVersion(camera.path) {
            // If the camera is unplugged but its node still exists, the settings stored before are kept.
            guard let device = try? Device(path: camera.path) else { continue }
            let settings = device.settings
            if !settings.isEmpty { known.withLock { $0[source]?.settings = settings } }
        }
    }

    // MARK: - for requests

    /// The controls of the camera that a source stands for, open or not; nil if it isn't a camera, or none is there.
    /// - Throws: `Problem` if the camera can't be opened.
    func controls(of source: SourceSpec?) throws -> Controlled? {
        guard let path = source.flatMap(node) else { return nil }
        return Self.controlled(try access.open(path), path)
    }

    /// Sets a control, and remembers it for this camera.
    /// - Parameters:
    ///   - control: its name; nil: all, to the camera's own defaults, and nothing is remembered any more.
    ///   - text: as `CameraControls.set` reads it.
    /// - Returns: the camera, and what `restore` goes back to if a value has changed; nil if there is no camera, as
    ///   `controls(of:)`.
    /// - Throws: as `CameraControls.set`, and `Problem` if the camera can't be opened or the file is damaged.
    func set(
        _ control: String?, to text: String, of source: SourceSpec?
    ) throws -> (camera: Controlled, before: Earlier?)? {
        guard let path = source.flatMap(node) else { return nil }
        return try changing.withLock { _ in
            // Before the camera is changed: what can't be remembered isn't set.
            _ = try memory.withLock { try load(&$0) }
            let camera = try access.open(path)
            let old = Self.values(of: camera)
            let isDefault = text.lowercased() == "default"
            var values: [(name: String, value: Int32)] = []
            if let control { values = try camera.set(control, to: text) } else { camera.reset() }
            let (name, bus) = (camera.capabilities.card, camera.capabilities.bus)
            let remembered = remember(name, bus) { controls in
                if control == nil { controls = [:] }
                for (name, value) in values { controls[name] = isDefault && name == control ? nil : value }
            }
            let changed = Self.values(in: old, thatDifferFrom: Self.values(of: camera))
            let before = Earlier(name: name, bus: bus, values: changed, remembered: remembered)
            return (Self.controlled(camera, path), changed.isEmpty ? nil : before)
        }
    }

    /// Goes back to a camera's earlier values, and to what was remembered for it. If it is no longer the one in use,
    /// its controls are set when it is opened again.
    /// - Returns: what to go back to in turn, and whether the camera was set now.
    /// - Throws: `Problem` if the file is damaged.
    func restore(_ earlier: Earlier, of source: SourceSpec?) throws -> (before: Earlier, isSet: Bool) {
        try changing.withLock { _ in
            _ = try memory.withLock { try load(&$0) }
            let (name, bus) = (earlier.name, earlier.bus)
            let remembered = remember(name, bus) { $0 = earlier.remembered }
            guard let path = source.flatMap(node), let camera = try? access.open(path),
                camera.capabilities.card == name, camera.capabilities.bus == bus
            else { return (Earlier(name: name, bus: bus, values: [:], remembered: remembered), false) }
            let old = Self.values(of: camera)
            camera.restore(earlier.values)
            let changed = Self.values(in: old, thatDifferFrom: Self.values(of: camera))
            return (Earlier(name: name, bus: bus, values: changed, remembered: remembered), true)
        }
    }

    /// Changes what is remembered for a camera, and returns what was.
    private func remember(
        _ name: String, _ bus: String, _ change: (inout [String: Int32]) -> Void
    ) -> [String: Int32] {
        memory.withLock { memory in
            var cameras = memory.cameras ?? []
            let before = Self.index(name, bus, in: cameras).map { cameras[$0].controls } ?? [:]
            var controls = before
            change(&controls)
            // Also without values: those of another camera of the same name are not meant for this one any more.
            cameras.removeAll { $0.name == name && $0.bus == bus }
            cameras.append(Remembered(name: name, bus: bus, controls: controls))
            memory.isChanged = memory.isChanged || cameras != memory.cameras
            memory.cameras = Array(cameras.suffix(Self.maxCameras))
            return before
        }
    }

    /// The values that the camera has not set itself, by their controls' names.
    private static func values(of camera: borrowing any CameraControls & ~Copyable) -> [String: Int32] {
        let controls = camera.controls
        let own = controls.filter { control in
            !control.isInactive && control.autoControl(in: controls).map { $0.control.value == $0.manualValue } ?? true
        }
        return Dictionary(own.map { ($0.name, $0.value) }) { first, _ in first }
    }

    private static func values(
        in old: [String: Int32], thatDifferFrom new: [String: Int32]
    ) -> [String: Int32] { old.filter { new[$0.key] != $0.value } }

    private static func controlled(
        _ camera: borrowing any CameraControls & ~Copyable, _ path: String
    ) -> Controlled {
        Controlled(name: camera.capabilities.card, path: path, controls: camera.controls)
    }

    /// The node of the camera that a source stands for.
    private func node(of source: SourceSpec) -> String? {
        let camera = known.withLock { $0[source] }
        if let camera, camera.nodeVersion == FileVersion(camera.path) { return camera.path }
        return camera?.identity.path ?? access.find(source)
    }

    // MARK: - the file

    /// Writes the remembered values, if they have changed.
    /// - Throws: `Problem` if the file cannot be written.
    func saveChanges() throws {
        guard let path, let cameras = memory.withLock({ $0.isChanged ? $0.cameras : nil }) else { return }
        try writeAtomically(JSON(encoding: CamerasFile(cameras: cameras)).prettyText + "\n", to: path)
        memory.withLock { memory in
            // A change meanwhile is written the next time.
            if memory.cameras == cameras { memory.isChanged = false }
        }
    }

    /// The remembered values of a camera, by their controls' names: those of this camera at this place, or else of one
    /// of the same name.
    /// - Throws: `Problem` with file, line and key if the file is invalid.
    func remembered(name: String, bus: String) throws -> [String: Int32] {
        try memory.withLock { memory in
            let cameras = try load(&memory)
            return Self.index(name, bus, in: cameras).map { cameras[$0].controls } ?? [:]
        }
    }

    /// The remembered cameras; those of the file the first time.
    private func load(_ memory: inout Memory) throws -> [Remembered] {
        let cameras = try memory.cameras ?? Self.read(path)
        memory.cameras = cameras
        return cameras
    }

    private static func index(_ name: String, _ bus: String, in cameras: [Remembered]) -> Int? {
        cameras.lastIndex { $0.name == name && $0.bus == bus } ?? cameras.lastIndex { $0.name == name }
    }

    private static func read(_ path: String?) throws -> [Remembered] {
        guard let path, mayExist(path) else { return [] }
        let text = try JSON(contents(of: path), file: path)
        do { return try text.decoded(as: CamerasFile.self).cameras } catch let problem as Problem {
            throw Problem(.system, "\(path): \(problem)", fix: "correct the file, or delete it")
        }
    }
}

extension CameraReply {
    /// The camera with its controls; nil: the source isn't a camera, or none is connected.
    init(_ camera: CameraSettingsStore.Controlled?) {
        self.init(camera: camera?.name, path: camera?.path, controls: camera?.controls ?? [])
    }
}
