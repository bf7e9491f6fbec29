import Foundation
import Testing

@testable import Compose

/// What masks say of themselves without being loaded.
struct MaskSummaryTests {
    private let library = MaskLibrary(searchPaths: [masksFolder])

    @Test func `every choice of every mask has a default that it allows`() throws {
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

    @Test func `what is drawn on the whole picture, or hides somebody, is nobody's own`() throws {
        func isPersonal(_ name: String) -> Bool? { library.summary(of: name)?.isPersonal }
        #expect(isPersonal("santa") == true && isPersonal("crown") == true)
        for name in ["pixelate", "blur", "polaroid", "name-tag", "snow"] where library.names.contains(name) {
            #expect(isPersonal(name) == false, "\(name)")
        }
        #expect(library.summaries.count(where: \.isPersonal) > 10)
    }
}
