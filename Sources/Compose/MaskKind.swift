/// What a mask is, for people: the tabs of the page's gallery. Putting a mask on with `wear` replaces masks of the same
/// kind, because two hats are a mistake more often than a wish.
public enum MaskKind: String, CaseIterable, Sendable {
    /// Something on the head: hats, crowns, antennae.
    case hat
    /// Glasses.
    case glasses
    /// Beards and moustaches.
    case beard
    /// Make-up that leaves the face recognizable.
    case makeup
    /// A whole face: paint, masks, another face.
    case face
    /// Ears, noses and tongues of animals.
    case animal
    /// Several of these at once.
    case costume
    /// What is behind the people.
    case background
    /// Frames, effects and texts of the whole picture.
    case effect
    /// Masks that hide who somebody is.
    case hiding
}
