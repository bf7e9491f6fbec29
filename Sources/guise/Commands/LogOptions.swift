import ArgumentParser
import SystemKit

/// The option of commands that may run long.
struct LogOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Log the programs that are started, requests and changes of state too.")
    var verbose = false

    func validate() { if verbose { logThreshold.store(LogLevel.debug.rawValue, ordering: .relaxed) } }
}
