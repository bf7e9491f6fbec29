import ArgumentParser
import Capture
import Foundation
import Frames
import Track

/// `guise track`: the faces of each frame of a photo or clip.
struct TrackCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "track", abstract: "Print the faces of each frame of a photo or clip.")

    @Argument(help: "A photo or clip.")
    var input: String
    @Flag(help: "One JSON object a line instead of words.")
    var json = false
    @Flag(help: "With --json: all 68 landmarks too.")
    var landmarks = false

    func run() throws {
        var clip = try Clip(path: input)
        let model = try LandmarkModel(cache: LandmarkModel.cacheDirectory(environment: ProcessInfo.processInfo.environment))
        let looker = try Looker(catalogue: try Catalogue(folder: "Cascades"), landmarks: model)
        var tracker = Tracker(looker)
        let isPhoto = clip.layout.format == .i444
        var line = ""
        while true {
            let arrival = try clip.withFrame { view, time in
                if isPhoto { tracker.searchWhole(view.luma) } else { tracker.update(view.luma, at: time.seconds) }
                line = Self.json(tracker.faces, time)
            }
            switch arrival {
            case .frame: print(line)
            case .nothing: usleep(500)
            case .end: return
            }
        }
    }

    static func json(_ faces: [Face], _ time: FrameTime) -> String {
        func xy(_ p: Point) -> String { String(format: "[%.2f, %.2f]", p.x, p.y) }
        let list = faces.map { f in
            let p = f.landmarks
            let e = (36...41).reduce(Point.zero) { $0 + p[$1] } / 6
            let l = (42...47).reduce(Point.zero) { $0 + p[$1] } / 6
            return "{\"id\": \(f.id), \"points\": {\"right_eye\": \(xy(e)), \"left_eye\": \(xy(l)), \"nose\": \(xy(p[30])), \"mouth\": \(xy((p[48] + p[54]) / 2)), \"chin\": \(xy(p[8]))}, \"state\": \"\(f.state.rawValue)\"}"
        }
        return "{\"frame\": \(time.number), \"time\": \(time.seconds), \"faces\": [\(list.joined(separator: ", "))]}"
    }
}
