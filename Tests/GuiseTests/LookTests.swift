import Compose
import Control
import Foundation
import JSON
import TestSupport
import Testing

@testable import guise
@testable import SystemKit

/// Looks, favourites, and what is worn at the start.
@Suite(.ownThread) struct LookTests {
    private typealias DaemonFixture = DaemonTests.DaemonFixture
    private static let file = "config/guise/looks.json"

    private func looks(_ json: JSON) -> [String] { json["looks"]?.elements.compactMap { $0["name"]?.string } ?? [] }

    @Test func `a look has the masks with their options, in a file of its own`() throws {
        let fixture = try DaemonFixture()
        let before = try fixture.scratch.read("config/guise/config.json")
        #expect(fixture.requestError(.look(.look("empty", .save)))?.code == .notNow, "nothing is worn")
        _ = try fixture.ask(.mask(.wear(["aa-choices", "ab-grey"])))
        _ = try fixture.ask(.configuration(.set(mask: "aa-choices", key: "opacity", value: 0.95)))
        _ = try fixture.ask(.configuration(.set(mask: "aa-choices", key: "text", value: "Ada")))
        let worn = fixture.loader.selections
        #expect(looks(try fixture.ask(.look(.look("At work", .save)))) == ["At work"])
        _ = try fixture.ask(.mask(.only("ab-grey")))
        _ = try fixture.ask(.look(.look("grey", .save)))
        let saved = String(decoding: try fixture.scratch.read(Self.file), as: UTF8.self)
        #expect(saved.contains("0.95") && !saved.contains("0.94999"), "\(saved)")
        #expect(try fixture.scratch.read("config/guise/config.json") == before)
        _ = try fixture.ask(.look(.look("At work", .wear)))
        #expect(fixture.loader.selections == worn)
        // By number, as on the keyboard.
        #expect(try fixture.worn(.look(.look("2", .wear))) == ["ab-grey"])
        for number in ["0", "3", "-1", "\(Int.min)", "\(Int.max)"] {
            #expect(fixture.requestError(.look(.look(number, .wear)))?.code == .unknownLook, "\(number)")
        }
        let error = fixture.requestError(.look(.look("at work", .wear)))
        #expect(error?.code == .unknownLook && error?.message.contains("did you mean 'At work'?") == true)
        // One of the same name replaces it in its place.
        #expect(looks(try fixture.ask(.look(.look("At work", .save)))) == ["At work", "grey"])
        #expect(looks(try fixture.ask(.look(.look("grey", .delete)))) == ["At work"])
        #expect(fixture.requestError(.look(.look("grey", .delete)))?.code == .unknownLook)
        for name in ["", "  ", String(repeating: "x", count: 61), "a\nb"] {
            #expect(fixture.requestError(.look(.look(name, .save)))?.code == .badValue, "'\(name)'")
        }
    }

    @Test func `a look keeps masks that hide faces, and one with a missing mask changes nothing`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        _ = try fixture.ask(.look(.look("grey", .save)))
        _ = try fixture.ask(.mask(.wear(["pixelate"])))
        let answer = try fixture.ask(.look(.look("grey", .wear)))
        #expect(answer["kept"]?.elements.compactMap(\.string) == ["pixelate"])
        try fixture.scratch.write(#"{"looks": [{"name": "gone", "masks": ["gone-mask", "ab-grey"]}]}"#, Self.file)
        let before = fixture.loader.selections
        #expect(fixture.requestError(.look(.look("gone", .wear)))?.code == .unknownMask)
        #expect(fixture.loader.selections == before)
    }

    @Test func `favourites are kept in order, and an edit by hand is read`() throws {
        let fixture = try DaemonFixture()
        func stars(_ json: JSON) -> [String] { json["favourites"]?.elements.compactMap(\.string) ?? [] }
        _ = try fixture.ask(.look(.favourite("top", isOn: true)))
        #expect(stars(try fixture.ask(.look(.favourite("crown", isOn: true)))) == ["top", "crown"])
        #expect(stars(try fixture.ask(.look(.favourite("top", isOn: true)))) == ["top", "crown"])
        #expect(stars(try fixture.ask(.look(.favourite("top", isOn: false)))) == ["crown"])
        #expect(fixture.requestError(.look(.favourite("tpo", isOn: true)))?.code == .unknownMask)
        let messages = fixture.newEvents.filter { $0["event"]?.string == "looks" }
        #expect(messages.count == 1 && messages.first.map(stars) == ["crown"])
        try fixture.scratch.write(#"{"favourites": ["beanie", "crown", "top"]}"#, Self.file)
        #expect(stars(try fixture.ask(.look(.looks))) == ["beanie", "crown", "top"])
        #expect(fixture.newEvents.contains { $0["event"]?.string == "looks" })
        // A mistake is an error with its line, and overwrites nothing.
        try fixture.scratch.write("{\"favourites\": [\"beanie\"],\n \"looks\": 7}", Self.file)
        let error = fixture.requestError(.look(.favourite("crown", isOn: false)))
        #expect(error?.message.contains("looks.json:2") == true, "\(error?.message ?? "")")
        #expect(String(decoding: try fixture.scratch.read(Self.file), as: UTF8.self).contains("7"))
    }

    @Test func `at the start the saved masks are worn, or the last ones, none, or a look`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["crown", "stubble"])))
        _ = try fixture.ask(.look(.look("A king", .save)))
        _ = try fixture.ask(.mask(.surprise(all: false)))
        _ = try fixture.ask(.mask(.only("ab-grey")))
        _ = try fixture.ask(.configuration(.set(mask: "ab-grey", key: "opacity", value: 0.5)))
        try fixture.daemon.saveChanges()
        func started(_ start: String) throws -> [String] {
            try fixture.write(configuration: #"{"masks": ["top"], "start": "\#(start)"}"#)
            let context = try AppContext(paths: fixture.context.paths)
            return try context.startMasks(fixture.looks).map { "\($0.mask) \($0.opacity)" }
        }
        #expect(try started("masks") == ["top 1.0"])
        #expect(try started("none") == [])
        #expect(try started("last") == ["ab-grey 0.5"])
        #expect(try started("look:A king") == ["crown 1.0", "stubble 1.0"])
        // With other masks than these, a face might be shown that they hide.
        #expect(problem { _ = try started("look:A queen") }?.kind == .missing)
        #expect(problem { _ = try started("first") }?.description.contains("masks, last, none, or look:NAME") == true)
        try fixture.scratch.write("{", "state/guise/masks.json")
        #expect(problem { _ = try started("last") } != nil)
    }

    @Test func `a look that does not exist is not that of the start`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["crown"])))
        _ = try fixture.ask(.look(.look("A king", .save)))
        func set(_ start: String) -> RequestError? {
            fixture.requestError(.configuration(.set(mask: nil, key: "start", value: JSON(start))))
        }
        let requestError = try #require(set("look:A kin"))
        #expect(requestError.code == .unknownLook && requestError.message.contains("did you mean 'A king'?"))
        #expect(set("look:A king") == nil && fixture.daemon.configuration.value.start == .look("A king"))
        // Nor is it deleted as long as it is.
        #expect(fixture.requestError(.look(.look("A king", .delete)))?.code == .notNow)
        #expect(set("masks") == nil && fixture.requestError(.look(.look("A king", .delete))) == nil)
    }

    @Test func `saving the masks makes them those of the start`() throws {
        let fixture = try DaemonFixture(#"{"start": "last", "masks": []}"#)
        _ = try fixture.ask(.mask(.wear(["crown"])))
        _ = try fixture.ask(.configuration(.save))
        let saved = try JSON([UInt8](fixture.scratch.read("config/guise/config.json")), file: "config.json")
        #expect(saved["start"]?.string == "masks" && saved["masks"]?.text == #"["crown"]"#)
    }
}
