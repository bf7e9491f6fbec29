import Frames
import Glibc

/// How long the process took to its first masked frame, and on what.
struct BenchStart {
    /// When the process began, nanoseconds of the clock that runs since the machine's start; nil: unknown.
    private let began: UInt64?
    private var notes: [(what: String, at: UInt64)] = []
    private var isOver = false

    init() {
        // Field 22 of /proc/self/stat (proc(5)), in ticks; the second field, in brackets, may hold blanks.
        let fields = procText("stat").split(separator: ")").last?.split(separator: " ") ?? []
        let ticks = fields.count > 19 ? UInt64(fields[19]) : nil
        began = ticks.map { $0 * (1_000_000_000 / UInt64(max(1, sysconf(CInt(_SC_CLK_TCK))))) }
    }

    mutating func note(_ what: String) {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        notes.append((what, UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)))
    }

    /// Notes the first time; the rest is passed over.
    mutating func end(_ what: String) {
        guard !isOver else { return }
        isOver = true
        note(what)
    }

    func report() {
        guard let began else { return }
        let words = notes.map { "\($0.what) \(decimal(Double($0.at &- began) / 1e9, places: 2)) s" }
        print("since the process began: " + words.joined(separator: ", ") + (isOver ? "" : ", no face at all"))
    }
}

/// Resident memory now, in bytes.
func residentBytes() -> Int {
    // Field 2 of /proc/self/statm (proc(5)), in pages.
    let pages = procText("statm").split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * sysconf(CInt(_SC_PAGESIZE))
}

/// Resident memory now and at its most, in MB (10^6 bytes).
func residentMemory() -> String {
    let lines = procText("status").split(separator: "\n")
    func megabytes(_ key: String) -> String {
        let words = lines.first { $0.hasPrefix(key) }?.split(whereSeparator: \.isWhitespace) ?? []
        let kibibytes = words.count > 1 ? Double(words[1]) : nil
        return kibibytes.map { decimal($0 * 1024 / 1e6, places: 0) + " MB" } ?? "unknown"
    }
    return "\(megabytes("VmRSS:")) resident (VmRSS), at most \(megabytes("VmHWM:")) (VmHWM)"
}

/// Sleeps until a source may have something; one without a descriptor always has.
func waitUntilReadable(_ descriptor: CInt?) {
    guard let descriptor else { return }
    var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    _ = unsafe poll(&polled, 1, 100)
}

/// What the system says of this process; empty where it says nothing.
private func procText(_ name: String) -> String {
    String(decoding: (try? contents(of: "/proc/self/\(name)")) ?? [], as: UTF8.self)
}
