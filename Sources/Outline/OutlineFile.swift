import Synchronization
import SystemKit

/// The model's file, which is read when it is first needed, and again after a failure.
public final class OutlineFile: Sendable {
    /// How to get the model.
    public static let fix = "run `./setup outline` in Guise's folder, which downloads it (36 MB), and restart"

    /// The path of the file.
    public let path: String
    private let loaded = Mutex<OutlineModel?>(nil)

    /// Names a file, which may be missing.
    public init(path: String) { self.path = path }

    /// The model.
    /// - Throws: what `OutlineModel.init` throws.
    public func model() throws(Problem) -> OutlineModel {
        try loaded.withLock { loaded throws(Problem) -> OutlineModel in
            if let model = loaded { return model }
            let model = try OutlineModel(path: path)
            loaded = model
            return model
        }
    }
}
