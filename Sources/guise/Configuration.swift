import Compose
import Frames
import JSON
import Track

/// `privacy.onLostFace`.
private enum LostFaceSetting: String, CaseIterable {
    case mask, show, cover

    /// Nil: as each mask says.
    var value: LostFacePolicy? { LostFacePolicy(rawValue: rawValue) }
}

/// `config.json`: what `guise run` does where its options say nothing. Every key has a default; a test keeps the file at
/// the top level, which holds them all, and these in step.
struct Configuration: Equatable {
    struct Picture: Equatable {
        /// Pixels.
        var width = 1280
        /// Pixels.
        var height = 720
        /// Frames per second.
        var rate = 30.0
    }

    /// `auto`, or what `--source` takes.
    var source = "auto"
    /// `auto`, or what `--sink` takes.
    var sinks = ["auto"]
    var masks = [MaskSelection("santa")]
    /// What the camera is asked for.
    var camera = Picture()
    /// When the camera is open.
    var when = CameraUse.watched
    /// How the picture is shown.
    var view = ViewTransform()
    /// What every output gets, whatever the camera gives.
    var output = Picture()
    var faces = Tracker.Settings()
    /// What is done about a face that is lost; nil: as each mask says.
    var onLostFace: LostFacePolicy?
    /// Whether cats' faces are looked for.
    var cats = true
    /// Port of the page on 127.0.0.1; 0: any free one.
    var port = 8787

    init() {}

    /// - Throws: `Problem` that names the file, line and key, and what is allowed.
    init(text: [UInt8], file: String) throws { try self.init(JSON(text, file: file), file: file) }

    /// The same for a text that was parsed.
    init(_ json: JSON, file: String) throws {
        var fields = try Fields(json, file: file)
        let standard = Configuration()
        source = try fields.string("source", default: standard.source)
        sinks = try fields.strings("sinks", default: standard.sinks)
        guard !sinks.isEmpty else {
            throw fields.wrong("sinks", "an empty list", allowed: "at least one sink, or \"auto\"")
        }
        if fields.has("masks") { masks = try fields.objects("masks", orTheir: "name").map { try MaskSelection($0) } }
        var camera = try fields.object("camera")
        self.camera = try Self.picture(&camera, step: 1)
        when = try camera.choice("when", default: standard.when)
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
        self.faces.most = try faces.integer("max", in: Tracker.Settings.allowed, default: standard.faces.most)
        self.faces.smallest = Float(
            try faces.number("minSize", in: 0.02...0.9, default: Double(standard.faces.smallest)))
        self.faces.hold = try faces.number("hold", in: 0...5, default: standard.faces.hold)
        cats = try faces.bool("cats", default: standard.cats)
        try faces.finish()
        var privacy = try fields.object("privacy")
        onLostFace = try privacy.choice("onLostFace", default: LostFaceSetting.mask).value
        try privacy.finish()
        var page = try fields.object("page")
        port = try page.integer("port", in: 0...65535, default: standard.port)
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
        let crop = try object.numbers("crop", count: 4, in: 0...ViewTransform.mostCrop, default: [0, 0, 0, 0])
        viewTransform.crop = SIMD4(crop)
        viewTransform.zoom = try object.choice("zoom", default: viewTransform.zoom)
        viewTransform.most = try object.number("maxZoom", in: 1...3, default: viewTransform.most)
        return viewTransform
    }

    /// - Parameter step: sizes must be multiples of it; loopbacks take even sizes only.
    private static func picture(_ object: inout Fields, step: Int) throws -> Picture {
        var picture = Picture()
        picture.width = try object.integer("width", in: 64...4096, default: picture.width)
        picture.height = try object.integer("height", in: 64...4096, default: picture.height)
        picture.rate = try object.number("rate", in: 1...120, default: picture.rate)
        for (name, size) in [("width", picture.width), ("height", picture.height)] where size % step != 0 {
            throw object.wrong(name, "\(size)", allowed: "even numbers")
        }
        return picture
    }

    // MARK: - writing

    /// All keys with what holds, as a file would have them.
    var json: JSON {
        JSON([
            "source": JSON(source), "sinks": JSON(sinks), "masks": JSON(masks.map(\.setting)),
            "camera": JSON(["when": JSON(when.rawValue)]).joined(Self.json(camera)),
            "view": JSON([
                "mirror": JSON(view.isMirrored), "rotate": JSON(view.rotation.rawValue),
                "crop": JSON((0..<4).map { JSON(view.crop[$0]) }), "zoom": JSON(view.zoom.rawValue),
                "maxZoom": JSON(view.most),
            ]),
            "output": Self.json(output),
            "faces": JSON([
                // As it was written: a Float has no more than seven digits.
                "max": JSON(faces.most), "minSize": JSON((Double(faces.smallest) * 1e6).rounded() / 1e6),
                "hold": JSON(faces.hold), "cats": JSON(cats),
            ]),
            "privacy": JSON(["onLostFace": JSON((onLostFace.map(\.rawValue) ?? LostFaceSetting.mask.rawValue))]),
            "page": JSON(["port": JSON(port)]),
        ])
    }

    private static func json(_ picture: Picture) -> JSON {
        JSON(["width": JSON(picture.width), "height": JSON(picture.height), "rate": JSON(picture.rate)])
    }
}

extension MaskSelection {
    /// A mask as a configuration names it: by its name alone, or with how it is worn.
    init(_ fields: Fields) throws {
        var fields = fields
        self.init(try fields.string("name"))
        opacity = Float(try fields.number("opacity", in: 0...1, default: 1))
        choices = try fields.texts("choices")
        try fields.finish()
    }

    /// How it is worn. Whose turn it is does not last, and is left out.
    var json: JSON {
        let chosen = choices.sorted { $0.key < $1.key }.reduce(JSON([:])) { $0.with($1.key, JSON($1.value)) }
        return JSON([
            "name": JSON(mask), "opacity": JSON(Double((opacity * 1000).rounded() / 1000)), "choices": chosen,
        ])
    }

    /// As a configuration has it: the name alone where it is worn as its author made it.
    var setting: JSON { opacity == 1 && choices.isEmpty ? JSON(mask) : json }
}
