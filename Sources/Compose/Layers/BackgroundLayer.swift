import Frames
import JPEG
import JSON
import Outline
import SystemKit

extension LayerKind {
    static let background = LayerKind(
        "background", motion: [.repetition], options: BackgroundLayer.options, allowsBehind: false,
        hiddenParts: BackgroundLayer.hiddenParts,
        onPicture: { try BackgroundLayer(&$0, $1) })
}

/// A layer that replaces or changes what is behind the people.
///
/// It is drawn before all layers of other kinds, whatever their order, so that nothing that belongs to a face is
/// mistaken for the room. Without the outline of the people in this very frame, it covers the whole picture.
struct BackgroundLayer: PictureLayer {
    enum Mode: String, CaseIterable, Sendable { case blur, picture, color, dim, grey }

    /// Who is not part of the background.
    enum People: String, CaseIterable, Sendable {
        case all
        /// The person with the largest face.
        case largest
    }

    private let content: Content
    private let timeline: Timeline
    private let people: People
    private let warning: String?

    var background: BackgroundRole? {
        BackgroundRole(keepsMainPersonOnly: people == .largest, roomBlur: roomBlur, warning: warning)
    }

    private enum Content: Sendable {
        /// One for each frame of animated art, else a single one.
        case backgrounds([Background])
        /// A clip of the user's.
        case clip(BackgroundClip)
    }

    /// The radius by which it blurs the room, relative to the picture's height, as `Background.roomBlur`.
    private var roomBlur: Float {
        switch content {
        case .backgrounds(let backgrounds): backgrounds[0].roomBlur
        case .clip: 1
        }
    }

    /// What a layer, by its description, leaves visible in no frame.
    @Sendable fileprivate static func hiddenParts(_ layer: JSON) -> HiddenParts {
        guard layer["when"] == nil else { return [] }
        return switch layer["mode"]?.string.flatMap(Mode.init) {
        case .blur, .picture, .color: layer["people"]?.string == People.largest.rawValue ? [.room, .bystanders] : .room
        case .dim, .grey, nil: []
        }
    }

    /// The options of a layer's user: whose background it is, and the picture.
    @Sendable fileprivate static func options(_ layer: JSON) -> [String: (option: MaskOption, defaultValue: String?)] {
        let people = layer["people"]?.string ?? People.all.rawValue
        var options: [String: (option: MaskOption, defaultValue: String?)] = [
            "people": (.palette(People.allCases.map(\.rawValue)), people)
        ]
        if layer["mode"]?.string == Mode.picture.rawValue {
            let names = layer["pictures"]?.keys.sorted() ?? []
            options["picture"] = (.picture(names), layer["picture"]?.string ?? names.first)
        }
        return options
    }

    /// Reads the layer's description and art.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    init(_ fields: inout Fields, _ context: LayerContext) throws {
        let (target, range) = (context.target, context.target.range)
        var timeline = Timeline(durations: [1], .forever)
        var warning: String?
        switch try fields.oneOf("mode", Mode.self) {
        case .blur:
            // Relative to the picture's height: from softened to hardly recognisable.
            let strength = Float(try fields.number("strength", in: 0...1, default: 0.5))
            content = .backgrounds([.blur(radius: 0.012 + 0.088 * strength)])
        case .picture: (content, timeline, warning) = try Self.pictures(&fields, context)
        case .color:
            let start = try fields.color("color", choices: target.choices, default: "#35506b")
            let end = fields.has("to") ? try fields.color("to", choices: target.choices, default: "") : start
            content = .backgrounds([.gradient(start.yuv(range), end.yuv(range))])
        case .dim:
            // Towards black: at full strength, a tenth of the light is left.
            let kept = 1 - 0.9 * Float(try fields.number("strength", in: 0...1, default: 0.6))
            content = .backgrounds([.adjusted(gain: SIMD3(repeating: kept), offset: .zero)])
        case .grey:
            let kept = 1 - Float(try fields.number("strength", in: 0...1, default: 1))
            content = .backgrounds([.adjusted(gain: SIMD3(1, kept, kept), offset: .zero)])
        }
        let people: People = try fields.choice("people", default: .all)
        self.people = target.choices["people"].flatMap(People.init) ?? people
        (self.timeline, self.warning) = (timeline, warning)
    }

    /// Reads the art of mode `picture`: the user's choice, one of `pictures`, or `art`.
    private static func pictures(
        _ fields: inout Fields, _ context: LayerContext
    ) throws -> (content: Content, timeline: Timeline, warning: String?) {
        let fit: PictureFit = try fields.choice("fit", default: .cover)
        let pictures = try fields.texts("pictures")
        let choice = context.target.choices["picture"]
        let file: String
        if pictures.isEmpty {
            file = try fields.string("art")
        } else {
            guard !fields.has("art") else {
                throw fields.wrong("art", "used together with 'pictures'", allowed: "only one of them")
            }
            let names = pictures.keys.sorted()
            let defaultValue = try fields.string("picture", default: names[0])
            guard let own = pictures[defaultValue] else { throw fields.unknown("picture", defaultValue, among: names) }
            file = choice.flatMap { pictures[$0] } ?? own
        }
        var warning: String?
        if let choice, pictures[choice] == nil {
            do {
                guard let folder = context.target.ownPictures, choice.isFileName else {
                    throw Problem(.missing, "'\(brief(choice))' is none of your pictures", fix: "set another one")
                }
                // Never one of a mask: clips are decoded in this process.
                let loaded =
                    choice.hasSuffix(".\(MotionJPEG.fileExtension)")
                    ? try clip(choice, in: folder, fit, context) : try load(choice, in: folder, fit, context)
                return (loaded.content, loaded.timeline, nil)
            } catch {
                // The room stays hidden, whatever became of the user's file.
                warning = "it shows its own picture instead of yours: \(error)"
            }
        }
        let loaded = try load(file, in: context.folder, fit, context)
        return (loaded.content, loaded.timeline, warning)
    }

    /// Loads a clip of the user's, as the store of pictures keeps it.
    private static func clip(
        _ file: String, in folder: String, _ fit: PictureFit, _ context: LayerContext
    ) throws -> (content: Content, timeline: Timeline) {
        let clip = BackgroundClip(pictures: try MotionJPEG(path: try Art.resolvePath(folder, file)), fit: fit)
        let duration = 1000 / Double(MotionJPEG.rate)
        return (
            .clip(clip),
            Timeline(
                durations: Array(repeating: duration, count: clip.pictures.count),
                context.style.motion.repetition ?? .forever)
        )
    }

    /// Loads a picture, or the frames of an APNG.
    private static func load(
        _ file: String, in folder: String, _ fit: PictureFit, _ context: LayerContext
    ) throws -> (content: Content, timeline: Timeline) {
        let target = context.target
        func background(_ art: PictureArt) -> Background {
            let pixels = art.pixels(over: Color(0, 0, 0))
            return .picture(BackgroundPicture(width: target.width, height: target.height, pixels: pixels.span))
        }
        let path = try Art.resolvePath(folder, file)
        guard let animation = try ArtReader.loadAnimation(path: path) else {
            return (
                .backgrounds([background(try PictureArt(file: file, folder: folder, target: target, fit: fit))]),
                Timeline(durations: [1], .forever)
            )
        }
        let backgrounds = try animation.pictures.map { picture in
            // Each of them is kept at the frame's size.
            try ArtBudget.current?.countPixels(target.width * target.height, path)
            return background(PictureArt(picture.raster, target: target, fit: fit))
        }
        let repetition = context.style.motion.repetition ?? (animation.plays == 0 ? .forever : .once)
        return (.backgrounds(backgrounds), Timeline(durations: animation.pictures.map(\.milliseconds), repetition))
    }

    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance) {
        // The outline is one for all backgrounds: if one of them keeps the largest person only, so do the others.
        if roomBlur > 0, people == .largest { canvas.areBystandersHidden = true }
        // A blur is that of the camera's picture: a weaker one would bring back what another background has hidden.
        if roomBlur > 0, roomBlur < canvas.roomBlur { return }
        switch content {
        case .backgrounds(let backgrounds):
            canvas.backgrounds.draw(
                backgrounds[timeline.frame(at: appearance.time)], opacity: appearance.opacity,
                behind: &canvas.outline, onto: &canvas.frame)
        case .clip(let clip):
            // Cameras' frames often come when a picture is just due. Without a margin for rounded times, some pictures
            // would be shown in one of them and some in three.
            let number = timeline.frame(at: appearance.time + 2)
            canvas.clips.show(number, of: clip, like: canvas.frame.layout)
            canvas.backgrounds.draw(canvas.clips.picture, behind: &canvas.outline, onto: &canvas.frame)
        }
        if roomBlur > 0 { canvas.roomBlur = roomBlur }
    }
}
