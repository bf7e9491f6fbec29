import COutline
import SystemKit

/// A network that finds people: MediaPipe's selfie segmentation, prepared for this processor. Immutable, so that it can
/// be loaded on one thread and used on another.
public final class OutlineModel: Sendable {
    /// A step of the network, with the offsets of its floats in `weights` and in the working memory.
    struct Step: Sendable {
        let operation: NetworkGraph.Kind
        let activation: Int32
        let shape: NetworkGraph.Shape
        let result: NetworkGraph.Shape
        /// Floats per pixel of the first input.
        let inputStride: Int
        /// Places of the inputs in the working memory. For operations with one input, both are the same.
        let inputs: (Int, Int)
        let output: Int
        /// Places in `weights`.
        let weights: Int
        let bias: Int
    }

    /// Size of the input and of the mask, pixels.
    let width: Int
    let height: Int
    let steps: [Step]
    let weights: [Float]
    /// Places in the working memory, in floats, and its size.
    let input: Int
    let output: Int
    let outputStride: Int
    let scratch: Int
    let memory: Int
    /// Whether the kernels for AVX2 are used.
    let isWide: Bool

    /// Reads a model.
    /// - Throws: `Problem` that names the file: `missing`, or `unusable` for a damaged or another model.
    public convenience init(path: String) throws(Problem) {
        let bytes: [UInt8]
        // MediaPipe's model has 250 kB.
        do throws(Problem) { bytes = try contents(of: path, limit: 4 << 20) } catch {
            throw Problem(error.kind, error.message, fix: OutlineFile.fix)
        }
        let graph: NetworkGraph
        do throws(FlatBuffer.Damage) {
            graph = try TFLiteReader.graph(bytes)
            try self.init(graph)
        } catch { throw Self.unusable(path, error.reason) }
        let (given, made) = (graph.values[graph.input], graph.values[graph.output])
        guard (given.width, given.height, given.channels) == (DownsampledFrame.columns, DownsampledFrame.rows, 3),
            (made.width, made.height, made.channels) == (given.width, given.height, 1), outputStride == 1
        else { throw Self.unusable(path, "it is another model: selfie_segmentation_landscape.tflite is needed") }
    }

    private static func unusable(_ path: String, _ reason: String) -> Problem {
        Problem(.unusable, "\(path) is not the model of the person's outline: \(reason)", fix: OutlineFile.fix)
    }

    /// Prepares a network.
    /// - Parameter isWide: whether the kernels for AVX2 are used; nil: if the processor has it.
    /// - Throws: `Damage` if the kernels cannot compute one of its operations.
    init(_ graph: NetworkGraph, isWide: Bool? = nil) throws(FlatBuffer.Damage) {
        let isWide = isWide ?? (coutline_is_wide() != 0)
        let panel = Int(unsafe coutline_kernels(isWide ? 1 : 0).pointee.panel)
        (width, height) = (graph.values[graph.input].width, graph.values[graph.input].height)
        self.isWide = isWide
        var weights: [Float] = []
        func stride(_ value: Int) -> Int {
            let channels = graph.values[value].channels
            let isTight =
                value == graph.input
                || graph.operations.contains { $0.output == value && $0.kind == .transposedConvolution2x2 }
            return isTight ? channels : Self.padded(channels)
        }
        let layout = Memory(graph, stride)
        var steps: [Step] = []
        for operation in graph.operations {
            let (first, last) = (operation.inputs[0], operation.inputs[operation.inputs.count - 1])
            let (shape, result) = (graph.values[first], graph.values[operation.output])
            switch operation.kind {
            case .convolution, .transposedConvolution2x2: break
            default:
                for value in operation.inputs where stride(value) % coutline_block != 0 {
                    throw FlatBuffer.Damage("an operation follows the input or the output, which is not supported")
                }
            }
            let bias = weights.count
            weights += operation.bias
            if operation.kind == .transposedConvolution2x2 {
                weights += [Float](repeating: operation.bias[0], count: coutline_block - 1)
            }
            Self.pad(&weights)
            let start = weights.count
            Self.pack(operation, shape, into: &weights, panel: panel)
            steps.append(
                Step(
                    operation: operation.kind, activation: operation.activation.number, shape: shape, result: result,
                    inputStride: stride(first), inputs: (layout.offsets[first], layout.offsets[last]),
                    output: layout.offsets[operation.output], weights: start, bias: bias))
        }
        (self.steps, self.weights) = (steps, weights)
        (input, output) = (layout.offsets[graph.input], layout.offsets[graph.output])
        (scratch, memory) = (layout.scratch, layout.count)
        outputStride = stride(graph.output)
    }

    /// A number of channels with its padding.
    static func padded(_ channels: Int) -> Int {
        let block = coutline_block
        return (channels + block - 1) / block * block
    }

    private static func pad(_ weights: inout [Float]) {
        while weights.count % coutline_block != 0 { weights.append(0) }
    }

    /// Appends weights in the order in which the kernels read them.
    private static func pack(
        _ operation: NetworkGraph.Operation, _ shape: NetworkGraph.Shape, into weights: inout [Float], panel: Int
    ) {
        let block = coutline_block
        switch operation.kind {
        case .convolution, .transposedConvolution2x2:
            let outputs = operation.kind == .transposedConvolution2x2 ? 4 : operation.bias.count
            let inputs = operation.weights.count / outputs
            var first = 0
            while first < padded(outputs) {
                let width = padded(outputs) - first >= panel ? panel : block
                for k in 0..<inputs {
                    for n in first..<first + width {
                        weights.append(n < outputs ? operation.weights[n * inputs + k] : 0)
                    }
                }
                first += width
            }
        case .depthwise:
            for row in 0..<operation.weights.count / shape.channels {
                weights += operation.weights[row * shape.channels..<(row + 1) * shape.channels]
                pad(&weights)
            }
        case .mean, .scale, .add, .resize: break
        }
    }

    /// The offsets of all values in the working memory. Values that are not needed at the same time share memory.
    private struct Memory {
        var offsets: [Int]
        var scratch = 0
        var count = 0

        init(_ graph: NetworkGraph, _ stride: (Int) -> Int) {
            offsets = Array(repeating: 0, count: graph.values.count)
            var last = Array(repeating: 0, count: graph.values.count)
            for (i, operation) in graph.operations.enumerated() { for value in operation.inputs { last[value] = i } }
            last[graph.output] = graph.operations.count
            // Vectors may reach beyond a value's end.
            let sizes = graph.values.indices.map { (graph.values[$0].pixels * stride($0) + 31) / 16 * 16 }
            var placed = [graph.input]
            count = sizes[graph.input]
            for (i, operation) in graph.operations.enumerated() {
                let value = operation.output
                let live = placed.filter { last[$0] >= i }.sorted { offsets[$0] < offsets[$1] }
                var offset = 0
                for other in live where offset + sizes[value] > offsets[other] {
                    offset = max(offset, offsets[other] + sizes[other])
                }
                offsets[value] = offset
                placed.append(value)
                count = max(count, offset + sizes[value])
                scratch = max(scratch, Self.scratch(operation, graph))
            }
            (scratch, count) = (count, count + scratch + 32)
        }

        private static func scratch(_ operation: NetworkGraph.Operation, _ graph: NetworkGraph) -> Int {
            let (given, made) = (graph.values[operation.inputs[0]], graph.values[operation.output])
            let channels = padded(given.channels)
            return switch operation.kind {
            case .convolution(let window): made.width * window.size * window.size * given.channels
            case .depthwise(let window):
                (window.size + 1) * channels
                    * max((made.width - 1) * window.stride + window.size, given.width + window.left)
            case .resize: given.width * channels
            case .transposedConvolution2x2: given.width * coutline_block
            case .mean, .scale, .add: 0
            }
        }
    }
}

extension NetworkGraph.Activation {
    /// The kernels' number of an activation.
    fileprivate var number: Int32 {
        switch self {
        case .none: Int32(coutline_none.rawValue)
        case .relu: Int32(coutline_relu.rawValue)
        case .hardSwish: Int32(coutline_hard_swish.rawValue)
        case .sigmoid: Int32(coutline_sigmoid.rawValue)
        }
    }
}
