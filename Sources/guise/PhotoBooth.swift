import CLinux
import Capture
import Compose
import Foundation
import Frames
import Glibc
import Page
import Track

/// Dresses photos that come over the page, one at a time, beside the frame loop.
final class PhotoBooth: Sendable {
    private let session: Session
    private let worker = Worker("photos", most: 4) { Raster.rest() }

    /// More than any phone's.
    private static let mostPixels = 40_000_000
    /// Of JPEG: a photo is looked at longer than a preview.
    private static let quality = 92

    init(_ session: Session) { self.session = session }

    /// - Throws: `PageRefusal` for what is no photo or too large.
    func dress(_ photo: [UInt8], _ wishes: [Wish]) async throws -> DressedPhoto {
        guard let header = PhotoHeader(photo) else {
            throw PageRefusal(415, "unsupported", "that is no photo: JPEG, PNG and WebP are taken")
        }
        guard header.width * header.height <= Self.mostPixels else {
            throw PageRefusal(
                413, "too-large",
                "\(header.width)x\(header.height) are more than \(Self.mostPixels / 1_000_000) million pixels; "
                    + "make the photo smaller")
        }
        let dressed = try await worker.run { [self] in try draw(photo, wishes) }
        guard let dressed else {
            throw PageRefusal(409, "not-now", "other photos are being dressed; ask again when they are done")
        }
        return dressed
    }

    private func draw(_ photo: [UInt8], _ wishes: [Wish]) throws -> DressedPhoto {
        let descriptor = try Self.file(of: photo)
        defer { close(descriptor) }
        let path = "/proc/self/fd/\(descriptor)"
        do {
            var drawn: DressedPhoto?
            try Clip.firstPicture(of: path) { view in
                let layout = view.layout
                let room = try DressingRoom(
                    places: session.places.masks, target: ArtTarget(layout), wishes: wishes, tell: { _ in })
                var pipeline = Pipeline(tracker: try session.tracker(), masks: room.masks, output: layout)
                try pipeline.dress(view, at: FrameTime(number: 0, seconds: 0), whole: true)
                var encoder = try JPEGEncoder(layout: layout, maxWidth: layout.width, quality: Self.quality)
                guard let jpeg = encoder.encode(pipeline.canvas.frame) else {
                    throw Problem(.system, "could not make a JPEG of the photo")
                }
                drawn = DressedPhoto(jpeg: jpeg, faces: pipeline.tracker.faces.count)
            }
            guard let drawn else { throw Problem(.unusable, "there is no picture in the photo") }
            return drawn
        } catch let problem as Problem {
            throw Problem(problem.kind, problem.what.replacing(path, with: "the photo"), cure: problem.cure)
        }
    }

    /// A file in memory that is nowhere else.
    private static func file(of bytes: [UInt8]) throws -> CInt {
        let descriptor = unsafe clinux_memory_file("guise-photo")
        guard descriptor >= 0 else { throw Problem(.system, "no memory for a photo: \(message(of: -descriptor))") }
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBufferPointer {
                unsafe write(descriptor, $0.baseAddress?.advanced(by: written), $0.count - written)
            }
            guard count > 0 else {
                close(descriptor)
                throw Problem(.system, "no memory for a photo: \(message(of: errno))")
            }
            written += count
        }
        return descriptor
    }
}

/// How large a photo is, by its first bytes: known before anything is decoded.
struct PhotoHeader: Equatable {
    /// Pixels, as stored.
    let width: Int
    /// Pixels, as stored.
    let height: Int

    /// Nil for what is no JPEG, PNG or WebP, or ends before it says its size.
    init?(_ bytes: [UInt8]) {
        guard let size = Self.png(bytes) ?? Self.webP(bytes) ?? Self.jpeg(bytes), size.width > 0, size.height > 0
        else { return nil }
        (width, height) = size
    }

    private static func big(_ bytes: [UInt8], _ at: Int, _ count: Int) -> Int {
        bytes[at..<at + count].reduce(0) { $0 << 8 | Int($1) }
    }

    private static func little(_ bytes: [UInt8], _ at: Int, _ count: Int) -> Int {
        bytes[at..<at + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// The first chunk is IHDR (PNG specification, 11.2.2).
    private static func png(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
        guard bytes.count >= 24, bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]),
            bytes[12..<16].elementsEqual("IHDR".utf8)
        else { return nil }
        return (big(bytes, 16, 4), big(bytes, 20, 4))
    }

    /// A RIFF file of one of three kinds (RFC 9649, 2.5 to 2.7).
    private static func webP(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
        guard bytes.count >= 30, bytes.starts(with: "RIFF".utf8), bytes[8..<12].elementsEqual("WEBP".utf8) else {
            return nil
        }
        switch String(decoding: bytes[12..<16], as: UTF8.self) {
        case "VP8X": return (little(bytes, 24, 3) + 1, little(bytes, 27, 3) + 1)
        case "VP8L":
            let bits = little(bytes, 21, 4)
            return (bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
        case "VP8 ": return (little(bytes, 26, 2) & 0x3FFF, little(bytes, 28, 2) & 0x3FFF)
        default: return nil
        }
    }

    /// Segments up to the frame header, SOF (ITU-T T.81, B.2.2).
    private static func jpeg(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
        guard bytes.starts(with: [0xFF, 0xD8, 0xFF]) else { return nil }
        var at = 2
        while at + 9 <= bytes.count {
            guard bytes[at] == 0xFF else { return nil }
            let marker = bytes[at + 1]
            // Bytes that fill, and markers without a length.
            if marker == 0xFF {
                at += 1
                continue
            }
            let isFrame = (0xC0...0xCF).contains(marker) && ![0xC4, 0xC8, 0xCC].contains(marker)
            if isFrame { return (big(bytes, at + 7, 2), big(bytes, at + 5, 2)) }
            at += 2 + big(bytes, at + 2, 2)
        }
        return nil
    }
}
