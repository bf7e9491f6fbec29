import ArgumentParser

@main
struct Guise: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "guise", abstract: "Hats, beards and masks on the faces in your webcam, live, in any video call.",
        subcommands: [TrackCommand.self])
}
