import V4L2

extension System {
    /// The machine in a few lines: what a person who helps asks for first.
    public var summary: [String] {
        let release = text("/etc/os-release")?.split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
        let name = release.map { $0.dropFirst("PRETTY_NAME=".count).filter { $0 != "\"" } } ?? "unknown distribution"
        let lines = (text("/proc/cpuinfo") ?? "").split(separator: "\n")
        // ARM's kernels list processors without their model.
        let count = lines.count { $0.hasPrefix("processor") }
        let model =
            lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last.map { $0.drop { $0 == " " } }
            ?? "unknown processor"
        let session = ["XDG_SESSION_TYPE", "XDG_CURRENT_DESKTOP"].compactMap { environment[$0] }
        let module =
            moduleIsLoaded ? "v4l2loopback \(moduleVersion ?? "of unknown version")" : "v4l2loopback not loaded"
        return [
            "\(name), kernel \(kernel)", "\(max(1, count)) x \(model)",
            "session: \(session.isEmpty ? "unknown" : session.joined(separator: ", "))",
            "\(module), \(usbCamera == nil ? "no USB camera" : "USB camera")",
        ]
    }
}

/// Replaces what tells who the user is: the home folder, the user's and the computer's name.
public struct Redactor: Sendable {
    private let replacements: [(name: String, with: String)]

    /// Names that are so common or short that they identify nobody, and would be replaced in other words.
    private static let common: Set<String> = ["root", "user", "debian", "ubuntu", "localhost", "guise"]
    private static let shortest = 3

    /// - Parameters:
    ///   - environment: its HOME and USER are replaced.
    ///   - host: the computer's name.
    public init(environment: [String: String], host: String) {
        let home = environment["HOME"] ?? ""
        let names = [(environment["USER"] ?? "", "USER"), (host, "HOST")]
        replacements =
            (home.count > 1 ? [(home, "~")] : [])
            + names.filter { $0.0.count >= Self.shortest && !Self.common.contains($0.0) }
    }

    /// The text without those names. A name counts only as a whole word, in any case of its letters.
    public func redact(_ text: String) -> String {
        replacements.reduce(text) { text, replacement in
            var (result, rest) = ("", text[...])
            while let range = Self.range(of: replacement.name, in: rest) {
                let isWhole =
                    !(rest[..<range.lowerBound].last ?? result.last ?? " ").isLetter
                    && !(rest[range.upperBound...].first ?? " ").isLetter
                result += rest[..<range.lowerBound] + (isWhole ? replacement.with : String(rest[range]))
                rest = rest[range.upperBound...]
            }
            return result + rest
        }
    }

    private static func range(of name: String, in text: Substring) -> Range<String.Index>? {
        let wanted = name.lowercased()
        var start = text.startIndex
        while let end = text.index(start, offsetBy: name.count, limitedBy: text.endIndex) {
            if text[start..<end].lowercased() == wanted { return start..<end }
            start = text.index(after: start)
        }
        return nil
    }
}
