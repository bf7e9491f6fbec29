/// A neural network as operations in order, each on values that come before it. Values have one batch, and channels
/// last.
struct NetworkGraph: Sendable {
    struct Shape: Equatable, Sendable {
        var height: Int
        var width: Int
        var channels: Int

        var pixels: Int { height * width }
    }

    enum Activation: Sendable { case none, relu, hardSwish, sigmoid }

    /// The geometry of a convolution. What it needs beyond the right and the lower edge follows from the sizes.
    struct Window: Equatable, Sendable {
        var size: Int
        var stride: Int
        var left = 0
        var top = 0
    }

    enum Kind: Equatable, Sendable {
        /// A convolution. Weights: output, row, column, input.
        case convolution(Window)
        /// A convolution of each channel by itself. Weights: row, column, channel.
        case depthwise(Window)
        /// A transposed convolution of 2 x 2 with stride 2 to one channel. Weights: row, column, input.
        case transposedConvolution2x2
        /// The mean of all pixels.
        case mean
        /// The first input's pixels times the second input's only pixel.
        case scale
        case add
        /// Bilinear interpolation to twice the width and height, with half-pixel centres.
        case resize
    }

    struct Operation: Sendable {
        var kind: Kind
        /// Indices of one value or two.
        var inputs: [Int]
        var output: Int
        var activation = Activation.none
        var weights: [Float] = []
        /// One for each output channel.
        var bias: [Float] = []
    }

    var values: [Shape]
    var operations: [Operation]
    var input: Int
    var output: Int

    /// Interpolates after linear 1x1 convolutions instead of before, where a pair of both is found: a quarter of the
    /// work for the same result, because the weights of an interpolation add up to 1.
    mutating func commuteResizes() {
        for i in operations.indices.dropLast() {
            let (resize, next) = (operations[i], operations[i + 1])
            guard resize.kind == .resize, next.kind == .convolution(Window(size: 1, stride: 1)),
                next.activation == .none, next.inputs == [resize.output], resize.output != output,
                operations.count(where: { $0.inputs.contains(resize.output) }) == 1
            else { continue }
            values[resize.output] = values[resize.inputs[0]]
            values[resize.output].channels = values[next.output].channels
            operations[i] = next
            operations[i].inputs = resize.inputs
            operations[i].output = resize.output
            operations[i + 1] = resize
            operations[i + 1].inputs = [resize.output]
            operations[i + 1].output = next.output
        }
    }
}
