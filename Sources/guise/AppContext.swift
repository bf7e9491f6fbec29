import Compose
import FoundationEssentials
import Frames
import Track

/// What every command that looks at faces needs: the files, the tracker, the masks.
struct AppContext {
    let paths: Paths
    /// With the text that it was read from.
    let read: ConfigurationText
    var configuration: Configuration { read.value }

    /// - Parameter paths: nil: this user's.
    init(configuration path: String? = nil, paths: Paths? = nil) throws {
        let paths = try paths ?? Paths()
        self.paths = paths
        read = try ConfigurationText.load(named: path, paths: paths)
    }

    var library: MaskLibrary { MaskLibrary(searchPaths: paths.masks) }

    /// - Throws: `Problem` where cascades are missing or damaged.
    func tracker() throws -> Tracker {
        let catalog = try CascadeCatalog(folder: paths.cascades)
        let landmarks = ProcessInfo.processInfo.environment["GUISE_LANDMARKS"] ?? LandmarkModel.debianPath
        let detector = try FaceDetector(catalog: catalog, landmarks: landmarks, cache: paths.cache)
        if let warning = detector.warning { log("guise: \(warning)", .warning) }
        return Tracker(
            detector, cats: configuration.cats ? try CatDetector(catalog) : nil, settings: configuration.faces)
    }

    /// The masks in the given order, loaded. One that is broken is told on standard error and left out, unless none is
    /// left.
    func maskLoader(_ selections: [MaskSelection], for layout: FrameLayout) throws -> MaskLoader {
        try MaskLoader(
            searchPaths: paths.masks, target: ArtTarget(layout), selections: selections,
            log: { log("guise: \($0)", .warning) })
    }

    /// The same for commands that need no more than the masks.
    func masks(_ selections: [MaskSelection], for layout: FrameLayout) throws -> [Mask] {
        try maskLoader(selections, for: layout).masks
    }
}
