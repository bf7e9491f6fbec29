import Control
import Frames
import Privacy

/// What the page asks of the daemon beside the control protocol: pictures. Called from many tasks.
public protocol PageHost: Sendable {
    /// A mask on a face, as a small JPEG.
    func thumbnail(of mask: String, on face: PageFace) async throws -> [UInt8]
    /// Keeps the present undressed picture as the user's own face. Returns how many faces it shows.
    func storeFace() async throws -> Int
    /// A photo's bytes, its faces dressed with what is worn now.
    func mask(photo: [UInt8]) async throws -> MaskedPhoto
    /// Where that snapshot or recording lies, if this daemon made it.
    func capturePath(named name: String) -> String?
    /// A connection to the control server.
    func connect() throws -> CInt
}

/// Whose face wears the masks on the thumbnails.
public enum PageFace: String, Sendable {
    /// The sample's portrait.
    case sample
    /// The one that was kept by `storeFace`.
    case mine
}

/// A photo that was dressed.
public struct MaskedPhoto: Sendable {
    /// The picture.
    public let jpeg: [UInt8]
    /// How many were found in it.
    public let faces: Int
    /// Places beside them that may be faces and were covered.
    public let coveredCandidates: Int

    /// Makes a JPEG of a photo.
    /// - Parameters:
    ///   - faces: how many were found in it.
    ///   - coveredCandidates: places beside them that may be faces and were covered.
    ///   - quality: of JPEG, 1 to 100.
    /// - Throws: `system` where it cannot be made.
    public init(
        _ frame: borrowing PublishableFrame, faces: Int, coveredCandidates: Int, quality: Int
    ) throws(Problem) {
        var encoder = try JPEGEncoder(layout: frame.layout, maxWidth: frame.layout.width, quality: quality)
        guard let jpeg = encoder.encode(frame.view) else {
            throw Problem(.system, "could not make a JPEG of the photo")
        }
        self.init(jpeg: jpeg, faces: faces, coveredCandidates: coveredCandidates)
    }

    init(jpeg: [UInt8], faces: Int, coveredCandidates: Int) {
        (self.jpeg, self.faces, self.coveredCandidates) = (jpeg, faces, coveredCandidates)
    }
}

/// Why the page does not get what it asked for.
public struct PageError: Error, Equatable, Sendable {
    /// HTTP's status (RFC 9110).
    public let status: Int
    /// For programs; those of the control protocol, `too-large` and `unusable`.
    public let code: String
    /// For people.
    public let message: String

    /// In words.
    public init(_ status: Int, _ code: String, _ message: String) {
        (self.status, self.code, self.message) = (status, code, message)
    }

    /// Any error, in these terms.
    init(_ error: any Error) {
        switch error {
        case let requestError as PageError: self = requestError
        case let requestError as RequestError:
            let status =
                switch requestError.code {
                case .notNow: 409
                case .unknownMask, .unknownDevice, .unknownRequest: 404
                case .badLine, .badValue: 400
                case .failed, .tooManyClients, .tooSlow: 503
                }
            self.init(status, requestError.code.rawValue, requestError.message)
        case let problem as Problem where problem.kind == .unusable || problem.kind == .invalid:
            self.init(422, "unusable", problem.description)
        default: self.init(503, "failed", "\(error)")
        }
    }
}
