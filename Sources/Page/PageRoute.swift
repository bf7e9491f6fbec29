import NIOHTTP1

/// What a request asks for, by its method and path. All but the page's own files and the socket need a session's token.
enum PageRoute: Sendable {
    /// The live picture, as a stream of JPEGs.
    case stream
    /// A picture of masks on a face.
    case thumbnail
    /// Keep the current picture as the user's own face.
    case storeFace
    /// Put the masks on a photo.
    case maskPhoto
    /// Find the faces in a photo.
    case findFaces
    /// Keep the user's corrections of the faces in a photo.
    case saveCorrections
    /// Add a picture or clip to the user's own.
    case storePicture
    /// A photo or recording of the album.
    case capture
    /// A web socket, which opens with a handshake of its own.
    case socket
    /// One of the page's own files, which are in every installation. There may be none at the path.
    case file
    /// No request has this method at this path.
    case badMethod

    /// The route of a request.
    /// - Parameter path: without the query.
    init(_ method: HTTPMethod, _ path: String) {
        self =
            switch (method, path) {
            case (.GET, "/stream"): .stream
            case (.GET, "/thumbnail"): .thumbnail
            case (.GET, "/socket"): .socket
            case (.GET, let path) where path.hasPrefix("/album/"): .capture
            case (.GET, _): .file
            case (.HEAD, let path): if case .file = PageRoute(.GET, path) { .file } else { .badMethod }
            case (.POST, "/face"): .storeFace
            case (.POST, "/photo"): .maskPhoto
            case (.POST, "/photo/faces"): .findFaces
            case (.POST, "/corrections"): .saveCorrections
            case (.POST, "/picture"): .storePicture
            default: .badMethod
            }
    }

    /// Whether a request needs no token.
    var isOpen: Bool {
        switch self {
        case .file, .socket: true
        case .stream, .thumbnail, .storeFace, .maskPhoto, .findFaces, .saveCorrections, .storePicture, .capture,
            .badMethod:
            false
        }
    }

    /// The largest body, in bytes.
    func maxBody(_ limits: PageLimits) -> Int {
        switch self {
        case .maskPhoto, .findFaces: limits.maxPhotoBytes
        case .storePicture: limits.maxPictureBytes
        case .stream, .thumbnail, .storeFace, .saveCorrections, .capture, .socket, .file, .badMethod:
            limits.maxBodyBytes
        }
    }
}
