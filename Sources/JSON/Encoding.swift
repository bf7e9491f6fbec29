extension JSON {
    /// Encodes a value, which must not refuse to be encoded.
    ///
    /// An object's members are in the order in which they are encoded: that of the properties, or sorted by key for a
    /// dictionary. A `Float` has as many digits as tell it from its neighbours: 0.1, not 0.10000000149011612.
    public init(encoding value: some Encodable) {
        let node = Node()
        do { try node.encode(value) } catch { preconditionFailure("\(type(of: value)): \(error)") }
        self = node.json
    }
}

extension JSON: Encodable {
    /// Encodes the value as it is. Only `JSON(encoding:)` can do so.
    public func encode(to encoder: any Encoder) throws {
        guard let node = encoder as? Node else {
            throw EncodingError.invalidValue(
                self, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "another encoder"))
        }
        node.content = .value(self)
    }
}

/// An optional property that is encoded as null if it is nil. Other optional properties are left out.
@propertyWrapper public struct Nullable<Wrapped: Codable & Sendable>: Codable, Sendable {
    /// The value.
    public var wrappedValue: Wrapped?

    /// Wraps a value.
    public init(wrappedValue: Wrapped?) { self.wrappedValue = wrappedValue }

    /// Decodes the value; the key must exist.
    public init(from decoder: any Decoder) throws { wrappedValue = try Wrapped?(from: decoder) }

    /// Encodes the value, or null.
    public func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

/// A value that is being encoded. Nested values are nodes of their own, because they may be encoded later.
private final class Node: Encoder {
    enum Content {
        case value(JSON)
        case members([(key: String, node: Node)])
        case elements([Node])
    }

    var content = Content.value(JSON(.null))
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    var json: JSON {
        switch content {
        case .value(let json): json
        case .members(let members):
            JSON(.object(members.map { JSON.Member(key: $0.key, line: 0, value: $0.node.json) }))
        case .elements(let nodes): JSON(nodes.map(\.json))
        }
    }

    func encode(_ value: some Encodable) throws {
        switch value {
        case let text as String: content = .value(JSON(text))
        case let flag as Bool: content = .value(JSON(flag))
        case let number as Double: content = .value(JSON(number))
        // The digits of the description are those of the `Float`.
        case let number as Float: content = .value(JSON(Double("\(number)") ?? Double(number)))
        case let number as any BinaryInteger: content = .value(JSON(Double(number)))
        case let dictionary as any StringKeyed:
            content = .members([])
            for (key, value) in dictionary.sortedMembers { try member(key).encode(value) }
        default: try value.encode(to: self)
        }
    }

    /// Adds a member.
    func member(_ key: String) -> Node {
        let node = Node()
        guard case .members(var members) = content else {
            content = .members([(key, node)])
            return node
        }
        // Released, so that the list is not copied for each member.
        content = .value(JSON(.null))
        members.append((key, node))
        content = .members(members)
        return node
    }

    /// Adds an element.
    func element() -> Node {
        let node = Node()
        guard case .elements(var nodes) = content else {
            content = .elements([node])
            return node
        }
        content = .value(JSON(.null))
        nodes.append(node)
        content = .elements(nodes)
        return node
    }

    func container<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        // An object that was begun is continued: two values may be encoded as one object.
        if case .members = content {} else { content = .members([]) }
        return KeyedEncodingContainer(ObjectContainer<Key>(node: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        content = .elements([])
        return ListContainer(node: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { ValueContainer(node: self) }
}

/// Dictionaries with string keys, which `Dictionary` itself would encode in a random order.
private protocol StringKeyed {
    var sortedMembers: [(String, any Encodable)] { get }
}

extension Dictionary: StringKeyed where Key == String, Value: Encodable {
    fileprivate var sortedMembers: [(String, any Encodable)] { sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
}

private struct ObjectContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: Node
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) { _ = node.member(key.stringValue) }
    func encode(_ value: some Encodable, forKey key: Key) throws { try node.member(key.stringValue).encode(value) }
    func nestedContainer<Nested>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        node.member(key.stringValue).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        node.member(key.stringValue).unkeyedContainer()
    }
    func superEncoder() -> any Encoder { node.member("super") }
    func superEncoder(forKey key: Key) -> any Encoder { node.member(key.stringValue) }
}

private struct ListContainer: UnkeyedEncodingContainer {
    let node: Node
    var codingPath: [any CodingKey] { [] }
    var count: Int { if case .elements(let nodes) = node.content { nodes.count } else { 0 } }

    func encodeNil() { _ = node.element() }
    func encode(_ value: some Encodable) throws { try node.element().encode(value) }
    func nestedContainer<Nested>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        node.element().container(keyedBy: type)
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { node.element().unkeyedContainer() }
    func superEncoder() -> any Encoder { node.element() }
}

private struct ValueContainer: SingleValueEncodingContainer {
    let node: Node
    var codingPath: [any CodingKey] { [] }

    func encodeNil() { node.content = .value(JSON(.null)) }
    func encode(_ value: some Encodable) throws { try node.encode(value) }
}
