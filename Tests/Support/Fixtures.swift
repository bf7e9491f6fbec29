import Foundation
import SystemKit
import Testing

/// Paths of the package's files, and of files next to it.
public enum Fixtures {
    /// The package's folder. The one place that derives it from a source file.
    public static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    /// A file or folder of the package: `Masks`, `config.json`.
    public static func inPackage(_ path: String) -> String { "\(package)/\(path)" }

    /// A file of `Tests/Fixtures`.
    public static func path(_ name: String) -> String { inPackage("Tests/Fixtures/\(name)") }

    /// The portrait that `make sample` fetches.
    public static let sample = inPackage("samples/astronaut.png")

    /// The model that `make outline` fetches.
    public static let outline = inPackage("samples/outline/selfie_segmentation_landscape.tflite")

    /// The script that `setup axe` fetches, which finds faults of accessibility on a page.
    public static let axe = inPackage("samples/axe/axe.min.js")

    /// Photos and clips with labelled faces, outside the package: `$GUISE_DATA`, or else next to it.
    public static let labelledFaces =
        ProcessInfo.processInfo.environment["GUISE_DATA"]
        ?? URL(fileURLWithPath: package).deletingLastPathComponent().appending(path: "shared/data/faces").path

    /// What all tests share because it takes seconds to make: the landmark cache, and media.
    public static let cache = inPackage(".build/test-cache")

    /// A name for what depends on these texts and files; a file counts as another once its date changes.
    static func key(of texts: [String], and files: [String]) -> String {
        let times = files.map { path in
            let date = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
            return "\(path) \(date?.timeIntervalSince1970 ?? 0)"
        }
        return fingerprint(of: (texts + times).joined(separator: "\n"))
    }

    public static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
}

/// Requirements of some tests on the machine. The last lines of `make test` count the tests that were skipped without
/// them.
extension Trait where Self == ConditionTrait {
    public static var needsSample: Self {
        .enabled(if: Fixtures.exists(Fixtures.sample), "needs the sample: make sample")
    }

    public static var needsOutline: Self {
        .enabled(if: Fixtures.exists(Fixtures.outline), "needs the outline's model: make outline")
    }

    public static var needsLandmarks: Self {
        .enabled(
            if: Fixtures.exists("/usr/share/dlib/shape_predictor_68_face_landmarks.dat"),
            "needs Debian's libdlib-data: ./setup run")
    }

    public static var needsLabelledFaces: Self {
        .enabled(
            if: Fixtures.exists("\(Fixtures.labelledFaces)/index.json"),
            "needs the labelled faces: set GUISE_DATA to their folder")
    }

    /// A debug build of the program tracks so slowly that tests that use it would take an hour.
    public static var needsReleaseBuild: Self {
        .enabled(if: Program.isRelease, "needs a release build of the program: make test sets GUISE_BINARY")
    }

    public static var needsBrowser: Self {
        .enabled(
            if: ["/usr/bin/chromium", "/usr/bin/chromedriver"].allSatisfy(Fixtures.exists),
            "needs Debian's chromium and chromium-driver: ./setup test")
    }

    public static var needsSoundServer: Self {
        .enabled(
            if: Fixtures.exists("/usr/bin/pulseaudio"),
            "needs PulseAudio, which would replace PipeWire: sudo apt install pulseaudio")
    }

    public static var needsScreen: Self {
        .enabled(if: Fixtures.exists("/usr/bin/Xvfb"), "needs Debian's xvfb: ./setup test")
    }

    public static var needsAxe: Self {
        .enabled(if: Fixtures.exists(Fixtures.axe), "needs axe: ./setup axe")
    }

    public static var needsNoVideoDevices: Self {
        .enabled(
            if: !((try? FileManager.default.contentsOfDirectory(atPath: "/dev")) ?? []).contains {
                $0.hasPrefix("video")
            }, "needs a computer without video devices")
    }

    /// vivid as /dev/video0, two loopbacks as /dev/video10 ("Guise Camera") and /dev/video11 ("Test Webcam").
    public static var needsVideoDevices: Self {
        .enabled(
            if: ProcessInfo.processInfo.environment["GUISE_VM"] == "1", "needs V4L2 devices: make test-vm runs it")
    }
}
