import ArgumentParser
import SystemKit
import Track

/// `guise landmarks`: converts the landmark data once for all users of the computer, for packages.
struct LandmarksCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "landmarks", abstract: "Convert dlib's landmark data once for all users, as packages do.",
        discussion: "Without it, each user's first start converts the data into a cache, which takes half a second.")

    @Argument(help: "The folder of the converted file; Guise reads it in share/guise/landmarks.")
    var folder: String
    @Option(help: "dlib's model of 68 points (default: the one of Debian's libdlib-data).", completion: .file())
    var model = LandmarkModel.debianPath

    func run() throws { print(try LandmarkModel.convert(model, into: folder)) }
}
