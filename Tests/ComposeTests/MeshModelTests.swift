import Foundation
import Frames
import JSON
import TestSupport
import Testing
import Track

@testable import Compose
@testable import SystemKit

/// Reading of glTF files, which are written here byte by byte.
struct MeshModelTests {
    /// A .glb: a rectangle of two triangles that faces the viewer, and changes to its description.
    private struct Box {
        var description: [String: Any]
        var data: [UInt8]

        /// Two triangles, counter-clockwise from the front (z towards the viewer), 1 wide and 2 high.
        init() {
            let corners: [[Float]] = [[-0.5, 0, 0.25], [0.5, 0, 0.25], [0.5, 2, 0.25], [-0.5, 2, 0.25]]
            let textures: [[Float]] = [[0, 1], [1, 1], [1, 0], [0, 0]]
            let indices: [UInt16] = [0, 1, 2, 0, 2, 3]
            data = []
            for corner in corners { for x in corner { data += Box.bytes(x.bitPattern) } }
            for _ in corners { for x in [Float(0), 0, 1] { data += Box.bytes(x.bitPattern) } }
            for place in textures { for x in place { data += Box.bytes(x.bitPattern) } }
            for index in indices { data += [UInt8(index & 255), UInt8(index >> 8)] }
            func view(_ offset: Int, _ length: Int) -> [String: Any] {
                ["buffer": 0, "byteOffset": offset, "byteLength": length]
            }
            func accessor(_ view: Int, _ kind: Int, _ count: Int, _ type: String) -> [String: Any] {
                ["bufferView": view, "componentType": kind, "count": count, "type": type]
            }
            var positions = accessor(0, 5126, 4, "VEC3")
            positions["min"] = [-0.5, 0, 0.25]
            positions["max"] = [0.5, 2, 0.25]
            let mesh: [String: Any] = [
                "primitives": [
                    ["attributes": ["POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2], "indices": 3, "material": 0]
                ]
            ]
            let look: [String: Any] = ["baseColorFactor": [1, 0, 0, 1], "metallicFactor": 0, "roughnessFactor": 0.5]
            description = [
                "asset": ["version": "2.0"], "scene": 0, "scenes": [["nodes": [0]]], "nodes": [["mesh": 0]],
                "meshes": [mesh], "materials": [["pbrMetallicRoughness": look]],
                "buffers": [["byteLength": data.count]],
                "bufferViews": [view(0, 48), view(48, 48), view(96, 32), view(128, 12)],
                "accessors": [
                    positions, accessor(1, 5126, 4, "VEC3"), accessor(2, 5126, 4, "VEC2"),
                    accessor(3, 5123, 6, "SCALAR"),
                ],
            ]
        }

        static func bytes(_ word: UInt32) -> [UInt8] { (0..<4).map { UInt8(word >> (8 * $0) & 255) } }

        /// Sets the value at a path of keys and indices; nil removes it.
        mutating func set(_ path: [Any], _ value: Any?) {
            func changed(_ old: Any, _ path: ArraySlice<Any>) -> Any {
                guard let step = path.first else { return value ?? NSNull() }
                if let key = step as? String, var object = old as? [String: Any] {
                    let isGone = path.count == 1 && value == nil
                    object[key] = isGone ? nil : changed(object[key] ?? [String: Any](), path.dropFirst())
                    return object
                }
                if let index = step as? Int, var list = old as? [Any], list.indices.contains(index) {
                    list[index] = changed(list[index], path.dropFirst())
                    return list
                }
                return old
            }
            if let object = changed(description, path[...]) as? [String: Any] { description = object }
        }

        /// With a texture: 4 x 4 pixels, opaque green, as a PNG that the program itself writes.
        mutating func paint() throws {
            let scratch = try ScratchFolder()
            let path = scratch.url.appending(path: "picture.png")
            let pixels = [UInt8](repeating: 0, count: 8 * 8 * 4).enumerated().map { $0.offset % 4 & 1 == 1 ? 255 : 0 }
            try RGBAImage(width: 8, height: 8, bytes: pixels.map { UInt8($0) }).write(png: path.path)
            let png = [UInt8](try Data(contentsOf: path))
            set(["images"], [["bufferView": 4, "mimeType": "image/png"]])
            set(["textures"], [["source": 0]])
            set(["materials", 0, "pbrMetallicRoughness"], ["baseColorTexture": ["index": 0], "metallicFactor": 0])
            let views = description["bufferViews"] as? [Any] ?? []
            set(["bufferViews"], views + [["buffer": 0, "byteOffset": data.count, "byteLength": png.count]])
            data += png
            set(["buffers", 0, "byteLength"], data.count)
        }

        func glb() throws -> [UInt8] {
            var text = [UInt8](try JSONSerialization.data(withJSONObject: description, options: .sortedKeys))
            while text.count % 4 != 0 { text.append(0x20) }
            var body = data
            while body.count % 4 != 0 { body.append(0) }
            let length = 12 + 8 + text.count + 8 + body.count
            var file = Array("glTF".utf8) + Box.bytes(2) + Box.bytes(UInt32(length))
            file += Box.bytes(UInt32(text.count)) + Array("JSON".utf8) + text
            file += Box.bytes(UInt32(body.count)) + Array("BIN".utf8) + [0] + body
            return file
        }

        func gltf() throws -> [UInt8] {
            var box = self
            box.set(
                ["buffers", 0, "uri"], "data:application/octet-stream;base64," + Data(data).base64EncodedString())
            return [UInt8](try JSONSerialization.data(withJSONObject: box.description))
        }
    }

    private func read(_ bytes: [UInt8]) throws -> MeshModel {
        try MeshModel(bytes, path: "hat.glb", range: .limited)
    }

    /// The error for a file; nil if it was read.
    private func problem(_ bytes: [UInt8]) throws -> String? {
        do {
            _ = try read(bytes)
            return nil
        } catch let problem as Problem {
            return problem.description
        }
    }

    @Test func `a model comes out in head space, clockwise, with its colour`() throws {
        for bytes in [try Box().glb(), try Box().gltf()] {
            let primitive = try #require(try read(bytes).primitives.first)
            #expect(primitive.mesh.vertices.map(\.position).contains([0.5, -2, -0.25]))
            #expect(primitive.mesh.vertices.allSatisfy { $0.normal == [0, 0, -1] })
            #expect(primitive.mesh.triangles.count == 6 && !primitive.isDoubleSided)
            let corners = primitive.mesh.triangles.prefix(3).map { primitive.mesh.vertices[Int($0)].position }
            #expect(cross(corners[1] - corners[0], corners[2] - corners[0]).z > 0, "clockwise as seen, y downward")
            // Red: U below 128, V far above.
            #expect(
                primitive.material.color.z > 80 && primitive.material.color.y < -20 && primitive.material.opacity == 1)
        }
    }

    @Test func `nodes move, turn and mirror their meshes`() throws {
        var box = Box()
        box.set(["scenes", 0, "nodes"], [1])
        box.set(
            ["nodes"],
            [
                ["mesh": 0, "scale": [-1, 1, 1]],
                ["children": [0], "translation": [0, 1, 0], "rotation": [0, 0, 0.70710678, 0.70710678]],
            ])
        let primitive = try #require(try read(try box.glb()).primitives.first)
        // A quarter turn counter-clockwise maps up to the left; the box is then next to its foot.
        let low = primitive.mesh.vertices.map(\.position).reduce(SIMD3(repeating: .infinity)) { pointwiseMin($0, $1) }
        let high = primitive.mesh.vertices.map(\.position).reduce(SIMD3(repeating: -.infinity)) { pointwiseMax($0, $1) }
        #expect(norm(low - [-2, -1.5, -0.25]) < 1e-4 && norm(high - [0, -0.5, -0.25]) < 1e-4)
        let corners = primitive.mesh.triangles.prefix(3).map { primitive.mesh.vertices[Int($0)].position }
        #expect(cross(corners[1] - corners[0], corners[2] - corners[0]).z > 0, "mirrored, and still faces the viewer")
    }

    @Test func `a model shows its texture on the face`() throws {
        let scratch = try ScratchFolder()
        let folder = scratch.url
        var box = Box()
        try box.paint()
        try Data(box.glb()).write(to: folder.appending(path: "hat.glb"))
        let layout = FrameLayout(width: 320, height: 240, format: .yuyv)
        let mask = try layer(
            "{\"kind\": \"mesh\", \"model\": \"hat.glb\", \"at\": [0, -0.6, -1]}", layout, folder: folder.path)
        var before = Samples(noise: layout)
        // Of skin's colour: on a picture without colours, the texture would have none either.
        for i in before.bytes.indices { before.bytes[i] = [128, 110, 128, 150][i % 4] }
        let after = worn(mask, on: before, [face(at: Point(160, 150), scale: 40)])
        let inside = after[160, 90]
        print("a green picture on a model: \(inside)")
        #expect(inside.x > 60 && inside.y < 100 && inside.z < 100)
        #expect(after[160, 200] == before[160, 200])
    }

    @Test func `a model's texture is multiplied by its base colour, in linear light`() throws {
        var box = Box()
        try box.paint()
        let plain = try #require(try read(try box.glb()).primitives.first?.material.picture)
        // 0.2140 of the light is half of the sRGB value.
        box.set(["materials", 0, "pbrMetallicRoughness", "baseColorFactor"], [0.214, 0.214, 0.214, 1])
        let dark = try #require(try read(try box.glb()).primitives.first?.material.picture)
        func luma(_ art: Art) -> Float {
            let sprite = art.level(forScale: 1).sprite
            return Float(sprite.pixels[sprite.height / 2 * sprite.width + sprite.width / 2] & 255)
        }
        let (bright, half) = (luma(plain) - 16, luma(dark) - 16)
        #expect(bright > 100 && abs(half - bright / 2) <= 1.5, "\(bright), \(half)")
    }

    @Test func `texture coordinates in a repetition of the picture are those in the picture`() throws {
        func parts(movedBy shift: SIMD2<Float>) throws -> [SIMD2<Float>] {
            var box = Box()
            // Behind the positions and normals.
            for (index, place) in [[0, 1], [1, 1], [1, 0], [0, 0]].enumerated() {
                for k in 0..<2 {
                    let value = 0.25 + 0.5 * Float(place[k]) + shift[k]
                    let offset = 96 + 8 * index + 4 * k
                    box.data.replaceSubrange(offset..<offset + 4, with: Box.bytes(value.bitPattern))
                }
            }
            return try #require(try read(try box.glb()).primitives.first).mesh.vertices.map(\.uv)
        }
        let plain = try parts(movedBy: .zero)
        #expect(plain.contains([0.25, 0.75]) && plain.contains([0.75, 0.25]))
        #expect(try parts(movedBy: [1, -1]) == plain)
        #expect(try parts(movedBy: [-3, 2]) == plain)
    }

    @Test func `an invalid model is a clear error`() throws {
        func changed(_ path: [Any], _ value: Any?) throws -> [UInt8] {
            var box = Box()
            box.set(path, value)
            return try box.glb()
        }
        let circle: [[String: Any]] = [["mesh": 0, "children": [0]]]
        let cases: [([UInt8], String)] = [
            ([], "hat.glb"), (Array("glTF".utf8), "truncated"), (Array("hello, hat".utf8), "hat.glb"),
            (Array(try Box().glb().prefix(100)), "truncated"),
            (Array(String(repeating: "[", count: 100).utf8), "nested deeper"),
            (try changed(["accessors", 0, "count"], 4_000_000), "beyond its bufferView"),
            (try changed(["accessors", 3, "count"], 600), "beyond its bufferView"),
            (try changed(["bufferViews", 0, "byteOffset"], 4_000_000_000 as Int), "beyond its buffer"),
            (try changed(["bufferViews", 0, "buffer"], 7), "buffer 7"),
            (try changed(["accessors", 0, "bufferView"], 70), "bufferView 70"),
            (try changed(["accessors", 0, "type"], "SCALAR"), "wrong type"),
            (try changed(["meshes", 0, "primitives", 0, "indices"], 90), "out of bounds"),
            (try changed(["meshes", 0, "primitives", 0, "attributes"], ["NORMAL": 1]), "no positions"),
            (try changed(["meshes", 0, "primitives", 0, "material"], 4), "material 4"),
            (try changed(["meshes", 0, "primitives", 0, "mode"], 5), "strips"),
            (try changed(["nodes"], circle), "form a cycle"), (try changed(["nodes", 0, "mesh"], 3), "mesh 3"),
            (try changed(["nodes", 0, "scale"], [1e30, 1, 1]), "too large"),
            (try changed(["extensionsRequired"], ["KHR_draco_mesh_compression"]), "KHR_draco"),
            (try changed(["buffers", 0, "uri"], "../secret.bin"), "hat.glb"),
            (try changed(["scenes", 0, "nodes"], []), "no triangles"),
        ]
        for (bytes, words) in cases {
            let said = try problem(bytes) ?? "nothing"
            #expect(said.contains(words) && said.contains("hat.glb"), "wanted '\(words)': \(said)")
            #expect(said.count < 500 && !said.contains("\n"))
        }
        // An index beyond the last vertex.
        var box = Box()
        box.data[128] = 200
        #expect(try problem(try box.glb())?.contains("missing vertex") == true)
        box = Box()
        box.data.replaceSubrange(0..<4, with: Box.bytes(Float.nan.bitPattern))
        #expect(try problem(try box.glb())?.contains("not finite") == true)
    }

    @Test func `a model with random changes is read or rejected`() throws {
        let whole = try Box().glb()
        var scatter = SplitMix64(seed: 3)
        var refused = 0
        for _ in 0..<2000 {
            var bytes = whole
            for _ in 0..<(1 + Int(scatter.next() * 6)) {
                bytes[Int(scatter.next() * Float(bytes.count))] = UInt8(scatter.next() * 256)
            }
            if scatter.next() < 0.2 { bytes.removeLast(Int(scatter.next() * Float(bytes.count))) }
            if try problem(bytes) != nil { refused += 1 }
        }
        print("of 2000 changed models \(refused) are refused")
        #expect(refused > 200)
    }

    @Test func `no model is read from outside the mask's folder`() throws {
        let layout = FrameLayout(width: 64, height: 64, format: .yuyv)
        #expect(throws: Problem.self) {
            try layer("{\"kind\": \"mesh\", \"model\": \"../hat.glb\"}", layout)
        }
        do {
            _ = try layer("{\"kind\": \"mesh\"}", layout)
            Issue.record("a mesh of nothing is read")
        } catch let problem as Problem {
            #expect(problem.description.contains("at least one part, or a model"))
        }
    }
}
