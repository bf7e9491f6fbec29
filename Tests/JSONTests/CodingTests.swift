import Testing

@testable import JSON

/// Encoding and decoding of `Codable` types.
@Suite struct CodingTests {
    /// A value of every kind that the program encodes.
    struct Sample: Codable {
        enum State: String, Codable { case open, closed }
        struct Row: Codable, Equatable {
            var median: Double
            var p95: Double
        }
        var name: String
        var flag: Bool
        var count: Int
        var size: UInt64
        var opacity: Float
        var rate: Double
        var state: State
        var list: [String]
        var rows: [Row]
        var choices: [String: String]
        var value: JSON
        var left: String?
        @Nullable var none: Int?
        @Nullable var some: Row?
    }

    private func sample(_ change: (inout Sample) -> Void = { _ in }) -> Sample {
        var sample = Sample(
            name: "a \"b\"\n", flag: true, count: -3, size: 9, opacity: 0.9, rate: 29.97, state: .open, list: [],
            rows: [Sample.Row(median: 1, p95: 2.5)], choices: ["b": "2", "a": "1", "c": ""],
            value: JSON(["z": 1, "y": [true, JSON(.null)]]), left: nil, none: nil,
            some: Sample.Row(median: 0.1, p95: 0.25))
        change(&sample)
        return sample
    }

    private static let text =
        #"{"name":"a \"b\"\n","flag":true,"count":-3,"size":9,"opacity":0.9,"rate":29.97,"state":"open","#
        + #""list":[],"rows":[{"median":1,"p95":2.5}],"choices":{"a":"1","b":"2","c":""},"#
        + #""value":{"z":1,"y":[true,null]},"none":null,"some":{"median":0.1,"p95":0.25}}"#

    @Test func `members keep the order of the properties, and floats have no noise`() {
        #expect(JSON(encoding: sample()).text == Self.text)
        #expect(JSON(encoding: sample { $0.left = "x" })["left"]?.string == "x")
    }

    @Test func `what was encoded is decoded`() throws {
        let again: Sample = try JSON(Array(Self.text.utf8), file: "t").decoded()
        #expect(JSON(encoding: again).text == Self.text)
        #expect(again.opacity == 0.9 && again.state == .open && again.some == Sample.Row(median: 0.1, p95: 0.25))
        #expect(again.left == nil && again.none == nil)
    }

    static let scalars: [(any Codable & Sendable, String)] = [
        (true, "true"), (0, "0"), (Int8(-7), "-7"), (UInt16(512), "512"), (0.5, "0.5"), (Float(0.1), "0.1"),
        (Float(16_777_216), "16777216"), (1e300, "1e+300"), (Double.nan, "null"), ("é", "\"é\""),
        ([Int](), "[]"), ([[1], []] as [[Int]], "[[1],[]]"), (["b": 1, "a": 2], #"{"a":2,"b":1}"#),
        ([1, nil] as [Int?], "[1,null]"), (Int?.none, "null"), (JSON([1, "a"]), #"[1,"a"]"#),
    ]

    @Test(arguments: scalars.indices)
    func `a value without keys is encoded, and decoded to the same`(number: Int) throws {
        let (value, text) = Self.scalars[number]
        let json = JSON(encoding: value)
        #expect(json.text == text)
        func again<Value: Codable>(_ value: Value) throws -> String {
            JSON(encoding: try json.decoded(as: Value.self)).text
        }
        guard text != "null" || value is Int? else { return }
        #expect(try again(value) == text)
    }

    /// Two values in one object, and containers that are filled by hand.
    private struct Joined: Codable {
        enum Key: String, CodingKey { case inner, list, base }
        var row = Sample.Row(median: 1, p95: 2)

        init() {}

        init(from decoder: any Decoder) throws {
            let object = try decoder.container(keyedBy: Key.self)
            let inner = try object.nestedContainer(keyedBy: Key.self, forKey: .inner)
            var list = try inner.nestedUnkeyedContainer(forKey: .list)
            let (one, isNull) = (try list.decode(Int.self), try list.decodeNil())
            var nested = try list.nestedUnkeyedContainer()
            let two = try nested.decode(Int.self)
            #expect(one == 1 && isNull && two == 2 && list.isAtEnd)
            let base = try Sample.Row(from: object.superDecoder(forKey: .base))
            row = try Sample.Row(from: decoder)
            #expect(base == row)
        }

        func encode(to encoder: any Encoder) throws {
            try row.encode(to: encoder)
            var object = encoder.container(keyedBy: Key.self)
            var inner = object.nestedContainer(keyedBy: Key.self, forKey: .inner)
            var list = inner.nestedUnkeyedContainer(forKey: .list)
            try row.encode(to: object.superEncoder(forKey: .base))
            try list.encode(1)
            try list.encodeNil()
            var nested = list.nestedUnkeyedContainer()
            try nested.encode(2)
            #expect(list.count == 3)
        }
    }

    @Test func `two values are one object, and nested containers are filled in any order`() throws {
        let text = #"{"median":1,"p95":2,"inner":{"list":[1,null,[2]]},"base":{"median":1,"p95":2}}"#
        #expect(JSON(encoding: Joined()).text == text)
        let again: Joined = try JSON(Array(text.utf8), file: "t").decoded()
        #expect(JSON(encoding: again).text == text)
    }

    static let wrong: [(String, String)] = [
        ("[]", "the value is a list; wanted: an object"),
        (#"{"name":1}"#, "'name' is a number; wanted: String"),
        (#"{"name":"a"}"#, "'flag' is missing"),
        (#"{"name":"a","flag":true,"count":1.5}"#, "'count' is a number; wanted: Int"),
        (#"{"name":"a","flag":true,"count":1,"size":-1}"#, "'size' is a number; wanted: UInt64"),
    ]

    @Test(arguments: wrong)
    func `a missing or wrong key is an error that names it`(text: String, words: String) throws {
        let json = try JSON(Array(text.utf8), file: "t")
        #expect("\(#expect(throws: (any Error).self) { _ = try json.decoded(as: Sample.self) }!)" == words)
        let rows = #"{"rows":[{"median":1,"p95":1},{"median":1}]}"#
        struct Rows: Decodable { let rows: [Sample.Row] }
        let inner = #expect(throws: (any Error).self) {
            _ = try JSON(Array(rows.utf8), file: "t").decoded(as: Rows.self)
        }
        #expect("\(try #require(inner))" == "'rows[1].p95' is missing")
    }
}
