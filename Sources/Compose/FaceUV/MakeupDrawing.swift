import Frames

/// Renders make-up as an SVG in chart units. The left side (x > 0) is drawn and mirrored.
struct MakeupDrawing {
    /// Parameters of one part of the make-up by their names, 0...1; empty if the part is absent.
    typealias Part = [String: Float]

    let colors: [Pigment: String]
    let lips, shadow, liner, lashes, brows, blush, contour, highlight: Part

    /// The shapes of all parts, from the skin outward.
    var shapes: String {
        [contourShapes, blushShapes, highlightShapes, browShapes, shadowShapes, linerShapes, lashShapes, lipShapes]
            .joined()
    }

    /// The complete SVG, with the gradient that `shapes` refers to.
    func svg(_ shapes: String) -> String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="-120 -126 240 316"><defs>\
        <linearGradient id="lid" gradientUnits="userSpaceOnUse" x1="0" y1="-6" x2="0" y2="-29">\
        <stop offset="0" stop-color="\(color(.shadow))"/>\
        <stop offset="0.45" stop-color="\(color(.shadow))" stop-opacity="0.75"/>\
        <stop offset="1" stop-color="\(color(.shadow))" stop-opacity="0"/></linearGradient></defs>\(shapes)</svg>
        """
    }

    /// An SVG that is white on bare skin: not on brows, lids, nostrils and lips.
    var bareSkin: String {
        let face = Self.closed(CanonicalFaceUV.outline.map { CanonicalFaceUV.points[$0] * 0.95 + Point(0, 1) })
        var holes = Self.path(
            Self.closed((48...59).map { (CanonicalFaceUV.points[$0] - Point(0, 110)) * 1.12 + Point(0, 110) }), "#000",
            1, blur: 0)
        holes += Self.withMirrorImage(
            Self.path(
                Self.closed([[20, -26], [40, -42], [62, -46], [90, -28], [88, -18], [60, -32], [30, -26]]), "#000", 1,
                blur: 0)
                + Self.path(
                    Self.closed([[24, 4], [42, -12], [58, -12], [76, 0], [60, 12], [42, 12]]), "#000", 1,
                    blur: 0)
                + Self.path(
                    Self.closed([[4, 64], [24, 58], [27, 72], [12, 78], [0, 79]]), "#000", 0.8,
                    blur: 0))
        let blur = Self.blur(3, around: face)
        return svg(
            """
            \(blur.filter)<mask id="m" maskUnits="userSpaceOnUse" x="-130" y="-130" width="260" height="330">\
            <g\(blur.reference)><path d="\(face.path)" fill="#fff"/>\(holes)</g></mask>\
            <rect x="-120" y="-126" width="240" height="316" fill="#fff" mask="url(#m)"/>
            """)
    }

    private func color(_ pigment: Pigment) -> String { colors[pigment] ?? pigment.defaultColor }

    // MARK: Parts

    private var lipShapes: String {
        guard let strength = lips["strength"], strength > 0 else { return "" }
        let gloss = lips["gloss"] ?? 0
        let outer = Self.closed((48...59).map { CanonicalFaceUV.points[$0] })
        // Soften the lips' own edge a little. A darker rim and a lighter middle make them look round.
        var shapes = Self.path(outer, color(.lips), strength * 0.9, blur: 0.8)
        let rim = Self.blur(1.2, around: outer, strokeWidth: 2.4)
        shapes += """
            \(rim.filter)<path d="\(outer.path)" fill="none" stroke="\(color(.lips))" stroke-width="2.4" \
            opacity="\(Self.text(strength * 0.35))"\(rim.reference)/>
            """
        let corners = Self.closed([[28, 101], [42, 109], [43, 111], [30, 122], [33, 111]])
        shapes += Self.withMirrorImage(Self.path(corners, "#200808", strength * 0.28, blur: 3))
        if gloss > 0 {
            shapes += Self.path(
                Self.closed([[-15, 120], [0, 118.6], [15, 120], [9, 123.6], [0, 124.4], [-9, 123.6]]),
                "#fff", gloss * 0.42, blur: 1.2)
            shapes += Self.withMirrorImage(
                Self.path(
                    Self.closed([[4, 99.4], [10, 97.6], [17, 99.6], [10, 101]]), "#fff", gloss * 0.32, blur: 0.8))
            shapes += Self.path(
                Self.closed([[-8, 120.6], [0, 119.8], [8, 120.6], [0, 122.2]]), "#fff", gloss * 0.4, blur: 0.8)
        }
        return shapes
    }

    private var shadowShapes: String {
        guard let strength = shadow["strength"], strength > 0 else { return "" }
        let reach = shadow["reach"] ?? 0
        // From the lid's edge towards the brow, and out beyond the corner.
        func up(_ x: Float, _ y: Float, _ far: Float) -> Point { Point(x, y + (far - y) * reach) }
        let out: Point = [76 + 12 * reach, -8 - 5 * reach]
        let area: [Point] = [
            [29, 3], [36, -4], [44, -8], [57, -8], [70, 0], out, up(72, -15, -27), up(58, -17, -31), up(44, -17, -29),
            up(33, -12, -21),
        ]
        var side = Self.path(Self.closed(area), "url(#lid)", strength, blur: 3)
        side += Self.path(Self.closed(area), color(.shadow), strength * 0.35, blur: 3)
        // The outer third and the crease are darker.
        let deep: [Point] = [
            [56, -9], [70, -1], out * 0.99, up(72, -14, -21), up(56, -15, -20), up(40, -14, -18), up(54, -12, -14),
        ]
        side += Self.path(Self.closed(deep), color(.crease), strength * 0.75, blur: 3)
        if let under = shadow["under"], under > 0 {
            side += Self.path(
                Self.closed([[34, 4], [44, 6.5], [58, 6.5], [71, 1], [77, -3], [72, 8], [58, 12], [44, 11]]),
                color(.crease), strength * under * 0.8, blur: 2)
        }
        if let shimmer = shadow["shimmer"], shimmer > 0 {
            side += Self.path(
                Self.closed([[43, -9], [51, -10.5], [57, -9.5], [54, -14], [46, -14]]), color(.shimmer),
                shimmer * 0.7, blur: 2)
            side += Self.path(
                Self.closed([[27, 1], [31, -2], [34, 1], [30, 5]]), color(.shimmer), shimmer * 0.6, blur: 1.2)
        }
        return Self.withMirrorImage(side)
    }

    private var linerShapes: String {
        guard let strength = liner["strength"], strength > 0 else { return "" }
        let (width, wing) = (0.9 + 2.6 * (liner["width"] ?? 0), liner["wing"] ?? 0)
        let tip: Point = [72 + 15 * wing, -1 - 12 * wing]
        let upper: [Point] = [
            [29.6, 2.8], [35.5, -3.4 - width * 0.3], [43, -7 - width * 0.6], [57, -7.4 - width],
            [66, -3.4 - width * 1.1], tip, [70.5, 1.4], [66, -2], [57, -6], [43, -6], [36, -2],
        ]
        var side = Self.path(Self.polygon(upper, sharp: 5), color(.liner), strength, blur: 0.3)
        side += Self.path(Self.polygon(upper, sharp: 5), color(.liner), strength * 0.4, blur: 1.2)
        if let lower = liner["lower"], lower > 0 {
            side += Self.path(
                Self.closed([[38, 4.2], [44, 5], [58, 5], [70.5, 0.4], [72, 0], [64, 5.4], [57, 7], [44, 6.6]]),
                color(.liner), strength * lower, blur: 0.8)
        }
        return Self.withMirrorImage(side)
    }

    private var lashShapes: String {
        guard let strength = lashes["strength"], strength > 0 else { return "" }
        // From the inner corner outward, the hairs get longer and lean further out and less up.
        let lid: [Point] = [[29.6, 2.4], [42.7, -6.8], [57.2, -6.8], [69.5, 0.6]]
        var d = ""
        for i in 0..<26 {
            let t = Float(i) / 25
            let root = Self.along(lid, t)
            let length = (2.5 + 6.5 * t) * (i % 3 == 1 ? 0.8 : 1)
            let tip = root + Point(-0.35 + 1.15 * t, -0.9 + 0.45 * t) * length
            let bend = root + Point(0.1 + 0.75 * t, -0.25) * (length * 0.55)
            d += "M\(Self.text(root))Q\(Self.text(bend)) \(Self.text(tip))"
        }
        let hairs = """
            <path d="\(d)" fill="none" stroke="\(color(.lashes))" stroke-width="0.75" stroke-linecap="round" \
            opacity="\(Self.text(strength * 0.85))"/>
            """
        let line = Self.path(
            Self.closed([[30, 3], [42.5, -7.4], [57.4, -7.6], [70, 0], [57, -5.6], [43, -5.6]]), color(.lashes),
            strength * 0.55, blur: 0.8)
        return Self.withMirrorImage(hairs + line)
    }

    private var browShapes: String {
        guard let strength = brows["strength"], strength > 0 else { return "" }
        let side = Self.path(
            Self.closed([
                [19, -34], [38, -41.5], [58, -44], [78, -38.5], [92, -24], [77, -34], [58, -37.5], [38, -34.5],
                [20, -27],
            ]),
            color(.brows), strength * 0.6, blur: 2)
        var d = ""
        let ridge: [Point] = [[20, -29.5], [38, -36.5], [58, -39], [77, -34.5], [90, -24.5]]
        for i in 0..<44 {
            let t = Float(i) / 43
            let root = Self.along(ridge, t) + Point(0, 2.4 * (1 - t) * (i % 2 == 0 ? 1 : -0.4))
            let lean = Point(0.25 + 1.1 * t, -1 + 1.1 * t) * (6.5 - 3 * t)
            d += "M\(Self.text(root))q\(Self.text(lean * 0.4)) \(Self.text(lean))"
        }
        let hairs = """
            <path d="\(d)" fill="none" stroke="\(color(.brows))" stroke-width="0.7" stroke-linecap="round" \
            opacity="\(Self.text(strength * 0.6))"/>
            """
        return Self.withMirrorImage(side + hairs)
    }

    private var blushShapes: String {
        guard let strength = blush["strength"], strength > 0 else { return "" }
        // From the apple of the cheek up towards the temple.
        let apple = Self.closed([[48, 56], [62, 44], [84, 32], [97, 30], [92, 46], [76, 62], [58, 68]])
        let core = Self.closed([[56, 56], [68, 47], [80, 43], [78, 54], [66, 62]])
        return Self.withMirrorImage(
            Self.path(apple, color(.blush), strength * 0.6, blur: 11)
                + Self.path(core, color(.blush), strength * 0.35, blur: 8))
    }

    private var contourShapes: String {
        guard let strength = contour["strength"], strength > 0 else { return "" }
        let hollow = Self.closed([[108, 50], [88, 70], [64, 88], [60, 94], [70, 96], [92, 86], [107, 72]])
        let temple = Self.closed([[112, -30], [98, -66], [72, -96], [74, -84], [90, -58], [102, -26]])
        let jaw = Self.closed([[100, 106], [84, 138], [54, 166], [50, 160], [76, 134], [92, 106]])
        let nose = Self.closed([[12, -18], [9, 6], [9, 34], [14, 50], [18, 48], [14, 30], [15, 4], [22, -20]])
        return Self.withMirrorImage(
            Self.path(hollow, color(.contour), strength * 0.7, blur: 8)
                + Self.path(temple, color(.contour), strength * 0.45, blur: 8)
                + Self.path(jaw, color(.contour), strength * 0.45, blur: 8)
                + Self.path(nose, color(.contour), strength * 0.45, blur: 3))
    }

    private var highlightShapes: String {
        guard let strength = highlight["strength"], strength > 0 else { return "" }
        let bone = Self.closed([[58, 30], [76, 22], [96, 10], [94, 20], [78, 31], [62, 38]])
        let brow = Self.closed([[56, -30], [72, -31], [84, -24], [72, -25]])
        let ridge = Self.closed([[-2.5, -8], [2.5, -8], [3, 40], [0, 54], [-3, 40]])
        let bow = Self.closed([[-7, 90], [0, 92], [7, 90], [0, 86]])
        return Self.withMirrorImage(
            Self.path(bone, color(.highlight), strength * 0.42, blur: 5)
                + Self.path(brow, color(.highlight), strength * 0.35, blur: 3))
            + Self.path(ridge, color(.highlight), strength * 0.35, blur: 3)
            + Self.path(bow, color(.highlight), strength * 0.3, blur: 2)
    }

    // MARK: SVG text

    /// A number with two decimals, independent of the locale.
    private static func text(_ value: Float) -> String {
        let hundredths = Int((value * 100).rounded())
        let (whole, rest) = (abs(hundredths) / 100, abs(hundredths) % 100)
        return "\(hundredths < 0 ? "-" : "")\(whole).\(rest < 10 ? "0" : "")\(rest)"
    }

    private static func text(_ point: Point) -> String { "\(text(point.x)) \(text(point.y))" }

    /// A filled outline, blurred by a Gaussian filter with this standard deviation in chart units; 0 blurs nothing.
    private static func path(_ outline: Outline, _ fill: String, _ opacity: Float, blur radius: Float) -> String {
        let blur = radius > 0 ? blur(radius, around: outline) : (filter: "", reference: "")
        return """
            \(blur.filter)<path d="\(outline.path)" fill="\(fill)" opacity="\(text(opacity))"\(blur.reference)/>
            """
    }

    /// A filter for one outline and the attribute that refers to it. Its region is no larger than the blur reaches,
    /// because its area is what drawing costs.
    private static func blur(
        _ radius: Float, around outline: Outline, strokeWidth: Float = 0
    ) -> (filter: String, reference: String) {
        let margin = radius * 3 + strokeWidth
        let (low, size) = (outline.low - margin, outline.high - outline.low + 2 * margin)
        // Equal filters may have the same name.
        let name = "b\(text(radius))_\(text(low.x))_\(text(low.y))_\(text(size.x))_\(text(size.y))"
        return (
            """
            <filter id="\(name)" filterUnits="userSpaceOnUse" x="\(text(low.x))" y="\(text(low.y))" \
            width="\(text(size.x))" height="\(text(size.y))" color-interpolation-filters="sRGB">\
            <feGaussianBlur stdDeviation="\(text(radius))"/></filter>
            """, " filter=\"url(#\(name))\""
        )
    }

    /// A group with the left side and its mirror image.
    private static func withMirrorImage(_ side: String) -> String {
        "<g>\(side)</g><g transform=\"scale(-1 1)\">\(side)</g>"
    }

    /// A smooth closed curve through the points (Catmull and Rom, 1974).
    private static func closed(_ points: [Point]) -> Outline { polygon(points, sharp: nil) }

    /// A smooth closed curve through the points, with one sharp corner.
    private static func polygon(_ points: [Point], sharp: Int?) -> Outline {
        let n = points.count
        var outline = Outline(path: "M\(text(points[0]))", low: points[0], high: points[0])
        for i in 0..<n {
            let (p, q) = (points[i], points[(i + 1) % n])
            let (before, after) = (points[(i + n - 1) % n], points[(i + 2) % n])
            let leave = i == sharp ? Point.zero : (q - before) / 6
            let arrive = (i + 1) % n == sharp ? Point.zero : (after - p) / 6
            outline.path += "C\(text(p + leave)) \(text(q - arrive)) \(text(q))"
            for point in [p + leave, q - arrive, q] {
                outline.low = pointwiseMin(outline.low, point)
                outline.high = pointwiseMax(outline.high, point)
            }
        }
        outline.path += "Z"
        return outline
    }

    /// A closed curve as path data, and a rectangle around it and its control points.
    private struct Outline {
        var path: String
        var low, high: Point
    }

    /// A point of a smooth open curve through the points; `t` goes from 0 to 1.
    private static func along(_ points: [Point], _ t: Float) -> Point {
        let at = t * Float(points.count - 1)
        let i = min(Int(at), points.count - 2)
        let s = at - Float(i)
        let (p, q) = (points[i], points[i + 1])
        let (before, after) = (points[max(0, i - 1)], points[min(points.count - 1, i + 2)])
        let bend = (before * 2 - p * 5 + q * 4 - after) * (s * s)
        let twist = (p * 3 - before - q * 3 + after) * (s * s * s)
        return (p * 2 + (q - before) * s + bend + twist) / 2
    }
}

/// A part of the make-up that has a colour.
enum Pigment: String, CaseIterable {
    case lips, shadow, crease, shimmer, liner, lashes, brows, blush, contour, highlight

    /// The colour if a palette doesn't have one.
    var defaultColor: String {
        switch self {
        case .lips: "#b4485a"
        case .shadow: "#8a6258"
        case .crease: "#54372f"
        case .shimmer: "#f0d8c0"
        case .liner, .lashes: "#1c1412"
        case .brows: "#3a2a22"
        case .blush: "#d8606a"
        case .contour: "#7a4a38"
        case .highlight: "#fff0e0"
        }
    }
}
