import Control
import JPEG
import JSON
import Privacy
import SystemKit

/// The pictures and files that the page gets from the daemon, besides the control protocol. Called from many tasks.
public protocol PageBackend: Sendable {
    /// Renders masks on a face, as a small JPEG.
    /// - Parameter masks: a list of masks as the configuration has it: names, or objects with options.
    func thumbnail(of masks: JSON, on face: PageFace) async throws -> [UInt8]
    /// Stores the current unmasked picture as the user's own face.
    /// - Returns: the number of faces in it.
    func storeFace() async throws -> Int
    /// Masks the faces of a photo with the active masks.
    /// - Parameter photo: the bytes of the image file.
    func applyMasks(toPhoto photo: [UInt8]) async throws -> MaskedPhoto
    /// Finds the human faces of a photo, as `applyMasks` does, with kept corrections.
    /// - Parameter photo: the bytes of the image file.
    func faces(of photo: [UInt8]) async throws -> PhotoFaces
    /// Keeps corrected landmarks of a photo that `applyMasks` or `faces` has seen, in place of those kept before.
    /// - Parameters:
    ///   - corrections: JSON as `guise apply --points` reads it; an empty list of faces forgets the photo.
    ///   - photo: the photo's hash.
    func saveCorrections(_ corrections: [UInt8], of photo: PhotoHash) async throws
    /// Adds a picture to the user's own, for backgrounds.
    /// - Parameters:
    ///   - picture: the bytes of the image file.
    ///   - name: the file's name.
    /// - Returns: the picture's name.
    func store(picture: [UInt8], named name: String) async throws -> String
    /// The path of a photo or recording; nil if this daemon did not create one of that name.
    func capturePath(named name: String) -> String?
    /// Opens a connection to the control server.
    /// - Returns: the connection's descriptor.
    func connect() throws -> CInt
}

/// The face that wears the masks on the thumbnails.
public enum PageFace: String, Sendable {
    /// The portrait of the sample.
    case sample
    /// The face that `storeFace` stored.
    case mine
}

/// A masked photo.
public struct MaskedPhoto: Sendable {
    /// The hash of the photo without masks.
    public let hash: PhotoHash
    /// The masked picture.
    public let jpeg: [UInt8]
    /// The number of faces found.
    public let faces: Int
    /// The number of other places that may be faces, and were covered.
    public let coveredCandidates: Int

    /// Encodes a photo.
    /// - Parameters:
    ///   - frame: the masked picture.
    ///   - hash: the hash of the photo without masks.
    ///   - faces: the number of faces found.
    ///   - coveredCandidates: the number of other places that may be faces, and were covered.
    ///   - quality: the JPEG quality, 1 to 100.
    /// - Throws: `Problem` of kind `system` if the photo cannot be encoded.
    public init(
        _ frame: borrowing PublishableFrame, of hash: PhotoHash, faces: Int, coveredCandidates: Int, quality: Int
    ) throws(Problem) {
        var encoder = try JPEGEncoder(layout: frame.layout, maxWidth: frame.layout.width, quality: quality)
        guard let jpeg = encoder.encode(frame.view) else {
            throw Problem(.system, "could not encode the photo as a JPEG")
        }
        self.init(jpeg: jpeg, of: hash, faces: faces, coveredCandidates: coveredCandidates)
    }

    init(jpeg: [UInt8], of hash: PhotoHash, faces: Int, coveredCandidates: Int) {
        (self.jpeg, self.hash, self.faces, self.coveredCandidates) = (jpeg, hash, faces, coveredCandidates)
    }
}

/// The reason that a request of the page failed.
public struct PageError: Error, Equatable, Sendable {
    /// What went wrong, for programs.
    public enum Code: Equatable, Sendable {
        case badRequest, unauthorized, notFound, badMethod, tooLarge, headTooLarge, unsupported, unusable, busy
        /// One of the control protocol.
        case control(RequestError.Code)

        /// The code as the page's API has it.
        public var name: String {
            switch self {
            case .badRequest: "bad-request"
            case .unauthorized: "unauthorized"
            case .notFound: "not-found"
            case .badMethod: "bad-method"
            case .tooLarge, .headTooLarge: "too-large"
            case .unsupported: "unsupported"
            case .unusable: "unusable"
            case .busy: "busy"
            case .control(let code): code.rawValue
            }
        }

        /// The HTTP status code (RFC 9110; 431: RFC 6585).
        var status: Int {
            switch self {
            case .badRequest, .control(.badLine), .control(.badValue): 400
            case .unauthorized: 401
            case .notFound, .control(.unknownMask), .control(.unknownLook), .control(.unknownDevice),
                .control(.unknownRequest):
                404
            case .badMethod: 405
            case .control(.notNow): 409
            case .tooLarge: 413
            case .unsupported: 415
            case .unusable: 422
            case .headTooLarge: 431
            case .busy, .control(.failed), .control(.tooManyClients), .control(.tooSlow): 503
            }
        }
    }

    public let code: Code
    /// The message, for people.
    public let message: String

    /// Creates an error from its parts.
    public init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    /// Converts any error to an HTTP error.
    init(_ error: any Error) {
        switch error {
        case let error as PageError: self = error
        case let error as RequestError: self.init(.control(error.code), error.message)
        case let problem as Problem where problem.kind == .unusable || problem.kind == .invalid:
            self.init(.unusable, problem.description)
        default: self.init(.control(.failed), "\(error)")
        }
    }
}
