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
    private typealias House = DaemonTests.House
    private static let file = "config/guise/looks.json"

    private func looks(_ json: JSON) -> [String] { json["looks"]?.elements.compactMap { $0["name"]?.string } ?? [] }

    @Test func `a look has the masks with their options, in a file of its own`() throws {
        let house = try House()
        let before = try house.scratch.read("config/guise/config.json")
        #expect(house.requestError(.look(.look("empty", .save)))?.code == .notNow, "nothing is worn")
        _ = try house.ask(.mask(.wear(["aa-choices", "ab-grey"])))
        _ = try house.ask(.configuration(.set(mask: "aa-choices", key: "opacity", value: 0.95)))
        _ = try house.ask(.configuration(.set(mask: "aa-choices", key: "text", value: "Ada")))
        let worn = house.loader.selections
        #expect(looks(try house.ask(.look(.look("At work", .save)))) == ["At work"])
        _ = try house.ask(.mask(.only("ab-grey")))
        _ = try house.ask(.look(.look("grey", .save)))
        let saved = String(decoding: try house.scratch.read(Self.file), as: UTF8.self)
        #expect(saved.contains("0.95") && !saved.contains("0.94999"), "\(saved)")
        #expect(try house.scratch.read("config/guise/config.json") == before)
        _ = try house.ask(.look(.look("At work", .wear)))
        #expect(house.loader.selections == worn)
        // By number, as on the keyboard.
        #expect(try house.worn(.look(.look("2", .wear))) == ["ab-grey"])
        let error = house.requestError(.look(.look("at work", .wear)))
        #expect(error?.code == .unknownLook && error?.message.contains("did you mean 'At work'?") == true)
        // One of the same name replaces it in its place.
        #expect(looks(try house.ask(.look(.look("At work", .save)))) == ["At work", "grey"])
        #expect(looks(try house.ask(.look(.look("grey", .delete)))) == ["At work"])
        #expect(house.requestError(.look(.look("grey", .delete)))?.code == .unknownLook)
        for name in ["", "  ", String(repeating: "x", count: 61), "a\nb"] {
            #expect(house.requestError(.look(.look(name, .save)))?.code == .badValue, "'\(name)'")
        }
    }

    @Test func `a look keeps masks that hide faces, and one with a missing mask changes nothing`() throws {
        let house = try House()
        _ = try house.ask(.mask(.wear(["ab-grey"])))
        _ = try house.ask(.look(.look("grey", .save)))
        _ = try house.ask(.mask(.wear(["pixelate"])))
        let answer = try house.ask(.look(.look("grey", .wear)))
        #expect(answer["kept"]?.elements.compactMap(\.string) == ["pixelate"])
        try house.scratch.write(#"{"looks": [{"name": "gone", "masks": ["gone-mask", "ab-grey"]}]}"#, Self.file)
        let before = house.loader.selections
        #expect(house.requestError(.look(.look("gone", .wear)))?.code == .unknownMask)
        #expect(house.loader.selections == before)
    }

    @Test func `favourites are kept in order, and an edit by hand is read`() throws {
        let house = try House()
        func stars(_ json: JSON) -> [String] { json["favourites"]?.elements.compactMap(\.string) ?? [] }
        _ = try house.ask(.look(.favourite("top", isOn: true)))
        #expect(stars(try house.ask(.look(.favourite("crown", isOn: true)))) == ["top", "crown"])
        #expect(stars(try house.ask(.look(.favourite("top", isOn: true)))) == ["top", "crown"])
        #expect(stars(try house.ask(.look(.favourite("top", isOn: false)))) == ["crown"])
        #expect(house.requestError(.look(.favourite("tpo", isOn: true)))?.code == .unknownMask)
        let told = house.news.filter { $0["event"]?.string == "looks" }
        #expect(told.count == 1 && told.first.map(stars) == ["crown"])
        try house.scratch.write(#"{"favourites": ["beanie", "crown", "top"]}"#, Self.file)
        #expect(stars(try house.ask(.look(.looks))) == ["beanie", "crown", "top"])
        #expect(house.news.contains { $0["event"]?.string == "looks" })
        // A mistake is an error with its line, and overwrites nothing.
        try house.scratch.write("{\"favourites\": [\"beanie\"],\n \"looks\": 7}", Self.file)
        let error = house.requestError(.look(.favourite("crown", isOn: false)))
        #expect(error?.message.contains("looks.json:2") == true, "\(error?.message ?? "")")
        #expect(String(decoding: try house.scratch.read(Self.file), as: UTF8.self).contains("7"))
    }

    @Test func `at the start the saved masks are worn, or the last ones, none, or a look`() throws {
        let house = try House()
        _ = try house.ask(.mask(.wear(["crown", "stubble"])))
        _ = try house.ask(.look(.look("A king", .save)))
        _ = try house.ask(.mask(.surprise(all: false)))
        _ = try house.ask(.mask(.only("ab-grey")))
        _ = try house.ask(.configuration(.set(mask: "ab-grey", key: "opacity", value: 0.5)))
        try house.daemon.saveChanges()
        func started(_ start: String) throws -> [String] {
            try house.write(configuration: #"{"masks": ["top"], "start": "\#(start)"}"#)
            let context = try AppContext(paths: house.context.paths)
            return try context.startMasks(house.looks).map { "\($0.mask) \($0.opacity)" }
        }
        #expect(try started("masks") == ["top 1.0"])
        #expect(try started("none") == [])
        #expect(try started("last") == ["ab-grey 0.5"])
        #expect(try started("look:A king") == ["crown 1.0", "stubble 1.0"])
        // With other masks than these, a face might be shown that they hide.
        #expect(problem { _ = try started("look:A queen") }?.kind == .missing)
        #expect(problem { _ = try started("first") }?.description.contains("masks, last, none, or look:NAME") == true)
        try house.scratch.write("{", "state/guise/masks.json")
        #expect(problem { _ = try started("last") } != nil)
    }

    @Test func `saving the masks makes them those of the start`() throws {
        let house = try House(#"{"start": "last", "masks": []}"#)
        _ = try house.ask(.mask(.wear(["crown"])))
        _ = try house.ask(.configuration(.save))
        let saved = try JSON([UInt8](house.scratch.read("config/guise/config.json")), file: "config.json")
        #expect(saved["start"]?.string == "masks" && saved["masks"]?.text == #"["crown"]"#)
    }
}
