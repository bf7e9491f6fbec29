import JSON

/// The documentation of a request for users.
public struct RequestHelp: Equatable, Sendable {
    /// The request's keys in Markdown, with allowed values after a colon; empty if it has none.
    public let keys: String
    /// What the request does, in Markdown, without a full stop.
    public let meaning: String

    init(keys: String = "", _ meaning: String) { (self.keys, self.meaning) = (keys, meaning) }
}

/// Related requests, which one handler of the daemon answers: an enumeration with a case for each request. Its reader,
/// writer and help switch over all names or cases, so that none can be forgotten.
public protocol RequestGroup: Equatable, Sendable {
    /// The requests' names in the protocol.
    associatedtype Name: RawRepresentable<String> & CaseIterable & Sendable

    /// Reads the keys of the request with a name.
    /// - Throws: `Problem` or `RequestError` that names the allowed values.
    init(_ name: Name, _ fields: inout Fields) throws

    /// The keys of the request with a name, and what it does.
    static func help(_ name: Name) -> RequestHelp

    /// The request's name and keys, as `init` reads them; keys without a value are left out.
    var parts: (name: Name, keys: KeyValuePairs<String, JSON?>) { get }
}

extension RequestGroup {
    /// The request as a client sends it.
    public var json: JSON {
        let (name, keys) = parts
        return keys.reduce(JSON(["request": JSON(name.rawValue)])) { json, key in
            key.value.map { json.with(key.key, $0) } ?? json
        }
    }
}

extension Fields {
    /// Reads the value that a request sets something to.
    /// - Throws: `RequestError` that names what is set, if there is no value.
    mutating func value(of what: String) throws(RequestError) -> JSON {
        guard let value = json("value") else {
            throw RequestError(.badValue, "'value' is missing; wanted: the value of '\(brief(what))'")
        }
        return value
    }
}

/// A reader of the requests of one group, which wraps them as `Content`.
struct RequestParser<Content>: Sendable {
    /// The group's requests with their documentation.
    let help: [(name: String, help: RequestHelp)]
    /// Reads the request with a name; nil if the group has none.
    let parse: @Sendable (String, inout Fields) throws -> Content?

    init<Group: RequestGroup>(_ wrap: @escaping @Sendable (Group) -> Content) {
        help = Group.Name.allCases.map { ($0.rawValue, Group.help($0)) }
        parse = { name, fields in try Group.Name(rawValue: name).map { wrap(try Group($0, &fields)) } }
    }
}
