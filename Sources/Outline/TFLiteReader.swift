/// Reads the networks that TensorFlow Lite's files hold, as far as `NetworkGraph` can express them: floats of 32 or 16
/// bits, and the operations of MediaPipe's selfie segmentation.
///
/// Field numbers are those of TensorFlow Lite's schema, version 3.
struct TFLiteReader {
    typealias Damage = FlatBuffer.Damage
    private typealias Shape = NetworkGraph.Shape

    /// TensorFlow Lite's numbers of operators.
    private enum Operator: Int {
        case add = 0
        case convolution = 3
        case depthwise = 4
        case dequantize = 6
        case logistic = 14
        case multiply = 18
        case relu = 19
        case resize = 23
        case custom = 32
        case mean = 40
        case hardSwish = 117
    }

    /// Limits of a model. MediaPipe's has 246 operators, 370 tensors, and 2.4 MB of activations in its largest value.
    private static let (maxOperators, maxTensors, maxFloats) = (1000, 4000, 1 << 22)
    /// The most multiplications. MediaPipe's model has 33 million.
    private static let maxWork = 200_000_000
    /// The longest side and the most channels of a value.
    private static let maxExtent = 4096

    private let file: FlatBuffer
    private let tensors: [FlatBuffer.Table]
    private let buffers: [FlatBuffer.Table]
    private var graph = NetworkGraph(values: [], operations: [], input: 0, output: 0)
    /// The values by tensor.
    private var values: [Int: Int] = [:]
    /// The constant tensors that others are dequantised from.
    private var sources: [Int: Int] = [:]
    /// How often each tensor is used.
    private var uses: [Int: Int] = [:]
    private var work = 0

    /// Reads a network.
    /// - Throws: `Damage` if the file is damaged, or has what this reader does not know.
    static func graph(_ bytes: [UInt8]) throws(Damage) -> NetworkGraph {
        let file = FlatBuffer(bytes: bytes)
        let model = try file.root("TFL3")
        guard try file.integer(0, of: model, default: UInt32(0)) == 3 else { throw Damage("its version is not 3") }
        let subgraphs = try file.tables(2, of: model, limit: 1)
        guard let main = subgraphs.first else { throw Damage("it is empty") }
        var reader = TFLiteReader(
            file: file, tensors: try file.tables(0, of: main, limit: maxTensors),
            buffers: try file.tables(4, of: model, limit: maxTensors))
        try reader.read(main, codes: try file.tables(1, of: model, limit: maxOperators))
        return reader.graph
    }

    private init(file: FlatBuffer, tensors: [FlatBuffer.Table], buffers: [FlatBuffer.Table]) {
        (self.file, self.tensors, self.buffers) = (file, tensors, buffers)
    }

    private mutating func read(_ main: FlatBuffer.Table, codes: [FlatBuffer.Table]) throws(Damage) {
        let inputs = try file.integers(1, of: main, limit: 1)
        let outputs = try file.integers(2, of: main, limit: 1)
        guard inputs.count == 1, outputs.count == 1 else { throw Damage("it has not one input and one output") }
        let operators = try file.tables(3, of: main, limit: Self.maxOperators)
        for one in operators { for tensor in try tensorsOf(one, 1) { uses[tensor, default: 0] += 1 } }
        uses[outputs[0], default: 0] += 1
        graph.input = try addValue(try shape(inputs[0]), for: inputs[0])
        for one in operators {
            let code = Int(try file.integer(0, of: one, default: UInt32(0)))
            guard code < codes.count else { throw Damage("an operator has no code") }
            try read(one, code: codes[code])
        }
        guard let output = values[outputs[0]] else { throw Damage("nothing computes its output") }
        graph.output = output
        guard output != graph.input else { throw Damage("it computes nothing") }
        graph.commuteResizes()
    }

    // MARK: - Tensors

    private func tensorsOf(_ one: FlatBuffer.Table, _ field: Int) throws(Damage) -> [Int] {
        try file.integers(field, of: one, limit: 8)
    }

    private func tensor(_ index: Int) throws(Damage) -> FlatBuffer.Table {
        guard tensors.indices.contains(index) else { throw Damage("it refers to tensor \(index), which it lacks") }
        return tensors[index]
    }

    private func dimensions(_ index: Int) throws(Damage) -> [Int] {
        let dimensions = try file.integers(0, of: try tensor(index), limit: 4)
        var floats = 1
        for extent in dimensions {
            guard (1...Self.maxExtent).contains(extent) else { throw Damage("tensor \(index) is \(extent) long") }
            floats *= extent
        }
        guard floats <= Self.maxFloats else { throw Damage("tensor \(index) has \(floats) numbers") }
        return dimensions
    }

    private func shape(_ index: Int) throws(Damage) -> Shape {
        let extents = try dimensions(index)
        guard extents.count == 4, extents[0] == 1 else { throw Damage("tensor \(index) is not one picture") }
        return Shape(height: extents[1], width: extents[2], channels: extents[3])
    }

    /// The numbers of a constant tensor.
    private func constant(_ index: Int, _ dimensions: [Int]) throws(Damage) -> [Float] {
        let index = sources[index] ?? index
        guard try self.dimensions(index) == dimensions else { throw Damage("tensor \(index) has another shape") }
        let count = dimensions.reduce(1, *)
        let type = try file.integer(1, of: try tensor(index), default: Int8(0))
        let data = try data(index)
        guard type == 0 || type == 1, data.count == count * (type == 0 ? 4 : 2) else {
            throw Damage("tensor \(index) does not have \(count) floats")
        }
        var numbers: [Float] = []
        numbers.reserveCapacity(count)
        for i in 0..<count {
            let number =
                type == 0
                ? Float(bitPattern: try file.integer(UInt32.self, at: data.startIndex + 4 * i))
                : Self.float(half: try file.integer(UInt16.self, at: data.startIndex + 2 * i))
            guard number.isFinite else { throw Damage("tensor \(index) has a number that is not finite") }
            numbers.append(number)
        }
        return numbers
    }

    private func data(_ index: Int) throws(Damage) -> ArraySlice<UInt8> {
        let buffer = Int(try file.integer(2, of: try tensor(index), default: UInt32(0)))
        guard buffer < buffers.count else { throw Damage("tensor \(index) has no data") }
        return try file.bytes(0, of: buffers[buffer])
    }

    /// A float of 16 bits: sign, 5 bits of exponent, 10 bits of fraction (IEEE 754).
    static func float(half bits: UInt16) -> Float {
        let (sign, exponent, fraction) = (UInt32(bits >> 15) << 31, UInt32(bits >> 10 & 31), UInt32(bits & 1023))
        switch exponent {
        // 2^-24 is the smallest number.
        case 0: return Float(bitPattern: sign | (Float(fraction) * Float(bitPattern: 103 << 23)).bitPattern)
        case 31: return Float(bitPattern: sign | 255 << 23 | fraction << 13)
        default: return Float(bitPattern: sign | (exponent + 112) << 23 | fraction << 13)
        }
    }

    private mutating func addValue(_ shape: Shape, for tensor: Int) throws(Damage) -> Int {
        guard try self.shape(tensor) == shape, values[tensor] == nil else {
            throw Damage("tensor \(tensor) does not fit its operator")
        }
        graph.values.append(shape)
        values[tensor] = graph.values.count - 1
        return graph.values.count - 1
    }

    private func value(_ tensor: Int) throws(Damage) -> Int {
        guard let value = values[tensor] else { throw Damage("tensor \(tensor) is used before it is computed") }
        return value
    }

    // MARK: - Operators

    private mutating func read(_ one: FlatBuffer.Table, code: FlatBuffer.Table) throws(Damage) {
        let old = Int(try file.integer(0, of: code, default: Int8(0)))
        let number = max(old, Int(try file.integer(3, of: code, default: Int32(0))))
        let (inputs, outputs) = (try tensorsOf(one, 1), try tensorsOf(one, 2))
        guard let first = inputs.first, outputs.count == 1 else { throw Damage("an operator has no input or output") }
        let (output, options) = (outputs[0], try file.table(4, of: one))
        switch Operator(rawValue: number) {
        case .dequantize: sources[output] = first
        case .relu: try activate(first, .relu, output)
        case .hardSwish: try activate(first, .hardSwish, output)
        case .logistic: try activate(first, .sigmoid, output)
        case .convolution: try readConvolution(inputs, output, options, isDepthwise: false)
        case .depthwise: try readConvolution(inputs, output, options, isDepthwise: true)
        case .mean: try readMean(inputs, output, options)
        case .multiply, .add: try readPair(inputs, output, options, isSum: number == Operator.add.rawValue)
        case .resize: try readResize(inputs, output, options)
        case .custom: try readCustom(one, inputs, output, code)
        case nil: throw Damage("it has an operator \(number), which is not supported")
        }
    }

    /// Folds an activation into the operation that computes its input.
    private mutating func activate(
        _ tensor: Int, _ activation: NetworkGraph.Activation, _ output: Int
    ) throws(Damage) {
        let value = try value(tensor)
        guard uses[tensor] == 1, let last = graph.operations.lastIndex(where: { $0.output == value }),
            graph.operations[last].activation == .none, !graph.operations[last].weights.isEmpty
        else { throw Damage("an activation does not follow a convolution") }
        guard try shape(output) == graph.values[value], values[output] == nil else {
            throw Damage("tensor \(output) does not fit its operator")
        }
        graph.operations[last].activation = activation
        values[output] = value
    }

    private mutating func readConvolution(
        _ inputs: [Int], _ output: Int, _ options: FlatBuffer.Table?, isDepthwise: Bool
    ) throws(Damage) {
        guard inputs.count == 3, let options else { throw Damage("a convolution lacks weights or options") }
        let input = try value(inputs[0])
        let shape = graph.values[input]
        let kernel = try dimensions(sources[inputs[1]] ?? inputs[1])
        let (strideX, strideY) = (
            Int(try file.integer(1, of: options, default: Int32(0))),
            Int(try file.integer(2, of: options, default: Int32(0)))
        )
        let dilation = isDepthwise ? 5 : 4
        guard kernel.count == 4, kernel[1] == kernel[2], strideX == strideY, strideX == 1 || strideX == 2,
            try file.integer(dilation, of: options, default: Int32(1)) == 1,
            try file.integer(dilation + 1, of: options, default: Int32(1)) == 1,
            isDepthwise
                ? kernel[0] == 1 && kernel[3] == shape.channels && (kernel[1] == 3 || kernel[1] == 5)
                : kernel[3] == shape.channels && kernel[1] <= 7
        else { throw Damage("a convolution has a size that is not supported") }
        let (size, isPadded) = (kernel[1], try file.integer(0, of: options, default: Int8(0)) == 0)
        func extent(_ length: Int) -> Int {
            isPadded ? (length + strideX - 1) / strideX : (length - size) / strideX + 1
        }
        guard isPadded || min(shape.height, shape.width) >= size else { throw Damage("a picture is too small") }
        let made = Shape(
            height: extent(shape.height), width: extent(shape.width), channels: kernel[isDepthwise ? 3 : 0])
        func before(_ length: Int, _ out: Int) -> Int { max(0, (out - 1) * strideX + size - length) / 2 }
        let window = NetworkGraph.Window(
            size: size, stride: strideX, left: isPadded ? before(shape.width, made.width) : 0,
            top: isPadded ? before(shape.height, made.height) : 0)
        try count(made.pixels * made.channels * size * size * (isDepthwise ? 1 : shape.channels))
        var operation = NetworkGraph.Operation(
            kind: isDepthwise ? .depthwise(window) : .convolution(window), inputs: [input],
            output: try addValue(made, for: output))
        switch try file.integer(isDepthwise ? 4 : 3, of: options, default: Int8(0)) {
        case 0: break
        case 1: operation.activation = .relu
        default: throw Damage("a convolution has an activation that is not supported")
        }
        operation.weights = try constant(inputs[1], kernel)
        operation.bias = try constant(inputs[2], [made.channels])
        graph.operations.append(operation)
    }

    private mutating func readMean(
        _ inputs: [Int], _ output: Int, _ options: FlatBuffer.Table?
    ) throws(Damage) {
        guard inputs.count == 2, let options, try file.integer(0, of: options, default: Int8(0)) != 0 else {
            throw Damage("a mean drops dimensions")
        }
        let axes = try data(inputs[1])
        guard axes.count == 8, try file.integer(1, of: try tensor(inputs[1]), default: Int8(0)) == 2,
            try file.integer(Int32.self, at: axes.startIndex) == 1,
            try file.integer(Int32.self, at: axes.startIndex + 4) == 2
        else { throw Damage("a mean is not that of all pixels") }
        let input = try value(inputs[0])
        let made = Shape(height: 1, width: 1, channels: graph.values[input].channels)
        graph.operations.append(
            NetworkGraph.Operation(kind: .mean, inputs: [input], output: try addValue(made, for: output)))
    }

    private mutating func readPair(
        _ inputs: [Int], _ output: Int, _ options: FlatBuffer.Table?, isSum: Bool
    ) throws(Damage) {
        guard inputs.count == 2, let options, try file.integer(0, of: options, default: Int8(0)) == 0 else {
            throw Damage("a sum or product has an activation")
        }
        let (first, second) = (try value(inputs[0]), try value(inputs[1]))
        let (a, b) = (graph.values[first], graph.values[second])
        guard isSum ? a == b : b.pixels == 1 && a.channels == b.channels else {
            throw Damage("a sum or product of different shapes")
        }
        graph.operations.append(
            NetworkGraph.Operation(
                kind: isSum ? .add : .scale, inputs: [first, second], output: try addValue(a, for: output)))
    }

    private mutating func readResize(
        _ inputs: [Int], _ output: Int, _ options: FlatBuffer.Table?
    ) throws(Damage) {
        guard let options, try file.integer(2, of: options, default: Int8(0)) == 0,
            try file.integer(3, of: options, default: Int8(0)) != 0
        else { throw Damage("an interpolation is not of half-pixel centres") }
        let input = try value(inputs[0])
        var made = graph.values[input]
        (made.height, made.width) = (2 * made.height, 2 * made.width)
        graph.operations.append(
            NetworkGraph.Operation(kind: .resize, inputs: [input], output: try addValue(made, for: output)))
    }

    /// Reads MediaPipe's own operator. Its options are three integers: the padding (1: none is needed), and strides.
    private mutating func readCustom(
        _ one: FlatBuffer.Table, _ inputs: [Int], _ output: Int, _ code: FlatBuffer.Table
    ) throws(Damage) {
        let name = try file.bytes(1, of: code)
        guard name.elementsEqual("Convolution2DTransposeBias".utf8), inputs.count == 3 else {
            throw Damage("it has a custom operator that is not supported")
        }
        let options = try file.bytes(5, of: one)
        let input = try value(inputs[0])
        let shape = graph.values[input]
        guard options.count == 12, try file.integer(Int32.self, at: options.startIndex) == 1,
            try file.integer(Int32.self, at: options.startIndex + 4) == 2,
            try file.integer(Int32.self, at: options.startIndex + 8) == 2
        else { throw Damage("a transposed convolution has options that are not supported") }
        let made = Shape(height: 2 * shape.height, width: 2 * shape.width, channels: 1)
        try count(made.pixels * shape.channels)
        var operation = NetworkGraph.Operation(
            kind: .transposedConvolution2x2, inputs: [input], output: try addValue(made, for: output))
        operation.weights = try constant(inputs[1], [1, 2, 2, shape.channels])
        operation.bias = try constant(inputs[2], [1])
        graph.operations.append(operation)
    }

    /// Counts multiplications.
    private mutating func count(_ multiplications: Int) throws(Damage) {
        work += multiplications
        guard work <= Self.maxWork else { throw Damage("it is too large") }
    }
}
