import Testing

@testable import Frames

@Test func `an affine map followed by its inverse leaves a point where it was`() throws {
    let map = Affine(scale: 2.5, angle: 0.7, origin: Point(30, -4))
    let back = try #require(map.inverse)
    let p = Point(12, 99)
    #expect((back(map(p)) - p).length < 1e-3)
}
