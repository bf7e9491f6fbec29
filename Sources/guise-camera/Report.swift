import SystemKit

/// Prints one line on standard error, after the program's name.
func report(_ message: String, _ level: LogLevel = .info) { log("guise-camera: \(message)", level) }
