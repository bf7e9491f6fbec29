import Foundation
import TestSupport
import Testing

@Suite struct SecurityDocsTests {
    /// The words of a file; titles are wrapped in the docs.
    private func words(of path: String) throws -> [Substring] {
        try String(contentsOfFile: path, encoding: .utf8).split(whereSeparator: \.isWhitespace)
    }

    @Test(arguments: ["docs/security.md", "docs/hiding.md"])
    func `every test and suite that a promise names exists`(path: String) throws {
        let docs = try words(of: Fixtures.inPackage(path)).joined(separator: " ")
        let folder = Fixtures.inPackage("Tests")
        let files = try #require(FileManager.default.enumerator(atPath: folder)).compactMap { $0 as? String }
            .filter { $0.hasSuffix("Tests.swift") }
        let sources = try files.map { try words(of: "\(folder)/\($0)").joined(separator: " ") }.joined(separator: " ")
        let titles = docs.matches(of: /"([a-z0-9][^"]{20,})"/).map { String($0.1) }
        for title in titles { #expect(sources.contains("func `\(title)`"), "\(title)") }
        let suites = docs.matches(of: /`([A-Z]\w+)`|\b([A-Z]\w+Tests)\b/).compactMap { $0.1 ?? $0.2 }
        for suite in suites {
            #expect(sources.contains("struct \(suite) ") || sources.contains("class \(suite) "), "\(suite)")
        }
        #expect(titles.count + suites.count >= 10)
        // Each row of the tables ends with what holds it.
        for row in try String(contentsOfFile: Fixtures.inPackage(path), encoding: .utf8).split(separator: "\n")
        where row.hasPrefix("| ") && !row.hasPrefix("| ---") && !row.hasSuffix("| Held by |") {
            let cell = row.split(separator: "|").last { $0 != " " } ?? ""
            #expect(cell.contains("\"") || cell.contains(/`[A-Z]\w+/), "\(row)")
        }
    }

    /// As many as fit on one page, with the signs between the cells of its tables.
    @Test func `what is promised fits on one page`() throws {
        #expect(try words(of: Fixtures.inPackage("docs/security.md")).count <= 900)
    }
}
