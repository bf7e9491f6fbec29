/// A pixel format that a device supports, with one size or a range of sizes, and the frame rates there.
public struct SupportedFormat: Equatable, Sendable, CustomStringConvertible {
    /// A width or height in pixels, from `min` to `max` in steps.
    public struct SizeRange: Equatable, Sendable {
        /// The smallest value, pixels.
        public var min: Int
        /// The largest value, pixels.
        public var max: Int
        /// The step from one value to the next, pixels.
        public var step: Int

        /// A single value.
        public init(_ value: Int) { self.init(min: value, max: value) }

        /// A range of values. If `max` is less than `min`, it is the single value `min`.
        public init(min: Int, max: Int, step: Int = 1) {
            (self.min, self.max, self.step) = (min, Swift.max(min, max), Swift.max(1, step))
        }

        func nearest(to wanted: Int) -> Int {
            let value = Swift.max(min, Swift.min(wanted, max))
            let down = min + (value - min) / step * step
            return value - down > step / 2 && down + step <= max ? down + step : down
        }
    }

    /// Frame rates, in frames per second.
    public enum Rates: Equatable, Sendable {
        /// Single rates.
        case listed([Double])
        /// All rates from the first to the second one.
        case between(Double, Double)
        /// The driver names no rates.
        case unknown

        func nearest(to wanted: Double) -> Double? {
            switch self {
            case .listed(let rates): rates.min { Mode.distance($0, from: wanted) < Mode.distance($1, from: wanted) }
            case .between(let least, let most): max(least, min(wanted, most))
            case .unknown: nil
            }
        }
    }

    /// The pixel format.
    public var fourCC: FourCC
    /// The supported widths, pixels.
    public var width: SizeRange
    /// The supported heights, pixels.
    public var height: SizeRange
    /// The frame rates at the largest size.
    public var rates: Rates

    /// A format by its parts.
    public init(fourCC: FourCC, width: SizeRange, height: SizeRange, rates: Rates) {
        (self.fourCC, self.width, self.height, self.rates) = (fourCC, width, height, rates)
    }

    /// The size and rates: "640x480 at 30, 15 fps", without the pixel format.
    public var description: String {
        let least = "\(width.min)x\(height.min)"
        let most = "\(width.max)x\(height.max)"
        let size = least == most ? least : "\(least) to \(most)"
        return switch rates {
        case .listed(let list): "\(size) at \(list.map(rateText).joined(separator: ", ")) fps"
        case .between(let low, let high): "\(size) at \(rateText(low)) to \(rateText(high)) fps"
        case .unknown: size
        }
    }
}

/// A frame rate with at most one decimal: "30" or "12.5".
public func rateText(_ rate: Double) -> String {
    let tenths = (rate * 10).rounded() / 10
    return tenths == tenths.rounded() && abs(tenths) < 1e9 ? "\(Int(tenths))" : "\(tenths)"
}

/// A pixel format, size and frame rate to request from a camera.
public struct Mode: Equatable, Sendable {
    /// The pixel format.
    public var fourCC: FourCC
    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int
    /// Frames per second; nil if the driver names no rates.
    public var rate: Double?

    /// A mode by its parts.
    public init(fourCC: FourCC, width: Int, height: Int, rate: Double?) {
        (self.fourCC, self.width, self.height, self.rate) = (fourCC, width, height, rate)
    }

    /// The mode nearest to the given size and rate; among equals the cheapest to process. Nil if no offer is usable.
    ///
    /// Size and rate have equal weight, each relative to what is wanted. Too little of either is worse than too much,
    /// which only costs work.
    public static func nearest(in formats: [SupportedFormat], width: Int, height: Int, rate: Double) -> Mode? {
        var best: (mode: Mode, distance: Double, cost: Int)?
        for offer in formats {
            guard let cost = cost(of: offer.fourCC) else { continue }
            let mode = Mode(
                fourCC: offer.fourCC, width: offer.width.nearest(to: width), height: offer.height.nearest(to: height),
                rate: offer.rates.nearest(to: rate))
            // There is no agreed memory layout for packed and subsampled formats of odd size.
            guard mode.width > 0, mode.height > 0, mode.width % 2 == 0, mode.height % 2 == 0 else { continue }
            var distance = distance(Double(mode.width), from: Double(width))
            distance += Self.distance(Double(mode.height), from: Double(height))
            distance += mode.rate.map { Self.distance($0, from: rate) } ?? 0
            // Infrared cameras only offer grey; they are a last resort.
            distance += mode.fourCC == "GREY" ? 100 : 0
            if let best, (best.distance, best.cost) <= (distance, cost) { continue }
            best = (mode, distance, cost)
        }
        return best?.mode
    }

    /// The relative distance of a value from the wanted one. A difference below 1 % counts as 0 (29.97 is as good as
    /// 30), and too large values count half.
    static func distance(_ value: Double, from wanted: Double) -> Double {
        let difference = (value - wanted) / max(wanted, 1)
        return abs(difference) < 0.01 ? 0 : difference < 0 ? -difference : difference / 2
    }

    /// The work per frame: 0 used directly, 1 decoded, 2 converted; nil if the format is not usable.
    public static func cost(of fourCC: FourCC) -> Int? {
        if fourCC.pixelFormat != nil { return 0 }
        if fourCC.isJPEG { return 1 }
        return convertible[fourCC] != nil ? 2 : nil
    }

    /// The formats that libv4lconvert 1.22 converts to planar 4:2:0 (its `supported_src_pixfmts`), with the bytes per
    /// pixel in a row of the first plane; 0 for compressed formats.
    public static let convertible: [FourCC: Int] = [
        "RGB3": 3, "BGR3": 3, "RGB4": 4, "BGR4": 4, "BX24": 4, "BA24": 4, "XR24": 4, "AR24": 4, "RGBP": 2,
        "YV12": 1, "YVYU": 2, "NV16": 1, "NV61": 1, "BA81": 1, "GBRG": 1, "GRBG": 1, "RGGB": 1, "Y16": 2,
        "PJPG": 0, "S561": 0, "S910": 0, "S920": 0, "P207": 0, "M310": 0, "JL20": 0, "O511": 0, "O518": 0, "905C": 0,
        "S401": 0,
    ]
}
