import Foundation
import TestSupport
import Testing

@Suite struct SecurityDocsTests {
    /// The text of a file with every run of white space as one space: titles are wrapped in the docs.
    private func words(of path: String) throws -> String {
        try String(contentsOfFile: path, encoding: .utf8).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test func `every test that docs/security.md names exists`() throws {
        let docs = try words(of: Fixtures.inPackage("docs/security.md"))
        let folder = Fixtures.inPackage("Tests")
        let files = try #require(FileManager.default.enumerator(atPath: folder)).compactMap { $0 as? String }
            .filter { $0.hasSuffix("Tests.swift") }
        let sources = try files.map { try words(of: "\(folder)/\($0)") }.joined(separator: " ")
        let titles = docs.matches(of: /"([a-z0-9][^"]{20,})"/).map { String($0.1) }
        #expect(titles.count >= 15)
        for title in titles { #expect(sources.contains("func `\(title)`"), "\(title)") }
        let suites = docs.matches(of: /\b[A-Z]\w+Tests\b/).map { String($0.0) }
        for suite in suites {
            #expect(sources.contains("struct \(suite) ") || sources.contains("class \(suite) "), "\(suite)")
        }
    }
}
