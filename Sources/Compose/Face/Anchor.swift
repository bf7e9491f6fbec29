import Frames
import Track

/// Named points on a face that a mask's pins can refer to. Right and left are the subject's own.
public enum Anchor: String, CaseIterable, Sendable {
    case rightEye = "right_eye"
    case leftEye = "left_eye"
    case eyes
    case rightBrow = "brow_right"
    case leftBrow = "brow_left"
    case noseBridge = "nose_bridge"
    case nose
    case noseBase = "nose_base"
    case mouth
    case rightMouth = "mouth_right"
    case leftMouth = "mouth_left"
    case upperLip = "upper_lip"
    case lowerLip = "lower_lip"
    case chin
    case rightJaw = "jaw_right"
    case leftJaw = "jaw_left"
    case rightEar = "ear_right"
    case leftEar = "ear_left"
    case rightCheek = "cheek_right"
    case leftCheek = "cheek_left"
    case forehead
    case hat
    case crown
    case rightTemple = "temple_right"
    case leftTemple = "temple_left"

    /// The anchor's position on a face, in the face's own pixel coordinates.
    ///
    /// Points that aren't among the 68 landmarks are projected from head space, so they turn with the head. Their
    /// head-space positions are those of a mean adult: the hairline is 1.1 eye distances above the eyes, the top of the
    /// skull 1.85.
    public func position(on face: borrowing Face) -> Point {
        let p = face.landmarks
        switch self {
        case .rightEye: return face[.rightEye]
        case .leftEye: return face[.leftEye]
        case .eyes: return (face[.rightEye] + face[.leftEye]) / 2
        case .rightBrow: return p[19]
        case .leftBrow: return p[24]
        case .noseBridge: return p[27]
        case .nose: return p[30]
        case .noseBase: return p[33]
        case .mouth: return face[.mouth]
        case .rightMouth: return p[48]
        case .leftMouth: return p[54]
        case .upperLip: return p[51]
        case .lowerLip: return p[57]
        case .chin: return p[8]
        case .rightJaw: return p[4]
        case .leftJaw: return p[12]
        case .rightEar: return p[0]
        case .leftEar: return p[16]
        case .rightCheek: return (face[.rightEye] + p[0] + p[48]) / 3
        case .leftCheek: return (face[.leftEye] + p[16] + p[54]) / 3
        case .forehead: return face.head([0, -1.1, -0.1])
        case .hat: return hat(face.head)
        case .crown: return face.head([0, -1.85, 0.6])
        case .rightTemple: return face.head([-1.15, -0.35, 0.4])
        case .leftTemple: return face.head([1.15, -0.35, 0.4])
        }
    }

    /// The forehead anchor, shifted along the face's horizontal axis by as much as the skull behind it moves when the
    /// head turns. Hats and ears sit on the skull, 0.6 eye distances behind the hairline. Nothing shifts vertically, so
    /// nodding doesn't lift them off the brow.
    private func hat(_ head: HeadPlacement) -> Point {
        let forehead = head([0, -1.1, -0.1])
        let back = Point(head.x.z, head.y.z) * 0.6
        let across = Point(head.x.x, head.y.x)
        let length = max(across.length, 1e-6)
        let along = (back.x * across.x + back.y * across.y) / length
        return forehead + across / length * along
    }
}
