/// Writes small TensorFlow Lite models for tests: tables and lists one after the other, each before what it refers to.
public struct ModelFile {
    /// A part of a FlatBuffer.
    indirect enum Node {
        case int8(Int8)
        case int32(Int32)
        case table([Int: Node])
        case tables([Node])
        case integers([Int])
        case data([UInt8])

        var size: Int { if case .int8 = self { 1 } else { 4 } }
    }

    /// What an activation is called in the model.
    public enum Activation { case none, relu, hardSwish, sigmoid }

    private var tensors: [Node] = []
    private var buffers: [Node] = [.table([:])]
    private var operators: [Node] = []
    private var codes: [Node] = []
    private var codeNumbers: [Int] = []
    private var shapes: [[Int]] = []
    private let input: Int
    private var output: Int
    /// Whether weights are written as floats of 16 bits, with an operator that widens them.
    private let isHalf: Bool

    /// Starts a model with its input.
    public init(height: Int, width: Int, channels: Int, isHalf: Bool = false) {
        self.isHalf = isHalf
        (input, output) = (0, 0)
        _ = tensor([1, height, width, channels])
    }

    /// The number of the tensor that was computed last.
    public var last: Int { output }
    /// The shape of the tensor that was computed last.
    public var shape: [Int] { shapes[output] }

    // MARK: - Operators

    /// Adds a convolution with padding.
    /// - Parameter weights: outputs, rows, columns, inputs.
    public mutating func convolve(
        _ weights: [Float], _ bias: [Float], size: Int, stride: Int = 1, _ activation: Activation = .none
    ) {
        let (from, given) = (output, shapes[output])
        let kernel = [bias.count, size, size, given[3]]
        let options: [Int: Node] = [0: .int8(0), 1: .int32(Int32(stride)), 2: .int32(Int32(stride))]
        let made = [1, (given[1] + stride - 1) / stride, (given[2] + stride - 1) / stride, bias.count]
        add(3, [from, constant(weights, kernel), constant(bias, [bias.count])], made, options)
        activate(activation)
    }

    /// Adds a depthwise convolution with padding.
    public mutating func convolveDepthwise(
        _ weights: [Float], _ bias: [Float], size: Int, stride: Int = 1, _ activation: Activation = .none
    ) {
        let (from, given) = (output, shapes[output])
        let options: [Int: Node] = [
            0: .int8(0), 1: .int32(Int32(stride)), 2: .int32(Int32(stride)), 3: .int32(1),
        ]
        let made = [1, (given[1] + stride - 1) / stride, (given[2] + stride - 1) / stride, given[3]]
        add(4, [from, constant(weights, [1, size, size, given[3]]), constant(bias, [bias.count])], made, options)
        activate(activation)
    }

    /// Adds the mean of all pixels.
    public mutating func mean() {
        let given = shapes[output]
        let axes = tensor([2], type: 2, data: [1, 0, 0, 0, 2, 0, 0, 0])
        add(40, [output, axes], [1, 1, 1, given[3]], [0: .int8(1)])
    }

    /// Multiplies a tensor by the last one, which has one pixel.
    public mutating func scale(_ tensor: Int) { add(18, [tensor, output], shapes[tensor], [0: .int8(0)]) }

    /// Adds a tensor to the last one.
    public mutating func add(_ tensor: Int) { add(0, [tensor, output], shapes[tensor], [0: .int8(0)]) }

    /// Doubles width and height by bilinear interpolation.
    public mutating func resize() {
        let given = shapes[output]
        let size = tensor([2], type: 2, data: [0, 0, 0, 0, 0, 0, 0, 0])
        add(23, [output, size], [1, 2 * given[1], 2 * given[2], given[3]], [2: .int8(0), 3: .int8(1)])
    }

    /// Adds MediaPipe's transposed convolution of 2 x 2 to one channel.
    public mutating func doubleUp(_ weights: [Float], _ bias: Float, _ activation: Activation = .sigmoid) {
        let given = shapes[output]
        let inputs = [output, constant(weights, [1, 2, 2, given[3]]), constant([bias], [1])]
        add(
            32, inputs, [1, 2 * given[1], 2 * given[2], 1], nil, custom: [1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0])
        activate(activation)
    }

    private mutating func activate(_ activation: Activation) {
        switch activation {
        case .none: break
        case .relu: add(19, [output], shapes[output], nil)
        case .hardSwish: add(117, [output], shapes[output], nil)
        case .sigmoid: add(14, [output], shapes[output], nil)
        }
    }

    private mutating func add(
        _ code: Int, _ inputs: [Int], _ shape: [Int], _ options: [Int: Node]?, custom: [UInt8]? = nil
    ) {
        output = tensor(shape)
        var fields: [Int: Node] = [
            0: .int32(Int32(number(of: code))), 1: .integers(inputs), 2: .integers([output]),
        ]
        if let options { fields[4] = .table(options) }
        if let custom { fields[5] = .data(custom) }
        operators.append(.table(fields))
    }

    private mutating func number(of code: Int) -> Int {
        if let known = codeNumbers.firstIndex(of: code) { return known }
        codeNumbers.append(code)
        var fields: [Int: Node] = [0: .int8(Int8(code)), 3: .int32(Int32(code))]
        if code == 32 { fields[1] = .data(Array("Convolution2DTransposeBias".utf8)) }
        codes.append(.table(fields))
        return codeNumbers.count - 1
    }

    private mutating func constant(_ numbers: [Float], _ shape: [Int]) -> Int {
        guard isHalf else {
            return tensor(shape, data: numbers.flatMap { bytes($0.bitPattern) })
        }
        let half = tensor(shape, type: 1, data: numbers.flatMap { bytes(Self.half($0)) })
        let kept = output
        add(6, [half], shape, nil)
        defer { output = kept }
        return output
    }

    private mutating func tensor(_ shape: [Int], type: Int8 = 0, data: [UInt8]? = nil) -> Int {
        if let data { buffers.append(.table([0: .data(data)])) }
        shapes.append(shape)
        let buffer = data == nil ? 0 : buffers.count - 1
        tensors.append(.table([0: .integers(shape), 1: .int8(type), 2: .int32(Int32(buffer))]))
        return tensors.count - 1
    }

    // MARK: - Bytes

    /// The nearest float of 16 bits towards zero, for numbers from 2^-14 to 65504, and 0.
    static func half(_ number: Float) -> UInt16 {
        guard number != 0 else { return 0 }
        let bits = number.bitPattern
        return UInt16(bits >> 16 & 0x8000) | UInt16((Int(bits >> 23 & 255) - 112) << 10) | UInt16(bits >> 13 & 1023)
    }

    /// The finished model.
    public var bytes: [UInt8] {
        let main = Node.table([
            0: .tables(tensors), 1: .integers([input]), 2: .integers([output]), 3: .tables(operators),
        ])
        let model = Node.table([0: .int32(3), 1: .tables(codes), 2: .tables([main]), 4: .tables(buffers)])
        var bytes: [UInt8] = [0, 0, 0, 0] + Array("TFL3".utf8)
        refer(from: 0, to: model, &bytes)
        return bytes
    }

    /// Appends a node, and writes the offset to it at a position.
    private func refer(from position: Int, to node: Node, _ bytes: inout [UInt8]) {
        while bytes.count % 4 != 0 { bytes.append(0) }
        let start: Int
        switch node {
        case .int8, .int32: return
        case .data(let data):
            start = bytes.count
            bytes += self.bytes(UInt32(data.count)) + data
        case .integers(let numbers):
            start = bytes.count
            bytes += self.bytes(UInt32(numbers.count)) + numbers.flatMap { self.bytes(Int32($0)) }
        case .tables(let nodes):
            start = bytes.count
            bytes += self.bytes(UInt32(nodes.count)) + [UInt8](repeating: 0, count: 4 * nodes.count)
            for (i, node) in nodes.enumerated() { refer(from: start + 4 + 4 * i, to: node, &bytes) }
        case .table(let fields):
            let count = (fields.keys.max() ?? -1) + 1
            let list = bytes.count
            var (offsets, size) = ([UInt16](repeating: 0, count: count), 4)
            for (field, node) in fields.sorted(by: { $0.key < $1.key }) {
                offsets[field] = UInt16(size)
                size += node.size == 1 ? 4 : node.size
            }
            bytes += self.bytes(UInt16(4 + 2 * count)) + self.bytes(UInt16(size)) + offsets.flatMap { self.bytes($0) }
            while bytes.count % 4 != 0 { bytes.append(0) }
            start = bytes.count
            bytes += self.bytes(Int32(start - list)) + [UInt8](repeating: 0, count: size - 4)
            for (field, node) in fields.sorted(by: { $0.key < $1.key }) {
                let place = start + Int(offsets[field])
                switch node {
                case .int8(let value): bytes[place] = UInt8(bitPattern: value)
                case .int32(let value): bytes.replaceSubrange(place..<place + 4, with: self.bytes(value))
                default: refer(from: place, to: node, &bytes)
                }
            }
        }
        bytes.replaceSubrange(position..<position + 4, with: self.bytes(UInt32(start - position)))
    }

    private func bytes(_ value: some FixedWidthInteger) -> [UInt8] {
        (0..<value.bitWidth / 8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
}

extension ModelFile {
    /// A model with the outline's size that takes everything red for a person.
    public static var redPeople: [UInt8] {
        var model = ModelFile(height: 144, width: 256, channels: 3)
        // Red less green and blue, of the window's middle pixel.
        var weights = [Float](repeating: 0, count: 27)
        (weights[12], weights[13], weights[14]) = (1, -0.5, -0.5)
        model.convolve(weights, [0], size: 3, stride: 2)
        model.doubleUp([40, 40, 40, 40], -12)
        return model.bytes
    }
}
