import Foundation
import Testing

@testable import SystemKit

@Test(arguments: [
    (0, 2, 0, "0.00"), (-0.0, 0, 0, "-0"), (0.125, 2, 0, "0.12"), (2.5, 0, 0, "2"), (1.005, 2, 8, "    1.00"),
    (-12.3456, 3, 3, "-12.346"), (.infinity, 1, 6, "   inf"), (1e300, 0, 0, String(format: "%.0f", 1e300)),
])
func `a decimal number is as printf writes it`(value: Double, places: Int, width: Int, text: String) {
    #expect(decimal(value, places: places, width: width) == text)
}

@Test func `a column is filled with spaces, and nothing is cut`() {
    #expect(column("ab", width: 4) == "ab  " && column("añb", width: 4) == "añb ")
    #expect(column("abcde", width: 4) == "abcde")
}

@Test func `local time is this place's`() throws {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.dateFormat = "yyyy-MM-dd HH.mm"
    // Again where a minute has ended in between.
    let pairs = (0..<2).map { _ in (localTime(format: "%Y-%m-%d %H.%M"), format.string(from: Date())) }
    #expect(pairs.contains { $0.0 == $0.1 })
}
