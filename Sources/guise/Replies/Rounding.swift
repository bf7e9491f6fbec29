/// Rounds to a multiple of 1/`parts`.
func rounded(_ value: Double, _ parts: Double) -> Double { (value * parts).rounded() / parts }
