import Frames
import SystemKit

/// The `Problem` that `body` throws; nil if it throws none.
public func problem(_ body: () throws -> Void) -> Problem? {
    do {
        try body()
        return nil
    } catch { return error as? Problem }
}

extension Frame {
    /// All bytes, as an array to compare.
    public var array: [UInt8] {
        let bytes = self.bytes
        return bytes.indices.map { bytes[$0] }
    }
}
