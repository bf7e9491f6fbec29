import Testing

@testable import Compose

@Suite struct PlaceholderImageTests {
    @Test func `a long text is cut to the lines, and dots show that there is more`() {
        let lines = PlaceholderImage.lines(of: Array(repeating: "ab", count: 200).joined(separator: " "))
        #expect(lines.count == PlaceholderImage.maxLines)
        #expect(lines.allSatisfy { $0.count <= PlaceholderImage.lineLength })
        #expect(lines.last?.hasSuffix(" ...") == true)
        #expect(PlaceholderImage.lines(of: "one two") == ["one two"])
    }
}
