extension Rasteriser {
    /// Pixels of a shadow's cell, as a power of two.
    fileprivate static let cellShift = 2

    /// Lets what was drawn darken the visible occluders beside it softly, as a brim does a forehead. Called after all
    /// is drawn, before `resolve`.
    /// - Parameters:
    ///   - offset: from what casts the shadow to where it falls, pixels.
    ///   - blur: pixels.
    ///   - strength: 0...1.
    public mutating func castShadow(offset: SIMD2<Float>, blur: Float, strength: Float) {
        let (width, height) = (region.width, region.height)
        let (across, down) = ((width + 3) >> Self.cellShift, (height + 3) >> Self.cellShift)
        let count = across * down
        guard count > 0, strength > 0 else { return }
        if shadow.count < count {
            shadow = Array(repeating: 0, count: count)
            scratch = Array(repeating: 0, count: count)
        }
        hasShadow = true
        // How much of each cell is covered, by its middle pixel, moved to where its shadow falls.
        let shift = (x: Int((offset.x / 4).rounded()), y: Int((offset.y / 4).rounded()))
        let radius = max(1, min(24, Int((blur / 4).rounded())))
        for y in 0..<down {
            let from = y - shift.y
            for x in 0..<across {
                let source = x - shift.x
                var covered: UInt8 = 0
                if from >= 0 && from < down && source >= 0 && source < across {
                    covered = coverage(min(source * 4 + 2, width - 1), min(from * 4 + 2, height - 1))
                }
                shadow[y * across + x] = covered
            }
        }
        for _ in 0..<2 {
            Self.blur(&shadow, into: &scratch, lines: down, length: across, step: 1, line: across, radius)
            Self.blur(&scratch, into: &shadow, lines: across, length: down, step: across, line: 1, radius)
        }
        // Only skin that is seen is darkened.
        let gain = Int(strength * 256)
        for y in 0..<down {
            for x in 0..<across {
                let at = min(y * 4 + 2, height - 1) * width + min(x * 4 + 2, width - 1)
                let isSkin = depth[at].x < .infinity
                shadow[y * across + x] = isSkin ? UInt8(Int(shadow[y * across + x]) * gain >> 8) : 0
            }
        }
    }

    private func coverage(_ x: Int, _ y: Int) -> UInt8 {
        let words = color[y * region.width + x] &>> 24
        return UInt8(truncatingIfNeeded: (words.x &+ words.y &+ words.z &+ words.w) >> 2)
    }

    /// The mean over 2 * radius + 1 neighbours along lines; the last ones go on beyond the ends.
    private static func blur(
        _ from: inout [UInt8], into to: inout [UInt8], lines: Int, length: Int, step: Int, line: Int, _ radius: Int
    ) {
        let divisor = 65_536 / (2 * radius + 1)
        for l in 0..<lines {
            let start = l * line
            var sum = Int(from[start]) * (radius + 1)
            for k in 1...radius { sum += Int(from[start + min(k, length - 1) * step]) }
            for i in 0..<length {
                to[start + i * step] = UInt8(truncatingIfNeeded: sum * divisor >> 16)
                sum += Int(from[start + min(i + radius + 1, length - 1) * step])
                sum -= Int(from[start + max(i - radius, 0) * step])
            }
        }
    }
}

/// The shadow at a pixel, mixed between the four nearest cells.
@inline(__always)
func darkness(_ cells: UnsafeBufferPointer<UInt8>, _ x: Int, _ y: Int, _ width: Int) -> UInt32 {
    let across = (width + 3) >> Rasteriser.cellShift
    let last = cells.count - 1
    let (u, v) = (max(0, x - 2), max(0, y - 2))
    let (i, j) = (u >> 2, v >> 2)
    let (fu, fv) = (UInt32(truncatingIfNeeded: u & 3), UInt32(truncatingIfNeeded: v & 3))
    let at = j * across + i
    let right = i + 1 < across ? 1 : 0
    let a = unsafe UInt32(cells[min(at, last)]) * (4 - fu) + UInt32(cells[min(at + right, last)]) * fu
    let b = unsafe UInt32(cells[min(at + across, last)]) * (4 - fu) + UInt32(cells[min(at + across + right, last)]) * fu
    return (a * (4 - fv) + b * fv) >> 4
}
