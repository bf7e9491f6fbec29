import Frames
import JSON
import TestSupport
import Testing

@testable import Compose
@testable import SystemKit

/// The shapes of meshes: finite, closed, facing outward.
struct MeshTests {
    /// Edges that no other triangle has in the other direction, compared by position, because seams have duplicate
    /// vertices.
    private static func openEdges(_ mesh: Mesh) -> Int {
        func key(_ p: SIMD3<Float>) -> SIMD3<Int32> {
            // To 1/10000: matching vertices were computed from the same numbers.
            SIMD3<Int32>((p * 1e4).rounded(.toNearestOrEven))
        }
        var edges: [[SIMD3<Int32>]: Int] = [:]
        for i in stride(from: 0, to: mesh.triangles.count, by: 3) {
            let corners = (0..<3).map { key(mesh.vertices[Int(mesh.triangles[i + $0])].position) }
            // Poles have triangles without area.
            guard Set(corners).count == 3 else { continue }
            for k in 0..<3 { edges[[corners[k], corners[(k + 1) % 3]], default: 0] += 1 }
        }
        return edges.reduce(0) { sum, edge in
            sum + abs(edge.value - (edges[[edge.key[1], edge.key[0]]] ?? 0))
        }
    }

    /// Six times the volume of a closed mesh; positive if its triangles are clockwise as seen from outside.
    private static func volume(_ mesh: Mesh) -> Float {
        stride(from: 0, to: mesh.triangles.count, by: 3).reduce(0) { sum, i in
            let p = (0..<3).map { mesh.vertices[Int(mesh.triangles[i + $0])].position }
            // In head space, whose z points away, a triangle that is clockwise from outside has its cross product
            // inward.
            return sum - dot(p[0], cross(p[1], p[2]))
        }
    }

    /// Triangles whose vertex normals point to the other side.
    private static func against(_ mesh: Mesh) -> Int {
        stride(from: 0, to: mesh.triangles.count, by: 3).count { i in
            let corners = (0..<3).map { mesh.vertices[Int(mesh.triangles[i + $0])] }
            let facing = cross(
                corners[1].position - corners[0].position, corners[2].position - corners[0].position)
            guard norm(facing) > 1e-5 else { return false }
            return dot(facing, corners[0].normal + corners[1].normal + corners[2].normal) >= 0
        }
    }

    private static func isFinite(_ mesh: Mesh) -> Bool {
        mesh.vertices.allSatisfy { vertex in
            let p = vertex.position + vertex.normal + SIMD3(vertex.grainUV, vertex.shade) + SIMD3(vertex.uv, 0)
            return p.x.isFinite && p.y.isFinite && p.z.isFinite && abs(norm(vertex.normal) - 1) < 1e-3
        } && mesh.triangles.allSatisfy { Int($0) < mesh.vertices.count }
    }

    private static func circle(_ radius: Float, _ middle: SIMD2<Float> = .zero, count: Int = 24) -> [SIMD2<Float>] {
        (0..<count).map { i in
            let turn = 2 * Float.pi * Float(i) / Float(count)
            return middle + SIMD2(cos(turn), sin(turn)) * radius
        }
    }

    @Test func `bodies are closed, finite, of the right size, and face outward`() {
        let ring: [SIMD3<Float>] = (0..<12).map { i in
            let turn = 2 * Float.pi * Float(i) / 12
            return [-sin(turn), 0, cos(turn)]
        }
        let square: [SIMD2<Float>] = [[-1, -1], [1, -1], [1, 1], [-1, 1]]
        let cone: [(radius: Float, height: Float, shade: Float)] = [(0, 2, 1), (1, 0, 1), (0, 0, 1)]
        let bodies: [(String, Mesh, wanted: Float, by: Float)] = [
            (
                "ring that is not flat",
                Shape.tube(
                    ring.enumerated().map { $1 + [0, $0 % 2 == 0 ? 0.3 : -0.3, 0] },
                    radii: Array(repeating: 0.1, count: 12), around: 24, steps: 240, flatness: 0.5, isClosed: true),
                .pi * 0.1 * 0.05 * 9.6, 0.05
            ),
            ("ball", Shape.ball(radius: 0.5, around: 48), 4 / 3 * .pi * 0.125, 0.02),
            ("cone", Shape.lathe(cone, around: 64), .pi * 2 / 3, 0.02),
            ("the same upside down", Shape.lathe(cone.reversed(), around: 64), .pi * 2 / 3, 0.02),
            (
                "ring",
                Shape.tube(
                    ring, radii: Array(repeating: 0.2, count: 12), around: 24, steps: 96, flatness: 1, isClosed: true),
                2 * .pi * .pi * 0.04, 0.03
            ),
            ("box", Shape.extrusion([square], depth: 0.5, bevel: 0), 2, 1e-3),
            ("box with a hole", Shape.extrusion([square, Self.circle(0.5)], depth: 0.5, bevel: 0), 2 - .pi / 8, 0.02),
            (
                "box with two holes and an island in one",
                Shape.extrusion(
                    [square, Self.circle(0.4, [0.5, 0]), Self.circle(0.2, [0.5, 0]), Self.circle(0.3, [-0.5, 0])],
                    depth: 0.5, bevel: 0), 2 - .pi / 2 * (0.16 - 0.04 + 0.09), 0.02
            ),
            ("box with slanted rims", Shape.extrusion([square.reversed()], depth: 0.5, bevel: 0.1), 1.927, 0.02),
        ]
        for (name, mesh, wanted, by) in bodies {
            let (open, volume) = (Self.openEdges(mesh), Self.volume(mesh) / 6)
            print(
                "\(name): \(mesh.triangles.count / 3) triangles, \(open) open edges, volume \(volume) of \(wanted), "
                    + "\(Self.against(mesh)) against their normals")
            #expect(Self.isFinite(mesh), "\(name)")
            #expect(open == 0, "\(name) has \(open) open edges")
            #expect(abs(volume - wanted) < by * wanted, "\(name): \(volume), wanted \(wanted)")
            #expect(Self.against(mesh) == 0, "\(name)")
        }
    }

    @Test func `sheets face the viewer, and open bodies outward`() {
        let plane = Shape.plane(width: 2, height: 1, columns: 4, rows: 3)
        #expect(plane.vertices.allSatisfy { norm($0.normal - [0, 0, -1]) < 1e-5 })
        #expect(Self.against(plane) == 0 && plane.triangles.count == 72)
        let brim = Shape.lathe([(1.6, 0, 1), (1.1, 0.05, 1), (0.9, 1.2, 1)], around: 40)
        #expect(Self.isFinite(brim) && Self.against(brim) == 0)
        // Outward from the axis, on its upright part.
        #expect(brim.vertices.filter { $0.position.y < -0.3 }.allSatisfy { $0.normal.x * $0.position.x >= -1e-4 })
        let arch = Shape.tube(
            [[-1, 0, 0], [0, -1, 0], [1, 0, 0]], radii: [0.1, 0.2, 0.1], around: 10, steps: 20, flatness: 0.5,
            isClosed: false)
        #expect(Self.isFinite(arch) && Self.against(arch) == 0)
        let fur = Shape.tufts(
            on: Shape.ball(radius: 1, around: 16), count: 200, length: 0.1, width: 0.02, lean: .zero, seed: 1)
        #expect(Self.isFinite(fur) && fur.triangles.count == 600)
    }

    @Test func `mirrored copies still face outward`() {
        for scale: SIMD3<Float> in [[-1, 1, 1], [1, -2, 1], [-1, -1, -0.5]] {
            var mesh = Shape.ball(radius: 1, around: 24)
            mesh.transform(AffineMap3D(at: [3, 2, 1], turn: [20, -70, 130], scale: scale))
            #expect(Self.volume(mesh) > 0 && Self.openEdges(mesh) == 0 && Self.against(mesh) == 0, "\(scale)")
        }
    }

    // MARK: Outlines

    private static func area(_ text: String) -> Float? {
        OutlinePath(text, tolerance: 0.01).map { path in path.outlines.reduce(0) { $0 + Polygon.area($1) / 2 } }
    }

    @Test(
        arguments: [
            ("M0 0h10v10h-10z", 100), ("M0,0 10,0 10,10 0,10z", 100), ("m5 5 10 0 0 10-10 0z", 100),
            ("M0 0L10 0L10 10L0 10", 100), ("M0 0H10V10H0Z", 100), ("M0 0h10v10h-10zM2 2v6h6v-6z", 64),
            // Circles of radius 10: by arcs, by cubics and smooth cubics.
            ("M-10 0A10 10 0 0 1 10 0A10 10 0 0 1-10 0z", 314.16), ("M-10 0a10 10 0 1110 10a10 10 0 01-10-10z", 314.16),
            ("M-10 0C-10-5.523-5.523-10 0-10S10-5.523 10 0 5.523 10 0 10-10 5.523-10 0z", 314.16),
            // A parabola's segment has two thirds of its box; the mirrored one is below.
            ("M0 0Q10-20 20 0z", 133.33), ("M0 0q10-20 20 0t20 0V30H0z", 1200), ("M0 0e1", nil),
            ("M1e1 0h10v1E1h-10z", 100),
        ] as [(String, Float?)])
    func `outlines enclose what SVG says`(_ text: String, _ wanted: Float?) {
        let area = Self.area(text)
        if let wanted {
            #expect(abs((area ?? .infinity) - wanted) < 0.005 * wanted, "\(text): \(area ?? -1)")
        } else {
            #expect(area == nil)
        }
    }

    @Test(arguments: [
        // By SVG 1.1, 8.3.6 and 8.3.7, only control points of the same kind of curve are reflected.
        ("M0 0Q0 10 10 10S20 0 20 0z", "M0 0Q0 10 10 10C10 10 20 0 20 0z"),
        ("M0 0C0 10 0 10 10 10T20 0z", "M0 0C0 10 0 10 10 10Q10 10 20 0z"),
        ("M0 0C0 10 0 10 10 10S20 0 20 0z", "M0 0C0 10 0 10 10 10C20 10 20 0 20 0z"),
    ])
    func `smooth curves reflect the control point of their own kind`(_ smooth: String, _ explicit: String) throws {
        let outlines = try #require(OutlinePath(smooth, tolerance: 0.01)).outlines
        #expect(outlines == OutlinePath(explicit, tolerance: 0.01)?.outlines)
    }

    @Test(arguments: [
        "", "z", "10 10", "M", "M0", "M0 0", "M0 0L1", "M0 0h10v10h-10zX", "M0 0h1e9v1z", "M0 0hinfv1z", "M0 0hnan",
        "M0 0A1 1 0 2 0 5 5z", "M0 0 é", "M0 0--1 1z", String(repeating: "M0 0h1v1z", count: 2000),
    ])
    func `invalid outlines are rejected`(_ text: String) { #expect(OutlinePath(text, tolerance: 0.01) == nil) }

    @Test func `random outlines never crash the program`() {
        let letters = Array("MmLlHhVvCcSsQqTtAaZz")
        let numbers = ["0", "1", "-7", "30.5", ".5", "1e2", "-1e-3", "99", "1.5.5", "1e5"]
        var scatter = SplitMix64(seed: 4)
        func any<T>(_ list: [T]) -> T { list[Int(scatter.next() * Float(list.count))] }
        var read = 0
        for _ in 0..<4000 {
            var text = "M0 0"
            for _ in 0..<2 + Int(scatter.next() * 6) {
                text.append(any(letters))
                for _ in 0..<any([0, 1, 2, 2, 2, 4, 6, 7]) { text += any(numbers) + " " }
            }
            guard let path = OutlinePath(text, tolerance: 0.5) else { continue }
            let mesh = Shape.extrusion(path.outlines.map { $0.map { $0 / 100 } }, depth: 0.1, bevel: 0.02)
            if !path.outlines.isEmpty { read += 1 }
            #expect(
                mesh.vertices.allSatisfy { $0.position.x.isFinite && $0.position.y.isFinite && $0.normal.z.isFinite },
                "\(text)")
        }
        print("of 4000 random outlines \(read) are read")
        #expect(read > 20)
    }

    // MARK: Errors

    @Test(arguments: [
        ("\"shape\": \"lath\", \"profile\": [[1, 0], [1, 1]]", "did you mean 'lathe'"),
        ("\"shape\": \"ball\", \"radius\": 0.1, \"doubleSide\": true", "did you mean 'doubleSided'"),
        ("\"shape\": \"ball\", \"radius\": 99", "0.005 to 10"), ("\"shape\": \"ball\"", "'layers[0].parts[0].radius'"),
        ("\"radius\": 1", "lathe, extrusion"), ("\"shape\": \"lathe\", \"profile\": [[1, 0]]", "2 to 64 lists"),
        ("\"shape\": \"lathe\", \"profile\": [[1, 0], [1, 1, 1, 1]]", "2 or 3 numbers"),
        ("\"shape\": \"extrusion\", \"path\": \"hello\"", "the data of an SVG path"),
        ("\"shape\": \"tube\", \"path\": [[0, 0, 0], [1, 0, 0]], \"radius\": [1]", "2 numbers"),
        ("\"shape\": \"ball\", \"radius\": 1, \"scale\": 0", "too small"),
        ("\"shape\": \"ball\", \"radius\": 1, \"bend\": {\"axis\": \"w\"}", "x, y, z"),
        ("\"shape\": \"ball\", \"radius\": 1, \"at\": [0, 0, 99]", "-20 to 20"),
        (
            "\"shape\": \"ball\", \"radius\": 1, \"around\": 96, \"copies\": {\"count\": 64}",
            "more than 60000 triangles"
        ),
        (
            "\"shape\": \"ball\", \"radius\": 1, \"tufts\": {\"count\": 8000, \"length\": 0.1}, \"copies\": {\"count\": 9}",
            "fewer copies"
        ),
    ])
    func `a mistake in a part is an error with its line and what is allowed`(_ part: String, _ words: String) throws {
        let text = """
            {"kind": "mesh", "materials": [{"name": "felt"}],
             "parts": [
                {\(part), "material": "felt"}]}
            """
        do {
            let json = try JSON(Array("{\"layers\": [\(text)]}".utf8), file: "mask.json")
            var fields = try Fields(json, file: "mask.json")
            for var layer in try fields.objects("layers") {
                _ = try MaskLayer(
                    &layer, folder: "/", target: ArtTarget(FrameLayout(width: 64, height: 64, format: .yuyv)))
            }
            Issue.record("it is read: \(part)")
        } catch let problem as Problem {
            #expect(problem.description.contains(words) && problem.description.contains("mask.json:3"), "\(problem)")
        }
    }

    @Test(arguments: ["plastic", "metal", "satin"])
    func `a surface that is rough all over has no highlight`(preset: String) throws {
        func finish(_ keys: String) throws -> Material.Finish {
            let json = try JSON(Array(#"{"finish": "\#(preset)"\#(keys)}"#.utf8), file: "mask.json")
            var fields = try Fields(json, file: "mask.json")
            return try Material(&fields, folder: "/", range: .limited, tint: nil).finish
        }
        #expect(try finish("").gloss > 0)
        #expect(try finish(#", "roughness": 0.5"#).gloss > 0)
        #expect(try finish(#", "roughness": 1"#).gloss == 0)
    }

    @Test func `coloured light colours a surface alike in limited and in full range`() {
        var light = FaceLight()
        light.cast = [-20, 30]
        func chroma(_ range: ColorRange) -> SIMD2<Float> {
            let white = SIMD3<Float>(Float(range.lumaSpan), 0, 0)
            let lit = Lighting(light, range: range).color(white, Material.Finish(), normal: [0, 0, -1], shade: 1)
            return SIMD2(lit.y, lit.z) / Float(range.chromaSpan)
        }
        let (limited, full) = (chroma(.limited), chroma(.full))
        #expect(full.x < -0.02 && full.y > 0.03)
        #expect((limited - full).length < 1e-4, "\(limited), \(full)")
    }

    @Test func `the outside of a lathe, and its picture, are the same at any height`() {
        func bowl(at height: Float) -> Mesh { Shape.lathe([(0.1, height, 1), (1, height + 0.1, 1)], around: 8) }
        let middle = bowl(at: -0.05)
        for height: Float in [-1, 0, 0.06, 2] {
            let moved = bowl(at: height)
            for (a, b) in zip(middle.vertices, moved.vertices) {
                #expect(a.uv == b.uv && dot(a.normal, b.normal) > 0.99, "\(height): \(a), \(b)")
            }
        }
    }

    @Test func `in directed light a surface has a dark side, and in even light hardly one`() {
        /// The luma of the sides towards the light, towards the camera, and away from the light.
        func sides(contrast: Float) -> [Float] {
            var light = FaceLight()
            (light.contrast, light.direction) = (contrast, [-0.8, 0, -0.6])
            let lighting = Lighting(light, range: .full)
            return [[-1, 0, 0], [0, 0, -1], [1, 0, 0]].map {
                lighting.color(SIMD3(200, 0, 0), Material.Finish(), normal: $0, shade: 1).x
            }
        }
        let (even, directed) = (sides(contrast: 0), sides(contrast: 1))
        #expect(even[0] / even[2] < 2 && directed[0] / directed[2] > 2.5, "\(even), \(directed)")
        #expect(abs(even[1] - directed[1]) < 0.1 * even[1], "what faces the camera is about as bright")
    }

    @Test func `in a matte picture colours are duller and whites less white, and dark things as they are`() {
        func lit(_ color: SIMD3<Float>, matteness: Float) -> SIMD4<Float> {
            var light = FaceLight()
            light.matteness = matteness
            return Lighting(light, range: .full).color(color, Material.Finish(), normal: [0, 0, -1], shade: 1)
        }
        let (red, white, black) = (SIMD3<Float>(80, -30, 90), SIMD3<Float>(255, 0, 0), SIMD3<Float>(30, 0, 0))
        let (vivid, dull) = (lit(red, matteness: 0), lit(red, matteness: 1))
        #expect(dull.x == vivid.x && abs(dull.z / vivid.z - 0.85) < 0.01 && abs(dull.y / vivid.y - 0.85) < 0.01)
        #expect(lit(white, matteness: 1).x < lit(white, matteness: 0).x - 10)
        #expect(lit(black, matteness: 1) == lit(black, matteness: 0))
    }

    @Test func `black cloth is as bright as the picture's black, and bright cloth hardly brighter`() {
        func luma(_ color: Float, black: Float) -> Float {
            var light = FaceLight()
            light.blackLevel = black
            let color = SIMD3<Float>(color, 0, 0)
            return Lighting(light, range: .full).color(color, Material.Finish(), normal: [0, 0, -1], shade: 1).x
        }
        #expect(luma(0, black: 0) == 0 && abs(luma(0, black: 25.5) - 25.5) < 0.01)
        #expect(abs(luma(150, black: 25.5) - (25.5 + 0.9 * luma(150, black: 0))) < 0.01)
    }

    @Test func `a material's old key is an error that names the new one`() throws {
        let json = try JSON(Array(#"{"look": "felt"}"#.utf8), file: "mask.json")
        var fields = try Fields(json, file: "mask.json")
        let problem = problem { _ = try Material(&fields, folder: "/", range: .limited, tint: nil) }
        #expect(problem?.fix == "use 'finish'", "\(problem as Any)")
    }

    @Test func `an unknown material is an error that names the nearest`() throws {
        do {
            _ = try layer(
                """
                {"kind": "mesh", "materials": [{"name": "felt"}, {"name": "wool"}],
                 "parts": [{"shape": "ball", "radius": 1, "material": "wol"}]}
                """, FrameLayout(width: 64, height: 64, format: .yuyv))
            Issue.record("it is read")
        } catch let problem as Problem {
            #expect(problem.description.contains("did you mean 'wool'"), "\(problem)")
        }
    }

    // MARK: - light from all around

    /// A floor of 4 x 4 head units, which is seen from above, and a wall on its middle line.
    private static func corner(
        _ finish: Material.Finish = Material.Finish(), opacity: Float = 1, size: Float = 4
    ) -> [Submesh] {
        let material = Material(color: [200, 0, 0], finish: finish, picture: nil, opacity: opacity)
        var (floor, wall) = (
            Shape.plane(width: size, height: size, columns: 40, rows: 40),
            Shape.plane(width: size, height: 1, columns: 40, rows: 10)
        )
        floor.transform(AffineMap3D(turn: [-90, 0, 0]))
        wall.transform(AffineMap3D(at: [0, -0.5, 0]))
        return [floor, wall].map { Submesh(mesh: $0, material: material, surface: .doubleSided) }
    }

    /// The mean shade of vertices so far from the wall, where it is highest.
    private static func shade(_ mesh: Mesh, from near: Float, to far: Float) -> Float {
        let shades = mesh.vertices.filter { (near...far).contains(abs($0.position.z)) && abs($0.position.x) < 1.5 }
            .map(\.shade)
        return shades.reduce(0, +) / Float(shades.count)
    }

    @Test func `a surface is darker beside another one, but for what reflects, glows or is seen through`() {
        let plain = AmbientOcclusion.darken(Self.corner())[0].mesh
        let (beside, away) = (Self.shade(plain, from: 0.05, to: 0.15), Self.shade(plain, from: 0.8, to: 2))
        print("shade beside a wall \(beside), away from it \(away)")
        #expect(beside < 0.85 && beside > 0.5 && abs(away - 1) < 0.03)
        var (metal, glow) = (Material.Finish(), Material.Finish())
        (metal.metal, glow.glow) = (1, 1)
        for submeshes in [Self.corner(metal), Self.corner(glow), Self.corner(opacity: 0.5)] {
            #expect(AmbientOcclusion.darken(submeshes)[0].mesh.vertices.allSatisfy { $0.shade == 1 })
        }
    }

    @Test func `vertices at one place have one shade, so that no seam is seen`() {
        let material = Material(color: [200, 0, 0], finish: Material.Finish(), picture: nil, opacity: 1)
        let cone = Shape.lathe([(0, -1, 1), (0.6, 0, 1), (1.2, 0.1, 1), (1.2, 0.2, 1)], around: 40)
        let mesh = AmbientOcclusion.darken([Submesh(mesh: cone, material: material, surface: .closed)])[0].mesh
        var shades: [SIMD3<Int32>: ClosedRange<Float>] = [:]
        for vertex in mesh.vertices {
            let place = SIMD3<Int32>((vertex.position * 1e3).rounded(.toNearestOrEven))
            let known = shades[place] ?? vertex.shade...vertex.shade
            shades[place] = min(known.lowerBound, vertex.shade)...max(known.upperBound, vertex.shade)
        }
        #expect(shades.count < mesh.vertices.count && shades.values.allSatisfy { $0.upperBound - $0.lowerBound < 0.01 })
        #expect(mesh.vertices.contains { $0.shade < 0.9 })
    }

    @Test func `a mask whose parts are far too large is drawn as it is described`() {
        for size in [400, 1e30] as [Float] {
            let mesh = AmbientOcclusion.darken(Self.corner(size: size))[0].mesh
            #expect(mesh.vertices.allSatisfy { $0.shade == 1 })
        }
        // Fur is in no cell, wherever it is.
        let far = Self.corner(size: 1e30).map { Submesh(mesh: $0.mesh, material: $0.material, surface: .fur) }
        #expect(AmbientOcclusion.darken(Self.corner() + far).count == 4)
    }
}
