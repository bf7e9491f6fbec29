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
        let largest = Float(segmenter.regions.first?.area ?? 0)
        for region in segmenter.regions where Float(region.area) >= smallestShare * largest {
            var cutout = Cutout()
            cutout.cut(region, from: view, segmenter)
            found.append(cutout)
        }
        return found
    }
}
