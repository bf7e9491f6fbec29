import Foundation
import Testing

@testable import Compose

/// Summaries of masks that are not loaded.
struct MaskSummaryTests {
    private let library = MaskLibrary(searchPaths: [masksFolder])

    @Test func `every option of every mask has an allowed default`() throws {
        var count = 0
        for label in library.summaries {
            for (name, choice) in label.choices {
                let standard = try #require(label.defaults[name], "\(label.name): \(name)")
                #expect(choice.allows(standard), "\(label.name): \(name) is \(standard)")
                count += 1
            }
        }
        print("\(count) choices in \(library.names.count) masks")
        #expect(count > 3)
    }

    @Test func `masks on the whole picture, and masks that hide faces, are not for single people`() throws {
        func isPersonal(_ name: String) -> Bool? { library.summary(of: name)?.isPersonal }
        #expect(isPersonal("santa") == true && isPersonal("crown") == true)
        for name in ["pixelate", "blur", "polaroid", "name-tag", "snow"] where library.names.contains(name) {
            #expect(isPersonal(name) == false, "\(name)")
        }
        #expect(library.summaries.count(where: \.isPersonal) > 10)
    }
}
