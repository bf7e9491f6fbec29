import Outline
import SystemKit

/// The model of the people's outline, loaded for a layer or mask, or the reason that there is none.
struct LoadedOutline: Sendable {
    /// The model of the outline; nil if it could not be loaded.
    let model: OutlineModel?
    /// Why there is no model, for the user.
    let warning: String?

    /// Loads the model, if it is not loaded yet.
    /// - Parameter consequence: what happens without it, for the user.
    init(_ target: ArtTarget, without consequence: String) {
        do throws(Problem) {
            (model, warning) = (try target.outline?.model(), nil)
        } catch {
            (model, warning) = (nil, "\(consequence): \(error)")
        }
    }
}
