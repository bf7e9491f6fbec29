import Frames
import JPEG
import SystemKit
import Track

/// The drawing of a tracked face on the preview.
enum FaceOverlay {
    /// A line color: full-range BT.601.
    private struct LineColor {
        let (y, u, v): (UInt8, UInt8, UInt8)
        /// Bright green, visible on skin and on most masks, for a detected face.
        static let detected = LineColor(y: 190, u: 70, v: 40)
        /// Amber, for a predicted face.
        static let predicted = LineColor(y: 190, u: 30, v: 175)
    }

    /// Bitmaps of the digits: five rows of three bits each, the highest bit on the left.
    private static let digits: [[5 of UInt8]] = [
        [7, 5, 5, 5, 7], [2, 6, 2, 2, 7], [7, 1, 7, 4, 7], [7, 1, 3, 1, 7], [5, 5, 7, 1, 1], [7, 4, 7, 1, 7],
        [7, 4, 7, 5, 7], [7, 1, 1, 2, 2], [7, 5, 7, 5, 7], [7, 5, 7, 1, 7],
    ]
    /// The largest absolute coordinate in pixels that is drawn. It keeps the conversion to integers from overflowing.
    private static let far: Float = 1e5

    /// Draws the bounding box with the face's number at its top left corner, and the landmarks.
    /// - Parameters:
    ///   - scale: the factor from the pixels of the face's positions to the frame's.
    ///   - isMirrored: whether the frame is shown mirrored. The number is then at the top right, mirrored.
    /// - Precondition: the frame is I420.
    static func draw(_ face: borrowing Face, on frame: inout Frame, scale: Float, isMirrored: Bool) {
        let color = face.state == .predicted ? LineColor.predicted : LineColor.detected
        let box = face.box
        // One pixel of line width for every 320 pixels of the picture's width.
        let thick = max(1, frame.layout.width / 320)
        if let corner = Self.pixel(Point(box.x, box.y) * scale),
            let end = Self.pixel(Point(box.x + box.width, box.y + box.height) * scale)
        {
            let (width, height) = (end.x - corner.x, end.y - corner.y)
            Self.fill(&frame, corner.x, corner.y, width, thick, color)
            Self.fill(&frame, corner.x, end.y - thick, width, thick, color)
            Self.fill(&frame, corner.x, corner.y, thick, height, color)
            Self.fill(&frame, end.x - thick, corner.y, thick, height, color)
            var x = isMirrored ? end.x - thick : corner.x
            let step = isMirrored ? -thick : thick
            for digit in String(max(0, face.id)).utf8 {
                let rows = Self.digits[Int(digit) - Int(UInt8(ascii: "0"))]
                for y in 0..<5 {
                    for column in 0..<3 where rows[y] & (4 >> column) != 0 {
                        Self.fill(
                            &frame, x + column * step, corner.y - (7 - y) * thick, thick, thick, color)
                    }
                }
                x += 4 * step
            }
        }
        for i in 0..<68 {
            guard let pixel = Self.pixel(face.landmarks[i] * scale) else { continue }
            Self.fill(&frame, pixel.x - thick / 2, pixel.y - thick / 2, thick, thick, color)
        }
    }

    private static func pixel(_ point: Point) -> (x: Int, y: Int)? {
        guard abs(point.x) < far, abs(point.y) < far else { return nil }
        return (Int(point.x.rounded()), Int(point.y.rounded()))
    }

    /// Fills a rectangle, clipped to the frame.
    private static func fill(_ frame: inout Frame, _ x: Int, _ y: Int, _ width: Int, _ height: Int, _ color: LineColor)
    {
        let layout = frame.layout
        let left = max(0, x)
        let top = max(0, y)
        let right = min(layout.width, x + width)
        let bottom = min(layout.height, y + height)
        guard left < right, top < bottom else { return }
        var bytes = frame.mutableBytes
        for (index, value) in [(0, color.y), (1, color.u), (2, color.v)] {
            let plane = layout.planes[index]
            let shift = index == 0 ? 0 : 1
            for row in top >> shift...(bottom - 1) >> shift {
                for column in left >> shift...(right - 1) >> shift {
                    bytes[plane.offset + row * plane.stride + column] = value
                }
            }
        }
    }
}

extension JPEGEncoder {
    /// Encodes a frame with overlays of faces, which are drawn on a copy.
    /// - Parameters:
    ///   - faces: in the frame's pixels.
    ///   - isMirrored: whether the picture is shown mirrored, so that the overlays' numbers must be mirrored.
    /// - Returns: the JPEG; nil if the encoder failed.
    mutating func encode(_ view: borrowing FrameView, faces: [Face], isMirrored: Bool) -> [UInt8]? {
        encode(view) { copy, scale in
            for face in faces { FaceOverlay.draw(face, on: &copy, scale: scale, isMirrored: isMirrored) }
        }
    }
}
