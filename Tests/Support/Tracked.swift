import Foundation

/// A line that `guise track --json` prints.
public struct Tracked: Decodable {
    public struct Face: Decodable {
        public var id: Int
        public var kind: String
        public var box: [Double]
        public var points: [String: [Double]]
        public var pose: [String: Double]
        public var state: String
        public var basis: String
        public var landmarks: [[Double]]?
    }
    public var frame: Int
    public var time: Double
    public var faces: [Face]

    public static func lines(_ text: String) throws -> [Tracked] {
        try text.split(separator: "\n").map { try JSONDecoder().decode(Tracked.self, from: Data($0.utf8)) }
    }
}
