import Frames
import JSON
import Objects
import Synchronization
import SystemKit

/// The things that the user has taught: a folder for each, with its cut-outs as PNGs. What a picture looks like in
/// numbers is measured again whenever the things are loaded, so a folder can be copied to another computer.
public final class ThingLibrary: Sendable {
    /// Names things in parallel with the frame loop.
    public let recognizer = ThingRecognizer()
    /// The folder with a folder for each thing; nil without a home folder.
    private let folder: String?
    private let state = Mutex(State())
    /// Held while a thing is taught, so that two clients can't pass the limits together.
    private let teaching = Mutex<Void>(())

    private struct State {
        var versions: [FileVersion] = []
        var loaded: (things: TaughtThings, warning: String?)?
        var revision = 0
    }

    /// The most things, and pictures of each: telling one thing from another takes time for each of them.
    public static let (maxThings, maxPictures) = (64, 9)
    /// The most characters of a name, which is shown beside the thing.
    public static let maxName = 32

    public init(folder: String?) { self.folder = folder }

    /// The names of the taught things, sorted, each with the number of its pictures.
    public var things: [(name: String, pictures: Int)] {
        names.map { ($0, pictures(of: $0).count) }
    }

    private var names: [String] {
        guard let folder else { return [] }
        return entries(of: folder).filter { $0.isFileName && isFolder("\(folder)/\($0)") }
    }

    /// A taught thing's name as its folder has it, which may spell letters with accents in another way; nil if there is
    /// none of that name.
    private func taughtName(_ name: String) -> String? { names.first { $0 == name } }

    private func pictures(of name: String) -> [String] {
        guard let folder else { return [] }
        return entries(of: "\(folder)/\(name)").filter { $0.hasSuffix(".png") && $0.isFileName }
    }

    /// The folders to watch, that of all things first.
    var folders: [String] {
        guard let folder else { return [] }
        return [folder] + names.map { "\(folder)/\($0)" }
    }

    /// The versions of all pictures. They differ after a thing was taught or forgotten.
    var fileVersions: [FileVersion] { folder.map { treeVersions(in: $0) } ?? [] }

    /// Loads the things, if they have changed since the last time.
    /// - Returns: those that can be loaded, and what is wrong with the others.
    func load() -> (things: TaughtThings, warning: String?) {
        let versions = fileVersions
        return state.withLock { state in
            if let loaded = state.loaded, state.versions == versions { return loaded }
            state.revision += 1
            var (things, warning): ([TaughtThing], String?) = ([], nil)
            // Such as a helper that has ended, or a package that is not installed yet.
            var mayPass = false
            let names = names
            if names.count > Self.maxThings {
                warning =
                    "of \(names.count) things, only the first \(Self.maxThings) are recognised; "
                    + "forget some: `guise forget NAME`"
            }
            for name in names.prefix(Self.maxThings) {
                var views: [ThingAppearance] = []
                for picture in pictures(of: name).prefix(Self.maxPictures) {
                    do {
                        views.append(try recognizer.describe(try cutout("\(folder ?? "")/\(name)/\(picture)")))
                    } catch {
                        warning = warning ?? "\(error)"
                        if let problem = error as? Problem { mayPass = mayPass || problem.kind != .unusable }
                    }
                }
                if !views.isEmpty { things.append(TaughtThing(name: name, views: views)) }
            }
            let loaded = (things: TaughtThings(things, revision: state.revision), warning: warning)
            (state.versions, state.loaded) = (versions, mayPass ? nil : loaded)
            return loaded
        }
    }

    private func cutout(_ path: String) throws(Problem) -> Cutout {
        do throws(Problem) {
            if let cutout = Cutout(try ArtReader.load(path: path, maxDimension: Cutout.side)) { return cutout }
        } catch  where error.kind != .unusable { throw error } catch {}
        throw Problem(.unusable, "\(path) is no picture of a taught thing", fix: "delete it, and teach the thing again")
    }

    // MARK: - teaching

    /// Throws if a name can't be that of a thing.
    public static func check(name: String) throws(Problem) {
        guard name.isFileName, name.count <= maxName, !name.contains(where: \.isNewline),
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }),
            name.unicodeScalars.contains(where: isVisible)
        else {
            throw Problem(
                .invalid, "'\(brief(name))' can't be the name of a thing",
                fix: "use up to \(maxName) characters, no '/', no control characters, and no '.' at the start")
        }
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        !scalar.properties.isWhitespace && scalar.properties.generalCategory != .format
    }

    /// Throws if a thing can't get more pictures: for a bad name, and too many things or pictures.
    /// - Parameter count: the number of pictures to add.
    public func checkRoom(for name: String, adding count: Int) throws(Problem) {
        try Self.check(name: name)
        let (names, taught) = (names, taughtName(name))
        let before = taught.map { pictures(of: $0).count } ?? 0
        guard taught != nil || names.count < Self.maxThings else {
            throw Problem(
                .invalid, "\(names.count) things are taught already, the limit is \(Self.maxThings)",
                fix: "forget one first: `guise forget NAME`")
        }
        guard before + count <= Self.maxPictures else {
            throw Problem(
                .invalid, "'\(name)' would have \(before + count) pictures, the limit is \(Self.maxPictures)",
                fix: before > 0 ? "`guise forget \(name)` first, or teach by fewer" : "teach by fewer")
        }
    }

    /// Adds pictures of a thing.
    /// - Returns: the number of its pictures.
    /// - Throws: `Problem`, for a bad name, too many things or pictures, and a thing that has another name; then
    ///   nothing has changed.
    public func teach(_ name: String, _ cutouts: [Cutout]) throws -> Int {
        try Self.check(name: name)
        guard let folder else {
            throw Problem(
                .missing, "there is no folder for taught things: neither HOME nor XDG_DATA_HOME is set",
                fix: "set HOME")
        }
        return try teaching.withLock { _ in
            defer { ArtReader.shutDown() }
            try checkRoom(for: name, adding: cutouts.count)
            let own = taughtName(name) ?? name
            let before = pictures(of: own)
            let known = load().things
            for cutout in cutouts {
                if let match = known.match(try recognizer.describe(cutout)), known.things[match.thing].name != name {
                    let other = known.things[match.thing].name
                    throw Problem(
                        .exists, "that is taught already, as '\(other)'",
                        fix: "`guise forget \(other)` first, or teach it as '\(other)'")
                }
            }
            return try save(cutouts, as: own, beside: before, in: folder)
        }
    }

    private func save(_ cutouts: [Cutout], as name: String, beside before: [String], in folder: String) throws -> Int {
        try makeOwnFolders("\(folder)/\(name)")
        var written: [String] = []
        do {
            var number = 0
            for cutout in cutouts {
                var path = ""
                repeat {
                    number += 1
                    path = "\(folder)/\(name)/\(number).png"
                } while isTaken(path)
                let image = cutout.image
                try writeOwnFile(ArtProcess.png(of: image, path), to: path, isDurable: true)
                written.append(path)
            }
        } catch {
            for path in written { removeFile(path) }
            // If it is new, it is empty.
            removeFile("\(folder)/\(name)")
            throw error
        }
        return before.count + cutouts.count
    }

    /// The folder of a taught thing, to forget it.
    /// - Throws: `missing` if there is none of that name.
    public func folder(of name: String) throws(Problem) -> String {
        guard let folder, let taught = taughtName(name) else {
            let hint = nearest(to: name, among: names).map { "did you mean '\($0)'?" }
            throw Problem(
                .missing, "nothing is taught as '\(brief(name))'",
                fix: hint ?? (names.isEmpty ? "teach something with `guise teach NAME`" : "see `guise things`"))
        }
        return "\(folder)/\(taught)"
    }
}

/// The taught things, loaded for a layer.
struct LoadedThings: Sendable {
    let taught: TaughtThings
    let recognizer: ThingRecognizer
    /// What is wrong with them, for the user; nil if nothing is.
    let warning: String?

    /// Loads the things, if they are not loaded yet.
    /// - Parameter trigger: the name of the one that a layer waits for.
    init?(_ target: ArtTarget, trigger: String?) {
        guard let library = target.things else { return nil }
        let loaded = library.load()
        (taught, recognizer) = (loaded.things, library.recognizer)
        let isMissing = trigger.map { name in !loaded.things.things.contains { $0.name == name } } ?? false
        if let problem = loaded.warning {
            warning = "not all things can be recognised: \(problem)"
        } else if let trigger, isMissing {
            warning = "it waits for '\(trigger)', which is not taught; hold it up and run `guise teach \(trigger)`"
        } else if taught.things.isEmpty {
            warning = "nothing is taught yet; hold something up and run `guise teach NAME`"
        } else {
            warning = nil
        }
    }
}

extension Cutout {
    /// The cut-out of a saved picture; nil if it has another size.
    init?(_ image: RGBAImage) {
        let side = Self.side
        guard image.width == side, image.height == side else { return nil }
        var (y, u, v, mask) = (
            [UInt8](repeating: 0, count: side * side), [UInt8](repeating: 128, count: side * side),
            [UInt8](repeating: 128, count: side * side), [UInt8](repeating: 0, count: side * side)
        )
        for i in 0..<side * side where image.bytes[4 * i + 3] >= 128 {
            let color = Color(
                Float(image.bytes[4 * i]), Float(image.bytes[4 * i + 1]), Float(image.bytes[4 * i + 2]))
            let sample = (color.yuv(.full) + 0.5).clamped(
                lowerBound: .zero, upperBound: SIMD3(repeating: 255))
            (y[i], u[i], v[i], mask[i]) = (UInt8(sample.x), UInt8(sample.y), UInt8(sample.z), 255)
        }
        self.init(y: y, u: u, v: v, mask: mask)
    }

    /// The cut-out as a picture with a transparent background.
    var image: RGBAImage {
        var bytes = [UInt8](repeating: 0, count: 4 * Self.side * Self.side)
        for i in mask.indices where mask[i] != 0 {
            let color = rgb(SIMD3(Float(y[i]), Float(u[i]), Float(v[i])))
            for k in 0..<3 { bytes[4 * i + k] = color[k] }
            bytes[4 * i + 3] = 255
        }
        return RGBAImage(width: Self.side, height: Self.side, bytes: bytes)
    }
}
