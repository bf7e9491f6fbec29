import Control
import Engine

/// An event for subscribers.
enum Event: Encodable {
    case masks([WornMask])
    case looks(LooksReply)
    case history(HistoryNames)
    case faces(Int, predicted: Int)
    /// Somebody started or stopped watching. `cameraInUse` is nil without a virtual camera.
    case viewers(watched: Bool, cameraInUse: Bool?)
    case camera(LoopStatus.Camera, source: String)
    case error(message: String)
    case metrics(MetricsReply)

    var topic: Topic {
        switch self {
        case .masks: .masks
        case .looks: .looks
        case .history: .history
        case .faces: .faces
        case .viewers: .viewers
        case .camera: .camera
        case .error: .errors
        case .metrics: .metrics
        }
    }

    private enum Key: String, CodingKey {
        case event, masks, faces, predicted, watched, cameraInUse, camera, source, message
    }

    func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        if case .error = self {
            try object.encode("error", forKey: .event)
        } else {
            try object.encode(topic.rawValue, forKey: .event)
        }
        switch self {
        case .masks(let masks): try object.encode(masks, forKey: .masks)
        case .looks(let looks): try looks.encode(to: encoder)
        case .history(let names): try names.encode(to: encoder)
        case .faces(let faces, let predicted):
            try object.encode(faces, forKey: .faces)
            try object.encode(predicted, forKey: .predicted)
        case .viewers(let watched, let cameraInUse):
            try object.encode(watched, forKey: .watched)
            try object.encode(cameraInUse, forKey: .cameraInUse)
        case .camera(let camera, let source):
            try object.encode(camera.rawValue, forKey: .camera)
            try object.encode(source, forKey: .source)
        case .error(let message): try object.encode(message, forKey: .message)
        case .metrics(let metrics): try metrics.encode(to: encoder)
        }
    }
}
