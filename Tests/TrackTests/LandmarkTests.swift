import Foundation
import Frames
import TestSupport
import Testing

@testable import SystemKit
@testable import Track

private let box = Affine(scale: 90, angle: 0.2, origin: Point(40, 20))

private func distance(_ a: Face.Landmarks, _ b: [Point]) -> Float {
    (0..<68).reduce(0) { $0 + (a[$1] - b[$1]).length } / 68
}

@Test func `the compact trees find the same points as the plain method on floats`() throws {
    let scratch = try ScratchFolder()
    let plain = ModelFile()
    let model = try LandmarkModel(path: try scratch.write(Data(plain.bytes), "model.dat"), cache: nil)
    var fitter = LandmarkFitter(model)
    for width in [200, 90] {
        let picture = Picture(width: width, height: 160)
        let found = try #require(picture.withView { fitter.fit($0, in: box) })
        let wanted = plain.fit(picture, in: box)
        #expect(distance(found, wanted) < 0.003 * 90)
        #expect((0..<68).contains { (wanted[$0] - box(model.meanShape[$0])).length > 1 })
        let packed = try #require(picture.withView(pixelStride: 2) { fitter.fit($0, in: box) })
        #expect(distance(packed, (0..<68).map { found[$0] }) == 0)
    }
}

@Test func `a missing model is an error with its package`() throws {
    let problem = #expect(throws: Problem.self) { try LandmarkModel(path: "/nowhere/model.dat", cache: nil) }
    #expect(problem?.kind == .missing)
    #expect(problem?.message.contains("/nowhere/model.dat") == true)
    #expect(problem?.fix.contains("libdlib-data") == true)
}

@Test func `a model truncated anywhere is an error with its name`() throws {
    let scratch = try ScratchFolder()
    let whole = ModelFile(levels: 1, trees: 1, pixels: 4).bytes
    for length in [1, 2, 3, 400, whole.count / 2, whole.count - 2, whole.count - 1] {
        let path = try scratch.write(Data(Array(whole.prefix(length))), "cut.dat")
        let problem = #expect(throws: Problem.self) { try LandmarkModel(path: path, cache: nil) }
        #expect(problem?.kind == .unusable && problem?.message.contains(path) == true)
    }
    let empty = try scratch.write(Data([]), "empty.dat")
    #expect(throws: Problem.self) { try LandmarkModel(path: empty, cache: nil) }
    let longer = try scratch.write(Data(whole + [1, 1]), "longer.dat")
    #expect(throws: Problem.self) { try LandmarkModel(path: longer, cache: nil) }
}

@Test func `a model whose levels differ in size is an error with its package`() throws {
    let scratch = try ScratchFolder()
    var plain = ModelFile()
    plain.levels[1].removeLast()
    let path = try scratch.write(Data(plain.bytes), "model.dat")
    let problem = #expect(throws: Problem.self) { try LandmarkModel(path: path, cache: nil) }
    #expect(problem?.message.contains(path) == true && problem?.fix.contains("libdlib-data") == true)
}

@Test func `a damaged model is an error or fits, and never crashes the program`() throws {
    let scratch = try ScratchFolder()
    let whole = ModelFile(levels: 1, trees: 1, pixels: 4).bytes
    var random = Numbers()
    var refused = 0
    for _ in 0..<16 {
        var bytes = whole
        bytes[Int(random.next(0...Float(whole.count - 1)))] ^= UInt8(random.next(1...255))
        let path = try scratch.write(Data(bytes), "damaged.dat")
        guard let model = try? LandmarkModel(path: path, cache: nil) else {
            refused += 1
            continue
        }
        var fitter = LandmarkFitter(model)
        _ = Picture(width: 50, height: 50).withView { fitter.fit($0, in: box) }
    }
    #expect(refused > 0)
}

@Test func `values whose sums would overflow are an error`() throws {
    let scratch = try ScratchFolder()
    var plain = ModelFile()
    plain.levels[0][0].leaves[1] = Array(repeating: 3e38, count: 136)
    let path = try scratch.write(Data(plain.bytes), "model.dat")
    let problem = #expect(throws: Problem.self) { try LandmarkModel(path: path, cache: nil) }
    #expect(problem?.kind == .unusable && problem?.message.contains(path) == true)
}

@Test func `a box outside the picture gives landmarks, and an invalid one gives none`() throws {
    let scratch = try ScratchFolder()
    let model = try LandmarkModel(path: try scratch.write(Data(ModelFile().bytes), "model.dat"), cache: nil)
    var fitter = LandmarkFitter(model)
    let picture = Picture(width: 1, height: 1)
    for origin in [Point(-30, 5), Point(-1e9, 1e9), Point(1e30, 0)] {
        let shape = picture.withView { fitter.fit($0, in: Affine(scale: 60, angle: 0, origin: origin)) }
        #expect(try #require(shape)[0].x.isFinite)
    }
    for broken in [
        Affine(scale: 0, angle: 0, origin: Point()), Affine(scale: .nan, angle: 0, origin: Point()),
        Affine(scale: 60, angle: 0, origin: Point(.infinity, 0)), Affine(scale: .infinity, angle: 0, origin: Point()),
    ] {
        #expect(picture.withView { fitter.fit($0, in: broken) } == nil)
        #expect(picture.withView { fitter.fit($0, around: broken, from: .above) } == nil)
    }
}

@Test func `the box around the mean shape in a box is that box`() throws {
    let scratch = try ScratchFolder()
    let model = try LandmarkModel(path: try scratch.write(Data(ModelFile().bytes), "model.dat"), cache: nil)
    var shape = model.meanShape
    for i in 0..<68 { shape[i] = box(shape[i]) }
    let around = try #require(model.box(around: shape))
    for corner in [Point(0, 0), Point(1, 0), Point(1, 1)] { #expect((around(corner) - box(corner)).length < 0.01) }
    #expect(model.box(around: Face.Landmarks(repeating: Point(3, 4))) == nil)
    #expect(model.box(around: Face.Landmarks(repeating: Point(.nan, 4))) == nil)
}

@Test func `the second start reads the cache, and a damaged, truncated or outdated cache is rebuilt`() throws {
    let scratch = try ScratchFolder()
    let path = try scratch.write(Data(ModelFile().bytes), "model.dat")
    let cache = scratch.path("cache/deep")
    func open() throws -> [Point] {
        var fitter = LandmarkFitter(try LandmarkModel(path: path, cache: cache))
        let found = Picture(width: 200, height: 160).withView { fitter.fit($0, in: box) }
        return try (0..<68).map { try #require(found)[$0] }
    }
    let first = try open()
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: cache).first)
    let kept = "\(cache)/\(name)"
    func number() throws -> UInt64 {
        try #require(try FileManager.default.attributesOfItem(atPath: kept)[.systemFileNumber] as? UInt64)
    }
    let whole = try Data(contentsOf: URL(fileURLWithPath: kept))
    let before = try number()
    #expect(try open() == first)
    #expect(try number() == before)

    for position in [0, 8, 32, 127, 128, whole.count / 2] {
        var bytes = whole
        bytes[position] ^= 0x11
        try bytes.write(to: URL(fileURLWithPath: kept))
        #expect(try open() == first)
        #expect(try Data(contentsOf: URL(fileURLWithPath: kept)) == whole)
    }
    for length in [0, 128, whole.count - 64] {
        try whole.prefix(length).write(to: URL(fileURLWithPath: kept))
        #expect(try open() == first)
    }
    // Another model with the same name.
    _ = try scratch.write(Data(ModelFile(levels: 2).bytes), "model.dat")
    #expect(try open() != first)
    #expect(try FileManager.default.contentsOfDirectory(atPath: cache) == [name])
}

@Test func `if the cache cannot be written the model works from memory`() throws {
    let scratch = try ScratchFolder()
    let plain = ModelFile()
    let path = try scratch.write(Data(plain.bytes), "model.dat")
    let model = try LandmarkModel(path: path, cache: path + "/below-a-file")
    var fitter = LandmarkFitter(model)
    let picture = Picture(width: 200, height: 160)
    let found = try #require(picture.withView { fitter.fit($0, in: box) })
    #expect(distance(found, plain.fit(picture, in: box)) < 0.003 * 90)
}

@Test func `many starts at once leave one whole cache file`() async throws {
    let scratch = try ScratchFolder()
    let path = try scratch.write(Data(ModelFile().bytes), "model.dat")
    let cache = scratch.path("cache")
    let opened = await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<8 { group.addTask { (try? LandmarkModel(path: path, cache: cache)) != nil } }
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(opened == 8)
    #expect(try FileManager.default.contentsOfDirectory(atPath: cache).count == 1)
}

@Test func `a converted model needs neither dlib's file nor a cache, and everybody may read it`() throws {
    let scratch = try ScratchFolder()
    let plain = ModelFile()
    let path = try scratch.write(Data(plain.bytes), "model.dat")
    let folder = scratch.path("share/landmarks")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let shared = scratch.path("share")
    #expect(LandmarkModel.path(shared: shared, environment: [:]) == LandmarkModel.debianPath)
    let converted = try LandmarkModel.convert(path, into: folder)
    try FileManager.default.removeItem(atPath: path)
    #expect(LandmarkModel.path(shared: shared, environment: [:]) == converted)
    #expect(LandmarkModel.path(shared: shared, environment: ["GUISE_LANDMARKS": "/other"]) == "/other")
    #expect(LandmarkModel.path(shared: nil, environment: [:]) == LandmarkModel.debianPath)
    let mode = try FileManager.default.attributesOfItem(atPath: converted)[.posixPermissions] as? Int
    #expect(mode == 0o644)
    let cache = scratch.path("cache")
    var fitter = LandmarkFitter(try LandmarkModel(path: converted, cache: cache))
    let picture = Picture(width: 200, height: 160)
    let found = try #require(picture.withView { fitter.fit($0, in: box) })
    #expect(distance(found, plain.fit(picture, in: box)) < 0.003 * 90)
    #expect(!FileManager.default.fileExists(atPath: cache))
    // A damaged file is named, and one of another version: dlib's package does not mend either.
    let whole = try Data(contentsOf: URL(fileURLWithPath: converted))
    var older = whole
    older[8] = 1
    for broken in [Data(whole.dropLast(64)), older] {
        try broken.write(to: URL(fileURLWithPath: converted))
        let problem = #expect(throws: Problem.self) { try LandmarkModel(path: converted, cache: nil) }
        #expect(problem?.message.contains(converted) == true)
        #expect(problem?.fix.contains("guise landmarks") == true && problem?.fix.contains("libdlib") == false)
    }
}
