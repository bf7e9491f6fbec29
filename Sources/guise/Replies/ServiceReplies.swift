import Engine
import Frames
import JSON

/// What the daemon is doing: a summary, followed by the metrics in the same object.
struct StatusReply: Codable {
    struct Summary: Codable {
        /// `paused`, `frozen`, `running`, or the state of the camera.
        let state: String
        let version: String
        let pid: Int
        /// The time since the start.
        let seconds: Double
        let masks: [WornMask]
        /// The changes that can be undone.
        let history: HistoryNames
        /// The camera, or the reason that there is none.
        let source: String
        let outputs: [String]
    }

    let summary: Summary
    let metrics: MetricsReply

    init(_ summary: Summary, _ metrics: MetricsReply) { (self.summary, self.metrics) = (summary, metrics) }

    init(from decoder: any Decoder) throws {
        summary = try Summary(from: decoder)
        metrics = try MetricsReply(from: decoder)
    }

    func encode(to encoder: any Encoder) throws {
        try summary.encode(to: encoder)
        try metrics.encode(to: encoder)
    }
}

/// Live metrics: rates, timings and counts. Times are in milliseconds.
struct MetricsReply: Codable {
    /// The numbers of frames that were not published as they were captured: discarded because they came faster than the
    /// output rate, damaged, and published as placeholders or repetitions.
    struct Dropped: Codable {
        let overRate: Int
        let damaged: Int
        let repeated: Int
    }

    /// CPU times.
    struct CPU: Codable {
        /// The CPU time of all threads, in percent of a core.
        let process: Double
        /// The loop's, for one frame; then those of its stages.
        let frame: Percentiles
        let search: Percentiles
        let landmarks: Percentiles
        let transform: Percentiles
        let segmentation: Percentiles
        let compose: Percentiles
        let publish: Percentiles
    }

    struct Percentiles: Codable {
        let median: Double
        let p95: Double
        let p99: Double

        init(_ histogram: Histogram) {
            (median, p95, p99) = (histogram.percentile(0.5), histogram.percentile(0.95), histogram.percentile(0.99))
        }
    }

    let paused: Bool
    let frozen: Bool
    let camera: String
    let watched: Bool
    /// Whether a program reads the virtual camera; null if there is none.
    @Nullable var cameraInUse: Bool?
    let faces: Int
    /// Frames per second, in the last second.
    let rate: Double
    let frames: Int
    let dropped: Dropped
    /// The delay from the camera's time stamp to the write.
    let latency: Percentiles
    let cpu: CPU
    /// Resident memory in megabytes.
    let memory: Int
    @Nullable var recording: RecordingReply?
}

/// The page's address.
struct PageReply: Codable {
    let address: String
}

/// An empty reply, for success.
struct EmptyReply: Codable {}

/// Where the faces are.
struct FacesReply: Codable {
    struct Placement: Codable {
        /// The midpoint of the eyes, as fractions of the picture's width and height.
        let eyes: [Double]
        /// The distance between the eyes, as a fraction of the picture's height.
        let eyeDistance: Double
        /// Clockwise in degrees.
        let roll: Double
    }

    let faces: [Placement]

    init(_ placements: FacePlacements) {
        faces = placements.all.map { face in
            Placement(
                eyes: [rounded(Double(face.eyes.x), 10_000), rounded(Double(face.eyes.y), 10_000)],
                eyeDistance: rounded(Double(face.eyeDistance), 10_000), roll: rounded(Double(face.roll), 10))
        }
    }
}
