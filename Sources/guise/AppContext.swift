import Compose
import FoundationEssentials
import Frames
import Outline
import SystemKit
import Track

/// The shared setup of all commands that process faces: paths, configuration, tracker and masks.
struct AppContext {
    let paths: Paths
    /// The model of the person's outline, which is read when a mask needs it.
    let outline: OutlineFile
    /// The things that the user has taught, which are loaded when a mask needs them.
    let things: ThingLibrary
    /// The configuration, with the text that it was read from.
    let configurationText: ConfigurationText
    var configuration: Configuration { configurationText.value }

    /// Loads the configuration.
    /// - Parameters:
    ///   - configuration: the configuration file; nil for the default one.
    ///   - paths: the folders; nil for this user's.
    /// - Throws: `Problem` if the configuration is invalid or Guise's own files are missing.
    init(configuration path: String? = nil, paths: Paths? = nil) throws {
        let paths = try paths ?? Paths()
        self.paths = paths
        configurationText = try ConfigurationText.load(named: path, paths: paths)
        outline = OutlineFile(path: paths.outline)
        things = ThingLibrary(folder: paths.things)
    }

    /// The landmark model's file.
    var landmarks: String {
        LandmarkModel.path(shared: paths.shared, environment: ProcessInfo.processInfo.environment)
    }

    var library: MaskLibrary { MaskLibrary(searchPaths: paths.masks) }

    /// Creates a tracker with the configured settings.
    /// - Parameter isPhoto: whether it is for a photo, in which there may be more faces than can be followed.
    /// - Throws: `Problem` if cascades are missing or damaged.
    func tracker(isPhoto: Bool = false) throws -> Tracker {
        let catalog = try CascadeCatalog(folder: paths.cascades)
        let detector = try FaceDetector(catalog: catalog, landmarks: landmarks, cache: paths.cache)
        if let warning = detector.warning { logWarning(warning) }
        var settings = configuration.faces
        if isPhoto { settings.max = Tracker.Settings.maxInPhoto }
        return Tracker(detector, cats: configuration.cats ? try CatDetector(catalog) : nil, settings: settings)
    }

    /// What art is prepared for, on frames of a layout.
    func artTarget(_ layout: FrameLayout) -> ArtTarget {
        var target = ArtTarget(layout)
        (target.outline, target.ownPictures, target.things) = (outline, paths.pictures, things)
        return target
    }

    /// Loads masks in the given order. What is incomplete is reported on standard error.
    /// - Throws: `Problem` if one of them can't be loaded.
    func maskLoader(_ selections: [MaskSelection], for layout: FrameLayout) throws -> MaskLoader {
        try MaskLoader(
            searchPaths: paths.masks, target: artTarget(layout), selections: selections,
            log: { logWarning($0) })
    }

    /// Loads masks for commands that do not reload them later.
    func masks(_ selections: [MaskSelection], for layout: FrameLayout) throws -> [Mask] {
        try maskLoader(selections, for: layout).masks
    }
}
