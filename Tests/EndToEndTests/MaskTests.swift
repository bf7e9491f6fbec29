import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
    @Suite struct Masks {
        let scratch: ScratchFolder
        init() throws {
            scratch = try ScratchFolder()
            try scratch.lookForLargeFaces()
        }

        static let shipped = [
            "cat", "handlebar-moustache", "round-glasses", "santa", "santa-beard", "santa-hat",
        ]

        /// Makes a mask in the user's folder.
        private func wear(_ name: String, art: String = "art.svg", svg: String? = square, more: String = "") throws {
            try scratch.write(
                """
                {
                    "version": 1,
                    "layers": [
                        {"kind": "sprite", "art": "\(art)", "pins": [{"art": [50, 50], "face": "nose"}],
                         "eyeDistance": 100\(more)}
                    ]
                }
                """, "config/guise/Masks/\(name)/mask.json")
            if let svg { try scratch.write(svg, "config/guise/Masks/\(name)/art.svg") }
        }

        private static let square = """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"><rect width="100" height="100"/></svg>
            """

        @Test func `all shipped masks are listed, without errors`() throws {
            let outcome = try scratch.guise("masks")
            #expect(outcome.code == 0 && outcome.errors == "", "\(outcome)")
            let names = outcome.out.split(separator: "\n").compactMap {
                $0.split(separator: " ").first.map(String.init)
            }
            let folders = try scratch.shell("cd '\(Fixtures.inPackage("Masks"))' && ls -d */").split(separator: "\n")
            #expect(
                folders.count > Self.shipped.count && names == folders.map { String($0.dropLast()) }.sorted(),
                "\(names)")
            // Masks that are named are loaded with their art.
            let loaded = try Program.run(["masks"] + names, in: scratch)
            #expect(loaded.code == 0 && loaded.errors == "" && loaded.out == outcome.out, "\(loaded)")
        }

        @Test func `the list has masks whose art is broken, and the reasons why others are missing`() throws {
            try wear("broken-art", svg: "<svg xmlns=\"http://www.w3.org/2000/svg\"><rect")
            try scratch.write("{\n  \"version\": 1,\n  \"layers\": [}\n", "config/guise/Masks/broken-json/mask.json")
            let outcome = try scratch.guise("masks")
            let names = outcome.out.split(separator: "\n").compactMap { $0.split(separator: " ").first }
            #expect(names.contains("broken-art") && !names.contains("broken-json"), "\(outcome)")
            #expect(outcome.lines.count == 1 && outcome.errors.contains("broken-json/mask.json:3: "), "\(outcome)")
        }

        @Test func `masks are described as JSON, without those that cannot be read`() throws {
            try wear("fine")
            try wear("no-art", svg: nil)
            let outcome = try scratch.guise("masks", "fine", "no-art", "--json")
            let masks = try JSON(Array(outcome.out.utf8), file: "out")["masks"]?.elements ?? []
            #expect(outcome.code == 1 && outcome.errors.contains("no-art"), "\(outcome)")
            #expect(masks.map { $0["name"]?.string } == ["fine"], "\(outcome)")
            #expect(masks.first?["title"]?.string == "fine")
            #expect(masks.first?["worn"] == nil && masks.first?["choices"] != nil)
        }

        @Test func `an invalid mask is an error of one line with its file, and the others are still there`() throws {
            try wear("fine")
            try scratch.write("{\n  \"version\": 1,\n  \"layers\": [}\n", "config/guise/Masks/broken-json/mask.json")
            try wear("broken-art", svg: "<svg xmlns=\"http://www.w3.org/2000/svg\"><rect")
            try wear("no-art", svg: nil)
            try wear("outside", art: "../fine/art.svg")
            try wear("wrong-key", more: ", \"opacitie\": 1")
            try wear("linked", svg: nil)
            try scratch.shell(
                "ln -s '\(scratch.path("config/guise/Masks/fine/art.svg"))' config/guise/Masks/linked/art.svg")
            let mine = ["fine", "broken-json", "broken-art", "no-art", "outside", "wrong-key", "linked"]
            let outcome = try Program.run(["masks"] + Self.shipped + mine, in: scratch)
            #expect(outcome.code == 1, "\(outcome)")
            for name in Self.shipped + ["fine"] {
                #expect(outcome.out.split(separator: "\n").contains { $0.hasPrefix("\(name) ") }, "\(name): \(outcome)")
            }
            for (name, words) in [
                ("broken-json", "broken-json/mask.json:3: "), ("broken-art", "broken-art/art.svg"),
                ("no-art", "no-art/art.svg"), ("outside", "outside the mask's folder"),
                ("wrong-key", "wrong-key/mask.json:5: unknown key 'layers[0].opacitie'; did you mean 'opacity'?"),
                ("linked", "outside the mask's folder"),
            ] {
                let told = outcome.lines.filter { $0.contains("/\(name)") }
                #expect(told.count == 1 && told[0].contains(words), "\(name): \(told)")
                #expect(!outcome.out.contains(name), "\(name) is not among those that work")
            }
            #expect(outcome.lines.count == 6, "\(outcome)")
        }

        @Test func `an unknown landmark is an error that lists those that exist`() throws {
            try scratch.write(
                """
                {"version": 1, "layers": [{"kind": "sprite", "art": "art.svg",
                 "pins": [{"art": [0, 0], "face": "nosee"}], "eyeDistance": 100}]}
                """, "config/guise/Masks/odd/mask.json")
            let outcome = try scratch.guise("masks", "odd")
            #expect(outcome.errors.contains("'nosee'") && outcome.errors.contains("did you mean 'nose'?"), "\(outcome)")
            #expect(["left_eye", "nose_bridge", "chin"].allSatisfy { outcome.errors.contains($0) }, "\(outcome)")
        }

        @Test(.needsSample)
        func `an unknown mask is an error that names the nearest one, and nothing is written`() throws {
            let outcome = try scratch.guise("apply", Fixtures.sample, "-o", "out.png", "--mask", "santa-hut")
            #expect(outcome.code == 1, "\(outcome)")
            #expect(outcome.lines == ["guise: there is no mask 'santa-hut'; did you mean 'santa-hat'?"])
            #expect(!Fixtures.exists(scratch.path("out.png")))
            let strange = try scratch.guise("apply", Fixtures.sample, "-o", "out.png", "--mask", "xylophone")
            #expect(strange.code == 1 && strange.errors.contains("santa-hat"), "\(strange)")
            let listed = try scratch.guise("masks", "santa-hut")
            #expect(listed.code == 1 && listed.lines == outcome.lines, "\(listed)")
        }

        @Test(.needsSample)
        func `one invalid mask among two is an error, and nothing is written`() throws {
            try wear("broken", svg: "no drawing")
            let outcome = try scratch.guise(
                "apply", Fixtures.sample, "-o", "out.png", "--mask", "broken", "--mask", "round-glasses")
            #expect(outcome.code == 1 && outcome.lines.count == 1, "\(outcome)")
            #expect(
                outcome.errors.contains("broken/art.svg") && !Fixtures.exists(scratch.path("out.png")), "\(outcome)")
        }

        @Test(.needsSample)
        func `a user's mask replaces the shipped one of the same name`() throws {
            try wear("santa-hat")
            let outcome = try scratch.guise("apply", Fixtures.sample, "-o", "out.png", "--mask", "santa-hat")
            try #require(outcome.code == 0, "\(outcome)")
            // A black square as wide as the eye distance, centred on the nose.
            let changed = try scratch.picture(scratch.path("out.png")).changes(from: scratch.picture(Fixtures.sample))
            #expect(
                abs(changed.right - changed.left - 44) < 8 && abs(changed.bottom - changed.top - 44) < 8, "\(changed)")
            #expect(abs((changed.left + changed.right) / 2 - 226) < 6, "\(changed)")
            #expect(abs((changed.top + changed.bottom) / 2 - 127) < 6, "\(changed)")
        }

        @Test(.needsSample)
        func `the contact sheet has a cell for every mask`() throws {
            func sheet(_ masks: String..., poses: Int = 5) throws -> Picture {
                let outcome = try Program.run(
                    ["masks", "--sheet", "sheet.png", "--overwrite", "--poses", "\(poses)"] + masks, in: scratch)
                try #require(outcome.code == 0 && outcome.errors == "", "\(outcome)")
                #expect(outcome.out.split(separator: "\n").count == masks.count)
                return try scratch.picture(scratch.path("sheet.png"))
            }
            let (one, four) = (
                try sheet("santa", poses: 1), try sheet("crown", "cat", "stubble", "blur", poses: 3)
            )
            let refused = try Program.run(["masks", "--sheet", "sheet.png", "santa"], in: scratch)
            #expect(refused.code == 1 && refused.errors.contains("it exists"), "\(refused)")
            #expect(one.width * one.height >= 200 * 200, "\(one.width)x\(one.height)")
            let other = try sheet("crown", poses: 1)
            #expect(one.changes(from: other).count > 5000, "each shows its own mask")
            #expect(four.width * four.height >= 4 * 200 * 200, "\(four.width)x\(four.height)")
            // A row for each mask, unlike the one above it; a row that is missing is as white as the next.
            let (height, size) = (four.height / 4, four.bytes.count / 4)
            let rows = (0..<4).map {
                Picture(width: four.width, height: height, bytes: Array(four.bytes[$0 * size..<($0 + 1) * size]))
            }
            for (upper, lower) in zip(rows, rows.dropFirst()) {
                let changed = lower.changes(from: upper)
                #expect(changed.count > 5000 && changed.right > four.width * 2 / 3, "\(changed)")
            }
            let white = Picture(width: four.width, height: height, bytes: Array(repeating: 255, count: size))
            for row in rows { #expect(row.changes(from: white).count > row.width * row.height / 4) }
        }
    }
}
