/// Maps a time to an animation frame.
struct Timeline: Sendable {
    /// The end of each frame, in milliseconds after the start.
    private let ends: [Double]
    private let repetition: Motion.Repetition

    /// Makes a timeline.
    /// - Parameter durations: of each frame, in milliseconds. At least one; durations below 1 ms count as 1 ms.
    init(durations: [Double], _ repetition: Motion.Repetition) {
        precondition(!durations.isEmpty)
        var end = 0.0
        // Forwards and backwards, without showing the last and the first frame twice.
        let all =
            repetition == .backAndForth && durations.count > 2
            ? durations + durations.dropFirst().dropLast().reversed() : durations
        ends = all.map {
            end += max($0, 1)
            return end
        }
        count = durations.count
        self.repetition = repetition
    }

    private let count: Int

    /// The index of the frame that is shown at a time.
    /// - Parameter time: milliseconds since the start.
    func frame(at time: Double) -> Int {
        guard ends.count > 1, time.isFinite, time > 0, let whole = ends.last else { return 0 }
        if repetition == .once && time >= whole { return count - 1 }
        let phase = time.truncatingRemainder(dividingBy: whole)
        var (low, high) = (0, ends.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if ends[middle] > phase { high = middle } else { low = middle + 1 }
        }
        return low < count ? low : 2 * (count - 1) - low
    }
}
