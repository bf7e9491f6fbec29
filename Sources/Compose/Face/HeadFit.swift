import Frames
import Track

/// How much larger a person's head with its hair is than the one that hats are made for.
public struct HeadFit: Equatable, Sendable {
    /// Factor across, and from front to back.
    public var width: Float = 1
    /// Factor upwards.
    public var height: Float = 1

    /// The size of the head that hats were made for, as `HeadSize` gives it. Its width lies between the medians of 74
    /// photos of people (1.19) and of people before webcams (1.0); with 1.12 blind judges saw hair beside hats. Its
    /// height is a little above both (2.0 and 1.8).
    static let (usualWidth, usualHeight): (Float, Float) = (1.06, 2.05)
    /// The height above the eyes of the rim, where hats grow from, in eye distances.
    static let rim: Float = 0.8

    /// The same within limits.
    fileprivate func limited(_ width: ClosedRange<Float>, _ height: ClosedRange<Float>) -> HeadFit {
        HeadFit(
            width: min(max(self.width, width.lowerBound), width.upperBound),
            height: min(max(self.height, height.lowerBound), height.upperBound))
    }
}

/// How much wider a person's hair is than the head that hats are made for, or than what is worn on the head.
struct HairWidth: Sendable {
    /// Above the rim of a hat, which presses it.
    var above: Float = 1
    /// Beside the eyes, where it hangs.
    var beside: Float = 1

    /// The most by which pressed hair is wider than what is worn: so much fills a hat.
    private static let maxPressed: Float = 1.1

    /// The width relative to something that fits as given, which hides narrower hair.
    func around(_ worn: HeadFit) -> HairWidth {
        HairWidth(above: max(1, min(above / worn.width, Self.maxPressed)), beside: max(1, beside / worn.width))
    }

    /// The larger of both differences.
    func distance(to other: HairWidth) -> Float { max(abs(above - other.above), abs(beside - other.beside)) }
}

/// The size of a head with its hair, as the outline of the person shows it.
struct HeadSize {
    /// Half the width above the brows, relative to an average head without hair; nil if it can't be seen.
    var width: Float?
    /// The height of the hair's top above the eyes, in eye distances; nil if it can't be seen.
    var height: Float?
    /// Half the width beside the brows and eyes, relative to an average head without hair; nil if it can't be seen.
    var sides: Float?
}

extension HeadSize {
    /// Degrees of yaw and pitch up to which a head is measured.
    private static let (maxYaw, maxPitch): (Float, Float) = (40, 18)
    /// The least distance between the eyes, in cells of the outline, for which its edges are fine enough.
    private static let minScale: Float = 5
    /// Where the widths are measured: heights above the eyes, and half the width and length of an average head there,
    /// in eye distances.
    private static let (rows, sideRows) = (measured(at: [0.95, 1.1, 1.25]), measured(at: [0.15, 0.35, 0.55]))

    private static func measured(at heights: [Float]) -> [(up: Float, section: (half: Float, long: Float))] {
        heights.map { (up: $0, section: AverageHead.section(at: $0)) }
    }
    /// The height above the eyes from which the head's top is looked for.
    private static let base: Float = 1.2
    /// The largest reach from the middle that is a head's and not another person's or an arm's, and the length of a
    /// step, in eye distances.
    private static let (maxReach, step): (Float, Float) = (2.3, 0.04)

    /// Measures a head.
    /// - Parameters:
    ///   - head: in pixels of a frame.
    ///   - cell: the side of what the outline can tell apart, in pixels of the frame.
    ///   - coverage: how much of a point belongs to people, 0...1; nil at the frame's edge and outside.
    init?(_ head: HeadPlacement, cell: Float, coverage: (Point) -> Float?) {
        let (pose, scale) = (head.pose, head.scale)
        guard abs(pose.yaw) <= Self.maxYaw, abs(pose.pitch) <= Self.maxPitch,
            scale >= Self.minScale * cell
        else { return nil }
        let across = Point(head.x.x, head.y.x) / max(Point(head.x.x, head.y.x).length, 1e-3) * scale
        let up = Point(across.y, -across.x)
        /// The distance from a point to the outline's edge, in eye distances; nil if there is none.
        func reach(from start: Point, _ direction: Point) -> Float? {
            var distance: Float = 0
            while distance <= Self.maxReach {
                guard let part = coverage(start + direction * distance) else { return nil }
                if part < 0.5 { return distance > 0 ? distance : nil }
                distance += Self.step
            }
            return nil
        }
        /// The mean of half the widths at some heights, relative to an average head; nil if most can't be seen.
        func measured(_ rows: [(up: Float, section: (half: Float, long: Float))]) -> Float? {
            var (sum, count): (Float, Float) = (0, 0)
            for row in rows {
                let center = head([0, -row.up, AverageHead.middle])
                guard let right = reach(from: center, across), let left = reach(from: center, across * -1) else {
                    continue
                }
                // One side may have something else beside it.
                let expected = AverageHead.visibleHalf(of: row.section, yaw: pose.yaw)
                sum += min((left + right) / 2, 1.2 * min(left, right)) / expected
                count += 1
            }
            return count >= 2 ? sum / count : nil
        }
        width = measured(Self.rows)
        sides = measured(Self.sideRows)
        for side: Float in [-0.35, 0, 0.35] {
            let start = head([0, -Self.base, AverageHead.middle]) + across * side
            guard let top = reach(from: start, up) else {
                height = nil
                break
            }
            height = max(height ?? 0, Self.base + top)
        }
        guard width != nil || height != nil || sides != nil else { return nil }
    }
}

/// The fit of what one person wears on the head: a median of what was measured, taken over slowly.
struct HeadFitEstimator {
    /// The hair of this person.
    private(set) var hair = HeadFit()
    /// How much wider the hair beside the eyes is than the head that hats are made for.
    private var sides: Float = usualSides
    private var widths = Median()
    private var sideWidths = Median()
    private var heights = Median()

    /// What hair may be; more is an arm or another person.
    private static let (hairWidthRange, hairHeightRange): (ClosedRange<Float>, ClosedRange<Float>) = (1...1.7, 1...1.6)
    /// The width of the hair beside the eyes where it can't be seen: three quarters of 130 people in photos have more.
    private static let usualSides: Float = 1.1
    /// The factors that hats are drawn with. More is an arm, another person, or hair that no hat would be put over.
    /// Smaller heads keep the usual size: hats that became narrower with them lost against it in 10 of 13 blind pairs,
    /// because hair showed beside them.
    private static let (widthRange, heightRange): (ClosedRange<Float>, ClosedRange<Float>) = (1...1.25, 1...1.2)
    /// Those of hats that press the hair to the head: larger ones look like buckets.
    private static let pressedRange: ClosedRange<Float> = 1...1.1
    /// The time constant in seconds by which the fit follows.
    private static let timeConstant: Float = 0.8

    /// The fit to draw with.
    var fit: HeadFit { hair.limited(Self.widthRange, Self.heightRange) }
    /// The fit to draw with where the hair is pressed to the head.
    var pressedFit: HeadFit { hair.limited(Self.pressedRange, Self.pressedRange) }

    /// How much wider the hair is than the head that hats are made for.
    var hairWidth: HairWidth { HairWidth(above: hair.width, beside: sides) }

    /// The number of measurements.
    var count: Int { max(widths.count, heights.count) }

    /// Adds a measurement. The first one applies at once.
    mutating func add(_ size: HeadSize) {
        let isFirst = count == 0
        if let width = size.width { widths.add(width) }
        if let height = size.height { heights.add(height) }
        if let sides = size.sides { sideWidths.add(sides) }
        if isFirst { (hair, sides) = (target, targetSides) }
    }

    /// Follows the measurements.
    /// - Parameter elapsed: seconds since the last frame.
    mutating func update(elapsed: Float) {
        let weight = 1 - exp(-elapsed / Self.timeConstant)
        hair.width += (target.width - hair.width) * weight
        hair.height += (target.height - hair.height) * weight
        sides += (targetSides - sides) * weight
    }

    private var targetSides: Float {
        let sides = sideWidths.value.map { $0 / HeadFit.usualWidth } ?? Self.usualSides
        return min(max(sides, Self.hairWidthRange.lowerBound), Self.hairWidthRange.upperBound)
    }

    private var target: HeadFit {
        HeadFit(
            width: widths.value.map { $0 / HeadFit.usualWidth } ?? 1,
            height: heights.value.map { ($0 - HeadFit.rim) / (HeadFit.usualHeight - HeadFit.rim) } ?? 1
        ).limited(Self.hairWidthRange, Self.hairHeightRange)
    }
}

/// The median of the last eight values.
private struct Median {
    private var values = SIMD8<Float>.zero
    private(set) var count = 0
    private var next = 0

    mutating func add(_ value: Float) {
        values[next] = value
        next = (next + 1) % 8
        count = min(count + 1, 8)
    }

    /// The lower median; nil without values.
    var value: Float? {
        guard count > 0 else { return nil }
        for i in 0..<count {
            var (less, same) = (0, 0)
            for j in 0..<count {
                if values[j] < values[i] { less += 1 }
                if values[j] == values[i] { same += 1 }
            }
            if less <= (count - 1) / 2, less + same > (count - 1) / 2 { return values[i] }
        }
        return values[0]
    }
}
