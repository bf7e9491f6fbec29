import Frames

/// What a device offers in one format: one size or a range of sizes, and the rates there.
public struct Offer: Equatable, Sendable, CustomStringConvertible {
    /// Pixels, from `least` to `most` in steps.
    public struct Extent: Equatable, Sendable {
        /// Pixels.
        public var least: Int
        /// Pixels.
        public var most: Int
        /// Pixels from one size to the next.
        public var step: Int

        /// One size alone.
        public init(_ value: Int) { self.init(least: value, most: value) }

        /// A range of sizes; a range that ends before it begins is one size.
        public init(least: Int, most: Int, step: Int = 1) {
            (self.least, self.most, self.step) = (least, max(least, most), max(1, step))
        }

        func nearest(to wanted: Int) -> Int {
            let value = max(least, min(wanted, most))
            let down = least + (value - least) / step * step
            return value - down > step / 2 && down + step <= most ? down + step : down
        }
    }

    /// Frames per second.
    public enum Rates: Equatable, Sendable {
        case listed([Double])
        case between(Double, Double)
        case unknown

        func nearest(to wanted: Double) -> Double? {
            switch self {
            case .listed(let rates): rates.min { Mode.distance($0, from: wanted) < Mode.distance($1, from: wanted) }
            case .between(let least, let most): max(least, min(wanted, most))
            case .unknown: nil
            }
        }
    }

    /// V4L2's name of the format.
    public var fourCC: FourCC
    /// Pixels.
    public var width: Extent
    /// Pixels.
    public var height: Extent
    /// What is offered at the largest size.
    public var rates: Rates

    /// An offer as the driver names it.
    public init(fourCC: FourCC, width: Extent, height: Extent, rates: Rates) {
        (self.fourCC, self.width, self.height, self.rates) = (fourCC, width, height, rates)
    }

    /// "640x480 at 30, 15 fps"; the format's name is left to the list that this stands in.
    public var description: String {
        let least = "\(width.least)x\(height.least)"
        let most = "\(width.most)x\(height.most)"
        let size = least == most ? least : "\(least) to \(most)"
        return switch rates {
        case .listed(let list): "\(size) at \(list.map(rateText).joined(separator: ", ")) fps"
        case .between(let low, let high): "\(size) at \(rateText(low)) to \(rateText(high)) fps"
        case .unknown: size
        }
    }
}

/// "30" or "12.5".
public func rateText(_ rate: Double) -> String {
    let tenths = (rate * 10).rounded() / 10
    return tenths == tenths.rounded() && abs(tenths) < 1e9 ? "\(Int(tenths))" : "\(tenths)"
}

/// A format, a size and a rate to ask a camera for.
public struct Mode: Equatable, Sendable {
    /// V4L2's name of the format.
    public var fourCC: FourCC
    /// Pixels.
    public var width: Int
    /// Pixels.
    public var height: Int
    /// Frames per second; nil where the device does not say.
    public var rate: Double?

    /// A mode; `rate` is nil where the driver names none.
    public init(fourCC: FourCC, width: Int, height: Int, rate: Double?) {
        (self.fourCC, self.width, self.height, self.rate) = (fourCC, width, height, rate)
    }

    /// The offer nearest to the wanted size and rate; among equals the cheapest to process. Nil where none is usable.
    ///
    /// Size and rate weigh alike, each as a share of what is wanted; too little of either is worse than too much,
    /// which costs only work.
    public static func nearest(in offers: [Offer], width: Int, height: Int, rate: Double) -> Mode? {
        var best: (mode: Mode, distance: Double, cost: Int)?
        for offer in offers {
            guard let cost = cost(of: offer.fourCC) else { continue }
            let mode = Mode(
                fourCC: offer.fourCC, width: offer.width.nearest(to: width), height: offer.height.nearest(to: height),
                rate: offer.rates.nearest(to: rate))
            // Packed and subsampled formats of odd size have no agreed layout.
            guard mode.width > 0, mode.height > 0, mode.width % 2 == 0, mode.height % 2 == 0 else { continue }
            var distance = distance(Double(mode.width), from: Double(width))
            distance += Self.distance(Double(mode.height), from: Double(height))
            distance += mode.rate.map { Self.distance($0, from: rate) } ?? 0
            // Infrared cameras send grey; they are taken only where nothing else is there.
            distance += mode.fourCC == "GREY" ? 100 : 0
            if let best, (best.distance, best.cost) <= (distance, cost) { continue }
            best = (mode, distance, cost)
        }
        return best?.mode
    }

    /// How far a value is from the wanted one, as a share of it; 29.97 is as good as 30.
    static func distance(_ value: Double, from wanted: Double) -> Double {
        let share = (value - wanted) / max(wanted, 1)
        return abs(share) < 0.01 ? 0 : share < 0 ? -share : share / 2
    }

    /// Work per frame: 0 used as it is, 1 decoded, 2 converted; nil: not usable.
    public static func cost(of fourCC: FourCC) -> Int? {
        if fourCC.pixelFormat != nil { return 0 }
        if fourCC.isJPEG { return 1 }
        return convertible[fourCC] != nil ? 2 : nil
    }

    /// What libv4lconvert 1.22 turns into planar 4:2:0 (its `supported_src_pixfmts`), and the bytes that a pixel takes
    /// in a row of the first plane; 0 for what is compressed.
    public static let convertible: [FourCC: Int] = [
        "RGB3": 3, "BGR3": 3, "RGB4": 4, "BGR4": 4, "BX24": 4, "BA24": 4, "XR24": 4, "AR24": 4, "RGBP": 2,
        "YV12": 1, "YVYU": 2, "NV16": 1, "NV61": 1, "BA81": 1, "GBRG": 1, "GRBG": 1, "RGGB": 1, "Y16": 2,
        "PJPG": 0, "S561": 0, "S910": 0, "S920": 0, "P207": 0, "M310": 0, "JL20": 0, "O511": 0, "O518": 0, "905C": 0,
        "S401": 0,
    ]
}
