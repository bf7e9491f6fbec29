import Frames
import Testing

@testable import JSON

private func parse(_ text: String) throws -> JSON { try JSON(Array(text.utf8), file: "t.json") }

private func fields(_ text: String) throws -> Fields { try Fields(try parse(text), file: "t.json") }

private func problem(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "no problem"
    } catch { return "\(error)" }
}

@Test func `values keep their lines`() throws {
    let json = try parse("{\n \"a\": [1, -2.5e1,\n true, null, \"\\u00e9\\n\\ud83d\\ude00\"]\n}")
    guard case .object(let members) = json.value, case .array(let list) = members[0].value.value else {
        Issue.record("not an object with a list")
        return
    }
    #expect(members[0].line == 2)
    #expect(list[1].value == .number(-25))
    #expect(list[2].line == 3)
    #expect(list[4].value == .string("é\n😀"))
}

@Test(arguments: [
    "", "{", "[1,]", "{\"a\" 1}", "{\"a\":1,\"a\":2}", "01", "1 2", "\"\n\"", "\"\\x\"", "\"\\ud800\"", "\"\\u+041\"",
    "\"\\u-041\"", "\"\\u-000\"", "nul", "[1 2]",
    "-",
    "1.", "1e", "{1:2}", "\u{1}",
])
func `invalid JSON is an error with its line`(text: String) {
    #expect(problem { _ = try parse(text) }.hasPrefix("t.json:"))
}

@Test func `invalid UTF-8 and deep nesting are errors`() {
    #expect(problem { _ = try JSON([0x22, 0xff, 0x22], file: "t.json") }.contains("UTF-8"))
    #expect(problem { _ = try parse(String(repeating: "[", count: 100_000)) }.contains("deep"))
}

@Test func `a wrong type, range, choice or key is an error with line and what is allowed`() throws {
    enum Side: String, CaseIterable { case left, right }
    var f = try fields("{\n\"width\": 9000,\n\"rate\": \"x\",\n\"side\": \"up\",\n\"hieght\": 1\n}")
    #expect(problem { _ = try f.integer("width", in: 16...4096) } == "t.json:2: 'width' is 9000; allowed: 16 to 4096")
    #expect(
        problem { _ = try f.number("rate", in: 1...60) }
            == "t.json:3: 'rate' is a string; allowed: a number from 1 to 60"
    )
    #expect(problem { _ = try f.choice("side", default: Side.left) }.contains("allowed: left, right"))
    _ = try f.integer("height", in: 1...2, default: 1)
    #expect(problem { try f.finish() } == "t.json:5: unknown key 'hieght'; did you mean 'height'?")
}

@Test func `a missing key has its default and a missing required key is an error`() throws {
    var f = try fields("{\"o\": {}}")
    #expect(try f.number("n", in: 0...1, default: 0.5) == 0.5)
    var o = try f.object("o")
    #expect(problem { _ = try o.string("name") } == "t.json:1: 'o.name' is missing; wanted: a string")
}
