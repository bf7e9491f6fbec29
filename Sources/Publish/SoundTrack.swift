import Glibc
import Synchronization
import SystemKit

/// A source of sound: ffmpeg's arguments for one input.
public struct SoundInput: Sendable {
    let arguments: [String]

    /// Any input of ffmpeg that comes as fast as it is heard.
    public init(arguments: [String]) { self.arguments = arguments }

    /// The default microphone of PulseAudio, or of PipeWire in its place, in pieces of 20 ms (1920 bytes).
    public static let microphone = SoundInput(
        arguments: [
            "-f", "pulse", "-sample_rate", "48000", "-channels", "1", "-fragment_size", "1920", "-i", "default",
        ])
}

/// The sound of a recording: ffmpeg writes it to a file beside the recording while a thread notes when it came. At the
/// end, it is added to the recording, in step with the picture.
final class SoundTrack: Sendable {
    /// The settings of a recording's sound.
    struct Mix {
        /// The file: a WAV of 16-bit samples of one channel.
        let path: String
        /// Samples per second of the monotonic clock. A sound card's clock differs from it by up to 0.01 %.
        let rate: Int
        /// Seconds from the first frame to the first sample; negative if the sound began first.
        let delay: Double
    }

    private struct State {
        var clock = SoundClock()
        /// Why there is no sound, or no more of it.
        var problem: Problem?
        var hasEnded = false
    }

    /// The milliseconds that a sound server may take to start.
    private static let timeout = 5000

    /// The bytes before the samples: the RIFF header of a WAV of one channel of 16 bits.
    static let headerBytes = 44

    /// The header of a file with a number of bytes of samples.
    private static func header(_ count: Int) -> [UInt8] {
        func bytes(_ value: Int, _ size: Int) -> [UInt8] {
            (0..<size).map { UInt8(truncatingIfNeeded: min(value, Int(UInt32.max)) >> (8 * $0)) }
        }
        let rate = SoundClock.nominalRate
        return Array("RIFF".utf8) + bytes(count + headerBytes - 8, 4) + Array("WAVEfmt ".utf8) + bytes(16, 4)
            + bytes(1, 2) + bytes(1, 2) + bytes(rate, 4) + bytes(2 * rate, 4) + bytes(2, 2) + bytes(16, 2)
            + Array("data".utf8) + bytes(count, 4)
    }

    /// The folder, which may be moved while the file is written.
    private let folder: OpenFolder
    private let name: String
    private let state = Mutex(State())
    private let wantsEnd = Atomic<Bool>(false)
    /// The file, open for writing.
    private let descriptor: CInt
    private let now: @Sendable () -> UInt64

    /// Starts to record, and waits for the first sound.
    /// - Parameters:
    ///   - recording: the file beside which the sound is written, under a name of its own.
    ///   - now: the monotonic clock, nanoseconds.
    /// - Throws: `Problem` of kind `unusable` if there is no sound, what `unwritable` makes if the file cannot be
    ///   written, or what `ChildProcess` throws.
    init(_ input: SoundInput, beside recording: String, now: @escaping @Sendable () -> UInt64) throws(Problem) {
        folder = try OpenFolder(containing: recording)
        name = temporaryName(for: recording, ending: "sound")
        self.now = now
        descriptor = folder.create(name, 0o600)
        guard descriptor >= 0 else { throw unwritable(recording, errno) }
        // Its sizes are written at the end.
        guard writeAll(Self.header(0).span, to: descriptor) else {
            let problem = unwritable(recording, errno)
            remove()
            throw problem
        }
        let child: ChildProcess
        do throws(Problem) {
            child = try ChildProcess(
                ["ffmpeg", "-v", "error", "-nostdin", "-fflags", "nobuffer"] + input.arguments + [
                    "-ac", "1", "-ar", "\(SoundClock.nominalRate)", "-c:a", "pcm_s16le", "-f", "s16le",
                    "-flush_packets",
                    "1", "pipe:1",
                ], .reading)
        } catch {
            remove()
            throw error
        }
        var moving: ChildProcess? = consume child
        let handOver = Mutex<ChildProcess?>(moving.take())
        startThread(named: "sound") { [self] in
            guard let child = handOver.withLock({ $0.take() }) else { return }
            run(child)
        }
        for _ in 0..<Self.timeout / 10 {
            let (samples, hasEnded) = state.withLock { ($0.clock.samples, $0.hasEnded) }
            if samples > 0 { return }
            if hasEnded { break }
            usleep(10_000)
        }
        let why = stop() ?? Problem(.unusable, "no sound came for \(Self.timeout / 1000) s")
        remove()
        throw Problem(
            .unusable, "no sound can be recorded: \(why.message)",
            fix: "check that PulseAudio or PipeWire runs (pactl info), or record without sound")
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private func run(_ child: consuming ChildProcess) {
        var child = child
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        var problem: Problem?
        reading: while !wantsEnd.load(ordering: .acquiring) {
            var span = bytes.mutableSpan
            do throws(Problem) {
                switch try child.read(into: &span, from: 0) {
                case .bytes(let count):
                    let time = Double(now())
                    guard writeAll(bytes.span.extracting(0..<count), to: descriptor) else {
                        problem = Problem(.system, "the sound cannot be written: \(errorMessage(of: errno))")
                        break reading
                    }
                    state.withLock { $0.clock.add(count / 2, at: time) }
                case .nothing: waitUntilReady(child.pipe, milliseconds: 50)
                case .end:
                    _ = child.finish()
                    problem = Problem(.gone, child.lastLine ?? "the sound ended")
                    break reading
                }
                child.drainErrors()
            } catch {
                problem = error
                break
            }
        }
        child.kill()
        let header = Self.header(2 * state.withLock { $0.clock.samples })
        if lseek(descriptor, 0, SEEK_SET) == 0 { _ = writeAll(header.span, to: descriptor) }
        state.withLock { ($0.problem, $0.hasEnded) = (problem, true) }
    }

    /// Ends the sound, and waits for it.
    /// - Returns: why it ended before; nil if it did not.
    @discardableResult
    func stop() -> Problem? {
        wantsEnd.store(true, ordering: .releasing)
        while !state.withLock({ $0.hasEnded }) { usleep(1000) }
        return state.withLock { $0.problem }
    }

    /// Deletes the file.
    func remove() { folder.remove(name) }

    /// Keeps the file beside a recording that it could not be added to, under a free name.
    /// - Returns: its path; nil if there is no sound, or it can't be renamed.
    func keep(beside recording: String) -> String? {
        let stem = recording.lastIndex(of: ".").map { recording[..<$0] } ?? recording[...]
        let kept = freePath(for: "\(folder.path)/\(fileName(of: String(stem))).wav")
        guard state.withLock({ $0.clock.samples }) > 0,
            folder.rename(name, of: descriptor, to: fileName(of: kept), replacing: false)
        else {
            remove()
            return nil
        }
        return kept
    }

    /// The sound, to be added to a recording; nil if there is none.
    /// - Parameter began: the time of the first frame, nanoseconds of the monotonic clock.
    func mix(since began: UInt64) -> Mix? {
        state.withLock { state in
            state.clock.start.map { start in
                Mix(path: "\(folder.path)/\(name)", rate: state.clock.rate, delay: (start - Double(began)) / 1e9)
            }
        }
    }
}

/// When recorded samples were heard, by the monotonic clock: pieces of sound come late by varying times, and a sound
/// card's clock is not ours.
struct SoundClock {
    /// The nominal samples per second.
    static let nominalRate = 48_000
    /// The seconds after which the clocks are compared. Sooner, the differences of arrival would count for more.
    private static let minDriftSeconds = 60
    /// The seconds of sound at both ends of the recording that the clocks are compared over.
    private static let driftSpan = 10

    /// The number of samples so far.
    private(set) var samples = 0
    /// For each second of sound: its number, and the earliest time at which the first sample can have been heard,
    /// nanoseconds.
    private var starts: [(second: Int, time: Double)] = []

    /// Adds samples that came at a time, nanoseconds. The last of them was heard just before. A late piece is overruled
    /// by the pieces around it.
    mutating func add(_ count: Int, at time: Double) {
        samples += count
        let start = time - Double(samples) / Double(Self.nominalRate) * 1e9
        let second = samples / Self.nominalRate
        if let last = starts.indices.last, starts[last].second == second {
            starts[last].time = min(starts[last].time, start)
        } else {
            starts.append((second, start))
        }
    }

    /// The time at which the first sample was heard, nanoseconds; nil without samples.
    var start: Double? { starts.prefix(Self.driftSpan).map(\.time).min() }

    /// Samples per second of the monotonic clock.
    var rate: Int {
        guard starts.count >= Self.minDriftSeconds, let first = start,
            let last = starts.suffix(Self.driftSpan).map(\.time).min()
        else { return Self.nominalRate }
        // If the card is slower than the clock, the start seems to become later.
        let drift = (last - first) / 1e9 / Double(starts.count - Self.driftSpan)
        return Int((Double(Self.nominalRate) / (1 + drift)).rounded())
    }
}
