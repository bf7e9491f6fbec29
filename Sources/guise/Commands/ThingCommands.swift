import ArgumentParser
import Control

extension ThingsReply: PrintableReply {
    var line: String? { nil }

    var lines: [String] {
        things.isEmpty
            ? ["no thing is taught yet; hold one up and run `guise teach NAME`"]
            : things.map { "\($0.name): \($0.pictures) \($0.pictures == 1 ? "picture" : "pictures")" }
    }
}

extension TaughtReply: PrintableReply {
    var line: String? {
        let all = pictures == added ? "" : ", \(pictures) in all"
        return "'\(name)' is taught by \(added) \(added == 1 ? "picture" : "pictures")\(all)"
    }
}

struct TeachCommand: ControlCommand {
    typealias Reply = TaughtReply

    static let configuration = CommandConfiguration(
        commandName: "teach", abstract: "Teach a thing, for masks that tell things apart.",
        discussion: """
            Without photos, three pictures are taken of what you hold up before a plain background, while a mask is \
            worn that recognises things, such as `objects`: turn it a little meanwhile. Each photo shows the thing \
            alone and whole. Teaching a thing again adds pictures.
            """)
    @Argument(help: "Its name.")
    var name: String
    @Argument(help: "Photos of it (default: what is held up).", completion: .file(extensions: ["png", "jpg"]))
    var photos: [String] = []

    var request: Command { .thing(.teach(name, photos: photos.map(absolute))) }
}

/// Completes the names of taught things in shells.
private func thingNames(_ words: [String], _ index: Int, _ start: String) -> [String] {
    (try? AppContext().things.things.map(\.name)) ?? []
}

struct ForgetCommand: ControlCommand {
    typealias Reply = ThingsReply

    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Forget a taught thing; its pictures go to the trash.")
    @Argument(help: "Its name.", completion: .custom(thingNames))
    var name: String

    var request: Command { .thing(.forget(name)) }
}

struct ThingsCommand: ControlCommand {
    typealias Reply = ThingsReply

    static let configuration = CommandConfiguration(
        commandName: "things", abstract: "List the things that are taught.")

    var request: Command { .thing(.things) }
}
