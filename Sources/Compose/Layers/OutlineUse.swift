import Outline
import SystemKit

/// The outline of the people, as a layer or mask uses it.
struct OutlineUse: Sendable {
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
