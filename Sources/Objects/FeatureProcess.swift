import CObjects
import Frames
import SystemKit

/// The parent's side of guise-objects, the process that finds key points.
///
/// The unsafe calls are in this file only.
struct FeatureProcess: ~Copyable {
    private let helper: HelperProcess
    private var samples: [UInt8] = []

    /// Milliseconds to wait for a reply, which takes 2 on an idle machine.
    private static let timeout: CInt = 60_000

    /// Starts the process.
    /// - Throws: `missing` if it isn't installed; `system` if it can't be started.
    init() throws(Problem) {
        helper = try HelperProcess("guise-objects", purpose: "finds key points of things")
    }

    deinit { _ = helper.end() }

    /// Describes a cut-out.
    /// - Throws: `gone` if the process has ended. It must be started again.
    mutating func describe(_ cutout: borrowing Cutout) throws(Problem) -> ThingAppearance {
        ThingAppearance(cutout, points: try points(of: cutout))
    }

    private mutating func points(of cutout: borrowing Cutout) throws(Problem) -> [KeyPoint] {
        var request = cobjects_request(width: CInt(Cutout.side), height: CInt(Cutout.side))
        fillSamples(cutout)
        var reply = cobjects_reply()
        guard unsafe withUnsafeBytes(of: &request, { unsafe helper.write($0) }),
            unsafe samples.withUnsafeBytes({ unsafe helper.write($0) }),
            unsafe withUnsafeMutableBytes(of: &reply, { unsafe helper.read(into: $0, milliseconds: Self.timeout) }),
            (0...CInt(COBJECTS_MAX_POINTS)).contains(reply.count)
        else { throw ended }
        var points = [cobjects_point](repeating: cobjects_point(), count: Int(reply.count))
        guard unsafe points.withUnsafeMutableBytes({ unsafe helper.read(into: $0, milliseconds: Self.timeout) }) else {
            throw ended
        }
        let half = Float(Cutout.side - 1) / 2
        return points.map { point in
            let words = point.descriptor
            return KeyPoint(
                position: Point(point.x, point.y) - half, size: max(1, point.size), angle: radians(point.angle),
                descriptor: [words.0, words.1, words.2, words.3])
        }
    }

    private var ended: Problem {
        Problem(.gone, "guise-objects, which finds key points of things, has ended", fix: "try again")
    }

    /// The thing's luma, stretched to the same contrast, on white, so that its outline has corners too; and the mask.
    private mutating func fillSamples(_ cutout: borrowing Cutout) {
        let count = cutout.y.count
        if samples.count != 2 * count { samples = Array(repeating: 0, count: 2 * count) }
        var histogram = [Int](repeating: 0, count: 256)
        var area = 0
        for i in 0..<count where cutout.mask[i] != 0 {
            histogram[Int(cutout.y[i])] += 1
            area += 1
        }
        func percentile(_ share: Float) -> Float {
            var (level, sum) = (0, 0)
            while level < 255, Float(sum + histogram[level]) < share * Float(area) {
                sum += histogram[level]
                level += 1
            }
            return Float(level)
        }
        let (low, high) = (percentile(0.03), percentile(0.97))
        // More than three times the contrast would show noise.
        let gain = min(3, 150 / max(1, high - low))
        let middle = (low + high) / 2
        for i in 0..<count {
            let isThing = cutout.mask[i] != 0
            samples[i] = isThing ? UInt8(max(0, min(225, (Float(cutout.y[i]) - middle) * gain + 110))) : 255
            samples[count + i] = isThing ? 255 : 0
        }
    }
}
