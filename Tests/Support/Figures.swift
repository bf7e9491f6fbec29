/// Reports a measurement of a benchmark or a soak test. `Benchmarks/figures` compares it with the committed figure.
/// - Parameter name: unique among all figures.
public func figure(_ name: String, _ value: Double, _ unit: String) { print("figure\t\(name)\t\(value)\t\(unit)") }
