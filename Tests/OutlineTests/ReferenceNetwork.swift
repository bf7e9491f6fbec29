import Foundation

@testable import Outline

/// A network computed slowly and simply, for tests.
struct ReferenceNetwork {
    let graph: NetworkGraph

    /// The output for an input, pixel by pixel, without padding.
    func run(_ input: [Float]) -> [Float] {
        var values = [[Float]](repeating: [], count: graph.values.count)
        values[graph.input] = input
        for operation in graph.operations {
            values[operation.output] = run(operation, values).map { Self.activate($0, operation.activation) }
        }
        return values[graph.output]
    }

    private static func activate(_ x: Float, _ activation: NetworkGraph.Activation) -> Float {
        switch activation {
        case .none: x
        case .relu: max(x, 0)
        case .hardSwish: x * min(max(x + 3, 0), 6) / 6
        case .sigmoid: 1 / (1 + exp(-x))
        }
    }

    private func run(_ operation: NetworkGraph.Operation, _ values: [[Float]]) -> [Float] {
        let (given, made) = (graph.values[operation.inputs[0]], graph.values[operation.output])
        let input = values[operation.inputs[0]]
        func sample(_ x: Int, _ y: Int, _ c: Int) -> Float {
            x >= 0 && y >= 0 && x < given.width && y < given.height
                ? input[(y * given.width + x) * given.channels + c] : 0
        }
        func each(_ body: (_ x: Int, _ y: Int, _ c: Int) -> Float) -> [Float] {
            (0..<made.pixels * made.channels).map { i in
                body(i / made.channels % made.width, i / made.channels / made.width, i % made.channels)
            }
        }
        let weights = operation.weights
        switch operation.kind {
        case .convolution(let window):
            return each { x, y, c in
                var sum = operation.bias[c]
                for i in 0..<window.size * window.size {
                    let (row, column) = (i / window.size, i % window.size)
                    let (ix, iy) = (x * window.stride - window.left + column, y * window.stride - window.top + row)
                    for k in 0..<given.channels {
                        sum += sample(ix, iy, k) * weights[(c * window.size * window.size + i) * given.channels + k]
                    }
                }
                return sum
            }
        case .depthwise(let window):
            return each { x, y, c in
                var sum = operation.bias[c]
                for i in 0..<window.size * window.size {
                    let (row, column) = (i / window.size, i % window.size)
                    let (ix, iy) = (x * window.stride - window.left + column, y * window.stride - window.top + row)
                    sum += sample(ix, iy, c) * weights[i * given.channels + c]
                }
                return sum
            }
        case .transposedConvolution2x2:
            return each { x, y, _ in
                var sum = operation.bias[0]
                for k in 0..<given.channels {
                    sum += sample(x / 2, y / 2, k) * weights[(y % 2 * 2 + x % 2) * given.channels + k]
                }
                return sum
            }
        case .mean:
            return each { _, _, c in
                var sum: Float = 0
                for p in 0..<given.pixels { sum += input[p * given.channels + c] }
                return sum / Float(given.pixels)
            }
        case .scale: return each { x, y, c in sample(x, y, c) * values[operation.inputs[1]][c] }
        case .add:
            return each { x, y, c in
                sample(x, y, c) + values[operation.inputs[1]][(y * given.width + x) * given.channels + c]
            }
        case .resize:
            return each { x, y, c in
                func near(_ at: Int, _ side: Int) -> (Int, Int, Float) {
                    let place = max(0, (Float(at) + 0.5) / 2 - 0.5)
                    return (Int(place), min(Int(place) + 1, side - 1), place - Float(Int(place)))
                }
                let (x0, x1, fx) = near(x, given.width), (y0, y1, fy) = near(y, given.height)
                return (sample(x0, y0, c) * (1 - fx) + sample(x1, y0, c) * fx) * (1 - fy)
                    + (sample(x0, y1, c) * (1 - fx) + sample(x1, y1, c) * fx) * fy
            }
        }
    }
}
