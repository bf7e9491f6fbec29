import Frames

/// Cuts the things out of single pictures, to teach them.
public enum ThingFinder {
    /// The area of a thing relative to the largest one, from which it is not just something beside it.
    private static let smallestShare: Float = 0.25

    /// The things in a picture, the largest first, without those that are small beside it.
    public static func cutouts(of view: borrowing FrameView) -> [Cutout] {
        var segmenter = Segmenter(view.layout)
        segmenter.update(view)
        var found: [Cutout] = []
        let largest = segmenter.regions.first?.area ?? 0
        for region in segmenter.regions where isLarge(region, besideOneOf: largest) {
            var cutout = Cutout()
            cutout.cut(region, from: view, segmenter)
            found.append(cutout)
        }
        return found
    }

    private static func isLarge(_ region: Region, besideOneOf largest: Int) -> Bool {
        Float(region.area) >= smallestShare * Float(largest)
    }

    /// The thing that is held up alone; nil if there is none, or several.
    /// - Parameters:
    ///   - regions: the largest first.
    ///   - isOnHead: tells whether a place is on somebody's head, of which hair may look like a thing.
    static func heldUp(_ regions: [Region], isOnHead: (Point) -> Bool) -> Region? {
        var held: Region?
        for region in regions where !isOnHead(region.center) {
            guard let first = held else {
                held = region
                continue
            }
            return isLarge(region, besideOneOf: first.area) ? nil : first
        }
        return held
    }
}
