import Foundation
import Testing

/// The labelled faces and the program that scores a tracker on them; both lie outside the project.
private enum Score {
    static let script = URL(fileURLWithPath: Package.data).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "eval/evaluate.py").path

    static var isThere: Bool {
        guard Package.has(script), Package.has("\(Package.data)/index.json"), let workshop = try? Workshop() else {
            return false
        }
        return (try? workshop.shell("python3 -c 'import numpy'")) != nil
    }
}

extension EndToEnd {
    @Test(
        .enabled(if: Score.isThere, "needs the labelled faces, their evaluate.py, and python3 with numpy"),
        .enabled(if: Program.isRelease, "needs GUISE_BINARY to be a release build"))
    func `faces of labelled clips and photos are found where they are, and none where there is none`() throws {
        let workshop = try Workshop()
        let outcome = try Program.run(
            [
                "python3", Score.script, "--data", Package.data, "--run", "'\(Program.path)' track {input} --json",
                "--quiet",
            ], of: "/usr/bin/env", in: workshop, limit: 1500)
        let (text, all) = (outcome.out, Comment(rawValue: "\(outcome)"))
        #expect(outcome.code == 0 && !text.contains("FAILED RUNS"), all)
        let clips = try #require(text.firstMatch(of: /ALL CLIPS +recall ([0-9.]+) \S+ +nme ([0-9.]+)/), all)
        let photos = try #require(text.firstMatch(of: /ALL PHOTOS +recall ([0-9.]+) \S+ +nme ([0-9.]+)/), all)
        let falseFinds = try #require(text.firstMatch(of: /([0-9.]+) false\/1000/), all)
        #expect(Double(clips.1) ?? 0 >= 0.93, all)
        #expect(Double(photos.1) ?? 0 >= 0.93, all)
        #expect(Double(clips.2) ?? 1 <= 0.030, all)
        // Photos' labels come from other mark-ups than ours and their faces are smaller.
        #expect(Double(photos.2) ?? 1 <= 0.045, all)
        #expect(Double(falseFinds.1) ?? 1000 <= 20, all)
        print(text)
    }
}
