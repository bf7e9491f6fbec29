import Capture
import Compose
import Control
import Engine
import JSON
import Page
import Synchronization
import SystemKit

/// The daemon's interface to the page, and the page's server, which starts when its address is first requested.
final class PageService: PageBackend {
    let preview: Preview
    let captures: CaptureStore
    private let context: AppContext
    private let loader: MaskLoader
    private let mailbox: Mailbox
    private let thumbnails: Thumbnails
    private let photoProcessor: PhotoProcessor
    private let corrections: CorrectionStore
    let pictures: BackgroundStore
    private let control = Mutex<ControlServer?>(nil)
    private let server = Mutex<PageServer?>(nil)

    /// The time to wait for a picture, because the camera may have to be opened first.
    private static let timeout = Duration.seconds(5)
    /// The maximum number of pixels of a photo. Masking a photo of this size takes half a gigabyte.
    private static let maxPhotoPixels = MediaLimits.upload.pixels
    /// The JPEG quality of photos, which are looked at longer than a preview.
    private static let photoQuality = 92

    init(_ context: AppContext, _ mailbox: Mailbox, _ loader: MaskLoader, _ preview: Preview, _ captures: CaptureStore)
    {
        (self.context, self.mailbox, self.loader) = (context, mailbox, loader)
        (self.preview, self.captures) = (preview, captures)
        thumbnails = Thumbnails(context)
        corrections = CorrectionStore(folder: context.paths.corrections)
        photoProcessor = PhotoProcessor(context, corrections)
        pictures = BackgroundStore(folder: context.paths.pictures)
    }

    /// Sets the server that answers the requests on the page's web socket.
    func setControlServer(_ server: ControlServer) { control.withLock { $0 = server } }

    /// Returns the page's link with the secret, and its address without. Starts the server if it is not running.
    /// - Parameter port: the port for a new server; 0 for any free one.
    /// - Throws: `Problem` of kind `busy` if the port is taken.
    func open(port: Int) throws(Problem) -> (link: String, address: String) {
        // A `Result`, because the error type of `withLock` is that of its closure.
        let opened = server.withLock { server in
            Result { () throws(Problem) -> PageServer in
                if let server { return server }
                let fresh = try PageServer(
                    port: UInt16(port), files: context.paths.page, secrets: context.paths.pageSecrets,
                    preview: preview, backend: self)
                server = fresh
                return fresh
            }
        }
        let server = try opened.get()
        return (try server.link(), server.address)
    }

    /// Stops the server.
    func close() { server.withLock { $0 = nil } }

    // MARK: - for the page

    func thumbnail(of masks: JSON, on face: PageFace) async throws -> [UInt8] {
        try await thumbnails.picture(of: Thumbnails.selections(masks), on: face)
    }

    func storeFace() async throws -> Int {
        guard let portrait = try await preview.portrait(within: Self.timeout) else {
            throw RequestError(.notNow, "no face is visible; look at the camera, and resume Guise if it is paused")
        }
        return try await thumbnails.storeFace(portrait)
    }

    func store(picture: [UInt8], named name: String) async throws -> String {
        if let header = PhotoHeader(picture) {
            try check(header)
        } else if !ClipHeader.isClip(picture) {
            throw PageError(
                .unsupported,
                "this is not a photo or clip; JPEG, PNG, WebP, GIF, MP4, WebM, MKV and AVI are supported")
        }
        guard let stored = try await pictures.add(bytes: picture, named: name) else { throw Self.busy }
        return stored
    }

    /// Checks a photo's header before anything is decoded.
    private func check(_ photo: [UInt8]) throws(PageError) {
        guard let header = PhotoHeader(photo) else {
            throw PageError(.unsupported, "this is not a photo; JPEG, PNG and WebP are supported")
        }
        try check(header)
    }

    private func check(_ header: PhotoHeader) throws(PageError) {
        guard header.width <= Self.maxPhotoPixels / header.height else {
            throw PageError(
                .tooLarge,
                "\(header.width)x\(header.height) is more than \(Self.maxPhotoPixels / 1_000_000) million pixels; "
                    + "make the photo smaller")
        }
    }

    private static let busy = PageError(
        .control(.notNow), "other photos are being processed; try again when they are done")

    func applyMasks(toPhoto photo: [UInt8]) async throws -> MaskedPhoto {
        try check(photo)
        let masked = try await photoProcessor.mask(photo, loader.selections, mailbox.settings.onLostFace) {
            try MaskedPhoto($0, of: $1, faces: $2, coveredCandidates: $3, quality: Self.photoQuality)
        }
        guard let masked else { throw Self.busy }
        return masked
    }

    func faces(of photo: [UInt8]) async throws -> PhotoFaces {
        try check(photo)
        let faces = try await photoProcessor.faces(of: photo, loader.selections, mailbox.settings.onLostFace)
        guard let faces else { throw Self.busy }
        return faces
    }

    func saveCorrections(_ corrections: [UInt8], of photo: PhotoHash) async throws {
        guard try self.corrections.keep(corrections, of: photo) else {
            throw PageError(
                .notFound, "no photo with this SHA-256 was opened since Guise started; open the photo again")
        }
    }

    func capturePath(named name: String) -> String? { captures.path(of: name) }

    func connect() throws -> CInt {
        guard let control = control.withLock({ $0 }) else { throw RequestError(.notNow, "Guise is still starting") }
        return try control.connect()
    }
}

/// The frame loop passes its frames to the page through this protocol, and does not depend on Page.
extension Preview: FrameMonitor {}
