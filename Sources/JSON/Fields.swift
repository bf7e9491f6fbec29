import SystemKit

/// A reader of one JSON object's keys. Keys that were not read are errors, reported by `finish`.
///
/// Every error names the file, the line, the key with its path, and the allowed values.
public struct Fields {
    /// The file's name for messages.
    public let file: String
    /// The path of this object: "output" or "layers[0]"; empty for the top level.
    public let path: String
    /// The line of the object's beginning, counted from 1.
    public let line: Int
    private let members: [JSON.Member]
    private var known: [String] = []

    /// Starts reading an object.
    /// - Parameters:
    ///   - file: the name for messages: a file's, or what else the text is.
    ///   - path: the path of the object; empty for the top level.
    ///   - noun: what the text is, for messages.
    /// - Throws: `Problem` if `json` is not an object.
    public init(_ json: JSON, file: String, path: String = "", noun: String = "file") throws {
        guard case .object(let members) = json.value else {
            let name = path.isEmpty ? "the \(noun)" : "'\(path)'"
            throw Problem(
                .invalid, "\(file):\(json.line): \(name) is \(json.kindName)", fix: "expected an object {...}")
        }
        (self.file, self.path, self.line, self.members) = (file, path, json.line, members)
    }

    private func full(_ key: String) -> String { path.isEmpty ? brief(key) : "\(path).\(brief(key))" }

    private func wrong(_ member: JSON.Member, _ found: String, allowed: String) -> Problem {
        Problem(
            .invalid, "\(file):\(member.value.line): '\(full(member.key))' is \(found)", fix: "allowed: \(allowed)")
    }

    /// An error in the value of `key`, for the caller's own checks.
    public func wrong(_ key: String, _ found: String, allowed: String) -> Problem {
        guard let member = members.first(where: { $0.key == key }) else {
            return Problem(.invalid, "\(file):\(line): '\(full(key))' is \(found)", fix: "allowed: \(allowed)")
        }
        return wrong(member, found, allowed: allowed)
    }

    /// The error for a string that is not one of those allowed, with the nearest one that is.
    /// - Parameter what: the kind of value ("landmark"), if the message would be unclear without it.
    public func unknown(_ key: String, _ text: String, among allowed: [String], what: String = "") -> Problem {
        let hint = nearest(to: text, among: allowed).map { "did you mean '\($0)'? " } ?? ""
        let found = "'\(brief(text))'" + (what.isEmpty ? "" : ", which is not a known \(what)")
        return wrong(key, found, allowed: hint + allowed.joined(separator: ", "))
    }

    private mutating func member(_ key: String) -> JSON.Member? {
        if !known.contains(key) { known.append(key) }
        return members.first { $0.key == key }
    }

    private func missing(_ key: String, wanted: String) -> Problem {
        Problem(.invalid, "\(file):\(line): '\(full(key))' is missing", fix: "wanted: \(wanted)")
    }

    /// Rejects a key of an earlier version.
    /// - Throws: `Problem` that names the key's line and its new name.
    public func refuse(_ old: String, renamedTo new: String) throws {
        guard let member = members.first(where: { $0.key == old }) else { return }
        throw Problem(
            .invalid, "\(file):\(member.line): the key '\(full(old))' was renamed", fix: "use '\(full(new))'")
    }

    /// Rejects a key that objects like this one have elsewhere.
    /// - Parameter allowed: where they have it: "in sprite layers".
    /// - Throws: `Problem` that names the key's line.
    public func refuse(_ key: String, allowed: String) throws {
        guard let member = members.first(where: { $0.key == key }) else { return }
        throw Problem(
            .invalid, "\(file):\(member.line): '\(full(key))' has no effect here", fix: "allowed: \(allowed)")
    }

    /// Whether the key exists, with any value.
    public mutating func has(_ key: String) -> Bool { member(key) != nil }

    /// The value without a check, for keys that allow several kinds of values; nil if the key doesn't exist.
    public mutating func json(_ key: String) -> JSON? { member(key)?.value }

    /// Reads a string.
    /// - Parameter fallback: the default; if nil, the key is required.
    /// - Throws: `Problem` if the value is not a string, or a required key is missing.
    public mutating func string(_ key: String, default fallback: String? = nil) throws -> String {
        guard let member = member(key) else {
            guard let fallback else { throw missing(key, wanted: "a string") }
            return fallback
        }
        guard case .string(let text) = member.value.value else {
            throw wrong(member, member.value.kindName, allowed: "a string")
        }
        return text
    }

    /// Reads a Boolean.
    /// - Throws: `Problem` if the value is neither true nor false.
    public mutating func bool(_ key: String, default fallback: Bool) throws -> Bool {
        guard let member = member(key) else { return fallback }
        guard case .bool(let value) = member.value.value else {
            throw wrong(member, member.value.kindName, allowed: "true or false")
        }
        return value
    }

    /// Reads a number within a range.
    /// - Parameter fallback: the default; if nil, the key is required.
    /// - Throws: `Problem` if the value is not such a number, or a required key is missing.
    public mutating func number(
        _ key: String, in range: ClosedRange<Double>, default fallback: Double? = nil
    ) throws -> Double {
        guard let member = member(key) else {
            guard let fallback else { throw missing(key, wanted: "a number from \(text(range))") }
            return fallback
        }
        guard case .number(let value) = member.value.value else {
            throw wrong(member, member.value.kindName, allowed: "a number from \(text(range))")
        }
        guard range.contains(value) else { throw wrong(member, plain(value), allowed: text(range)) }
        return value
    }

    /// Reads an integer within a range.
    /// - Parameter fallback: the default; if nil, the key is required.
    /// - Throws: `Problem` if the value is not such an integer, or a required key is missing.
    public mutating func integer(_ key: String, in range: ClosedRange<Int>, default fallback: Int? = nil) throws -> Int
    {
        let value = try number(
            key, in: Double(range.lowerBound)...Double(range.upperBound), default: fallback.map(Double.init))
        guard let whole = Int(exactly: value) else { throw wrong(key, plain(value), allowed: "whole numbers") }
        return whole
    }

    /// Reads a string that is the raw value of one of `T`'s cases.
    /// - Throws: `Problem` if it is not.
    public mutating func choice<T: RawRepresentable<String> & CaseIterable>(
        _ key: String, default fallback: T
    ) throws -> T {
        let text = try string(key, default: fallback.rawValue)
        guard let value = T(rawValue: text) else { throw unknown(key, text, among: T.allCases.map(\.rawValue)) }
        return value
    }

    /// Reads a list of strings.
    /// - Throws: `Problem` if the value is not such a list.
    public mutating func strings(_ key: String, default fallback: [String]) throws -> [String] {
        guard let member = member(key) else { return fallback }
        guard case .array(let elements) = member.value.value else {
            throw wrong(member, member.value.kindName, allowed: "a list of strings")
        }
        return try elements.map {
            guard case .string(let text) = $0.value else {
                throw wrong(member, "a list with \($0.kindName)", allowed: "a list of strings")
            }
            return text
        }
    }

    /// Reads a list of exactly `count` numbers, each within a range.
    /// - Parameter fallback: the default; if nil, the key is required.
    /// - Throws: `Problem` if the value is not such a list, or a required key is missing.
    public mutating func numbers(
        _ key: String, count: Int, in range: ClosedRange<Double>? = nil, default fallback: [Double]? = nil
    ) throws -> [Double] {
        let wanted = "a list of \(count) numbers" + (range.map { " from \(text($0))" } ?? "")
        guard let member = member(key) else {
            guard let fallback else { throw missing(key, wanted: wanted) }
            return fallback
        }
        guard case .array(let elements) = member.value.value, elements.count == count else {
            throw wrong(member, member.value.kindName, allowed: wanted)
        }
        return try elements.map {
            guard case .number(let value) = $0.value else {
                throw wrong(member, "a list with \($0.kindName)", allowed: wanted)
            }
            guard range?.contains(value) ?? true else {
                throw wrong(member, "a list with \(plain(value))", allowed: wanted)
            }
            return value
        }
    }

    /// Reads a nested object; an empty one if the key doesn't exist, so that the object's own defaults apply.
    /// - Throws: `Problem` if the value is not an object.
    public mutating func object(_ key: String) throws -> Fields {
        guard let member = member(key) else {
            return try Fields(JSON(value: .object([]), line: line), file: file, path: full(key))
        }
        return try Fields(member.value, file: file, path: full(key))
    }

    /// Reads a list of objects; empty if the key doesn't exist.
    /// - Parameter name: if not nil, a string is allowed in place of an object with only this key.
    /// - Throws: `Problem` if the value is not such a list.
    public mutating func objects(_ key: String, orTheir name: String? = nil) throws -> [Fields] {
        guard let member = member(key) else { return [] }
        let wanted = name == nil ? "a list of objects" : "a list of strings or objects"
        guard case .array(let elements) = member.value.value else {
            throw wrong(member, member.value.kindName, allowed: wanted)
        }
        return try elements.enumerated().map { number, element in
            var object = element
            switch (element.value, name) {
            case (.object, _), (_, nil): break
            case (.string, let name?):
                let only = JSON.Member(key: name, line: element.line, value: element)
                object = JSON(value: .object([only]), line: element.line)
            default: throw wrong(member, "a list with \(element.kindName)", allowed: wanted)
            }
            return try Fields(object, file: file, path: "\(full(key))[\(number)]")
        }
    }

    /// Reads an object of strings by name; empty if the key doesn't exist.
    /// - Throws: `Problem` if a value is not a string.
    public mutating func texts(_ key: String) throws -> [String: String] {
        let inner = try object(key)
        return try inner.members.reduce(into: [:]) { texts, member in
            guard case .string(let text) = member.value.value else {
                throw inner.wrong(member, member.value.kindName, allowed: "a string")
            }
            texts[member.key] = text
        }
    }

    /// Checks that all keys were read.
    /// - Throws: `Problem` for the first unknown key, with the most similar known one.
    public func finish() throws {
        guard let extra = members.first(where: { !known.contains($0.key) }) else { return }
        let hint = nearest(to: extra.key, among: known).map { "did you mean '\($0)'?" }
        throw Problem(
            .invalid, "\(file):\(extra.line): unknown key '\(full(extra.key))'",
            fix: hint ?? "known keys: \(known.joined(separator: ", "))")
    }

    private func text(_ range: ClosedRange<Double>) -> String {
        "\(plain(range.lowerBound)) to \(plain(range.upperBound))"
    }

    private func plain(_ value: Double) -> String { Int(exactly: value).map(String.init) ?? String(value) }
}

/// The candidate that a misspelt word most likely means; nil if more than a third of it differs from all candidates.
public func nearest(to word: String, among candidates: [String]) -> String? {
    // No candidate is as long.
    guard word.utf8.count <= 100 else { return nil }
    let scored = candidates.map { ($0, editDistance(Array(word.utf8), Array($0.utf8))) }
    guard let best = scored.min(by: { $0.1 < $1.1 }), best.1 <= max(1, word.utf8.count / 3) else { return nil }
    return best.0
}

/// Damerau's distance (1964), as the optimal string alignment: the smallest number of insertions, deletions,
/// substitutions and transpositions of neighbours from one word to the other.
private func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var (before, last) = ([Int](), Array(0...b.count))
    for i in a.indices {
        var row = [i + 1]
        for j in b.indices {
            var least = min(last[j] + (a[i] == b[j] ? 0 : 1), row[j] + 1, last[j + 1] + 1)
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, before[j - 1] + 1) }
            row.append(least)
        }
        (before, last) = (last, row)
    }
    return last[b.count]
}
