import Foundation
import Testing

/// Tables of the documentation that are made from the program, so that whoever changes one need not change the other.
public enum Reference {
    /// Whether the tables are written instead of compared: `make reference`.
    private static let isWritten = ProcessInfo.processInfo.environment["GUISE_WRITE_REFERENCE"] == "1"

    /// Compares, or writes, the table below a heading.
    /// - Parameters:
    ///   - path: a file in Markdown, relative to the package.
    ///   - heading: a heading of the second level, without its signs. The table is the section's first one
    ///     with the first title.
    ///   - titles: the titles of the columns.
    ///   - rows: the cells of each row, in Markdown.
    public static func checkTable(in path: String, below heading: String, titles: [String], rows: [[String]]) throws {
        let file = Fixtures.inPackage(path)
        var lines = try String(contentsOfFile: file, encoding: .utf8).components(separatedBy: "\n")
        let title = try #require(lines.firstIndex(of: "## \(heading)"), "\(path) has no section '\(heading)'")
        let start = try #require(
            lines[title...].firstIndex { $0.hasPrefix("| \(titles[0]) |") },
            "\(path) has no table '\(titles[0])' below '\(heading)'")
        let end = lines[start...].firstIndex { !$0.hasPrefix("|") } ?? lines.endIndex
        let table = ([titles, titles.map { _ in "---" }] + rows).map { cells in
            "|" + cells.map { $0.isEmpty ? " |" : " \($0) |" }.joined()
        }
        guard isWritten else {
            for line in Set(lines[start..<end]).symmetricDifference(table).sorted() {
                Issue.record("\(path) differs from the program; run `make reference`: \(line)")
            }
            #expect(Array(lines[start..<end]) == table, "the order of rows differs; run `make reference`")
            return
        }
        lines.replaceSubrange(start..<end, with: table)
        try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
    }
}
