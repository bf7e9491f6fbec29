import Compose
import Foundation
import Frames
import Track

/// What every command that looks at faces needs: the files, the tracker, the masks.
struct Session {
    let places: Places
    /// With the text that it was read from.
    let read: ConfigurationText
    var configuration: Configuration { read.value }

    /// - Parameter places: nil: this user's.
    init(configuration path: String? = nil, places: Places? = nil) throws {
        let places = try places ?? Places()
        self.places = places
        read = try ConfigurationText.load(named: path, places: places)
    }

    var wardrobe: Wardrobe { Wardrobe(places: places.masks) }

    /// - Throws: `Problem` where cascades are missing or damaged.
    func tracker() throws -> Tracker {
        let catalogue = try Catalogue(folder: places.cascades)
        let landmarks = ProcessInfo.processInfo.environment["GUISE_LANDMARKS"] ?? LandmarkModel.debianPath
        let looker = try Looker(catalogue: catalogue, landmarks: landmarks, cache: places.cache)
        if let warning = looker.warning { tell("guise: \(warning)", .warning) }
        return Tracker(
            looker, cats: configuration.cats ? try CatFinder(catalogue) : nil, settings: configuration.faces)
    }

    /// The masks in the given order, loaded. One that is broken is told on standard error and left out, unless none is
    /// left.
    func dressingRoom(_ wishes: [Wish], for layout: FrameLayout) throws -> DressingRoom {
        try DressingRoom(
            places: places.masks, target: ArtTarget(layout), wishes: wishes,
            tell: { tell("guise: \($0)", .warning) })
    }

    /// The same for commands that need no more than the masks.
    func masks(_ wishes: [Wish], for layout: FrameLayout) throws -> [Mask] {
        try dressingRoom(wishes, for: layout).masks
    }
}
