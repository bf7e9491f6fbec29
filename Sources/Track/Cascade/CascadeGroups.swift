import Frames

/// One window that passed the cascade, in pixels of the searched picture.
public struct CascadeWindow: Equatable, Sendable {
    /// The window, pixels.
    public var rect: Rect
    /// The cascade's result for the window.
    public var result: CascadeResult
}

/// A group of windows that agree.
public struct CascadeMatch: Equatable, Sendable {
    /// The mean of the windows' rectangles, pixels of the picture.
    public var rect: Rect
    /// How many windows agreed.
    public var count: Int
    /// The highest confidence in the group.
    public var confidence: Float
}

/// A list of windows that are grouped as OpenCV's groupRectangles does. Sized once; neither step allocates.
public struct CascadeGroups: Sendable {
    /// Two windows agree if each side differs by at most this fraction of the mean of the smaller width and height.
    public static let tolerance: Float = 0.2

    /// The maximum number of windows kept.
    public let capacity: Int
    /// The windows, in the order in which they were found.
    public private(set) var windows: [CascadeWindow] = []
    /// The groups, highest confidence first.
    public private(set) var matches: [CascadeMatch] = []
    /// How many windows were discarded because the list was full.
    public private(set) var dropped = 0
    private var labels: [Int] = []
    private var members: [CascadeMatch] = []

    /// - Parameter capacity: the maximum number of windows. Grouping takes time proportional to its square.
    public init(capacity: Int) {
        self.capacity = capacity
        windows.reserveCapacity(capacity)
        matches.reserveCapacity(capacity)
        labels.reserveCapacity(capacity)
        members.reserveCapacity(capacity)
    }

    /// Removes all windows and groups.
    public mutating func removeAll() {
        windows.removeAll(keepingCapacity: true)
        matches.removeAll(keepingCapacity: true)
        dropped = 0
    }

    /// Adds a window, or counts it as dropped if the list is full.
    public mutating func add(_ window: CascadeWindow) {
        guard windows.count < capacity else {
            dropped += 1
            return
        }
        windows.append(window)
    }

    /// Groups the collected windows: windows that agree, directly or through others, form one group.
    /// - Parameter atLeast: groups of fewer windows are left out. So are small groups inside larger, stronger ones.
    public mutating func group(atLeast: Int) {
        join()
        members.removeAll(keepingCapacity: true)
        for i in windows.indices {
            let root = self.root(i)
            if root == i {
                // The first window of its group. Its label now points to the group's sums in `members`.
                let nothing = Rect(x: 0, y: 0, width: 0, height: 0)
                members.append(CascadeMatch(rect: nothing, count: 0, confidence: -.infinity))
                labels[i] = ~(members.count - 1)
            }
            members[~labels[root]].addGroup(windows[i])
        }
        for i in members.indices { members[i].divide() }
        matches.removeAll(keepingCapacity: true)
        for i in members.indices where members[i].count >= atLeast && !isInside(i, atLeast) {
            // Inserted in order, since sorting a long list would allocate.
            let at = matches.firstIndex { ($0.confidence, $0.count) < (members[i].confidence, members[i].count) }
            matches.insert(members[i], at: at ?? matches.endIndex)
        }
    }

    /// Labels each window with an earlier window of its group. The first of each group is labelled with its own index.
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

extension CascadeMatch {
    fileprivate mutating func addGroup(_ window: CascadeWindow) {
        rect.x += window.rect.x
        rect.y += window.rect.y
        rect.width += window.rect.width
        rect.height += window.rect.height
        count += 1
        confidence = max(confidence, window.result.confidence)
    }

    /// Turns the sums into means.
    fileprivate mutating func divide() {
        let n = Float(count)
        rect = Rect(x: rect.x / n, y: rect.y / n, width: rect.width / n, height: rect.height / n)
    }
}
