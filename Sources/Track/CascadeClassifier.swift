import Frames
import SystemKit

/// One cascade applied to patches of a frame. Owns its scratch buffers, so evaluation allocates nothing.
struct CascadeClassifier: ~Copyable {
    let entry: CascadeCatalog.Entry
    /// Stages that a coarse hit may skip, and the maximum number of coarse hits refined in a tile.
    private static let hintStages = 4
    private static let maxHints = 8

    private let isLit: Bool
    private var search: CascadeSearch
    private var coarse: CascadeSearch?
    /// What the last scanned tile contained.
    private(set) var matches: [CascadeMatch] = []
    private var patch: [UInt8]

    /// - Parameters:
    ///   - side: side of the largest patch, pixels.
    ///   - scansTiles: whether it scans whole tiles coarsely too.
    ///   - isLit: whether to stretch the contrast of dim and flat patches.
    /// - Throws: `Problem` if the cascade cannot be read, or if `scansTiles` is set and its features are rotated.
    init(_ entry: CascadeCatalog.Entry, side: Int, scansTiles: Bool = false, isLit: Bool = true) throws {
        self.isLit = isLit
        let xml = try contents(of: entry.path)
        let cascade = try Cascade(xml: xml.span, file: entry.path)
        guard !(scansTiles && cascade.hasTiltedFeatures) else {
            throw Problem(
                .unusable,
                "cascade '\(entry.name)' (\(entry.path)) has features rotated by 45 degrees, which the search of "
                    + "whole frames does not support",
                fix: "give role '\(entry.role.rawValue)' to another cascade in Cascades/catalogue.json")
        }
        self.entry = entry
        search = CascadeSearch(cascade, maxWidth: side, maxHeight: side)
        coarse = scansTiles ? CascadeSearch(cascade, maxWidth: side, maxHeight: side, isCoarse: true) : nil
        matches.reserveCapacity(search.groups.capacity)
        patch = Array(repeating: 0, count: side * side)
    }

    var stages: Int { search.cascade.stageCount }

    /// Scans one tile of the frame, at all window sizes of `ScanScheduler.sizes`. Leaves the results in `matches`,
    /// in order of the coarse search's confidence, highest first.
    ///
    /// Evaluates every second window of every second row without the last stages, then searches closely around what
    /// passed. This finds what evaluating all windows finds, at a quarter of the cost.
    /// - Returns: the map from the patch to the frame.
    mutating func scan(_ luma: borrowing LumaView, _ region: PatchTransform) -> Affine {
        let side = ScanScheduler.side
        let map = extractPatch(luma, region, side: side, .tile)
        matches.removeAll(keepingCapacity: true)
        guard coarse != nil else { return map }
        let scan = CascadeSearch.Scan(
            smallest: Float(ScanScheduler.sizes.lowerBound), largest: Float(ScanScheduler.sizes.upperBound),
            factor: ScanScheduler.step,
            step: 2, minStages: stages - Self.hintStages)
        coarse?.scan(patch, side: side, scan)
        let hints = coarse?.groups.matches.count ?? 0
        for i in 0..<min(hints, Self.maxHints) {
            guard let rect = coarse?.groups.matches[i].rect else { break }
            let area = CascadeSearch.Area(rect: rect, maxOffset: 2, minStages: stages, enoughWindows: .max)
            guard let match = search.find(in: patch, side: side, area) else { continue }
            if !matches.contains(where: { $0.rect.overlap(match.rect) > 0.5 * match.rect.area }) {
                matches.append(match)
            }
        }
        return map
    }

    /// Scans one tile of the frame at one window size, every window. Leaves the results in `matches`, most confident
    /// first.
    /// - Parameter size: the window's side, pixels of the patch.
    /// - Returns: the map from the patch to the frame.
    mutating func scan(_ luma: borrowing LumaView, _ region: PatchTransform, size: Float) -> Affine {
        let side = ScanScheduler.side
        let map = extractPatch(luma, region, side: side, .tile)
        let scan = CascadeSearch.Scan(smallest: size, largest: size, minStages: stages)
        search.scan(patch, side: side, scan)
        matches.removeAll(keepingCapacity: true)
        for match in search.groups.matches { matches.append(match) }
        return map
    }

    /// Searches around an expected face.
    /// - Parameters:
    ///   - maxOffset: the maximum offset of the window, in the window's own pixels.
    ///   - enoughWindows: the number of passing windows that ends the search.
    /// - Returns: the strongest detection and the total number of windows that passed; nil if none did.
    mutating func verify(
        _ luma: borrowing LumaView, at eyes: EyePair, maxOffset: Int, sizes: [3 of Float], minStages: Int,
        enoughWindows: Int
    ) -> (detection: Detection, votes: Int)? {
        // The window is half as large again in the patch as in training, so that smaller sizes lose nothing.
        let window = entry.window * 3 / 2
        let side = window + window * 2 * maxOffset / entry.window + window / 2
        let scale = eyes.distance / entry.eyeDistance / Float(window)
        // The window's centre, not the eyes' midpoint, goes to the patch's centre.
        let offset = (Point(0.5, 0.5) - entry.eyes) * Float(window)
        let turn = Affine(scale: scale, angle: radians(eyes.roll), origin: .zero)
        let region = PatchTransform(center: eyes.middle + turn.linear(offset), scale: scale, roll: eyes.roll)
        let map = extractPatch(luma, region, side: side, .classifier)
        let corner = Float(side - window) / 2
        let area = CascadeSearch.Area(
            rect: Rect(x: corner, y: corner, width: Float(window), height: Float(window)), maxOffset: maxOffset,
            sizes: sizes,
            minStages: minStages, enoughWindows: enoughWindows)
        guard let match = search.find(in: patch, side: side, area) else { return nil }
        return (detection(match, region, map), search.groups.windows.count)
    }

    func detection(_ match: CascadeMatch, _ region: PatchTransform, _ map: Affine) -> Detection {
        let eyes = Point(
            match.rect.x + entry.eyes.x * match.rect.width, match.rect.y + entry.eyes.y * match.rect.height)
        return Detection(
            eyes: map(eyes), eyeDistance: match.rect.width * entry.eyeDistance * region.scale, roll: region.roll,
            votes: match.count)
    }

    private mutating func extractPatch(
        _ luma: borrowing LumaView, _ region: PatchTransform, side: Int, _ light: ContrastStretch
    ) -> Affine {
        let (map, isLit) = (region.map(side: side), isLit)
        var samples = patch.mutableSpan
        resample(luma, by: map, into: &samples, width: side, height: side)
        if isLit { light.apply(to: &samples, side: side) }
        return map
    }
}

/// Searches of a square patch.
extension CascadeSearch {
    /// Scans a whole patch; the results are in `groups`.
    fileprivate mutating func scan(_ patch: borrowing [UInt8], side: Int, _ scan: Scan) {
        groups.removeAll()
        self.scan(LumaView(samples: patch.span, width: side, height: side, rowStride: side), scan)
        groups.group(atLeast: 1)
    }

    fileprivate mutating func find(in patch: borrowing [UInt8], side: Int, _ area: Area) -> CascadeMatch? {
        find(LumaView(samples: patch.span, width: side, height: side, rowStride: side), near: area)
    }
}
