import Frames
import JSON
import Track

/// A facial expression or head position that triggers can test. Right and left are the subject's own.
public enum FacialExpression: String, CaseIterable, Sendable {
    case mouthOpen = "mouth open"
    case smile
    case rightBlink = "blink right"
    case leftBlink = "blink left"
    case blink
    case browsUp = "brows up"
    case headTilted = "head tilted"
    case faceNear = "face near"
    case faceLost = "face lost"
}

/// A condition for showing a layer or running its animation: `"when": "mouth open"`, or `"when": {"is": "mouth open",
/// "then": "start"}`; `"when": {"object": "card"}` for a thing that the user has taught.
struct Trigger: Sendable {
    /// What happens while the expression is detected.
    enum Action: String, CaseIterable, Sendable {
        /// Show the layer during the expression.
        case show
        /// Hide the layer during the expression.
        case hide
        /// Start the layer's animation each time the expression begins. Before, it shows its first frame.
        case start
        /// Run the layer's animation until the expression begins, and start it again afterwards.
        case stop
    }

    /// What is to be seen.
    enum Condition: Equatable, Sendable {
        case expression(FacialExpression)
        /// A taught thing, by its name.
        case object(String)
    }

    let condition: Condition
    let then: Action

    /// The name of the thing that is to be seen; nil if it is an expression.
    var object: String? {
        if case .object(let name) = condition { name } else { nil }
    }

    /// Reads the key `when`.
    /// - Returns: nil if the key is absent.
    /// - Throws: `Problem` with file and line for an error in the description.
    init?(_ fields: inout Fields) throws {
        guard let json = fields.json("when") else { return nil }
        guard case .object = json.value else {
            (condition, then) = (.expression(try fields.oneOf("when", FacialExpression.self)), .show)
            return
        }
        var when = try fields.object("when")
        if when.has("object") {
            condition = .object(try when.string("object"))
        } else {
            condition = .expression(try when.oneOf("is", FacialExpression.self))
        }
        then = try when.choice("then", default: .show)
        try when.finish()
    }
}

/// The faces that a layer is drawn on: `"on": "every"` (the default) or `"largest"`; `{"nth": 2}`, by order of arrival;
/// `{"chance": 0.5}`, drawn once per person; `{"draw": 1, "of": 4}`, for layers that share the people between them:
/// each person draws one of four numbers and keeps it.
enum FaceSelector: Equatable, Sendable {
    case every
    case largest
    /// By order of arrival among those in the picture, from 1.
    case nth(Int)
    /// People whose random number, 0..<1, is in the range.
    case drawn(Range<Float>)

    /// Reads the key `on`.
    /// - Throws: `Problem` with file and line for an error in the description.
    init(_ fields: inout Fields) throws {
        guard let json = fields.json("on") else {
            self = .every
            return
        }
        guard case .object = json.value else {
            switch try fields.string("on") {
            case "every": self = .every
            case "largest": self = .largest
            case let other:
                let hint = nearest(to: other, among: ["every", "largest"]).map { "did you mean '\($0)'? " } ?? ""
                throw fields.wrong(
                    "on", "'\(other)'",
                    allowed: hint + #"every, largest, {"nth": N}, {"chance": 0...1}, {"draw": N, "of": M}"#)
            }
            return
        }
        var on = try fields.object("on")
        if on.has("nth") {
            self = .nth(try on.integer("nth", in: 1...8))
        } else if on.has("chance") {
            self = .drawn(0..<Float(try on.number("chance", in: 0...1)))
        } else {
            let of = try on.integer("of", in: 2...64)
            let draw = try on.integer("draw", in: 1...of)
            self = .drawn(Float(draw - 1) / Float(of)..<Float(draw) / Float(of))
        }
        try on.finish()
    }
}

/// A two-level switch with a gap between its thresholds, so that it doesn't flicker.
struct Hysteresis: Sendable {
    private(set) var isOn = false

    /// Updates the switch.
    /// - Parameters:
    ///   - on: threshold at and above which it turns on.
    ///   - off: threshold at and below which it turns off; less than `on`.
    mutating func update(_ value: Float, on: Float, off: Float) {
        if value >= on { isOn = true } else if value <= off { isOn = false }
    }
}

/// A person's neutral value: a slow mean that starts from an average person's value.
struct NeutralEstimate: Sendable {
    private(set) var value: Float
    /// Seconds of samples so far.
    private var age: Float = 0

    /// Weight of the average person's value, in seconds of the person's own samples.
    private static let prior: Float = 1
    /// The longest averaging time in seconds; older samples fade.
    private static let memory: Float = 8

    init(_ value: Float) { self.value = value }

    mutating func update(_ sample: Float, elapsed: Float) {
        age += elapsed
        value += (sample - value) * min(1, elapsed / min(age + Self.prior, Self.memory))
    }
}

/// Detects facial expressions, measured in the head's own frame; lengths are in eye distances.
struct ExpressionState: Sendable {
    private var switches: [9 of Hysteresis] = .init(repeating: Hysteresis())
    // Start values from `HeadPlacement.meanHead`, whose mouth is a little open, unlike most people's.
    private var mouth = NeutralEstimate(0.05)
    private var smile = NeutralEstimate(0.83)
    private var rightEye = NeutralEstimate(0.29)
    private var leftEye = NeutralEstimate(0.29)
    private var brows = NeutralEstimate(0.39)

    /// Whether an expression is detected.
    subscript(expression: FacialExpression) -> Bool { switches[expression.index].isOn }

    private mutating func set(_ what: FacialExpression, _ value: Float, on: Float, off: Float) {
        switches[what.index].update(value, on: on, off: off)
    }

    /// Updates all expressions with a frame.
    /// - Parameters:
    ///   - elapsed: seconds since the face's last frame; 0 in the first.
    ///   - height: of the canvas, in pixels.
    mutating func update(_ face: borrowing Face, elapsed: Float, height: Float) {
        set(.faceLost, face.state == .predicted ? 1 : 0, on: 1, off: 0)
        // A predicted face keeps its expressions.
        guard face.state == .tracked else { return }
        let measures = FaceMeasurements(face)
        let elapsed = min(elapsed, 0.2)
        // A smile that shows teeth parts the lips by a fifth of the eye distance; a word or a yawn parts them further.
        set(.mouthOpen, measures.mouth - mouth.value, on: 0.25, off: 0.17)
        set(.smile, measures.smile / smile.value, on: 1.14, off: 1.08)
        set(.browsUp, measures.brows - brows.value, on: 0.07, off: 0.04)
        set(.headTilted, abs(face.pose.roll), on: 18, off: 13)
        set(.faceNear, face.head.scale / height, on: 0.25, off: 0.22)
        // A yawn or a turn narrows the eyes. Only an opening far below the person's neutral one is a blink.
        set(.rightBlink, 1 - measures.rightEye / rightEye.value, on: 0.42, off: 0.28)
        set(.leftBlink, 1 - measures.leftEye / leftEye.value, on: 0.42, off: 0.28)
        set(.blink, self[.rightBlink] && self[.leftBlink] ? 1 : 0, on: 1, off: 0)
        // A turned head doesn't show neutral values.
        guard abs(face.pose.yaw) < 25, abs(face.pose.pitch) < 25 else { return }
        mouth.update(measures.mouth, elapsed: weight(.mouthOpen, elapsed))
        smile.update(measures.smile, elapsed: weight(.smile, elapsed))
        brows.update(measures.brows, elapsed: weight(.browsUp, elapsed))
        rightEye.update(measures.rightEye, elapsed: weight(.rightBlink, elapsed))
        leftEye.update(measures.leftEye, elapsed: weight(.leftBlink, elapsed))
    }

    /// The time to add to a neutral estimate. It is shorter during the expression, but not 0: narrow eyes aren't an
    /// endless blink.
    private func weight(_ expression: FacialExpression, _ elapsed: Float) -> Float {
        self[expression] ? elapsed / 4 : elapsed
    }

    /// Measurements of a face, in eye distances.
    struct FaceMeasurements {
        /// Distance between the inner lips.
        let mouth: Float
        /// Width of the mouth from corner to corner.
        let smile: Float
        /// Each eye's opening over its width (Soukupova and Cech, "Eye Blink Detection", 2016).
        let (rightEye, leftEye): (Float, Float)
        /// Distance from the eyes' corners up to the brows.
        let brows: Float

        init(_ face: borrowing Face) {
            let p = face.landmarks
            let head = face.head
            // The face's axes as projected in the picture. Lengths along them are foreshortened by the same factor.
            let (right, down) = (Point(head.x.x, head.y.x), Point(head.x.y, head.y.y))
            let (rightSize, downSize) = (max((right * right).sum(), 1e-6), max((down * down).sum(), 1e-6))
            func across(_ a: Point, _ b: Point) -> Float { ((b - a) * right).sum() / rightSize }
            func below(_ a: Point, _ b: Point) -> Float { ((b - a) * down).sum() / downSize }
            mouth = (below(p[61], p[67]) + below(p[62], p[66]) + below(p[63], p[65])) / 3
            smile = across(p[48], p[54])
            rightEye = (below(p[37], p[41]) + below(p[38], p[40])) / 2 / max(across(p[36], p[39]), 0.05)
            leftEye = (below(p[43], p[47]) + below(p[44], p[46])) / 2 / max(across(p[42], p[45]), 0.05)
            let eyes = (p[36] + p[39] + p[42] + p[45]) / 4
            brows = below((p[18] + p[19] + p[20] + p[23] + p[24] + p[25]) / 6, eyes)
        }
    }
}

extension FacialExpression {
    /// Index in `ExpressionState.switches`.
    fileprivate var index: Int {
        switch self {
        case .mouthOpen: 0
        case .smile: 1
        case .rightBlink: 2
        case .leftBlink: 3
        case .blink: 4
        case .browsUp: 5
        case .headTilted: 6
        case .faceNear: 7
        case .faceLost: 8
        }
    }
}
