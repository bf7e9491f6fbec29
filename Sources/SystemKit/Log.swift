import CLinux
import Glibc
import Synchronization

/// Prints an error as one line on standard error, after the program's name.
public func logError(_ error: any Error) { log("guise: \(error)", .error) }

/// Prints a warning as one line on standard error, after the program's name.
public func logWarning(_ message: String) { log("guise: \(message)", .warning) }

/// The severity of a log line, as the journal counts it (sd-daemon(3)).
public enum LogLevel: Int { case error = 3, warning = 4, info = 6, debug = 7 }

/// The least severe level that is printed: `debug` after `--verbose`.
public let logThreshold = Atomic<Int>(LogLevel.info.rawValue)

/// Whether standard error is the journal, which reads a line's priority from its beginning. A terminal would show it.
private let isJournal = unsafe getenv("JOURNAL_STREAM") != nil

/// Prints one line on standard error, without the program's name.
public func log(_ line: @autoclosure () -> String, _ level: LogLevel = .info) {
    guard level.rawValue <= logThreshold.load(ordering: .relaxed) else { return }
    let prefix = isJournal ? "<\(level.rawValue)>" : ""
    let bytes = Array("\(prefix)\(terminalSafe(line()))\n".utf8)
    // A terminal that was stopped, or a reader that does not read, holds no thread: the line is lost.
    guard waitUntilReady(STDERR_FILENO, for: POLLOUT, milliseconds: 0) else { return }
    // A full disk or a closed terminal does not end the program.
    _ = unsafe bytes.withUnsafeBufferPointer { unsafe clinux_write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Writes text to standard output without buffering: readers of a pipe wait for it, and other programs write there too.
public func printNow(_ text: String) {
    print(text, terminator: "")
    fflush(nil)
}

/// Untrusted text on one line of at most 1000 characters, without the control characters that a terminal interprets.
public func terminalSafe(_ text: String) -> String {
    let maxLength = 1000
    let shown = text.unicodeScalars.prefix(maxLength).map { scalar in
        [.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
            ? "?" : Character(scalar)
    }
    return String(shown) + (text.unicodeScalars.count > maxLength ? "..." : "")
}
