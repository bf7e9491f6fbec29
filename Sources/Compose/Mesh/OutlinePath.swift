import Frames

/// Outlines from SVG path data (SVG 1.1, 8.3): all commands, with curves flattened to short lines.
struct OutlinePath {
    /// Closed outlines, in the path's units.
    private(set) var outlines: [[SIMD2<Float>]] = []

    /// The outline that is being built.
    private var current: [SIMD2<Float>] = []
    /// The current point.
    private var currentPoint = SIMD2<Float>.zero
    /// The start of the current subpath.
    private var start = SIMD2<Float>.zero
    /// The last control point and the command of its curve, C or Q. S reflects only that of cubic curves, T only that
    /// of quadratic ones.
    private var control: (point: SIMD2<Float>, command: UInt8)?

    /// Flatness: the maximum distance of a line from its curve, in the path's units.
    private let tolerance: Float
    /// The maximum number of lines per curve.
    private static let maxSteps = 24
    /// The maximum number of points. More are a mistake or an attack: triangulation takes quadratic time.
    private static let maxPoints = 2000

    /// Parses path data; nil if it is invalid, has no outline, or has more than 2000 points.
    /// - Parameter tolerance: the largest distance of a line from its curve, in the path's units.
    init?(_ text: String, tolerance: Float) {
        self.tolerance = tolerance
        var reader = PathReader(text)
        var command: UInt8 = 0
        var points = 0
        while let next = reader.command(after: command) {
            command = next
            guard draw(command, &reader) else { return nil }
            points = current.count + outlines.reduce(0) { $0 + $1.count }
            guard points <= Self.maxPoints else { return nil }
        }
        guard reader.isAtEnd else { return nil }
        close()
        guard !outlines.isEmpty else { return nil }
    }

    /// Closes the current outline. One of fewer than three points is dropped.
    private mutating func close() {
        if current.count >= 3 {
            if let last = current.last, (last - current[0]).length < 1e-4 { current.removeLast() }
            outlines.append(current)
        }
        current = []
        currentPoint = start
    }

    private mutating func line(to p: SIMD2<Float>) {
        if current.isEmpty { current = [currentPoint] }
        current.append(p)
        currentPoint = p
    }

    /// Adds a cubic Bézier curve from the current point.
    private mutating func curve(_ c1: SIMD2<Float>, _ c2: SIMD2<Float>, _ end: SIMD2<Float>) {
        let from = currentPoint
        // The error of a flattened cubic is at most 3/4 of its second difference, over the square of the number of
        // lines.
        let bend = max((from - c1 * 2 + c2).length, (c1 - c2 * 2 + end).length)
        let steps = max(1, min(Self.maxSteps, Int((0.75 * bend / tolerance).squareRoot().rounded(.up))))
        for i in 1...steps {
            let t = Float(i) / Float(steps)
            let s = 1 - t
            line(to: from * (s * s * s) + c1 * (3 * s * s * t) + c2 * (3 * s * t * t) + end * (t * t * t))
        }
    }

    /// Executes one command; false if its numbers are missing.
    private mutating func draw(_ command: UInt8, _ reader: inout PathReader) -> Bool {
        let isRelative = command >= UInt8(ascii: "a")
        let base = isRelative ? currentPoint : .zero
        var newControl: (point: SIMD2<Float>, command: UInt8)?
        switch command & 0xdf {
        case UInt8(ascii: "M"):
            guard let p = reader.point() else { return false }
            close()
            currentPoint = base + p
            start = currentPoint
        case UInt8(ascii: "L"):
            guard let p = reader.point() else { return false }
            line(to: base + p)
        case UInt8(ascii: "H"):
            guard let x = reader.number() else { return false }
            line(to: [base.x + x, currentPoint.y])
        case UInt8(ascii: "V"):
            guard let y = reader.number() else { return false }
            line(to: [currentPoint.x, base.y + y])
        case UInt8(ascii: "C"):
            guard let a = reader.point(), let b = reader.point(), let p = reader.point() else { return false }
            curve(base + a, base + b, base + p)
            newControl = (base + b, UInt8(ascii: "C"))
        case UInt8(ascii: "S"):
            guard let b = reader.point(), let p = reader.point() else { return false }
            curve(reflectedControl(of: UInt8(ascii: "C")), base + b, base + p)
            newControl = (base + b, UInt8(ascii: "C"))
        case UInt8(ascii: "Q"), UInt8(ascii: "T"):
            let isMirrored = command & 0xdf == UInt8(ascii: "T")
            let reflected = reflectedControl(of: UInt8(ascii: "Q"))
            guard let q = isMirrored ? reflected : reader.point().map({ base + $0 }), let p = reader.point()
            else { return false }
            let end = base + p
            curve(currentPoint + (q - currentPoint) * (2 / 3), end + (q - end) * (2 / 3), end)
            newControl = (q, UInt8(ascii: "Q"))
        case UInt8(ascii: "A"):
            guard let r = reader.point(), let angle = reader.number(), let isLarge = reader.flag(),
                let isClockwise = reader.flag(), let p = reader.point()
            else { return false }
            arc(r, angle, isLarge: isLarge, isClockwise: isClockwise, to: base + p)
        case UInt8(ascii: "Z"): close()
        default: return false
        }
        control = newControl
        return true
    }

    /// The last control point, reflected at the current point; the current point if the last command was another.
    private func reflectedControl(of command: UInt8) -> SIMD2<Float> {
        guard let control, control.command == command else { return currentPoint }
        return currentPoint * 2 - control.point
    }

    /// Adds an elliptical arc; conversion from end points to centre by SVG 1.1, F.6.5.
    private mutating func arc(
        _ radii: SIMD2<Float>, _ angle: Float, isLarge: Bool, isClockwise: Bool, to end: SIMD2<Float>
    ) {
        var (rx, ry) = (abs(radii.x), abs(radii.y))
        guard rx > 1e-6, ry > 1e-6, (end - currentPoint).length > 1e-6 else { return line(to: end) }
        let (c, s) = (cos(radians(angle)), sin(radians(angle)))
        let half = (currentPoint - end) / 2
        let p = SIMD2(c * half.x + s * half.y, c * half.y - s * half.x)
        let radiiScale = (p.x / rx) * (p.x / rx) + (p.y / ry) * (p.y / ry)
        if radiiScale > 1 { (rx, ry) = (rx * radiiScale.squareRoot(), ry * radiiScale.squareRoot()) }
        let top = max(0, rx * rx * ry * ry - rx * rx * p.y * p.y - ry * ry * p.x * p.x)
        let factor =
            (top / (rx * rx * p.y * p.y + ry * ry * p.x * p.x)).squareRoot() * (isLarge == isClockwise ? -1 : 1)
        let q = SIMD2(factor * rx * p.y / ry, -factor * ry * p.x / rx)
        let middle = (currentPoint + end) / 2 + [c * q.x - s * q.y, s * q.x + c * q.y]
        let from = atan2((p.y - q.y) / ry, (p.x - q.x) / rx)
        var sweep = atan2((-p.y - q.y) / ry, (-p.x - q.x) / rx) - from
        if isClockwise && sweep < 0 { sweep += 2 * .pi }
        if !isClockwise && sweep > 0 { sweep -= 2 * .pi }
        guard sweep.isFinite, middle.x.isFinite, middle.y.isFinite else { return line(to: end) }
        // The sagitta of a chord is r (1 - cos(angle / 2)), which is about r angle^2 / 8.
        let angle = (8 * tolerance / max(rx, ry)).squareRoot()
        let steps = max(2, min(Self.maxSteps * 2, Int((abs(sweep) / angle).rounded(.up))))
        for i in 1...steps {
            let turn = from + sweep * Float(i) / Float(steps)
            let (x, y) = (rx * cos(turn), ry * sin(turn))
            line(to: middle + [c * x - s * y, s * x + c * y])
        }
    }
}

/// Splits path data into commands and numbers.
private struct PathReader {
    private let bytes: [UInt8]
    private var at = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    var isAtEnd: Bool {
        mutating get {
            skip()
            return at == bytes.count
        }
    }

    private mutating func skip() {
        while at < bytes.count, bytes[at] == 0x20 || bytes[at] == 0x2c || (9...13).contains(bytes[at]) { at += 1 }
    }

    /// The next command; nil at the end or if there is none. If numbers follow directly, the last command is repeated
    /// (a move as a line).
    mutating func command(after last: UInt8) -> UInt8? {
        skip()
        guard at < bytes.count else { return nil }
        let byte = bytes[at]
        if (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z") {
            at += 1
            return byte
        }
        switch last {
        case 0, UInt8(ascii: "Z"), UInt8(ascii: "z"): return nil
        case UInt8(ascii: "M"): return UInt8(ascii: "L")
        case UInt8(ascii: "m"): return UInt8(ascii: "l")
        default: return last
        }
    }

    mutating func point() -> SIMD2<Float>? {
        guard let x = number(), let y = number() else { return nil }
        return [x, y]
    }

    mutating func flag() -> Bool? {
        skip()
        guard at < bytes.count, bytes[at] == UInt8(ascii: "0") || bytes[at] == UInt8(ascii: "1") else { return nil }
        at += 1
        return bytes[at - 1] == UInt8(ascii: "1")
    }

    mutating func number() -> Float? {
        skip()
        let first = at
        func isDigit() -> Bool { at < bytes.count && (48...57).contains(bytes[at]) }
        if at < bytes.count, bytes[at] == UInt8(ascii: "-") || bytes[at] == UInt8(ascii: "+") { at += 1 }
        while isDigit() { at += 1 }
        if at < bytes.count, bytes[at] == UInt8(ascii: ".") { at += 1 }
        while isDigit() { at += 1 }
        if at < bytes.count, bytes[at] | 0x20 == UInt8(ascii: "e") {
            at += 1
            if at < bytes.count, bytes[at] == UInt8(ascii: "-") || bytes[at] == UInt8(ascii: "+") { at += 1 }
            while isDigit() { at += 1 }
        }
        guard let value = Float(String(decoding: bytes[first..<at], as: UTF8.self)), abs(value) < 1e6 else {
            return nil
        }
        return value
    }
}
