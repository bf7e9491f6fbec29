import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Untrusted mask packs: whatever they contain, errors are one line, and other masks work.
    @Suite struct Strangers {
        let scratch: ScratchFolder
        init() throws {
            scratch = try ScratchFolder()
            try scratch.lookForLargeFaces()
        }

        private func folder(_ name: String) -> String { "config/guise/Masks/\(name)" }

        private func describe(_ name: String, _ text: String) throws {
            try scratch.write(text, "\(folder(name))/mask.json")
        }

        private static let sprite =
            "{\"kind\": \"sprite\", \"art\": \"art.svg\", \"eyeDistance\": 100, \"pins\": [{\"art\": [50, 50], \"face\": \"nose\"}]}"

        /// A valid description with that art.
        private func draw(_ name: String, _ svg: String) throws {
            try describe(name, "{\"version\": 1, \"layers\": [\(Self.sprite)]}")
            try scratch.write(svg, "\(folder(name))/art.svg")
        }

        private func svg(_ body: String) -> String {
            "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' viewBox='0 0 100 100'>"
                + body + "</svg>"
        }

        /// Each is reported once on standard error with these words, and the valid one is listed as a mask.
        @discardableResult
        private func expect(_ told: [String: String]) throws -> Program.Outcome {
            try draw("sound", svg("<rect width='100' height='100'/>"))
            let outcome = try Program.run(["masks", "sound"] + told.keys.sorted(), in: scratch)
            #expect(outcome.code == (told.isEmpty ? 0 : 1) && outcome.out.contains("sound "), "\(outcome)")
            for (name, words) in told {
                let lines = outcome.lines.filter { $0.contains("/\(name)/") || $0.contains("/\(name);") }
                #expect(lines.count == 1 && lines[0].contains(words), "\(name): \(lines)")
                #expect(!outcome.out.split(separator: "\n").contains { $0.hasPrefix("\(name) ") }, "\(name)")
            }
            #expect(outcome.lines.count == told.count, "\(outcome.errors)")
            return outcome
        }

        @Test func `infinite meshes and endless texts are errors or drawn, and crash nothing`() throws {
            func solid(_ part: String) -> String {
                "{\"version\": 1, \"layers\": [{\"kind\": \"mesh\", \"materials\": [{\"name\": \"m\", \"color\": \"#ffffff\"}], "
                    + "\"parts\": [{\"material\": \"m\", \(part)}]}]}"
            }
            try describe(
                "bent",
                solid("\"shape\": \"ball\", \"radius\": 1, \"bend\": {\"angle\": 1e-38}, \"rough\": {\"height\": 1}"))
            let far = String(repeating: "m99e4 99e4 ", count: 7000)
            try describe(
                "arc", solid("\"shape\": \"extrusion\", \"path\": \"\(far)A1 1 0 0 0 0 0 L5 5 Z\", \"depth\": 0.1"))
            try describe(
                "words",
                "{\"version\": 1, \"layers\": [{\"kind\": \"text\", \"text\": \"\(String(repeating: "W", count: 200))\", "
                    + "\"face\": \"nose\", \"size\": 8}]}")
            try scratch.write(
                "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1e-20 1e-20'><rect width='1' height='1'/></svg>",
                "\(folder("speck"))/plate.svg")
            try describe(
                "speck",
                "{\"version\": 1, \"layers\": [{\"kind\": \"text\", \"text\": \"W\", \"plate\": {\"art\": \"plate.svg\", "
                    + "\"box\": [0, 0, 1, 1]}}]}")
            let outcome = try scratch.guise("masks", "--sheet", "all.png", "--poses", "1", "bent", "arc", "words")
            #expect(outcome.code == 0 && outcome.errors == "", "\(outcome)")
            let refused = try scratch.guise("masks", "--sheet", "one.png", "--poses", "1", "speck")
            #expect(refused.code == 1 && refused.errors.contains("speck"), "\(refused)")
        }

        @Test func `descriptions are limited in bytes, nesting, keys, layers and includes`() throws {
            let art = "{\"version\": 1, \"layers\": ["
            try describe("bytes", "{\"version\": 1, \"layers\": []" + String(repeating: " ", count: 300_000) + "}")
            try describe("nesting", "{\"version\": \(String(repeating: "[", count: 200_000))")
            try describe("keys", "{\((0..<20_000).map { "\"\($0)\": 0" }.joined(separator: ","))}")
            try draw("layers", svg(""))
            try describe("layers", art + Array(repeating: Self.sprite, count: 65).joined(separator: ",") + "]}")
            try describe("circle", "{\"version\": 1, \"include\": [\"circle\"]}")
            let many = Array(repeating: "\"sound\"", count: 40).joined(separator: ",")
            try describe("includes", "{\"version\": 1, \"include\": [\(many)]}")
            try describe("long", "{\"version\": 1, \"\(String(repeating: "k", count: 100_000))\": 1}")
            try draw("escape", svg(""))
            try describe("escape", "{\"version\": 1, \"\\u001b[2Jkey\": 1, \"layers\": [\(Self.sprite)]}")
            try describe("kind", art + "{\"kind\": \"spirte\"}]}")
            let outcome = try expect(
                [
                    "bytes": "larger than 256 KiB", "nesting": "nested more than 32 levels deep",
                    "keys": "more than 1000 keys",
                    "layers": "allowed: 64 layers", "circle": "perhaps in a cycle",
                    "includes": "allowed: 32 includes", "long": "unknown key 'kkk",
                    "escape": "unknown key '?[2Jkey'", "kind": "did you mean 'sprite'?",
                ])
            #expect(!outcome.errors.contains("\u{1b}") && !outcome.out.contains("\u{1b}"))
        }

        @Test func `no file outside the folder is read, and nothing but regular files is opened`() throws {
            try draw("sound", svg(""))
            for (name, art) in [
                ("up", "../sound/art.svg"), ("root", "/etc/hostname"), ("nul", "art.svg\\u0000.png"), ("here", "."),
            ] {
                try describe(
                    name, "{\"version\": 1, \"layers\": [\(Self.sprite.replacing("art.svg", with: art))]}")
            }
            for name in ["link", "chain", "pipe", "device"] { try draw(name, "") }
            try scratch.shell(
                """
                cd config/guise/Masks
                ln -sf ../sound/art.svg link/art.svg
                ln -s ../.. chain/out; ln -sf out/Masks/sound/art.svg chain/art.svg
                rm pipe/art.svg; mkfifo pipe/art.svg
                ln -sf /dev/zero device/art.svg
                mkdir own own-pipe own-folder; ln -s /etc/hostname own/mask.json; mkfifo own-pipe/mask.json
                mkdir own-folder/mask.json
                """)
            try expect(
                [
                    "up": "outside the mask's folder", "root": "outside the mask's folder",
                    "nul": "outside the mask's folder", "here": "outside the mask's folder",
                    "link": "outside the mask's folder", "chain": "outside the mask's folder",
                    "pipe": "not a regular file", "device": "outside the mask's folder",
                    "own": "outside the mask's folder", "own-pipe": "not a regular file", "own-folder": "is a folder",
                ])
        }

        @Test func `a drawing that never ends, or is too deep or too large, is aborted`() throws {
            let morphology = String(repeating: "<feMorphology operator='dilate' radius='40'/>", count: 8)
            try draw(
                "endless",
                svg(
                    "<filter id='f' x='0' y='0' width='1' height='1'><feTurbulence baseFrequency='.05' numOctaves='8'/>"
                        + morphology + "</filter><rect width='100' height='100' filter='url(#f)'/>"
                ))
            try describe(
                "endless",
                "{\"version\": 1, \"layers\": [\(Self.sprite.replacing("\"eyeDistance\": 100", with: "\"eyeDistance\": 1"))]}"
            )
            try draw(
                "deep", svg(String(repeating: "<g>", count: 5000) + String(repeating: "</g>", count: 5000)))
            try draw("large", svg(String(repeating: " ", count: 5 << 20)))
            func renderers() throws -> Set<Substring> {
                // Other tests have their own renderers, in other homes.
                Set(
                    try scratch.shell(
                        "for pid in $(pgrep -x guise-art); do "
                            + "grep -zq '^HOME=\(scratch.url.path)$' /proc/$pid/environ && echo $pid; done; true"
                    ).split(separator: "\n"))
            }
            try expect(
                [
                    "endless": "reading it takes more than 4 s", "deep": "depth", "large": "more than 4 MB",
                ])
            // No renderer is left running.
            #expect(try renderers() == [])
        }

        @Test func `pictures are limited before they are decoded`() throws {
            let head: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]
            let size: [UInt8] = [0, 1, 0, 0, 0, 1, 0, 0, 8, 6, 0, 0, 0, 0, 0, 0, 0]
            for (name, bytes) in [
                ("wide", head + Array("IHDR".utf8) + size), ("other", head + Array("tEXt".utf8) + size),
                ("short", head), ("none", []),
            ] {
                try draw(name, "")
                try Data(bytes).write(to: scratch.url.appending(path: "\(folder(name))/art.svg"))
            }
            try expect(
                [
                    "wide": "65536x65536 is too large", "other": "truncated", "short": "truncated", "none": "empty",
                ])
        }
    }
}
