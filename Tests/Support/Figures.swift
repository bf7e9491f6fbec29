/// Reports what a benchmark or a soak measured. `Benchmarks/figures` shows it beside the committed figure.
/// - Parameter name: unique among all figures.
public func figure(_ name: String, _ value: Double, _ unit: String) { print("figure\t\(name)\t\(value)\t\(unit)") }
