import ArgumentParser
import SystemKit
import Track

/// `guise landmarks`: converts the landmark model once for all users of the computer. For install scripts of packages.
struct LandmarksCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "landmarks", abstract: "Convert dlib's landmark model once for all users, for install scripts.",
        discussion: "Without it, each user's first start converts the data into a cache, which takes half a second.")

    @Argument(help: "The folder of the converted file; Guise reads it from share/guise/landmarks.")
    var folder: String
    @Option(help: "dlib's 68-point shape predictor (default: from Debian's libdlib-data).", completion: .file())
    var model = LandmarkModel.debianPath

    func run() throws { print(try LandmarkModel.convert(model, into: folder)) }
}
