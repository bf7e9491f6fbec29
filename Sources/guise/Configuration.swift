import Compose
import Frames
import JSON
import Track

/// `privacy.onLostFace`.
private enum LostFacePolicy: String, CaseIterable {
    case mask, show, cover

    /// Nil: as each mask says.
    var value: LostFace? { LostFace(rawValue: rawValue) }
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
    var masks = ["santa"]
    /// What the camera is asked for.
    var camera = Picture()
    /// When the camera is open.
    var when = CameraUse.watched
    /// What every output gets, whatever the camera gives.
    var output = Picture()
    var faces = Tracker.Settings()
    /// What is done about a face that is lost; nil: as each mask says.
    var onLostFace: LostFace?
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
        masks = try fields.strings("masks", default: standard.masks)
        var camera = try fields.object("camera")
        self.camera = try Self.picture(&camera, step: 1)
        when = try camera.choice("when", default: standard.when)
        try camera.finish()
        var output = try fields.object("output")
        self.output = try Self.picture(&output, step: 2)
        try output.finish()
        var faces = try fields.object("faces")
        self.faces.most = try faces.integer("most", in: 1...8, default: standard.faces.most)
        self.faces.smallest = Float(
            try faces.number("smallest", in: 0.02...0.9, default: Double(standard.faces.smallest)))
        self.faces.hold = try faces.number("hold", in: 0...5, default: standard.faces.hold)
        cats = try faces.bool("cats", default: standard.cats)
        try faces.finish()
        var privacy = try fields.object("privacy")
        onLostFace = try privacy.choice("onLostFace", default: LostFacePolicy.mask).value
        try privacy.finish()
        var page = try fields.object("page")
        port = try page.integer("port", in: 0...65535, default: standard.port)
        try page.finish()
        try fields.finish()
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
}
