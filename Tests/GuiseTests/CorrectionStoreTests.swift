import Foundation
import Frames
import Page
import SystemKit
import TestSupport
import Testing

@testable import guise

/// Landmarks that were placed by hand on the page, kept for their photo.
@Suite struct CorrectionStoreTests {
    let scratch: ScratchFolder
    init() throws { scratch = try ScratchFolder() }

    private static let layout = FrameLayout(width: 640, height: 480, format: .i420)
    private let photo = PhotoHash(of: [1, 2, 3])

    private var store: CorrectionStore { CorrectionStore(folder: scratch.path("state/corrections")) }

    /// The corrections of one face, whose first landmark is at `x`.
    private static func corrections(x: Int) -> [UInt8] {
        let points = (0..<68).map { "[\(x + $0), \(100 + $0 % 7)]" }.joined(separator: ", ")
        return Array(#"{"faces": [{"landmarks": [\#(points)]}]}"#.utf8)
    }

    private func first(_ store: CorrectionStore) -> Point? {
        store.corrections(of: photo, Self.layout).first?.points[0]
    }

    @Test func `corrections outlive a restart, in a file for this user alone, until they are forgotten`() throws {
        let one = store
        #expect(try !one.keep(Self.corrections(x: 10), of: photo), "a photo that nobody opened")
        #expect(first(one) == nil)
        #expect(try one.keep(Self.corrections(x: 10), of: photo))
        #expect(first(one) == Point(10, 100) && first(store) == Point(10, 100))
        #expect(store.corrections(of: PhotoHash(of: [4]), Self.layout).isEmpty, "another photo")
        #expect(scratch.names(in: "state/corrections") == ["\(photo).json"])
        #expect(try scratch.shell("stat -c %a state/corrections state/corrections/*") == "700\n600\n")
        // As `guise apply --points` reads it.
        #expect(
            try readFacePoints(scratch.path("state/corrections/\(photo).json"), for: Self.layout).first?.isComplete
                == true)
        #expect(try one.keep(Self.corrections(x: 20), of: photo))
        #expect(first(store) == Point(20, 100))
        #expect(try one.keep(Array(#"{"faces": []}"#.utf8), of: photo))
        #expect(first(one) == nil && scratch.names(in: "state/corrections").isEmpty)
    }

    @Test(arguments: [
        "", "{", "[]", "{}", #"{"faces": 1}"#, #"{"faces": [[]]}"#, #"{"faces": [{}]}"#, #"{"faces": [], "more": 1}"#,
        #"{"faces": [{"landmarks": []}]}"#, #"{"faces": [{"landmarks": {"left_eye": [[1, 1]]}}]}"#,
        #"{"faces": [{"landmarks": {"nose": [[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1281]]}}]}"#,
        #"{"faces": [{"landmarks": {"nose": [[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,NaN]]}}]}"#,
        #"{"faces": [{"landmarks": {"nose": [[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1e999]]}}]}"#,
        #"{"faces": [{"landmarks": {"nose": [[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,null]]}}]}"#,
    ])
    func `bad corrections are an error, and those that were kept stay`(text: String) throws {
        let store = store
        #expect(first(store) == nil)
        #expect(try store.keep(Self.corrections(x: 10), of: photo))
        let error = #expect(throws: Problem.self) { try store.keep(Array(text.utf8), of: photo) }
        #expect(error?.kind == .invalid, "\(String(describing: error))")
        #expect(first(store) == Point(10, 100))
    }

    @Test func `a damaged file is ignored, and loses neither others nor the next correction`() throws {
        let (store, other) = (store, PhotoHash(of: [9]))
        for each in [photo, other] {
            #expect(store.corrections(of: each, Self.layout).isEmpty)
            #expect(try store.keep(Self.corrections(x: 10), of: each))
        }
        try scratch.write("{\"faces\": [{\"landmarks\": [[1,", "state/corrections/\(photo).json")
        #expect(first(store) == nil)
        #expect(store.corrections(of: other, Self.layout).count == 1)
        // Of a photo of another size.
        let small = FrameLayout(width: 16, height: 16, format: .i420)
        #expect(store.corrections(of: other, small).isEmpty)
        #expect(store.corrections(of: other, Self.layout).count == 1)
        #expect(try store.keep(Self.corrections(x: 30), of: photo))
        #expect(first(store) == Point(30, 100))
    }

    @Test func `the photo that was corrected longest ago is forgotten first, and other files stay`() throws {
        let names = (0..<CorrectionStore.maxPhotos).map { "\(PhotoHash(of: [UInt8($0), 7]))" }
        for name in names { try scratch.write("{}", "state/corrections/\(name).json") }
        try scratch.write("mine", "state/corrections/notes.json")
        try scratch.shell(
            "touch -d '2020-01-01' state/corrections/*; touch -d '2019-01-01' state/corrections/\(names[50]).json")
        let store = store
        #expect(first(store) == nil)
        #expect(try store.keep(Self.corrections(x: 10), of: photo))
        let left = scratch.names(in: "state/corrections")
        #expect(left.count == CorrectionStore.maxPhotos + 1)
        #expect(left.contains("\(photo).json") && left.contains("notes.json") && !left.contains("\(names[50]).json"))
    }
}
