/// A thing by its name, with what it looked like in the pictures by which it was taught.
public struct TaughtThing: Sendable {
    public let name: String
    public let views: [ThingAppearance]
    /// How many of the key points of one view have a partner in another one: of print nearly all, of a plain thing that
    /// has only an outline few.
    let repeatability: Float

    /// The value for a thing with a single view, for which it can't be measured.
    private static let unknownRepeatability: Float = 0.3

    public init(name: String, views: [ThingAppearance]) {
        (self.name, self.views) = (name, views)
        var matcher = KeyPointMatcher()
        var (sum, pairs) = (Float(0), Float(0))
        for (index, view) in views.enumerated() {
            for other in views[(index + 1)...] {
                sum += KeyPointMatcher.share(matcher.count(view.points, in: other.points), view, other)
                pairs += 1
            }
        }
        repeatability = pairs > 0 ? sum / pairs : Self.unknownRepeatability
    }

    /// Whether the thing has a pattern by which it must be recognised. One with many key points has, even if few of
    /// them repeat: a hand may have covered others in each view, or there may be one view only.
    var hasPattern: Bool {
        guard repeatability < Self.patternRepeatability else { return true }
        let points = views.reduce(0) { $0 + $1.points.count }
        return points >= Self.patternPoints * views.count
    }

    /// How many of the key points must repeat, of which a share is enough.
    var expectedRepeatability: Float { max(repeatability, Self.patternRepeatability) }

    /// Between that of print and engravings, 0.5 and more, and that of beans, at most 0.3.
    private static let patternRepeatability: Float = 0.35
    /// Between the mean key points of beans, at most 105, and those of keys in a hand, at least 125.
    private static let patternPoints = 120
}

/// The things that can be recognised.
public struct TaughtThings: Sendable {
    public let things: [TaughtThing]
    /// The number of this list. Another list of the same things may have another order.
    public let revision: Int

    public init(_ things: [TaughtThing] = [], revision: Int = 0) { (self.things, self.revision) = (things, revision) }

    /// A recognised thing and its cost.
    public struct Match: Equatable, Sendable {
        /// The index in `things`.
        public let thing: Int
        /// The cost from 0 (certain) to 1 (just enough).
        public let cost: Float
    }

    // The limits lie in the middle of ranges in which the results are the same: chroma 0.3 to 0.38, plain shapes 0.4 to
    // 0.45, partners 0.5 to 0.7, on drawn things of three seeds; others confirm them (ObjectsTests).

    /// The largest differences in another pose and light: of colours and of luma, and of the shapes of things with a
    /// pattern, which may be partly covered, and of plain things, which have little else.
    private static let (maxChroma, maxLuma): (Float, Float) = (0.35, 0.6)
    private static let (maxShape, maxPlainShape): (Float, Float) = (0.65, 0.42)
    /// The share of its own repeatability that a pattern must reach.
    private static let patternShare: Float = 0.6
    /// Partners from which a smaller share is enough, because a thing with so much of the pattern is only partly
    /// covered; other keys of the same metal have up to 33.
    private static let (certainPartners, coveredShare): (Int, Float) = (40, 0.35)
    /// Partners from which the shape doesn't matter, since a hand may cover a corner of the thing, or have covered one
    /// when it was taught. Other things have up to 38, of drawn cards, coins and keys that a hand holds.
    private static let shapelessPartners = 50
    /// The key points of what is taken for a plain thing, relative to those of that thing: a coin has twice a bean's.
    private static let maxPlainPoints: Float = 1.7
    /// The difference of costs by which the best thing must be better than the next one.
    private static let margin: Float = 0.05

    /// The thing that matches best; nil if none matches well enough.
    public func match(_ appearance: ThingAppearance) -> Match? {
        var matcher = KeyPointMatcher()
        var (best, bestCost, second) = (0, Float.infinity, Float.infinity)
        for (index, thing) in things.enumerated() {
            var cost = Float.infinity
            for view in thing.views {
                cost = min(cost, Self.cost(appearance, view, of: thing, &matcher) ?? .infinity)
            }
            if cost < bestCost {
                (best, bestCost, second) = (index, cost, bestCost)
            } else {
                second = min(second, cost)
            }
        }
        guard bestCost <= 1, second - bestCost >= Self.margin else { return nil }
        return Match(thing: best, cost: bestCost)
    }

    /// The cost of taking one thing for another; nil if they differ too much.
    private static func cost(
        _ appearance: ThingAppearance, _ view: ThingAppearance, of thing: TaughtThing, _ matcher: inout KeyPointMatcher
    ) -> Float? {
        let d = appearance.differences(from: view)
        let shape = d.shape / (thing.hasPattern ? maxShape : maxPlainShape)
        guard d.chroma <= maxChroma, d.luma <= maxLuma, shape <= 1 || thing.hasPattern else { return nil }
        let difference = (d.chroma / maxChroma + d.luma / maxLuma + min(1, shape)) / 3
        guard thing.hasPattern else {
            let limit = maxPlainPoints * Float(max(12, view.points.count))
            return Float(appearance.points.count) <= limit ? difference : nil
        }
        let partners = matcher.count(appearance.points, in: view.points)
        guard shape <= 1 || partners >= shapelessPartners else { return nil }
        let share = KeyPointMatcher.share(partners, appearance, view) / thing.expectedRepeatability
        guard share >= (partners >= certainPartners ? coveredShare : patternShare) else { return nil }
        return (difference + max(0, 1 - share)) / 2
    }
}

extension KeyPointMatcher {
    /// The number of partners relative to the key points of the thing that has fewer of them.
    fileprivate static func share(_ partners: Int, _ one: ThingAppearance, _ other: ThingAppearance) -> Float {
        Float(partners) / Float(max(12, min(one.points.count, other.points.count)))
    }
}
