import Control
import Foundation
import Frames
import JSON
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import Page

/// A request handler that replies at once.
private final class Echo: RequestResponder {
    func handle(_ verb: Command, _ reply: @escaping @Sendable (Result<JSON, any Error>) -> Void) -> Bool {
        switch verb {
        case .mask(.toggle(let mask)): reply(.success(JSON(["mask": JSON(mask)])))
        default: reply(.failure(RequestError(.notNow, "there is none")))
        }
        return false
    }

    func pendingEvents() -> [(topic: Topic, event: JSON)] { [(.faces, JSON(["event": "faces", "faces": 1]))] }
}

final class FakeBackend: PageBackend {
    let control: ControlServer
    let album: String
    let photos = Mutex<[Int]>([])
    /// The kept corrections, by photo.
    let corrections = Mutex<[PhotoHash: [UInt8]]>([:])

    init(album: String) throws {
        control = try ControlServer(nil, Echo())
        self.album = album
    }

    deinit { control.close() }

    func thumbnail(of masks: JSON, on face: PageFace) async throws -> [UInt8] {
        guard masks.elements.allSatisfy({ $0.string == "santa" }) else {
            throw RequestError(.unknownMask, "no mask \(masks.text)")
        }
        return [0xFF, 0xD8, 0xFF] + Array(face.rawValue.utf8)
    }

    func storeFace() async throws -> Int { throw RequestError(.notNow, "no face is seen now") }

    func applyMasks(toPhoto photo: [UInt8]) async throws -> MaskedPhoto {
        photos.withLock { $0.append(photo.count) }
        guard PhotoHeader(photo) != nil else { throw PageError(.unsupported, "that is no photo") }
        return MaskedPhoto(jpeg: [0xFF, 0xD8, 0xFF], of: PhotoHash(of: photo), faces: 3, coveredCandidates: 2)
    }

    func faces(of photo: [UInt8]) async throws -> PhotoFaces {
        guard PhotoHeader(photo) != nil else { throw PageError(.unsupported, "that is no photo") }
        let face = PhotoFaces.LandmarkedFace(
            box: Rect(x: 0, y: 1, width: 2, height: 3), landmarks: [Point(1, 2.5)], corrected: true)
        let layout = FrameLayout(width: 4, height: 3, format: .i420)
        let place = PhotoFaces.Place(eyes: Point(1, 1.5), eyeDistance: 0.75, roll: 2, in: layout)
        return PhotoFaces(of: PhotoHash(of: photo), layout, [face], at: [place])
    }

    func saveCorrections(_ corrections: [UInt8], of photo: PhotoHash) async throws {
        self.corrections.withLock { $0[photo] = corrections }
    }

    func store(picture: [UInt8], named name: String) async throws -> String {
        photos.withLock { $0.append(picture.count) }
        guard PhotoHeader(picture) != nil else { throw PageError(.unsupported, "that is no photo") }
        return "\(name).jpg"
    }

    func capturePath(named name: String) -> String? { name == "a b.mp4" ? album : nil }

    func connect() throws -> CInt { try control.connect() }
}

/// A server with a page of two files and an album with one file.
final class ServerFixture {
    private let scratch: ScratchFolder
    var folder: URL { scratch.url }
    let secrets: PageSecretStore
    /// The secret: 64 hexadecimal digits.
    var secret: String { (try? secrets.current().hex) ?? "" }
    /// An authenticated connection, created on first use.
    private lazy var session = Result { try HTTPTestClient.signIn(port: server.port, secret: secret) }
    let preview: Preview
    /// Signalled when a viewer connects.
    let looked = DispatchSemaphore(value: 0)
    let backend: FakeBackend
    let server: PageServer

    init(_ limits: PageLimits = .patient) throws {
        scratch = try ScratchFolder()
        let looked = looked
        preview = Preview(layout: FrameLayout(width: 1280, height: 720, format: .yuyv)) { looked.signal() }
        let folder = scratch.url
        try Data("<p>Guise".utf8).write(to: folder.appending(path: "index.html"))
        try Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) }).write(to: folder.appending(path: "album"))
        secrets = PageSecretStore(folder: folder.appending(path: "state").path)
        backend = try FakeBackend(album: folder.appending(path: "album").path)
        server = try PageServer(
            port: 0, files: folder.path, secrets: secrets, preview: preview, backend: backend, limits: limits)
    }

    /// The headers of an authenticated page.
    var own: [String: String] {
        let token = (try? session.get().token) ?? "none"
        return ["Host": "127.0.0.1:\(server.port)", "Authorization": "Guise \(token)"]
    }

    func removeSecret() throws { try FileManager.default.removeItem(at: folder.appending(path: "state/page-secret")) }

    var posting: [String: String] { own.merging(["Origin": "http://127.0.0.1:\(server.port)"]) { $1 } }

    func ask(
        _ method: String = "GET", _ path: String, _ headers: [String: String]? = nil, body: [UInt8] = []
    ) throws -> Answer {
        let connection = try HTTPTestClient(port: server.port)
        try connection.request(method, path, headers ?? own, body: body)
        return try connection.answer()
    }

    /// Opens an authenticated web socket.
    func open() throws -> HTTPTestClient { try HTTPTestClient.signIn(port: server.port, secret: secret).connection }
}

extension PageLimits {
    /// Limits with the usual numbers and sizes, and with more time than a busy machine needs: for tests that don't test
    /// time limits.
    static var patient: PageLimits {
        var limits = PageLimits()
        (limits.unauthenticatedTimeout, limits.headTimeout, limits.idleTimeout) = (.hours(1), .hours(1), .hours(1))
        return limits
    }

    /// Patient also with a client that is still sending a body of many megabytes that was refused.
    static var forUploads: PageLimits {
        var limits = patient
        limits.closeDelay = .hours(1)
        return limits
    }
}
