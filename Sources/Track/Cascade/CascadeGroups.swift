import Frames

/// One window that a cascade let through, in pixels of the picture that was searched.
public struct CascadeWindow: BitwiseCopyable, Equatable, Sendable {
    public var x: Float
    public var y: Float
    public var width: Float
    public var height: Float
    public var verdict: Verdict

    public init(x: Float, y: Float, width: Float, height: Float, verdict: Verdict) {
        (self.x, self.y, self.width, self.height, self.verdict) = (x, y, width, height, verdict)
    }
}

/// Windows that agree.
public struct CascadeFind: BitwiseCopyable, Equatable, Sendable {
    /// The windows' mean place and size, pixels of the picture.
    public var x: Float
    public var y: Float
    public var width: Float
    public var height: Float
    /// How many windows agreed.
    public var count: Int
    /// The largest confidence among them.
    public var confidence: Float

    public var rect: Rect { Rect(x: x, y: y, width: width, height: height) }
}

/// Gathers windows and groups them as OpenCV's groupRectangles does. Sized once; neither step allocates.
public struct CascadeGroups: Sendable {
    /// Two windows agree where each side differs by at most this part of the smaller one's mean side.
    public static let tolerance: Float = 0.2

    public let capacity: Int
    public private(set) var windows: [CascadeWindow] = []
    /// Strongest confidence first.
    public private(set) var finds: [CascadeFind] = []
    /// Windows that found no room.
    public private(set) var dropped = 0
    private var labels: [Int] = []
    private var members: [CascadeFind] = []

    /// - Parameter capacity: the most windows; grouping takes time in proportion to their square.
    public init(capacity: Int) {
        self.capacity = capacity
        windows.reserveCapacity(capacity)
        finds.reserveCapacity(capacity)
        labels.reserveCapacity(capacity)
        members.reserveCapacity(capacity)
    }

    public mutating func removeAll() {
        windows.removeAll(keepingCapacity: true)
        finds.removeAll(keepingCapacity: true)
        dropped = 0
    }

    public mutating func add(_ window: CascadeWindow) {
        guard windows.count < capacity else {
            dropped += 1
            return
        }
        windows.append(window)
    }

    /// Groups the windows gathered: windows that agree, directly or through others, are one find.
    /// - Parameter atLeast: groups of fewer windows are left out. So are small groups inside larger, stronger ones.
    public mutating func group(atLeast: Int) {
        join()
        members.removeAll(keepingCapacity: true)
        for i in windows.indices {
            let window = windows[i]
            let root = self.root(i)
            if root == i {
                // The first of its group in the list; its label now tells where the sums are.
                members.append(CascadeFind(x: 0, y: 0, width: 0, height: 0, count: 0, confidence: -.infinity))
                labels[i] = ~(members.count - 1)
            }
            let at = ~labels[root]
            members[at].x += window.x
            members[at].y += window.y
            members[at].width += window.width
            members[at].height += window.height
            members[at].count += 1
            members[at].confidence = max(members[at].confidence, window.verdict.confidence)
        }
        for i in members.indices {
            let n = Float(members[i].count)
            members[i].x /= n
            members[i].y /= n
            members[i].width /= n
            members[i].height /= n
        }
        finds.removeAll(keepingCapacity: true)
        for i in members.indices where members[i].count >= atLeast && !isInside(i, atLeast) { finds.append(members[i]) }
        finds.sort { ($0.confidence, $0.count) > ($1.confidence, $1.count) }
    }

    /// Labels every window with an earlier one of its group; the first of each group carries its own number.
    private mutating func join() {
        labels.removeAll(keepingCapacity: true)
        for i in windows.indices {
            labels.append(i)
            for j in 0..<i where agree(windows[i], windows[j]) {
                let (a, b) = (root(i), root(j))
                labels[max(a, b)] = min(a, b)
            }
        }
    }

    private func root(_ start: Int) -> Int {
        var at = start
        while labels[at] >= 0 && labels[at] != at { at = labels[at] }
        return at
    }

    private func agree(_ a: CascadeWindow, _ b: CascadeWindow) -> Bool {
        let limit = Self.tolerance * (min(a.width, b.width) + min(a.height, b.height)) / 2
        return abs(a.x - b.x) <= limit && abs(a.y - b.y) <= limit
            && abs(a.x + a.width - b.x - b.width) <= limit && abs(a.y + a.height - b.y - b.height) <= limit
    }

    private func isInside(_ index: Int, _ atLeast: Int) -> Bool {
        let small = members[index]
        for i in members.indices where i != index && members[i].count >= atLeast {
            let large = members[i]
            let (dx, dy) = (large.width * Self.tolerance, large.height * Self.tolerance)
            let inside =
                small.x >= large.x - dx && small.y >= large.y - dy
                && small.x + small.width <= large.x + large.width + dx
                && small.y + small.height <= large.y + large.height + dy
            if inside && (large.count > max(3, small.count) || small.count < 3) { return true }
        }
        return false
    }
}
