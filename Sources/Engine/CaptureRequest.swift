import Privacy

/// Something that waits for the next published picture, such as a photo to be saved.
package protocol CaptureRequest: Sendable {
    /// Takes the picture. Called by the frame loop, so it must not wait.
    func capture(_ frame: borrowing PublishableFrame)

    /// Called instead if there is no picture.
    /// - Parameter reason: a message for the user.
    func refuse(_ reason: String)
}
