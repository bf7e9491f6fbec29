import COutline
import Foundation
import SystemKit
import TestSupport
import Testing

@testable import Outline

/// Random numbers that are the same in every run.
struct SeededGenerator {
    private var state: UInt32

    init(_ seed: UInt32) { state = seed &* 2_654_435_761 &+ 1 }

    mutating func next() -> UInt32 {
        state ^= state << 13
        state ^= state >> 17
        state ^= state << 5
        return state
    }

    /// From -1 to 1, in steps that floats of 16 bits have.
    mutating func numbers(_ count: Int, scale: Float = 1) -> [Float] {
        (0..<count).map { _ in (Float(next() >> 21) - 1023.5) / 1024 * scale }
    }
}

@Suite struct NetworkTests {
    /// A model with every kind of operation, and with channels that are no multiple of a vector.
    private static func mixed(isHalf: Bool) -> ModelFile {
        var (generator, model) = (SeededGenerator(7), ModelFile(height: 36, width: 44, channels: 3, isHalf: isHalf))
        model.convolve(generator.numbers(13 * 27, scale: 0.5), generator.numbers(13), size: 3, stride: 2, .hardSwish)
        model.convolve(generator.numbers(13 * 20, scale: 0.5), generator.numbers(20), size: 1, .relu)
        let wide = model.last
        model.convolveDepthwise(generator.numbers(20 * 9, scale: 0.5), generator.numbers(20), size: 3, .relu)
        model.mean()
        model.convolve(generator.numbers(20 * 5, scale: 0.5), generator.numbers(5), size: 1, .relu)
        model.convolve(generator.numbers(20 * 5, scale: 0.5), generator.numbers(20), size: 1, .sigmoid)
        model.scale(wide)
        let scaled = model.last
        model.convolveDepthwise(generator.numbers(20 * 9, scale: 0.5), generator.numbers(20), size: 3, stride: 2, .relu)
        model.convolveDepthwise(generator.numbers(20 * 25, scale: 0.2), generator.numbers(20), size: 5, .hardSwish)
        model.resize()
        model.convolve(generator.numbers(20 * 20, scale: 0.3), generator.numbers(20), size: 1)
        model.add(scaled)
        model.convolveDepthwise(
            generator.numbers(20 * 25, scale: 0.2), generator.numbers(20), size: 5, stride: 2, .hardSwish)
        model.convolve(generator.numbers(20 * 9 * 9, scale: 0.1), generator.numbers(9), size: 3, .relu)
        model.doubleUp(generator.numbers(36), -0.1)
        return model
    }

    private func run(_ graph: NetworkGraph, _ input: [Float], isWide: Bool) throws -> [Float] {
        var network = OutlineNetwork(try OutlineModel(graph, isWide: isWide))
        do {
            var span = network.input
            for i in input.indices { span[i] = input[i] }
        }
        let output = network.run()
        return output.indices.map { output[$0] }
    }

    @Test(arguments: [false, true]) func `all operations agree with a slow reference`(isHalf: Bool) throws {
        let graph = try TFLiteReader.graph(Self.mixed(isHalf: isHalf).bytes)
        var generator = SeededGenerator(3)
        let input = generator.numbers(36 * 44 * 3)
        let wanted = ReferenceNetwork(graph: graph).run(input)
        #expect(Set(wanted.map { Int($0 * 100) }).count > 3, "the output has some structure")
        for isWide in coutline_is_wide() != 0 ? [false, true] : [false] {
            let made = try run(graph, input, isWide: isWide)
            #expect(made.count == wanted.count)
            let error = zip(made, wanted).map { abs($0 - $1) }.max() ?? 1
            #expect(error < 1e-4, "wide: \(isWide)")
        }
    }

    @Test func `interpolating after a convolution instead of before changes nothing`() throws {
        let graph = try TFLiteReader.graph(Self.mixed(isHalf: false).bytes)
        let resize = try #require(graph.operations.firstIndex { $0.kind == .resize })
        #expect(graph.operations[resize - 1].kind == .convolution(.init(size: 1, stride: 1)), "they were exchanged")
        var original = graph
        let (convolution, interpolation) = (graph.operations[resize - 1], graph.operations[resize])
        original.values[convolution.output] = graph.values[interpolation.output]
        original.operations[resize - 1] = interpolation
        original.operations[resize - 1].inputs = convolution.inputs
        original.operations[resize - 1].output = convolution.output
        original.operations[resize] = convolution
        original.operations[resize].inputs = [convolution.output]
        original.operations[resize].output = interpolation.output
        var generator = SeededGenerator(5)
        let input = generator.numbers(36 * 44 * 3)
        let (a, b) = (ReferenceNetwork(graph: graph).run(input), ReferenceNetwork(graph: original).run(input))
        #expect(zip(a, b).allSatisfy { abs($0 - $1) < 1e-4 })
    }

    @Test func `floats of 16 bits are read exactly`() {
        let known: [(UInt16, Float)] = [
            (0x3c00, 1), (0xc000, -2), (0x3555, 0.333_251_95), (0x0001, 0x1p-24), (0x8400, -0x1p-14), (0, 0),
            (0x7bff, 65504),
        ]
        for (bits, number) in known { #expect(TFLiteReader.float(half: bits) == number) }
        #expect(!TFLiteReader.float(half: 0x7c00).isFinite)
    }

    @Test func `damaged models are refused, whatever is damaged`() throws {
        let bytes = Self.mixed(isHalf: true).bytes
        var (generator, refused, read) = (SeededGenerator(11), 0, 0)
        for _ in 0..<4000 {
            var damaged = bytes
            for _ in 0...generator.next() % 4 {
                let place = Int(generator.next()) % damaged.count
                damaged[place] =
                    [0, 1, 2, 127, 128, 255, UInt8(truncatingIfNeeded: generator.next())][Int(generator.next() % 7)]
            }
            if generator.next() % 8 == 0 { damaged.removeLast(Int(generator.next()) % damaged.count) }
            do {
                let graph = try TFLiteReader.graph(damaged)
                let model = try OutlineModel(graph)
                read += 1
                // What can be read can be run, within its memory.
                guard read % 10 == 0, model.memory < 1 << 22 else { continue }
                var network = OutlineNetwork(model)
                _ = network.run()
            } catch { refused += 1 }
        }
        #expect(refused > 300 && read > 300, "\(refused) were refused, \(read) read")
        for length in stride(from: 0, to: bytes.count, by: 61) {
            #expect(throws: (any Error).self) { try TFLiteReader.graph(Array(bytes.prefix(length))) }
        }
    }

    @Test func `a missing, a broken and another model are errors that say how to get it`() throws {
        let scratch = try ScratchFolder()
        let missing = #expect(throws: Problem.self) { try OutlineModel(path: "/nonexistent.tflite") }
        #expect(missing?.kind == .missing && missing?.fix.contains("./setup outline") == true)
        for (name, bytes) in [("broken", Array("TFL3 hello".utf8)), ("another", Self.mixed(isHalf: false).bytes)] {
            let path = scratch.path(name)
            _ = try scratch.write(Data(bytes), name)
            let problem = #expect(throws: Problem.self) { try OutlineModel(path: path) }
            #expect(problem?.kind == .unusable && problem?.message.contains(path) == true)
        }
    }

    @Test(.needsOutline) func `the real model is read, and agrees with the reference`() throws {
        let path = Fixtures.outline
        let model = try OutlineModel(path: path)
        #expect((model.width, model.height) == (256, 144))
        let graph = try TFLiteReader.graph(try contents(of: path))
        #expect(graph.operations.count == 92)
        var generator = SeededGenerator(2)
        let input = generator.numbers(256 * 144 * 3).map { abs($0) }
        let wanted = ReferenceNetwork(graph: graph).run(input)
        for isWide in coutline_is_wide() != 0 ? [false, true] : [false] {
            let made = try run(graph, input, isWide: isWide)
            #expect((zip(made, wanted).map { abs($0 - $1) }.max() ?? 1) < 1e-3)
        }
    }
}
