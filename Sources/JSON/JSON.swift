import SystemKit

/// A JSON value with its line number, for error messages.
///
/// RFC 8259, parsed strictly: no comments, no trailing commas, no duplicate keys in an object.
public struct JSON: Equatable, Sendable {
    /// The six kinds of JSON values; an object's members keep their order.
    public enum Value: Equatable, Sendable {
        case null
        case bool(Bool)
        case number(Double)
        case string(String)
        case array([JSON])
        case object([Member])
    }

    /// One key of an object with its value; `line` is the key's.
    public struct Member: Equatable, Sendable {
        /// The key without escapes.
        public let key: String
        /// The line of the key, counted from 1.
        public let line: Int
        /// The value of the key.
        public let value: JSON
    }

    /// The value.
    public let value: Value
    /// The line of the value's beginning, counted from 1; 0 for a value that was not parsed.
    public let line: Int

    /// The deepest nesting that is accepted: no file of Guise needs more, and an untrusted one must not exhaust the
    /// stack.
    static let depthLimit = 32
    /// The most keys of one object, since each key is compared with all previous ones.
    static let memberLimit = 1000

    /// Parses a document.
    /// - Parameters:
    ///   - text: the document in UTF-8.
    ///   - file: the name for messages: a file's, or what else the text is.
    ///   - noun: what the text is, for messages.
    /// - Throws: `Problem` of kind `invalid` with file and line.
    public init(_ text: [UInt8], file: String, noun: String = "file") throws {
        var parser = Parser(text: text, file: file, noun: noun)
        self = try parser.document()
    }

    init(value: Value, line: Int) { (self.value, self.line) = (value, line) }

    /// The keys of an object, in its order; empty for other values.
    public var keys: [String] { if case .object(let members) = value { members.map(\.key) } else { [] } }

    /// The kind of value in words, for messages.
    public var kindName: String {
        switch value {
        case .null: "null"
        case .bool: "true or false"
        case .number: "a number"
        case .string: "a string"
        case .array: "a list"
        case .object: "an object"
        }
    }
}

private struct Parser {
    let text: [UInt8]
    let file: String
    let noun: String
    var at = 0
    var line = 1

    init(text: [UInt8], file: String, noun: String) { (self.text, self.file, self.noun) = (text, file, noun) }

    func wrong(_ what: String) -> Problem {
        Problem(.invalid, "\(file):\(line): \(what)", fix: "correct the \(noun)")
    }

    mutating func document() throws -> JSON {
        guard String(validating: text, as: UTF8.self) != nil else { throw wrong("the \(noun) is not UTF-8 text") }
        let value = try element(nestingDepth: 0)
        skipSpace()
        guard at == text.count else { throw wrong("unexpected text after the JSON value") }
        return value
    }

    mutating func skipSpace() {
        while at < text.count {
            switch text[at] {
            case UInt8(ascii: "\n"): line += 1
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
            default: return
            }
            at += 1
        }
    }

    /// Skips `byte` if it is next.
    mutating func consume(_ byte: Unicode.Scalar) -> Bool {
        guard at < text.count, text[at] == UInt8(ascii: byte) else { return false }
        at += 1
        return true
    }

    mutating func consumeWord(_ word: String) -> Bool {
        guard text[at...].starts(with: word.utf8) else { return false }
        at += word.utf8.count
        return true
    }

    mutating func element(nestingDepth: Int) throws -> JSON {
        skipSpace()
        guard nestingDepth < JSON.depthLimit else { throw wrong("nested more than \(JSON.depthLimit) levels deep") }
        guard at < text.count else { throw wrong("the \(noun) ends where a value is expected") }
        let start = line
        switch text[at] {
        case UInt8(ascii: "{"): return JSON(value: try object(nestingDepth: nestingDepth), line: start)
        case UInt8(ascii: "["): return JSON(value: try array(nestingDepth: nestingDepth), line: start)
        case UInt8(ascii: "\""): return JSON(value: .string(try string()), line: start)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return JSON(value: .number(try number()), line: start)
        default:
            if consumeWord("true") { return JSON(value: .bool(true), line: start) }
            if consumeWord("false") { return JSON(value: .bool(false), line: start) }
            if consumeWord("null") { return JSON(value: .null, line: start) }
            throw wrong("expected a JSON value, found '\(character(at: at))'")
        }
    }

    mutating func object(nestingDepth: Int) throws -> JSON.Value {
        _ = consume("{")
        var members: [JSON.Member] = []
        skipSpace()
        if consume("}") { return .object(members) }
        repeat {
            skipSpace()
            let keyLine = line
            guard at < text.count, text[at] == UInt8(ascii: "\"") else {
                throw wrong("expected a key in quotes")
            }
            let key = try string()
            guard !members.contains(where: { $0.key == key }) else {
                throw wrong("'\(brief(key))' appears twice")
            }
            guard members.count < JSON.memberLimit else {
                throw wrong("an object has more than \(JSON.memberLimit) keys")
            }
            skipSpace()
            guard consume(":") else { throw wrong("expected a colon after '\(brief(key))'") }
            members.append(JSON.Member(key: key, line: keyLine, value: try element(nestingDepth: nestingDepth + 1)))
            skipSpace()
        } while consume(",")
        guard consume("}") else { throw wrong("expected a comma or }") }
        return .object(members)
    }

    mutating func array(nestingDepth: Int) throws -> JSON.Value {
        _ = consume("[")
        var elements: [JSON] = []
        skipSpace()
        if consume("]") { return .array(elements) }
        repeat {
            elements.append(try element(nestingDepth: nestingDepth + 1))
            skipSpace()
        } while consume(",")
        guard consume("]") else { throw wrong("expected a comma or ]") }
        return .array(elements)
    }

    mutating func number() throws -> Double {
        let start = at
        _ = consume("-")
        let leadingZero = at < text.count && text[at] == UInt8(ascii: "0")
        let whole = digits()
        var valid = whole == 1 || (whole > 1 && !leadingZero)
        if consume(".") { valid = digits() > 0 && valid }
        if consume("e") || consume("E") {
            if !consume("+") { _ = consume("-") }
            valid = digits() > 0 && valid
        }
        let literal = String(decoding: text[start..<at], as: UTF8.self)
        guard valid, let value = Double(literal), value.isFinite else {
            throw wrong("'\(brief(literal))' is not a number")
        }
        return value
    }

    /// Skips decimal digits and counts them.
    mutating func digits() -> Int {
        let start = at
        while at < text.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(text[at]) { at += 1 }
        return at - start
    }

    mutating func string() throws -> String {
        _ = consume("\"")
        var bytes: [UInt8] = []
        while at < text.count {
            let byte = text[at]
            at += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"): bytes.append(contentsOf: try escape())
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): throw wrong("a string is not closed on its line")
            case 0..<0x20: throw wrong("a string contains a control character; write a tab as \\t")
            default: bytes.append(byte)
            }
        }
        throw wrong("a string is not closed")
    }

    mutating func escape() throws -> [UInt8] {
        guard at < text.count else { throw wrong("a string is not closed") }
        let byte = text[at]
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [8]
        case UInt8(ascii: "f"): return [12]
        case UInt8(ascii: "n"): return [10]
        case UInt8(ascii: "r"): return [13]
        case UInt8(ascii: "t"): return [9]
        case UInt8(ascii: "u"):
            var unit = try hexUnit()
            if (0xD800..<0xDC00).contains(unit), consume("\\"), consume("u") {
                let low = try hexUnit()
                guard (0xDC00..<0xE000).contains(low) else { throw wrong("incomplete surrogate pair") }
                unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(unit) else { throw wrong("incomplete surrogate pair") }
            return Array(String(Character(scalar)).utf8)
        default: throw wrong("'\\\(character(at: at - 1))' is not a JSON escape sequence")
        }
    }

    /// The whole character that begins at a byte, for messages.
    private func character(at offset: Int) -> Character {
        String(decoding: text[offset...].prefix(4), as: UTF8.self).first ?? "?"
    }

    mutating func hexUnit() throws -> UInt32 {
        let digits = text[at...].prefix(4)
        // Swift's integer parser would also accept a sign.
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let unit = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw wrong("\\u needs four hexadecimal digits") }
        at += 4
        return unit
    }
}

/// The beginning of a string, for messages: untrusted input may be long.
public func brief(_ text: String) -> String {
    let maxLength = 60
    return text.count > maxLength ? text.prefix(maxLength) + "..." : text
}
