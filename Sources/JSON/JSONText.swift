/// Building and writing values: `JSON(["id": 1, "ok": JSON(["masks": ["santa"]])]).text`.
extension JSON {
    /// A value that was not parsed from a file.
    public init(_ value: Value) { self.init(value: value, line: 0) }

    /// A string, or null.
    public init(_ text: String?) { self.init(text.map(Value.string) ?? .null) }
    /// A number.
    public init(_ number: Double) { self.init(.number(number)) }
    /// A number.
    public init(_ number: Int) { self.init(.number(Double(number))) }
    /// A Boolean.
    public init(_ bool: Bool) { self.init(.bool(bool)) }
    /// A list.
    public init(_ elements: [JSON]) { self.init(.array(elements)) }
    /// A list of strings.
    public init(_ texts: [String]) { self.init(.array(texts.map { JSON(.string($0)) })) }

    /// An object with its members in the given order.
    public init(_ members: KeyValuePairs<String, JSON>) {
        self.init(.object(members.map { Member(key: $0.key, line: 0, value: $0.value) }))
    }

    /// The object with one more member at the end; a value that is not an object is returned unchanged.
    public func with(_ key: String, _ value: JSON) -> JSON {
        guard case .object(let members) = self.value else { return self }
        return JSON(.object(members + [Member(key: key, line: 0, value: value)]))
    }

    /// The value on one line (RFC 8259), without spaces between its parts and with control characters escaped.
    public var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to out: inout String) {
        switch value {
        case .null: out += "null"
        case .bool(let value): out += value ? "true" : "false"
        // JSON has neither infinities nor NaN.
        case .number(let value) where !value.isFinite: out += "null"
        case .number(let value): out += Int(exactly: value).map(String.init) ?? "\(value)"
        case .string(let text): Self.write(text, to: &out)
        case .array(let elements):
            out += "["
            for (i, element) in elements.enumerated() {
                if i > 0 { out += "," }
                element.write(to: &out)
            }
            out += "]"
        case .object(let members):
            out += "{"
            for (i, member) in members.enumerated() {
                if i > 0 { out += "," }
                Self.write(member.key, to: &out)
                out += ":"
                member.value.write(to: &out)
            }
            out += "}"
        }
    }

    private static func write(_ text: String, to out: inout String) {
        out += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\u{0}"..<" ", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: out.unicodeScalars.append(scalar)
            }
        }
        out += "\""
    }

    /// The value of an object's key; nil if there is none.
    public subscript(key: String) -> JSON? {
        guard case .object(let members) = value else { return nil }
        return members.first { $0.key == key }?.value
    }

    /// The value with every value of a key replaced by a text, at any depth.
    public func replacing(_ key: String, with text: String) -> JSON {
        switch value {
        case .object(let members):
            JSON(
                .object(
                    members.map {
                        let value = $0.key == key ? JSON(text) : $0.value.replacing(key, with: text)
                        return Member(key: $0.key, line: $0.line, value: value)
                    }))
        case .array(let elements): JSON(elements.map { $0.replacing(key, with: text) })
        case .null, .bool, .number, .string: self
        }
    }

    /// The string; nil if the value is not one.
    public var string: String? { if case .string(let text) = value { text } else { nil } }
    /// The number; nil if the value is not one.
    public var number: Double? { if case .number(let number) = value { number } else { nil } }
    /// The Boolean; nil if the value is not one.
    public var bool: Bool? { if case .bool(let bool) = value { bool } else { nil } }
    /// The elements of a list; empty if the value is not one.
    public var elements: [JSON] { if case .array(let elements) = value { elements } else { [] } }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral
{
    /// A string.
    public init(stringLiteral text: String) { self.init(.string(text)) }
    /// A number.
    public init(integerLiteral number: Int) { self.init(.number(Double(number))) }
    /// A number.
    public init(floatLiteral number: Double) { self.init(.number(number)) }
    /// A Boolean.
    public init(booleanLiteral bool: Bool) { self.init(.bool(bool)) }
    /// A list.
    public init(arrayLiteral elements: JSON...) { self.init(.array(elements)) }
}

extension JSON {
    /// The value in readable form on several lines: four spaces per level; what fits on one line stays on one.
    public var prettyText: String { prettyText(indent: "") }

    /// The longest line, in characters.
    private static let line = 100

    private func prettyText(indent: String) -> String {
        let oneLine = spaced
        guard indent.count + oneLine.count > Self.line || indent.isEmpty else { return oneLine }
        let inner = indent + "    "
        switch value {
        case .object(let members) where !members.isEmpty:
            let rows = members.map { "\(inner)\(JSON($0.key).text): \($0.value.prettyText(indent: inner))" }
            return "{\n\(rows.joined(separator: ",\n"))\n\(indent)}"
        case .array(let elements) where !elements.isEmpty:
            let rows = elements.map { "\(inner)\($0.prettyText(indent: inner))" }
            return "[\n\(rows.joined(separator: ",\n"))\n\(indent)]"
        default: return oneLine
        }
    }

    /// The value on one line, with a space after each colon and comma.
    private var spaced: String {
        switch value {
        case .object(let members):
            "{\(members.map { "\(JSON($0.key).text): \($0.value.spaced)" }.joined(separator: ", "))}"
        case .array(let elements): "[\(elements.map(\.spaced).joined(separator: ", "))]"
        default: text
        }
    }

    /// The value on one line in ASCII, other characters escaped: for recipients that understand nothing else.
    public var ascii: String {
        text.unicodeScalars.map { scalar in
            scalar.isASCII
                ? String(scalar)
                : String(scalar).utf16.map { unit in
                    let digits = String(unit, radix: 16)
                    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }.joined()
        }.joined()
    }
}
