import Foundation
import Frames
import TestSupport
import Testing

@testable import Compose

/// Summaries of masks that are not loaded.
struct MaskSummaryTests {
    private let library = MaskLibrary(searchPaths: [masksFolder])

    @Test func `a mask's folder with links to itself is followed by a bounded number of files`() throws {
        let scratch = try ScratchFolder()
        try scratch.shell(
            "mkdir -p m/deep; touch m/mask.json m/deep/art.svg; for i in $(seq 60); do ln -s . m/l$i; done")
        let versions = treeVersions(in: scratch.path("m"))
        #expect(versions.count <= 1024)
        for name in ["mask.json", "deep/art.svg"] {
            #expect(versions.contains { $0.path == scratch.path("m/\(name)") })
        }
    }

    @Test func `every option of every mask has an allowed default`() throws {
        var count = 0
        for label in library.summaries {
            for (name, option) in label.options {
                let standard = try #require(label.defaults[name], "\(label.name): \(name)")
                #expect(option.allows(standard), "\(label.name): \(name) is \(standard)")
                count += 1
            }
        }
        print("\(count) options in \(library.names.count) masks")
        #expect(count > 3)
    }

    @Test func `masks on the whole picture, and masks that hide faces, are not for single people`() throws {
        func isPersonal(_ name: String) -> Bool? { library.summary(of: name)?.isPersonal }
        #expect(isPersonal("santa") == true && isPersonal("crown") == true)
        for name in ["pixelate", "blur", "polaroid", "name-tag", "snow"] {
            #expect(isPersonal(name) == false, "\(name)")
        }
        #expect(library.summaries.count(where: \.isPersonal) > 10)
    }

    @Test func `every mask that comes with Guise has a kind, and includes count`() throws {
        let summaries = library.summaries
        #expect(summaries.count == library.names.count)
        for summary in summaries { #expect(summary.kind != nil, "\(summary.name) has no kind") }
        #expect(Set(summaries.compactMap(\.kind)) == Set(MaskKind.allCases), "each kind has a mask")
        #expect(library.summary(of: "santa")?.kinds == [.costume, .hat, .beard])
        for summary in summaries {
            #expect((summary.kind == .hiding) == summary.hidden.contains(.faces), "\(summary.name)")
        }
    }

    @Test func `masks for work hide nobody, write nothing, and are enough to choose from`() throws {
        let masks = library.summaries.filter(\.isFitForWork)
        #expect(masks.count > 8 && masks.allSatisfy { $0.isPersonal && $0.options["text"] == nil })
        #expect(masks.allSatisfy { ![.face, .background, .hiding].contains($0.kind) })
    }

    @Test func `a sign without a name is not drawn, but an example is`() throws {
        let summary = try #require(library.summary(of: "name-tag"))
        #expect(summary.defaults["text"] == "" && summary.example == ["text": "Name tag"])
        let picture = Samples(noise: FrameLayout(width: 320, height: 180, format: .i420))
        for (text, isDrawn) in [(nil, false), ("", false), ("  ", false), ("Ada", true)] {
            var target = ArtTarget(picture.layout)
            target.choices["text"] = text
            let drawn = worn(try library.load("name-tag", for: target), on: picture, [])
            #expect((drawn.bytes != picture.bytes) == isDrawn, "\(text ?? "nothing")")
        }
    }
}
