import Capture
import Frames
import Glibc
import SystemKit

@testable import Track

/// Prints what the verifiers say about the detections in photos and clips, for Benchmarks/verifier.py to learn from:
/// `verifier-evidence CASCADES PATCHES EVERY FILE...`.
///
/// Photos are searched as `Tracker.searchWhole` does. Of clips every so-manyth frame is searched, at one size, under
/// the tracker's three tilts. A line has, separated by tabs: file, frame, the tile's tilt, votes, the cascade's
/// eye distance, the fit residual, alt, lbp, worse and better eye of `VerifierFeatures`, and x and y of the mean of
/// eyes, nose and mouth, of the right eye and of the left one, and pattern and log-odds as they are now. Each line's
/// patch is appended to PATCHES. A file has a line with nothing but its name first.
@main struct EvidencePrinter {
    /// Log-odds below which a detection is left out: far below `Thresholds.candidateLogOdds`.
    private static let hopeless: Float = -6
    private static let side = FacePattern.side

    static func main() throws {
        let words = CommandLine.arguments
        guard words.count > 4, let every = Int(words[3]), every > 0 else {
            throw Problem(.invalid, "verifier-evidence CASCADES PATCHES EVERY FILE...", fix: "give all of them")
        }
        let model = try LandmarkModel(path: LandmarkModel.debianPath, cache: nil)
        var detector = try FaceDetector(catalog: try CascadeCatalog(folder: words[1]), cache: nil)
        guard let patches = unsafe fopen(words[2], "wb") else {
            throw Problem(.forbidden, "cannot write \(words[2])", fix: "name another file")
        }
        for path in words[4...] {
            do { unsafe try search(path, every, &detector, model, patches) } catch { print("\(path)\tfailed") }
        }
        _ = unsafe fclose(patches)
    }

    private static func search(
        _ path: String, _ every: Int, _ detector: inout FaceDetector, _ model: borrowing LandmarkModel,
        _ patches: UnsafeMutablePointer<FILE>
    ) throws {
        var clip = try Clip(path: path)
        let isPhoto = clip.isPhoto
        print(path)
        var patch = [UInt8](repeating: 0, count: side * side)
        try clip.forEachFrame { view, time in
            guard isPhoto || time.number % every == 0 else { return }
            let shorter = Float(min(view.luma.width, view.luma.height))
            let smallest = max(Float(ScanScheduler.sizes.lowerBound), Tracker.Settings().minSize * shorter)
            for size in isPhoto ? Tracker.photoSizes : [1] {
                let tiles = ScanScheduler(
                    width: view.luma.width, height: view.luma.height, smallest: size * smallest,
                    rolls: isPhoto ? Tracker.photoRolls : FrameSearch.rolls
                ).tiles
                for region in tiles {
                    detector.detect(view.luma, in: region)
                    for found in detector.detections {
                        guard let fit = detector.fit(view.luma, at: found) else { continue }
                        let features = detector.features(view.luma, fit, isComplete: true)
                        guard features.logOdds > hopeless, let box = model.box(around: fit.landmarks) else {
                            continue
                        }
                        let region = FacePattern.region(box, eyes: EyePair(model.meanShape).distance)
                        var samples = patch.mutableSpan
                        resample(view.luma, by: region.map(side: side), into: &samples, width: side, height: side)
                        _ = unsafe fwrite(patch, 1, patch.count, patches)
                        line(path, time.number, found, features, fit)
                    }
                }
            }
        }
    }

    private static func line(
        _ path: String, _ frame: Int, _ found: Detection, _ features: VerifierFeatures, _ fit: Fit
    ) {
        let eyes = EyePair(fit.landmarks)
        let mouth = (fit.landmarks[48] + fit.landmarks[54]) / 2
        let middle = (eyes.right + eyes.left + fit.landmarks[30] + mouth) / 4
        let numbers = [
            found.roll, Float(found.votes), found.eyeDistance, features.fitResidual, features.alt, features.lbp,
            features.worseEye, features.betterEye, middle.x, middle.y, eyes.right.x, eyes.right.y, eyes.left.x,
            eyes.left.y, features.pattern, features.logOdds,
        ]
        print("\(path)\t\(frame)\t" + numbers.map { "\($0)" }.joined(separator: "\t"))
    }
}
