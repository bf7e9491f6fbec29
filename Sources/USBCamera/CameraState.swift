/// The state of a plugged-in camera as bytes, so that the service can be replaced while the kernel keeps the camera.
///
/// Numbers of 32 bits in little-endian order: the format's version, those of `CameraDevice`, its waiting transfers, and
/// the bytes of a command that has not arrived whole.
extension CameraDevice {
    /// The version of the format. A service does not take over from one with another version.
    private static let stateVersion: UInt32 = 1

    /// The state as bytes.
    public var state: [UInt8] {
        var bytes: [UInt8] = []
        func add(_ number: Int) { bytes.append(littleEndian: UInt32(clamping: number)) }
        bytes.append(littleEndian: Self.stateVersion)
        for number in [configuration, alternate, Int(frameID), Int(lastError), position] { add(number) }
        for negotiation in [probe, committed] {
            add(negotiation.mode)
            add(negotiation.interval)
        }
        add(waiting.count)
        for transfer in waiting {
            bytes.append(littleEndian: transfer.sequence)
            add(transfer.packets)
            add(transfer.packetSize)
        }
        add(input.count)
        return bytes + input
    }

    /// Takes over a camera.
    /// - Parameter state: the bytes of `state`; nil for any others.
    public init?(state: Span<UInt8>) {
        self.init()
        var offset = 0
        func next() -> Int? {
            guard offset + 4 <= state.count else { return nil }
            defer { offset += 4 }
            return Int(state.littleEndian32(at: offset))
        }
        func next(below limit: Int) -> Int? { next().flatMap { $0 < limit ? $0 : nil } }
        func negotiation() -> Negotiation? {
            guard let mode = next(below: CameraMode.all.count), let interval = next(below: CameraMode.intervals.count)
            else { return nil }
            return Negotiation(mode: mode, interval: interval)
        }
        guard next() == Int(Self.stateVersion), let configuration = next(below: 2),
            let alternate = next(below: CameraMode.packetSizes.count + 1), let frameID = next(below: 2),
            let lastError = next(below: 256), let position = next(), let probe = negotiation(),
            let committed = negotiation(), let count = next(below: Self.maxWaiting + 1)
        else { return nil }
        for _ in 0..<count {
            guard let sequence = next(), let packets = next(below: USBIP.maxPackets + 1), packets > 0,
                let size = next(below: USBIP.maxTransferBytes), size > PayloadHeader.size
            else { return nil }
            waiting.append(Transfer(sequence: UInt32(sequence), packets: packets, packetSize: size))
        }
        guard let rest = next(), rest == state.count - offset else { return nil }
        for i in offset..<state.count { input.append(state[i]) }
        (self.configuration, self.alternate, self.lastError) = (configuration, alternate, UInt8(lastError))
        (self.probe, self.committed) = (probe, committed)
        (mode, interval) = (CameraMode.all[committed.mode], CameraMode.intervals[committed.interval])
        self.frameID = UInt8(frameID)
        if position > 0 { endPicture() }
    }
}
