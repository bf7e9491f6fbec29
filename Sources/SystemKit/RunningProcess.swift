/// A process, as messages name it: "firefox (1234)".
public struct RunningProcess: Equatable, Sendable, CustomStringConvertible {
    public let id: CInt
    /// The name of its program; "process" if the process has ended.
    public let name: String

    /// - Parameter processes: the mount point of procfs.
    public init(_ id: CInt, processes: String = "/proc") {
        self.id = id
        name = firstLine(ofFile: "\(processes)/\(id)/comm") ?? "process"
    }

    public var description: String { "\(name) (\(id))" }
}
