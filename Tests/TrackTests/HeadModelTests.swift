import Frames
import Testing

@testable import SystemKit
@testable import Track

/// A placement from known angles, the inverse of the fit.
private func placement(roll: Float, yaw: Float, pitch: Float, scale: Float, at origin: Point) -> HeadPlacement {
    let (cr, sr) = (cos(radians(roll)), sin(radians(roll)))
    let (cy, sy) = (cos(radians(yaw)), sin(radians(yaw)))
    let (cp, sp) = (cos(radians(pitch)), sin(radians(pitch)))
    // Rz Ry Rx with forward (0, 0, -1) going to +x for a positive yaw and to -y (up) for a positive pitch.
    let ry: [SIMD3<Float>] = [[cy, 0, -sy], [0, 1, 0], [sy, 0, cy]]
    let rx: [SIMD3<Float>] = [[1, 0, 0], [0, cp, sp], [0, -sp, cp]]
    func column(_ m: [SIMD3<Float>], _ i: Int) -> SIMD3<Float> { [m[0][i], m[1][i], m[2][i]] }
    let m = (0..<3).map { r in
        SIMD3<Float>((ry[r] * column(rx, 0)).sum(), (ry[r] * column(rx, 1)).sum(), (ry[r] * column(rx, 2)).sum())
    }
    return HeadPlacement(x: (m[0] * cr - m[1] * sr) * scale, y: (m[0] * sr + m[1] * cr) * scale, origin: origin)
}

@Test(
    arguments: [(0, 0, 0), (30, 0, 0), (0, 35, 0), (0, 0, 25), (-40, 20, -15), (75, -45, 10)] as [(Float, Float, Float)]
)
func `a head's placement is recovered with its angles`(roll: Float, yaw: Float, pitch: Float) {
    let put = placement(roll: roll, yaw: yaw, pitch: pitch, scale: 80, at: Point(400, 300))
    let found = HeadPlacement(fitting: put.landmarks)
    #expect(abs(found.pose.roll - roll) < 0.5, "roll \(found.pose.roll)")
    #expect(abs(found.pose.yaw - yaw) < 0.5, "yaw \(found.pose.yaw)")
    #expect(abs(found.pose.pitch - pitch) < 0.5, "pitch \(found.pose.pitch)")
    #expect((found.origin - put.origin).length < 0.5)
    #expect(abs(found.scale - 80) < 0.5)
}

@Test(arguments: [-40, 0, 40] as [Float])
func `a turned nose's tip lies ahead of its ridge, across the face`(yaw: Float) {
    let head = placement(roll: 30, yaw: yaw, pitch: 0, scale: 80, at: Point(400, 300))
    let landmarks = head.landmarks
    let face = Face(
        id: 1, kind: .human, state: .tracked, basis: .landmarks, box: Rect(x: 0, y: 0, width: 1, height: 1),
        landmarks: landmarks, head: head, confidence: 1)
    let off = face[.nose] - (landmarks[30] * 0.9 + landmarks[33] * 0.1)
    let across = Point(cos(radians(30)), sin(radians(30)))
    let wanted = across * (0.1 * 80 * sin(radians(yaw)))
    #expect((off - wanted).length < 0.05, "\(off) instead of \(wanted)")
}
