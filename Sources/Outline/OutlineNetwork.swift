import COutline

/// Runs a model in working memory of its own.
@safe struct OutlineNetwork: ~Copyable {
    let model: OutlineModel
    private var memory: VectorBuffer<Float>
    private let kernels: UnsafePointer<coutline_kernels>

    init(_ model: OutlineModel) {
        self.model = model
        memory = VectorBuffer<Float>(count: model.memory)
        unsafe kernels = coutline_kernels(model.isWide ? 1 : 0)
    }

    /// The input: RGB from 0 to 1, pixel by pixel.
    var input: MutableSpan<Float> {
        @_lifetime(&self) mutating get {
            let count = model.steps.isEmpty ? 0 : model.width * model.height * model.steps[0].inputStride
            return memory.span(at: model.input, count: count)
        }
    }

    /// Computes the mask of a picture.
    /// - Returns: the mask, which stays until the next run.
    @unsafe mutating func run(
        _ cells: borrowing DownsampledFrame, _ kernels: UnsafePointer<coutline_kernels>
    ) -> UnsafePointer<Float> {
        unsafe kernels.pointee.rgb(
            cells.y.base, cells.u.base, cells.v.base, DownsampledFrame.count, cells.layout.range == .limited ? 1 : 0,
            memory.base + model.input)
        _ = run()
        return unsafe UnsafePointer(memory.base + model.output)
    }

    /// Computes the output, which stays until the next run.
    /// - Returns: `outputStride` floats per pixel.
    @_lifetime(&self)
    mutating func run() -> MutableSpan<Float> {
        unsafe model.weights.withUnsafeBufferPointer { weights in
            guard let weights = weights.baseAddress else { return }
            let memory = unsafe memory.base
            for i in model.steps.indices { unsafe run(model.steps[i], memory, weights) }
        }
        return memory.span(
            at: model.output, count: (model.steps.last?.result.pixels ?? 0) * model.outputStride)
    }

    @unsafe private func run(
        _ step: borrowing OutlineModel.Step, _ memory: UnsafeMutablePointer<Float>, _ weights: UnsafePointer<Float>
    ) {
        let kernels = unsafe kernels.pointee
        let (input, second, output) = unsafe (
            memory + step.inputs.0, memory + step.inputs.1, memory + step.output
        )
        let (given, bias, scratch) = unsafe (weights + step.weights, weights + step.bias, memory + model.scratch)
        let channels = OutlineModel.padded(step.shape.channels)
        let made = OutlineModel.padded(step.result.channels)
        let (width, height, pixels) = (CInt(step.shape.width), CInt(step.shape.height), CInt(step.shape.pixels))
        switch step.operation {
        case .convolution(let window) where window.size == 1 && window.stride == 1:
            unsafe kernels.pointwise(
                input, CInt(step.inputStride), given, bias, output, CInt(made), pixels, CInt(step.shape.channels),
                CInt(made), step.activation)
        case .convolution(let window):
            var geometry = step.geometry(window, channels: step.shape.channels)
            unsafe kernels.dense(
                &geometry, CInt(step.inputStride), input, given, bias, output, CInt(made), scratch)
        case .depthwise(let window):
            var geometry = step.geometry(window, channels: channels)
            unsafe kernels.depthwise(&geometry, input, given, bias, output, scratch)
        case .transposedConvolution2x2:
            unsafe kernels.double_up(
                input, width, height, CInt(step.inputStride), CInt(step.shape.channels), given, bias, output,
                step.activation, scratch)
        case .mean: unsafe kernels.mean(input, pixels, CInt(channels), output)
        case .scale: unsafe kernels.scale(input, second, pixels, CInt(channels), output)
        case .add: unsafe kernels.add(input, second, output, step.shape.pixels * channels)
        case .resize: unsafe kernels.resize(input, width, height, CInt(channels), output, scratch)
        }
    }
}

extension OutlineModel.Step {
    fileprivate func geometry(_ window: NetworkGraph.Window, channels: Int) -> coutline_window {
        coutline_window(
            width: CInt(shape.width), height: CInt(shape.height), out_width: CInt(result.width),
            out_height: CInt(result.height), channels: CInt(channels), size: CInt(window.size),
            stride: CInt(window.stride), pad_left: CInt(window.left), pad_top: CInt(window.top),
            activation: activation)
    }
}
