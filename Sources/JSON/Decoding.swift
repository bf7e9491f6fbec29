import SystemKit

extension JSON {
    /// Decodes a value. Keys that it does not know are ignored.
    /// - Throws: `Problem` of kind `invalid` that names the key with its path, if it is missing or has another kind.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try Reader(json: self, path: "").decode(type)
    }
}

extension JSON: Decodable {
    /// Takes the value as it is. Only `decoded` can do so.
    public init(from decoder: any Decoder) throws {
        guard let reader = decoder as? Reader else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "another decoder"))
        }
        self = reader.json
    }
}

/// A value that is being decoded.
private struct Reader: Decoder, SingleValueDecodingContainer {
    let json: JSON
    /// The value's place: "recording.path"; empty for the whole.
    let path: String
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    private func problem(wanted: String) -> Problem {
        Problem(
            .invalid, "\(path.isEmpty ? "the value" : "'\(brief(path))'") is \(json.kindName)", fix: "wanted: \(wanted)"
        )
    }

    func decodeNil() -> Bool { json.value == .null }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let found: Any?
        switch type {
        case is String.Type: found = json.string
        case is Bool.Type: found = json.bool
        case is Double.Type: found = json.number
        case is Float.Type: found = json.number.map { Float($0) }
        case let integer as any BinaryInteger.Type: found = json.number.flatMap { exact($0, integer) }
        default: return try Value(from: self)
        }
        guard let value = found as? Value else { throw problem(wanted: "\(type)") }
        return value
    }

    private func exact<Integer: BinaryInteger>(_ number: Double, _ type: Integer.Type) -> Any? {
        Integer(exactly: number)
    }

    func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = json.value else { throw problem(wanted: "an object") }
        return KeyedDecodingContainer(ObjectReader<Key>(json: json, members: members, path: path))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = json.value else { throw problem(wanted: "a list") }
        return ListReader(elements: elements, path: path)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }
}

private struct ObjectReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let json: JSON
    let members: [JSON.Member]
    let path: String
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { members.compactMap { Key(stringValue: $0.key) } }

    private func fullPath(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    private func reader(_ key: String) throws -> Reader {
        guard let value = json[key] else { throw Problem(.invalid, "'\(brief(fullPath(key)))' is missing") }
        return Reader(json: value, path: fullPath(key))
    }

    func contains(_ key: Key) -> Bool { json[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try reader(key.stringValue).decodeNil() }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try reader(key.stringValue).decode(type)
    }
    func nestedContainer<Nested>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
        try reader(key.stringValue).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try reader(key.stringValue).unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder { try reader("super") }
    func superDecoder(forKey key: Key) throws -> any Decoder { try reader(key.stringValue) }
}

private struct ListReader: UnkeyedDecodingContainer {
    let elements: [JSON]
    let path: String
    var currentIndex = 0
    var codingPath: [any CodingKey] { [] }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    init(elements: [JSON], path: String) { (self.elements, self.path) = (elements, path) }

    private func reader() throws -> Reader {
        guard !isAtEnd else { throw Problem(.invalid, "'\(brief(path))' has only \(elements.count) elements") }
        return Reader(json: elements[currentIndex], path: "\(path)[\(currentIndex)]")
    }

    private mutating func next() throws -> Reader {
        defer { currentIndex += 1 }
        return try reader()
    }

    mutating func decodeNil() throws -> Bool {
        guard try reader().decodeNil() else { return false }
        currentIndex += 1
        return true
    }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next().decode(type) }
    mutating func nestedContainer<Nested>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
        try next().container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }
    mutating func superDecoder() throws -> any Decoder { try next() }
}
