import ArgumentParser
import Capture
import Frames
import SystemKit
import Track

/// `guise track`: prints the faces in each frame of a photo or clip.
struct TrackCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "track", abstract: "Print the faces of each frame of a photo or clip.")

    @Argument(help: "A photo or clip.")
    var input: String
    @Flag(help: "Print one JSON object per line instead of text.")
    var json = false
    @Flag(help: "With --json, also print all 68 landmarks.")
    var landmarks = false
    @OptionGroup var logOptions: LogOptions

    func run() throws {
        let context = try AppContext()
        var clip = try Clip(path: input)
        let isPhoto = clip.isPhoto
        var tracker = try context.tracker(isPhoto: isPhoto)
        try clip.forEachFrame { view, time in
            if isPhoto { tracker.searchWhole(view.luma) } else { tracker.update(view.luma, at: time.seconds) }
            print(json ? jsonLine(tracker.faces, time) : wordLine(tracker.faces, time))
        }
        if let warning = clip.warning { logWarning(warning) }
    }

    private func wordLine(_ faces: [Face], _ time: FrameTime) -> String {
        let words = faces.map { face in
            let (box, pose) = (face.box, face.pose)
            func whole(_ value: Float) -> String { decimal(Double(value), places: 0) }
            return "\(face.kind == .cat ? "cat" : "face") \(face.id) \(face.state.rawValue) "
                + "at \(whole(box.x)),\(whole(box.y)) size \(whole(box.width))x\(whole(box.height)) "
                + "roll \(whole(pose.roll)) yaw \(whole(pose.yaw)) pitch \(whole(pose.pitch))"
        }
        return "\(decimal(Double(time.number), places: 0, width: 6)) \(decimal(time.seconds, places: 3, width: 8)) s  "
            + (words.isEmpty ? "no face" : words.joined(separator: "; "))
    }

    private func jsonLine(_ faces: [Face], _ time: FrameTime) -> String {
        let list = faces.map(json).joined(separator: ", ")
        return "{\"frame\": \(time.number), \"time\": \(number(time.seconds, 4)), \"faces\": [\(list)]}"
    }

    private func json(_ face: Face) -> String {
        let points: [(String, FacePoint)] = [
            ("right_eye", .rightEye), ("left_eye", .leftEye), ("nose", .nose), ("mouth", .mouth), ("chin", .chin),
        ]
        let named = points.map { "\"\($0)\": \(pair(face[$1]))" }.joined(separator: ", ")
        let (box, pose) = (face.box, face.pose)
        let corners = [box.x, box.y, box.width, box.height].map { number(Double($0), 2) }.joined(separator: ", ")
        let angles = "\"roll\": \(number(Double(pose.roll), 2)), \"yaw\": \(number(Double(pose.yaw), 2))"
        var text = "{\"id\": \(face.id), \"kind\": \"\(face.kind.rawValue)\", \"box\": [\(corners)], "
        text += "\"points\": {\(named)}, "
        text +=
            "\"pose\": {\(angles), \"pitch\": \(number(Double(pose.pitch), 2))}, \"state\": \"\(face.state.rawValue)\", "
        text += "\"basis\": \"\(face.basis.rawValue)\""
        if landmarks {
            text += ", \"landmarks\": [\((0..<68).map { pair(face.landmarks[$0]) }.joined(separator: ", "))]"
        }
        return text + "}"
    }

    private func pair(_ p: Point) -> String { "[\(number(Double(p.x), 2)), \(number(Double(p.y), 2))]" }

    private func number(_ value: Double, _ digits: Int) -> String { decimal(value, places: digits) }
}
