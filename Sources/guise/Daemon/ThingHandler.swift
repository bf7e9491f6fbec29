import Capture
import Compose
import Control
import Engine
import Objects
import SystemKit

/// Answers requests for the things that masks recognise.
struct ThingHandler {
    let library: ThingLibrary
    let loader: MaskLoader
    let mailbox: Mailbox

    /// The number of pictures that are taken of what is held up, and the seconds that this may take.
    private static let (cameraPictures, timeout) = (3, 15.0)

    func handle(_ request: ThingRequest) throws -> Answer {
        switch request {
        case .things: return .immediate(list)
        case .teach(let name, let photos):
            // Before photos are read, or anything is held up.
            try library.checkRoom(for: name, adding: photos.isEmpty ? Self.cameraPictures : photos.count)
            guard photos.isEmpty else { return .background { [self] in try teach(name, photos) } }
            guard loader.masks.contains(where: \.usesThings) else {
                throw RequestError(
                    .notNow, "no mask that recognises things is worn; put one on first: `guise wear objects`")
            }
            let settings = mailbox.settings
            guard !settings.isPaused, !settings.isFrozen else {
                throw RequestError(
                    .notNow,
                    "there is no picture while Guise is \(settings.isPaused ? "paused" : "frozen"); "
                        + "run `guise resume` first")
            }
            return .background { [self] in try teachFromCamera(name) }
        case .forget(let name):
            // In the background, because files are moved.
            return .background { [self] in try forget(name) }
        }
    }

    private var list: ThingsReply {
        ThingsReply(things: library.things.map { ThingsReply.Thing(name: $0.name, pictures: $0.pictures) })
    }

    private func teach(_ name: String, _ photos: [String]) throws -> TaughtReply {
        var cutouts: [Cutout] = []
        for photo in photos {
            var found: [Cutout] = []
            try Clip.firstPicture(of: photo) { view in found = ThingFinder.cutouts(of: view) }
            guard let thing = found.first else {
                throw Problem(
                    .unusable, "no thing was found in \(photo)",
                    fix: "show all of it on a plain background, at least a thirtieth of the picture's width")
            }
            guard found.count == 1 else {
                throw Problem(
                    .unusable, "\(photo) shows \(found.count) things", fix: "teach one at a time, alone in the picture")
            }
            cutouts.append(thing)
        }
        return try learn(name, cutouts)
    }

    private func teachFromCamera(_ name: String) throws -> TaughtReply {
        let collected = mailbox.observe { library.recognizer.collect(Self.cameraPictures, seconds: Self.timeout) }
        guard let cutouts = collected else {
            throw RequestError(.notNow, "something is being taught already; try again in a moment")
        }
        guard cutouts.count == Self.cameraPictures else {
            guard mailbox.lastStatus.camera != .lost else {
                throw RequestError(.notNow, "there is no picture: the camera is missing or in use")
            }
            throw RequestError(
                .notNow,
                "nothing was held up alone in front of a plain background; hold all of '\(name)' in the middle of the "
                    + "picture, and try again")
        }
        return try learn(name, cutouts)
    }

    private func learn(_ name: String, _ cutouts: [Cutout]) throws -> TaughtReply {
        TaughtReply(name: name, added: cutouts.count, pictures: try library.teach(name, cutouts))
    }

    private func forget(_ name: String) throws -> ThingsReply {
        try Trash().add(library.folder(of: name))
        return list
    }
}
