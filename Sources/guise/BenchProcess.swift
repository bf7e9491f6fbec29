import Glibc
import SystemKit

/// The time from the start of the process to the first masked frame, with the steps on the way.
struct BenchStart {
    /// The start of the process, in nanoseconds of the boot-time clock; nil if unknown.
    private let began: UInt64?
    private var notes: [(what: String, at: UInt64)] = []
    private var isOver = false

    init() {
        // Field 22 of /proc/self/stat (proc(5)), in ticks. The second field, in parentheses, may contain spaces.
        let fields = procText("stat").split(separator: ")").last?.split(separator: " ") ?? []
        let ticks = fields.count > 19 ? UInt64(fields[19]) : nil
        began = ticks.map { $0 * (1_000_000_000 / UInt64(max(1, sysconf(CInt(_SC_CLK_TCK))))) }
    }

    mutating func note(_ what: String) {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        notes.append((what, UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)))
    }

    /// Notes a step the first time that it is called; later calls are ignored.
    mutating func end(_ what: String) {
        guard !isOver else { return }
        isOver = true
        note(what)
    }

    func report() {
        guard let began else { return }
        let words = notes.map { "\($0.what) \(decimal(Double($0.at &- began) / 1e9, places: 2)) s" }
        print("since the start of the process: " + words.joined(separator: ", ") + (isOver ? "" : ", no face found"))
    }
}

/// The current resident memory in bytes.
func residentBytes() -> Int {
    // Field 2 of /proc/self/statm (proc(5)), in pages.
    let pages = procText("statm").split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * sysconf(CInt(_SC_PAGESIZE))
}

/// The current and peak resident memory, in MB (10^6 bytes).
func residentMemory() -> String {
    let lines = procText("status").split(separator: "\n")
    func megabytes(_ key: String) -> String {
        let words = lines.first { $0.hasPrefix(key) }?.split(whereSeparator: \.isWhitespace) ?? []
        let kibibytes = words.count > 1 ? Double(words[1]) : nil
        return kibibytes.map { decimal($0 * 1024 / 1e6, places: 0) + " MB" } ?? "unknown"
    }
    return "\(megabytes("VmRSS:")) resident (VmRSS), at most \(megabytes("VmHWM:")) (VmHWM)"
}

/// Waits until a source may have a frame, at most 100 ms. A source without a descriptor always may.
func waitUntilReadable(_ descriptor: CInt?) {
    if let descriptor { waitUntilReady(descriptor, milliseconds: 100) }
}

/// The text of a file in /proc/self; empty if it cannot be read.
private func procText(_ name: String) -> String {
    String(decoding: (try? contents(of: "/proc/self/\(name)")) ?? [], as: UTF8.self)
}
