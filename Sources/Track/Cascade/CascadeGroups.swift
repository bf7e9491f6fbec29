import Frames

/// One window that a cascade let through, in pixels of the picture that was searched.
public struct CascadeWindow: Equatable, Sendable {
    /// Its place and size, pixels.
    public var rect: Rect
    /// What the cascade says of it.
    public var verdict: CascadeResult
}

/// Windows that agree.
public struct CascadeFind: Equatable, Sendable {
    /// The windows' mean place and size, pixels of the picture.
    public var rect: Rect
    /// How many windows agreed.
    public var count: Int
    /// The largest confidence among them.
    public var confidence: Float
}

/// Gathers windows and groups them as OpenCV's groupRectangles does. Sized once; neither step allocates.
public struct CascadeGroups: Sendable {
    /// Two windows agree where each side differs by at most this part of the smaller one's mean side.
    public static let tolerance: Float = 0.2

    /// The most windows that are kept.
    public let capacity: Int
    /// In the order in which they were found.
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

    /// Forgets windows and finds.
    public mutating func removeAll() {
        windows.removeAll(keepingCapacity: true)
        finds.removeAll(keepingCapacity: true)
        dropped = 0
    }

    /// Adds a window, or counts it as dropped where there is no room.
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
            let root = self.root(i)
            if root == i {
                // The first of its group in the list; its label now tells where the sums are.
                let nothing = Rect(x: 0, y: 0, width: 0, height: 0)
                members.append(CascadeFind(rect: nothing, count: 0, confidence: -.infinity))
                labels[i] = ~(members.count - 1)
            }
            members[~labels[root]].addGroup(windows[i])
        }
        for i in members.indices { members[i].divide() }
        finds.removeAll(keepingCapacity: true)
        for i in members.indices where members[i].count >= atLeast && !isInside(i, atLeast) {
            // Put in its place, since sorting a long list would allocate.
            let at = finds.firstIndex { ($0.confidence, $0.count) < (members[i].confidence, members[i].count) }
            finds.insert(members[i], at: at ?? finds.endIndex)
        }
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

    private func agree(_ first: CascadeWindow, _ second: CascadeWindow) -> Bool {
        let (a, b) = (first.rect, second.rect)
        let limit = Self.tolerance * (min(a.width, b.width) + min(a.height, b.height)) / 2
        return abs(a.x - b.x) <= limit && abs(a.y - b.y) <= limit
            && abs(a.x + a.width - b.x - b.width) <= limit && abs(a.y + a.height - b.y - b.height) <= limit
    }

    private func isInside(_ index: Int, _ atLeast: Int) -> Bool {
        let (small, few) = (members[index].rect, members[index].count)
        for i in members.indices where i != index && members[i].count >= atLeast {
            let (large, many) = (members[i].rect, members[i].count)
            let (dx, dy) = (large.width * Self.tolerance, large.height * Self.tolerance)
            let inside =
                small.x >= large.x - dx && small.y >= large.y - dy
                && small.x + small.width <= large.x + large.width + dx
                && small.y + small.height <= large.y + large.height + dy
            if inside && (many > max(3, few) || few < 3) { return true }
        }
        return false
    }
}

extension CascadeFind {
    fileprivate mutating func addGroup(_ window: CascadeWindow) {
        rect.x += window.rect.x
        rect.y += window.rect.y
        rect.width += window.rect.width
        rect.height += window.rect.height
        count += 1
        confidence = max(confidence, window.verdict.confidence)
    }

    /// From sums to means.
    fileprivate mutating func divide() {
        let n = Float(count)
        rect = Rect(x: rect.x / n, y: rect.y / n, width: rect.width / n, height: rect.height / n)
    }
}
