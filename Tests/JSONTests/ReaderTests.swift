import Frames
import Testing

@testable import JSON

private func parsed(_ text: String) throws -> JSON { try JSON(Array(text.utf8), file: "t.json") }

/// The error that `body` throws as text; empty if it throws nothing.
private func complaint(_ body: () throws -> Void) -> String {
    do {
        try body()
        return ""
    } catch { return "\(error)" }
}

/// The same value without lines, as if it were not from a file.
private func bare(_ json: JSON) -> JSON {
    switch json.value {
    case .array(let elements): return JSON(.array(elements.map { bare($0) }))
    case .object(let members):
        return JSON(.object(members.map { JSON.Member(key: $0.key, line: 0, value: bare($0.value)) }))
    default: return JSON(json.value)
    }
}

@Suite struct ReaderTests {
    static let scalars: [(String, JSON.Value)] = [
        ("null", .null), ("true", .bool(true)), ("false", .bool(false)), (" \t\r\n7 \n\t", .number(7)),
        ("0", .number(0)), ("-0", .number(0)), ("12", .number(12)), ("-7", .number(-7)), ("0.5", .number(0.5)),
        ("1.5e3", .number(1500)), ("1E-2", .number(0.01)), ("2e+2", .number(200)), ("0e5", .number(0)),
        ("1e-400", .number(0)), ("2.2250738585072014e-308", .number(2.2250738585072014e-308)),
        ("9007199254740993", .number(9_007_199_254_740_992)),
        ("1.7976931348623157e308", .number(Double.greatestFiniteMagnitude)),
        ("\"\"", .string("")), (#""plain text""#, .string("plain text")), (#""\"\\\/""#, .string("\"\\/")),
        (#""\b\f\n\r\t""#, .string("\u{8}\u{c}\n\r\t")), (#""\u0041\u00e9\u00E9""#, .string("A\u{e9}\u{e9}")),
        (#""\u0000\u001f""#, .string("\u{0}\u{1f}")), (#""\uffff""#, .string("\u{ffff}")),
        (#""\ud83d\ude00""#, .string("\u{1f600}")),
        (#""\uD800\uDC00\uDBFF\uDFFF""#, .string("\u{10000}\u{10ffff}")), ("\"é😀\u{7f}\"", .string("é😀\u{7f}")),
    ]

    @Test(arguments: scalars)
    func `a single value is read`(text: String, value: JSON.Value) throws {
        let json = try parsed(text)
        #expect(json.value == value)
    }

    private static let inner: JSON = [JSON(.null), JSON(["d": "x"])]
    static let nested: [(String, JSON)] = [
        ("[]", []), ("{}", JSON([:])), ("[ [] , {} ]", [[], JSON([:])]), ("[1,[2,[3]],4]", [1, [2, [3]], 4]),
        (#"{"b":1,"a":{"c":[null,{"d":"x"}]}}"#, JSON(["b": 1, "a": JSON(["c": inner])])),
        (#"{"":"","é":[true]}"#, JSON(["": "", "é": [true]])),
    ]

    @Test(arguments: nested)
    func `lists and objects keep their order`(text: String, value: JSON) throws {
        let json = bare(try parsed(text))
        #expect(json == value)
    }

    @Test func `each key and value knows its first line`() throws {
        let json = try parsed("{\r\n\"a\"\n:\n[1,\n{}], \"b\": \"x\\ny\"}\n")
        guard case .object(let members) = json.value, members.count == 2 else {
            Issue.record("an object of two")
            return
        }
        #expect(json.line == 1)
        #expect(members.map(\.line) == [2, 5])
        #expect(members.map(\.value.line) == [4, 5])
        #expect(members[0].value.elements.map(\.line) == [4, 5])
    }

    static let refused: [(String, Int, String)] = [
        ("", 1, "the file ends where a value is expected"), ("\n \n", 3, "the file ends where a value is expected"),
        ("[1,\n", 2, "the file ends where a value is expected"), ("[1,\n]", 2, "expected a JSON value, found ']'"),
        ("[1", 1, "expected a comma or ]"), ("[1\n2]", 2, "expected a comma or ]"),
        ("{", 1, "expected a key in quotes"), ("{1:2}", 1, "expected a key in quotes"),
        ("{\"a\":1,\n}", 2, "expected a key in quotes"), ("{\n\"a\" 1}", 2, "expected a colon after 'a'"),
        ("{\"a\":}", 1, "expected a JSON value, found '}'"), ("{\"a\":1", 1, "expected a comma or }"),
        ("{\"a\":1\n\"b\":2}", 2, "expected a comma or }"),
        ("{\"a\":1,\n\"a\":2}", 2, "'a' appears twice"),
        (#"{"a":1,"\u0061":2}"#, 1, "'a' appears twice"),
        ("01", 1, "'01' is not a number"), ("-01", 1, "'-01' is not a number"), ("-", 1, "'-' is not a number"),
        ("-a", 1, "'-' is not a number"), ("1.", 1, "'1.' is not a number"), ("1.e3", 1, "'1.e3' is not a number"),
        ("1e", 1, "'1e' is not a number"), ("1e+", 1, "'1e+' is not a number"), ("1e999", 1, "'1e999' is not a number"),
        ("-1e999", 1, "'-1e999' is not a number"), (".5", 1, "expected a JSON value, found '.'"),
        ("+1", 1, "expected a JSON value, found '+'"), ("NaN", 1, "expected a JSON value, found 'N'"),
        ("nul", 1, "expected a JSON value, found 'n'"), ("True", 1, "expected a JSON value, found 'T'"),
        ("'a'", 1, "expected a JSON value, found '''"), ("\n// a note\n1", 2, "expected a JSON value, found '/'"),
        ("1\n2", 2, "unexpected text after the JSON value"),
        ("0x10", 1, "unexpected text after the JSON value"),
        ("truely", 1, "unexpected text after the JSON value"),
        ("{}\n}", 2, "unexpected text after the JSON value"),
        ("\"a\tb\"", 1, #"a string contains a control character; write a tab as \t"#),
        ("[é]", 1, "expected a JSON value, found 'é'"), (#""\é""#, 1, #"'\é' is not a JSON escape sequence"#),
        ("\"a", 1, "a string is not closed"), ("\"a\\", 1, "a string is not closed"),
        ("[\n\"a\n\"]", 2, "a string is not closed on its line"), (#""\x""#, 1, #"'\x' is not a JSON escape sequence"#),
        (#""\u12"#, 1, #"\u needs four hexadecimal digits"#), (#""\u12g4""#, 1, #"\u needs four hexadecimal digits"#),
        (#""\ud800""#, 1, "incomplete surrogate pair"), (#""\ud800\u0041""#, 1, "incomplete surrogate pair"),
        (#""\ud800\n""#, 1, "incomplete surrogate pair"), (#""\udc00\ud800""#, 1, "incomplete surrogate pair"),
    ]

    @Test(arguments: refused)
    func `a syntax error is reported with its line`(text: String, line: Int, what: String) {
        #expect(complaint { _ = try parsed(text) } == "t.json:\(line): \(what); correct the file")
    }

    @Test(arguments: [0, 1, 8, 9, 0x1f] as [UInt8])
    func `control characters in a string are errors`(code: UInt8) {
        let bytes: [UInt8] = [0x22, 0x61, code, 0x22]
        #expect(complaint { _ = try JSON(bytes, file: "t.json") }.hasPrefix("t.json:1: "))
    }

    @Test(arguments: [[0x22, 0xc3], [0x22, 0xc0, 0xaf, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x80]] as [[UInt8]])
    func `bytes that are not UTF-8 are errors`(bytes: [UInt8]) {
        let said = complaint { _ = try JSON(bytes, file: "t.json") }
        #expect(said == "t.json:1: the file is not UTF-8 text; correct the file")
    }

    @Test(arguments: [("[", "]"), ("{\"a\":", "}")])
    func `nesting is allowed to its limit`(open: String, close: String) {
        func nest(_ depth: Int) -> String {
            let inner = open == "[" ? "[]" : "{}"
            return String(repeating: open, count: depth - 1) + inner + String(repeating: close, count: depth - 1)
        }
        let limit = JSON.depthLimit
        #expect(complaint { _ = try parsed(nest(limit)) } == "")
        let said = complaint { _ = try parsed(nest(limit + 1)) }
        #expect(said == "t.json:1: nested more than \(limit) levels deep; correct the file")
    }

    @Test func `the number of an object's keys is limited`() throws {
        func object(_ keys: Int) -> String { "{" + (0..<keys).map { "\"\($0)\":0" }.joined(separator: ",") + "}" }
        let limit = JSON.memberLimit
        let last = try parsed(object(limit))["\(limit - 1)"]
        #expect(last?.number == 0)
        let said = complaint { _ = try parsed(object(limit + 1)) }
        #expect(said == "t.json:1: an object has more than \(limit) keys; correct the file")
    }

    @Test func `long untrusted text is shortened in messages`() {
        let (fits, long) = (String(repeating: "é", count: 60), String(repeating: "é", count: 61))
        #expect(brief(fits) == fits)
        #expect(brief(long) == fits + "...")
        let said = complaint { _ = try parsed("{\"\(long)\" 1}") }
        #expect(said == "t.json:1: expected a colon after '\(fits)...'; correct the file")
    }
}

@Suite struct WriterTests {
    static let written: [(JSON, String)] = [
        (JSON(.null), "null"), (JSON(nil as String?), "null"), (true, "true"), (false, "false"), (0, "0"), (-12, "-12"),
        (0.1, "0.1"), (-0.5, "-0.5"), (1e15, "1000000000000000"), (1e21, "1e+21"), (JSON(Double.infinity), "null"),
        (JSON(Double.nan), "null"), (JSON(Int.min), "-9223372036854775808"), ("", "\"\""),
        ("a\"b\\c/d", #""a\"b\\c/d""#), ("\n\t\r\u{0}\u{1f}\u{7f}", #""\n\u0009\u000d\u0000\u001f\u007f""#),
        ("é😀", "\"é😀\""), ([], "[]"), (["a", 1, [true]], #"["a",1,[true]]"#),
        (JSON(["a", "b"] as [String]), #"["a","b"]"#), (JSON([:]), "{}"),
        (JSON(["b": 1, "a\"\n": [JSON(.null), false]]), #"{"b":1,"a\"\n":[null,false]}"#),
    ]

    @Test(arguments: written)
    func `a value is written on one line without spaces`(json: JSON, text: String) { #expect(json.text == text) }

    @Test func `written values are read back the same, in each form`() throws {
        var scalars = String.UnicodeScalarView()
        for code in UInt32(0)...0x2ff { scalars.append(contentsOf: [Unicode.Scalar(code)].compactMap { $0 }) }
        scalars.append(contentsOf: "\u{ffff}\u{10000}\u{10ffff}".unicodeScalars)
        let text = String(scalars)
        let numbers: [Double] = [
            0, -1, 0.1, 1.0 / 3, 1e-7, 2.2250738585072014e-308, 1e21, -9_223_372_036_854_775_808,
            9_223_372_036_854_775_808,
            .greatestFiniteMagnitude,
        ]
        let values = numbers.map { JSON($0) }
        let kinds: JSON = [JSON(.null), true, false, [], JSON([:])]
        let object = JSON(["a": JSON(["b": 1])])
        let lists: JSON = [[1], [2, [3]], [object]]
        let json = JSON([text: JSON(text), "numbers": JSON(values), "kinds": kinds, "lists": lists])
        for form in [json.text, json.prettyText, json.ascii] {
            let back = bare(try parsed(form))
            #expect(back == json)
            // Compared as bytes: equal strings may differ in their Unicode form.
            #expect(Array(back.text.utf8) == Array(json.text.utf8))
        }
        #expect(json.ascii.utf8.allSatisfy { $0 < 0x80 })
        #expect(json.text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }, "all on one line")
    }

    @Test func `in ASCII form other characters are escaped, in keys too`() {
        #expect(JSON("é\n😀~").ascii == #""\u00e9\n\ud83d\ude00~""#)
        #expect(JSON(["ü": [1]]).ascii == #"{"\u00fc":[1]}"#)
    }

    @Test func `in readable form each member has its own line, and short values stay on one`() {
        let short = JSON(["a": 1, "b": [1, "x"], "c": JSON([:]), "d": JSON(["e": [], "f": 2.5])])
        let wanted = """
            {
                "a": 1,
                "b": [1, "x"],
                "c": {},
                "d": {"e": [], "f": 2.5}
            }
            """
        #expect(short.prettyText == wanted)
        let list = JSON((100..<140).map { JSON($0) })
        let rows = (100..<140).map { "        \($0)" }.joined(separator: ",\n")
        #expect(JSON(["list": list]).prettyText == "{\n    \"list\": [\n\(rows)\n    ]\n}")
        #expect(JSON(["list"] as [String]).prettyText == "[\n    \"list\"\n]")
        for empty in [[], JSON([:])] as [JSON] { #expect(empty.prettyText == empty.text) }
        #expect(JSON("x").prettyText == "\"x\"")
    }

    @Test func `a member is appended, and only to an object`() {
        #expect(JSON(["a": 1]).with("b", [2]).text == #"{"a":1,"b":[2]}"#)
        #expect(JSON("x").with("b", 2) == JSON("x"))
    }

    @Test func `values are found by key and kind, and are nil if they have another kind`() throws {
        let json = try parsed(#"{"text": "x", "number": 2, "bool": false, "list": [1, 2], "null": null}"#)
        #expect(json["text"]?.string == "x" && json["number"]?.number == 2 && json["bool"]?.bool == false)
        #expect(json["list"]?.elements.map(\.number) == [1, 2])
        #expect(json["none"] == nil && json["text"]?["text"] == nil)
        for key in ["number", "bool", "list", "null"] { #expect(json[key]?.string == nil, "\(key)") }
        for key in ["text", "bool", "list", "null"] { #expect(json[key]?.number == nil, "\(key)") }
        for key in ["text", "number", "list", "null"] { #expect(json[key]?.bool == nil, "\(key)") }
        for key in ["text", "number", "bool", "null"] { #expect(json[key]?.elements.isEmpty == true, "\(key)") }
    }

    static let kinds: [(JSON, String)] = [
        (JSON(.null), "null"), (true, "true or false"), (1, "a number"), ("x", "a string"), ([], "a list"),
        (JSON([:]), "an object"),
    ]

    @Test(arguments: kinds)
    func `each kind has a name`(json: JSON, words: String) { #expect(json.kindName == words) }
}

@Suite struct FieldsTests {
    typealias Read = @Sendable (inout Fields) throws -> Void
    enum Side: String, CaseIterable { case left, right }

    private func fields(_ text: String) throws -> Fields { try Fields(try parsed(text), file: "t.json") }

    @Test func `present keys are read, and then no key is left over`() throws {
        var fields = try fields(
            """
            {"s": "x", "b": true, "n": 1.5, "i": 3, "c": "right", "l": ["a", "b"], "p": [1, 2], "o": {"n": 7},
             "os": ["short", {"kind": "long"}], "t": {"a": "x", "b": "y"}, "any": [0]}
            """)
        #expect(fields.path == "" && fields.line == 1 && fields.file == "t.json")
        let text = try fields.string("s", default: "y")
        #expect(text == "x")
        let bool = try fields.bool("b", default: false)
        #expect(bool)
        // Both bounds of a range are included.
        let numbers = [try fields.number("n", in: 1.5...2), try fields.number("n", in: 1...1.5, default: 1)]
        #expect(numbers == [1.5, 1.5])
        let whole = try fields.integer("i", in: 3...3)
        #expect(whole == 3)
        let side = try fields.choice("c", default: Side.left)
        #expect(side == .right)
        let texts = try fields.strings("l", default: [])
        #expect(texts == ["a", "b"])
        let pair = try fields.numbers("p", count: 2, in: 1...2)
        #expect(pair == [1, 2])
        var object = try fields.object("o")
        let inner = try object.integer("n", in: 0...9)
        #expect(inner == 7 && object.path == "o")
        try object.finish()
        let objects = try fields.objects("os", orTheir: "kind")
        let kinds = try objects.map { object in
            var object = object
            return try object.string("kind")
        }
        #expect(kinds == ["short", "long"] && objects.map(\.path) == ["os[0]", "os[1]"])
        #expect(objects.map(\.line) == [2, 2])
        let named = try fields.texts("t")
        #expect(named == ["a": "x", "b": "y"])
        let (any, isThere) = (fields.json("any"), fields.has("any"))
        #expect(any?.elements.count == 1 && isThere)
        try fields.finish()
    }

    @Test func `missing keys have their defaults`() throws {
        var fields = try fields("\n\n{}")
        let text = try fields.string("s", default: "y")
        let bool = try fields.bool("b", default: true)
        let number = try fields.number("n", in: 0...1, default: 0.25)
        let whole = try fields.integer("i", in: 0...1, default: 1)
        #expect(text == "y" && bool && number == 0.25 && whole == 1)
        let side = try fields.choice("c", default: Side.right)
        let texts = try fields.strings("l", default: ["z"])
        let pair = try fields.numbers("p", count: 2, default: [3, 4])
        #expect(side == .right && texts == ["z"] && pair == [3, 4])
        var object = try fields.object("o")
        let inner = try object.number("n", in: 0...1, default: 0.5)
        #expect(inner == 0.5 && object.path == "o" && object.line == 3)
        try object.finish()
        let (objects, named) = (try fields.objects("os"), try fields.texts("t"))
        #expect(objects.isEmpty && named.isEmpty)
        let (any, isThere) = (fields.json("any"), fields.has("any"))
        #expect(any == nil && !isThere)
        try fields.finish()
    }

    static let refused: [(String, Read, String)] = [
        (#"{"k": 1}"#, { _ = try $0.string("k") }, "1: 'k' is a number; allowed: a string"),
        ("{\n\"k\":\n[]}", { _ = try $0.string("k", default: "") }, "3: 'k' is a list; allowed: a string"),
        ("\n{}", { _ = try $0.string("k") }, "2: 'k' is missing; wanted: a string"),
        (#"{"k": "yes"}"#, { _ = try $0.bool("k", default: false) }, "1: 'k' is a string; allowed: true or false"),
        ("{}", { _ = try $0.number("k", in: 0.5...2) }, "1: 'k' is missing; wanted: a number from 0.5 to 2"),
        (#"{"k": null}"#, { _ = try $0.number("k", in: 0.5...2) }, "1: 'k' is null; allowed: a number from 0.5 to 2"),
        (#"{"k": 2.5}"#, { _ = try $0.number("k", in: 0.5...2) }, "1: 'k' is 2.5; allowed: 0.5 to 2"),
        (#"{"k": -3}"#, { _ = try $0.number("k", in: 0.5...2) }, "1: 'k' is -3; allowed: 0.5 to 2"),
        ("{}", { _ = try $0.integer("k", in: 1...9) }, "1: 'k' is missing; wanted: a number from 1 to 9"),
        (#"{"k": 10}"#, { _ = try $0.integer("k", in: 1...9) }, "1: 'k' is 10; allowed: 1 to 9"),
        (#"{"k": 1.5}"#, { _ = try $0.integer("k", in: 1...9) }, "1: 'k' is 1.5; allowed: whole numbers"),
        (#"{"k": true}"#, { _ = try $0.choice("k", default: Side.left) }, "1: 'k' is true or false; allowed: a string"),
        (
            #"{"k": "lift"}"#, { _ = try $0.choice("k", default: Side.left) },
            "1: 'k' is 'lift'; allowed: did you mean 'left'? left, right"
        ),
        (#"{"k": "up"}"#, { _ = try $0.choice("k", default: Side.left) }, "1: 'k' is 'up'; allowed: left, right"),
        (#"{"k": "a"}"#, { _ = try $0.strings("k", default: []) }, "1: 'k' is a string; allowed: a list of strings"),
        (
            #"{"k": ["a", 1]}"#, { _ = try $0.strings("k", default: []) },
            "1: 'k' is a list with a number; allowed: a list of strings"
        ),
        ("{}", { _ = try $0.numbers("k", count: 2) }, "1: 'k' is missing; wanted: a list of 2 numbers"),
        (#"{"k": [1]}"#, { _ = try $0.numbers("k", count: 2) }, "1: 'k' is a list; allowed: a list of 2 numbers"),
        (
            #"{"k": [0, 2]}"#, { _ = try $0.numbers("k", count: 2, in: 0...1) },
            "1: 'k' is a list with 2; allowed: a list of 2 numbers from 0 to 1"
        ),
        (
            #"{"k": [0, "x"]}"#, { _ = try $0.numbers("k", count: 2) },
            "1: 'k' is a list with a string; allowed: a list of 2 numbers"
        ),
        (#"{"k": 1}"#, { _ = try $0.object("k") }, "1: 'k' is a number; expected an object {...}"),
        (#"{"k": {}}"#, { _ = try $0.objects("k") }, "1: 'k' is an object; allowed: a list of objects"),
        (
            #"{"k": {}}"#, { _ = try $0.objects("k", orTheir: "name") },
            "1: 'k' is an object; allowed: a list of strings or objects"
        ),
        (
            #"{"k": ["x", 1]}"#, { _ = try $0.objects("k", orTheir: "name") },
            "1: 'k' is a list with a number; allowed: a list of strings or objects"
        ),
        ("{\"k\": [{},\n\"x\"]}", { _ = try $0.objects("k") }, "2: 'k[1]' is a string; expected an object {...}"),
        ("{\"k\": {\"a\": \"x\",\n\"b\": 2}}", { _ = try $0.texts("k") }, "2: 'k.b' is a number; allowed: a string"),
        (#"{"k": "x"}"#, { _ = try $0.texts("k") }, "1: 'k' is a string; expected an object {...}"),
    ]

    @Test(arguments: refused)
    func `an invalid value is an error with its line, its key and what is allowed`(
        text: String, read: Read, said: String
    ) throws {
        var fields = try fields(text)
        #expect(complaint { try read(&fields) } == "t.json:" + said)
    }

    @Test func `a nested key is named with its path`() throws {
        var fields = try fields("{\"o\": {\"list\": [{},\n{\"q\": 1}]}}")
        var object = try fields.object("o")
        var list = try object.objects("list")
        #expect(complaint { _ = try list[1].string("q") } == "t.json:2: 'o.list[1].q' is a number; allowed: a string")
        #expect(complaint { _ = try list[0].string("q") } == "t.json:1: 'o.list[0].q' is missing; wanted: a string")
        var absent = try fields.object("none")
        #expect(complaint { _ = try absent.string("q") } == "t.json:1: 'none.q' is missing; wanted: a string")
    }

    @Test func `an unknown key is an error that suggests the nearest or lists all known ones`() throws {
        var far = try fields("{\"a\": 1,\n\"zebra\": 1}")
        _ = far.has("a")
        _ = far.json("b")
        // What is read twice is listed once.
        _ = far.json("a")
        #expect(complaint { try far.finish() } == "t.json:2: unknown key 'zebra'; known keys: a, b")
        var outer = try fields("{\"o\": {\n\"hight\": 1}}")
        var near = try outer.object("o")
        _ = try near.number("width", in: 0...1, default: 0)
        _ = try near.number("height", in: 0...1, default: 0)
        #expect(complaint { try near.finish() } == "t.json:2: unknown key 'o.hight'; did you mean 'height'?")
        let key = String(repeating: "x", count: 70)
        var long = try fields("{\"\(key)\": 1}")
        _ = long.has("a")
        let brief = String(repeating: "x", count: 60) + "..."
        #expect(complaint { try long.finish() } == "t.json:1: unknown key '\(brief)'; known keys: a")
    }

    @Test func `a value that is no object has no fields`() throws {
        let list = try parsed("\n[]")
        #expect(
            complaint { _ = try Fields(list, file: "t.json") }
                == "t.json:2: the file is a list; expected an object {...}")
        #expect(
            complaint { _ = try Fields(list, file: "t.json", path: "output") }
                == "t.json:2: 'output' is a list; expected an object {...}")
    }

    @Test func `a caller's own check has the same wording`() throws {
        let fields = try fields("{\n\"side\": \"lift\"}")
        #expect("\(fields.wrong("side", "no good", allowed: "any"))" == "t.json:2: 'side' is no good; allowed: any")
        let absent = fields.wrong("other", "missing, but 'side' needs it", allowed: "any")
        #expect(
            "\(absent)" == "t.json:1: 'other' is missing, but 'side' needs it; allowed: any" && absent.kind == .invalid)
        let known = ["left", "right"]
        #expect(
            "\(fields.unknown("side", "lift", among: known))"
                == "t.json:2: 'side' is 'lift'; allowed: did you mean 'left'? left, right")
        #expect(
            "\(fields.unknown("side", "up", among: known, what: "side"))"
                == "t.json:2: 'side' is 'up', which is not a known side; allowed: left, right")
    }

    static let misspelt: [(String, [String], String?)] = [
        ("hieght", ["width", "height"], "height"), ("widh", ["height", "width"], "width"),
        ("widthh", ["height", "width"], "width"), ("width", ["widths", "width"], "width"),
        ("bat", ["hats", "cat", "hat"], "cat"), ("abcdefghi", ["xyzdefghi"], "xyzdefghi"),
        ("abcdefghi", ["wxyzefghi"], nil), ("zebra", ["width", "height"], nil), ("a", [], nil), ("", ["width"], nil),
        (String(repeating: "a", count: 100), [String(repeating: "a", count: 99)], String(repeating: "a", count: 99)),
        (String(repeating: "a", count: 101), [String(repeating: "a", count: 100)], nil),
    ]

    @Test(arguments: misspelt)
    func `a misspelt word suggests the nearest known one if at most a third differs`(
        word: String, known: [String], meant: String?
    ) {
        #expect(nearest(to: word, among: known) == meant)
    }
}
