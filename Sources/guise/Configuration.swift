import Compose
import Control
import Engine
import Frames
import JSON
import Track

/// The values of `privacy.onLostFace`.
private enum LostFaceSetting: String, CaseIterable {
    case mask, show, cover

    /// The policy for all masks; nil for `mask`: each mask's own policy.
    var value: LostFacePolicy? { LostFacePolicy(rawValue: rawValue) }
}

/// What is worn at the start.
enum StartMasks: Equatable {
    /// The key `masks`.
    case masks
    /// What was worn when Guise ended last.
    case last
    /// Nothing.
    case none
    /// A look, by its name.
    case look(String)

    private static let lookPrefix = "look:"

    /// The value of the key `start`.
    var setting: String {
        switch self {
        case .masks: "masks"
        case .last: "last"
        case .none: "none"
        case .look(let name): Self.lookPrefix + name
        }
    }

    /// Reads a value of the key `start`; nil if it is not valid.
    init?(_ setting: String) {
        switch setting {
        case "masks": self = .masks
        case "last": self = .last
        case "none": self = .none
        default:
            guard setting.hasPrefix(Self.lookPrefix), setting != Self.lookPrefix else { return nil }
            self = .look(String(setting.dropFirst(Self.lookPrefix.count)))
        }
    }
}

/// `config.json`: the settings of `guise run` that its options do not override. Every key has a default. A test checks
/// that the file at the top level of the repository contains all keys with these defaults.
struct Configuration: Equatable {
    /// Where frames come from.
    var source = SourceSpec.automatic
    /// Where frames go.
    var sinks = [SinkSpec.automatic]
    /// The active masks, the bottom one first.
    var masks = [MaskSelection("santa")]
    /// What is worn at the start.
    var start = StartMasks.masks
    /// The requested camera mode.
    var camera = VideoFormat()
    /// The condition for opening the camera.
    var when = CameraUse.watched
    /// The mirroring, rotation, crop and zoom of the picture.
    var view = ViewTransform()
    /// The size and rate of every output, independent of the camera.
    var output = VideoFormat()
    /// The tracker's settings.
    var faces = Tracker.Settings()
    /// The policy for a face that is lost; nil for each mask's own.
    var onLostFace: LostFacePolicy?
    /// Whether cat faces are detected.
    var cats = true
    /// The port of the page on 127.0.0.1; 0 for any free one.
    var port = 8787

    init() {}

    /// Parses a configuration file.
    /// - Throws: `Problem` that names the file, line and key, and the allowed values.
    init(text: [UInt8], file: String) throws { try self.init(JSON(text, file: file), file: file) }

    /// Reads the configuration from parsed JSON.
    /// - Throws: `Problem` that names the file, line and key, and the allowed values.
    init(_ json: JSON, file: String) throws {
        var fields = try Fields(json, file: file)
        let defaults = Configuration()
        source = SourceSpec(try fields.string("source", default: defaults.source.description))
        sinks = try fields.strings("sinks", default: defaults.sinks.map(\.description)).map { SinkSpec($0) }
        guard !sinks.isEmpty else {
            throw fields.wrong("sinks", "an empty list", allowed: "at least one sink, or \"auto\"")
        }
        if fields.has("masks") { masks = try fields.masks() }
        let start = try fields.string("start", default: defaults.start.setting)
        guard let start = StartMasks(start) else {
            throw fields.wrong("start", "'\(brief(start))'", allowed: "masks, last, none, or look:NAME")
        }
        self.start = start
        var camera = try fields.object("camera")
        self.camera = try Self.picture(&camera, step: 1)
        when = try camera.choice("when", default: defaults.when)
        try camera.finish()
        var view = try fields.object("view")
        self.view = try Self.viewTransform(&view)
        try view.finish()
        var output = try fields.object("output")
        self.output = try Self.picture(&output, step: 2)
        try output.finish()
        var faces = try fields.object("faces")
        try faces.refuse("most", renamedTo: "max")
        try faces.refuse("smallest", renamedTo: "minSize")
        self.faces.max = try faces.integer("max", in: Tracker.Settings.allowed, default: defaults.faces.max)
        self.faces.minSize = Float(
            try faces.number("minSize", in: 0.02...0.9, default: Double(defaults.faces.minSize)))
        self.faces.hold = try faces.number("hold", in: 0...5, default: defaults.faces.hold)
        cats = try faces.bool("cats", default: defaults.cats)
        try faces.finish()
        var privacy = try fields.object("privacy")
        onLostFace = try privacy.choice("onLostFace", default: LostFaceSetting.mask).value
        try privacy.finish()
        var page = try fields.object("page")
        port = try page.integer("port", in: 0...65535, default: defaults.port)
        try page.finish()
        try fields.finish()
    }

    private static func viewTransform(_ object: inout Fields) throws -> ViewTransform {
        try object.refuse("most", renamedTo: "maxZoom")
        var viewTransform = ViewTransform()
        viewTransform.isMirrored = try object.bool("mirror", default: viewTransform.isMirrored)
        let rotations = ViewTransform.Rotation.allCases.map { "\($0.rawValue)" }.joined(separator: ", ")
        let degrees = try object.number("rotate", in: -360...360, default: Double(viewTransform.rotation.rawValue))
        guard let rotation = Int(exactly: degrees).flatMap(ViewTransform.Rotation.init) else {
            throw object.wrong("rotate", "\(degrees)", allowed: rotations)
        }
        viewTransform.rotation = rotation
        let crop = try object.numbers("crop", count: 4, in: 0...ViewTransform.maxCrop, default: [0, 0, 0, 0])
        viewTransform.crop = SIMD4(crop)
        viewTransform.zoom = try object.choice("zoom", default: viewTransform.zoom)
        viewTransform.maxZoom = try object.number("maxZoom", in: 1...3, default: viewTransform.maxZoom)
        return viewTransform
    }

    /// Reads a picture's size and rate.
    /// - Parameter step: the size must be a multiple of it. Loopback devices accept even sizes only.
    private static func picture(_ object: inout Fields, step: Int) throws -> VideoFormat {
        var picture = VideoFormat()
        picture.width = try object.integer("width", in: 64...4096, default: picture.width)
        picture.height = try object.integer("height", in: 64...4096, default: picture.height)
        picture.rate = try object.number("rate", in: 1...120, default: picture.rate)
        for (name, size) in [("width", picture.width), ("height", picture.height)] where size % step != 0 {
            throw object.wrong(name, "\(size)", allowed: "even numbers")
        }
        return picture
    }

    // MARK: - writing

    /// The configuration with all keys, in the format of the file.
    var json: JSON {
        JSON([
            "source": JSON(source.description), "sinks": JSON(sinks.map(\.description)),
            "masks": JSON(masks.map(\.setting)),
            "start": JSON(start.setting),
            "camera": JSON([
                "when": JSON(when.rawValue), "width": JSON(camera.width), "height": JSON(camera.height),
                "rate": JSON(camera.rate),
            ]),
            "view": JSON([
                "mirror": JSON(view.isMirrored), "rotate": JSON(view.rotation.rawValue),
                "crop": JSON((0..<4).map { JSON(view.crop[$0]) }), "zoom": JSON(view.zoom.rawValue),
                "maxZoom": JSON(view.maxZoom),
            ]),
            "output": JSON([
                "width": JSON(output.width), "height": JSON(output.height), "rate": JSON(output.rate),
            ]),
            "faces": JSON([
                // Rounded, because a Float has about seven significant digits.
                "max": JSON(faces.max), "minSize": JSON((Double(faces.minSize) * 1e6).rounded() / 1e6),
                "hold": JSON(faces.hold), "cats": JSON(cats),
            ]),
            "privacy": JSON(["onLostFace": JSON((onLostFace.map(\.rawValue) ?? LostFaceSetting.mask.rawValue))]),
            "page": JSON(["port": JSON(port)]),
        ])
    }
}

extension Fields {
    /// Reads the key `masks`: a list of masks, each its name alone or an object with its options.
    mutating func masks() throws -> [MaskSelection] {
        let entries = try objects("masks", orTheir: "name")
        guard entries.count <= MaskRequest.maxMasks else {
            throw wrong("masks", "too long", allowed: "\(MaskRequest.maxMasks) masks")
        }
        return try entries.map { try MaskSelection($0) }
    }
}

extension MaskSelection {
    /// Reads a mask from a configuration: its name, opacity and choices.
    init(_ fields: Fields) throws {
        var fields = fields
        self.init(try fields.string("name"))
        opacity = Float(try fields.number("opacity", in: 0...1, default: 1))
        choices = try fields.texts("choices")
        try fields.finish()
    }

    /// The mask for a configuration file: the name alone if nothing differs from the mask's defaults.
    /// The person slot is temporary and left out.
    var setting: JSON {
        var shared = self
        shared.personSlot = nil
        return opacity == 1 && choices.isEmpty ? JSON(mask) : JSON(encoding: WornMask(shared))
    }
}

extension LoopSettings {
    /// Copies the loop's settings from a configuration.
    mutating func apply(_ configuration: Configuration) {
        (cameraUse, cameraFormat) = (configuration.when, configuration.camera)
        (faces, onLostFace, view) = (configuration.faces, configuration.onLostFace, configuration.view)
    }
}
