// swift-tools-version:6.2
import PackageDescription

/// Whether warnings fail the debug build: `GUISE_STRICT=1` (make test, CI), so that a newer compiler's new warnings
/// never keep a user from building. Release builds always have the same flags, so that `make run` after `make test`
/// rebuilds nothing.
let strict = Context.environment["GUISE_STRICT"] == "1"

/// Whether a sanitizer is used; set by `make sanitize`.
let isSanitized = Context.environment["GUISE_SANITIZE"] == "1"

let swiftSettings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .strictMemorySafety(),
        .enableUpcomingFeature("ExistentialAny"),
        // For `@_lifetime` on the few views that lend a frame's bytes.
        .enableExperimentalFeature("Lifetimes"),
    ] + (strict ? [.treatAllWarnings(as: .error, .when(configuration: .debug))] : [])

/// The commit to name in `guise --version`, which the Makefile sets. Only a C module sees it, so that a new commit
/// recompiles no library.
let commit = Context.environment["GUISE_COMMIT"] ?? ""

/// Settings for code that runs for each pixel or frame: optimised in debug builds too, with all of Swift's checks.
/// Otherwise the tests would take twenty times as long, and could not require that a warm frame allocates nothing.
let hotSettings = swiftSettings + [.unsafeFlags(["-O"], .when(configuration: .debug))]

/// Settings for the kernels: their generic functions are specialised only if the compiler sees the whole module.
let kernelSettings =
    hotSettings + [
        .unsafeFlags(
            ["-disable-batch-mode", "-whole-module-optimization", "-num-threads", "2"], .when(configuration: .debug))
    ]

/// Settings for modules without pixel loops, which are compiled for size: makes the program 0.2 MB smaller, and no
/// frame slower.
let smallCode: [SwiftSetting] = [.unsafeFlags(["-Osize"], .when(configuration: .release))]

/// A module's unit tests: `MODULETests` in Tests.
/// - Parameter settings: `hotSettings` for tests that compare many pixels.
func unitTests(_ module: String, _ others: [String] = [], _ settings: [SwiftSetting] = swiftSettings) -> Target {
    .testTarget(
        name: "\(module)Tests",
        dependencies: Set([module, "TestSupport", "SystemKit"] + others).sorted().map { .byName(name: $0) },
        swiftSettings: settings)
}

/// Makes programs smaller by 2.9 MB: functions with the same instructions become one, since nothing compares functions
/// by their address (0.3 MB); no library sees the program's symbols but those that it asks for itself (1.2 MB), which
/// lets the linker drop what is unused; and relocations take a bit each instead of 24 bytes (1.4 MB; this needs glibc
/// 2.36, and Swift's own linker, because gold has no such relocations).
let smallSettings: [LinkerSetting] = [
    .unsafeFlags(
        ["-use-ld=lld"]
            + ["-O2", "--icf=all", "--no-export-dynamic", "-z", "pack-relative-relocs"].flatMap { ["-Xlinker", $0] },
        .when(configuration: .release))
]

/// Makes a program smaller by 3 MB: it gets no tables for unwinding the stack, since nothing in it throws C++
/// exceptions (docs/workarounds.md).
let noUnwinding: [LinkerSetting] = [
    .unsafeFlags(
        ["--no-eh-frame-hdr", "-T", "\(Context.packageDirectory)/Sources/CLinux/no-unwinding.ld"].flatMap {
            ["-Xlinker", $0]
        }, .when(configuration: .release))
]

/// Leaves Swift's runtime out of a program without Swift: 5.5 MB, which come with the object file that Swift adds to
/// every program (docs/workarounds.md).
let withoutSwift: [LinkerSetting] = [.unsafeFlags(["-nostartfiles"], .when(configuration: .release))]

let package = Package(
    name: "guise",
    products: [
        .executable(name: "guise", targets: ["guise"]), .executable(name: "guise-art", targets: ["guise-art"]),
        .executable(name: "guise-camera", targets: ["guise-camera"]),
        .executable(name: "guise-objects", targets: ["guise-objects"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        // The shims: C interfaces to libraries and system calls that Swift cannot import.
        .target(name: "CLinux"),
        .target(name: "CConvert", linkerSettings: [.linkedLibrary("v4lconvert")]),
        // Counts allocations through malloc, for `guise bench` and the tests.
        .target(name: "CAllocations", cSettings: isSanitized ? [.define("CALLOCATIONS_OFF")] : []),
        .target(name: "CVersion", cSettings: commit.isEmpty ? [] : [.define("GUISE_COMMIT", to: "\"\(commit)\"")]),
        .systemLibrary(name: "CCairo", pkgConfig: "cairo"),
        // For the HMAC codes by which the page and its server authenticate each other.
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium"),
        .systemLibrary(name: "CRsvg", pkgConfig: "librsvg-2.0"),
        // Reads the art of masks in a process of its own: strangers' art may crash it.
        .executableTarget(
            name: "guise-art", dependencies: ["CArt", "CPictures", "CGLTF", "CSeccomp", "CCairo", "CRsvg"],
            linkerSettings: smallSettings + withoutSwift),
        // The system service that presents the camera: few lines, because it starts as root.
        .target(name: "CCamera", dependencies: ["CSeccomp"], linkerSettings: [.linkedLibrary("systemd")]),
        .target(name: "CSeccomp", linkerSettings: [.linkedLibrary("seccomp")]),
        .executableTarget(
            name: "guise-camera", dependencies: ["SystemKit", "USBCamera", "CLinux", "CCamera"],
            swiftSettings: swiftSettings, linkerSettings: smallSettings),
        .target(name: "CArt", linkerSettings: [.linkedLibrary("turbojpeg")]),
        // Its rounding is a function of the C library in debug builds; on Debian 12 others bring the library along.
        .target(name: "CPictures", dependencies: ["CArt", "CCairo"], linkerSettings: [.linkedLibrary("m")]),

        .target(name: "CGLTF", dependencies: ["CArt"], linkerSettings: [.linkedLibrary("tinygltf")]),
        // The messages to the process that finds key points. OpenCV's libraries would slow every start of guise by 9
        // ms.
        .target(name: "CObjects"),
        .executableTarget(
            name: "guise-objects", dependencies: ["CObjects", "CSeccomp"],
            cxxSettings: [.unsafeFlags(["-isystem", "/usr/include/opencv4"])],
            // Named one by one: the pkg-config file pulls in 375 shared libraries.
            linkerSettings: smallSettings + withoutSwift + [
                .linkedLibrary("opencv_core"), .linkedLibrary("opencv_features2d"),
            ]),

        // The outline's pixel kernels, each for AVX2 and for every processor. Optimised in debug builds too.
        .target(name: "COutline", cSettings: [.unsafeFlags(["-O2"], .when(configuration: .debug))]),

        // Stages of cascades, for AVX2. Optimised in debug builds too.
        .target(name: "CCascade", cSettings: [.unsafeFlags(["-O2"], .when(configuration: .debug))]),

        // The rasterizer's pixel loops, each for AVX2 and for every processor. Optimised in debug builds too.
        .target(name: "CRaster", cSettings: [.unsafeFlags(["-O2"], .when(configuration: .debug))]),

        // Kernels that scale, for AVX2. Optimised in debug builds too.
        .target(name: "CScale", cSettings: [.unsafeFlags(["-O2"], .when(configuration: .debug))]),

        // The modules of the video pipeline.
        // The operating system: files, descriptors, threads, clocks, child processes.
        .target(name: "SystemKit", dependencies: ["CLinux"], swiftSettings: hotSettings + smallCode),
        .target(
            name: "Frames", dependencies: ["SystemKit", "CLinux", "CRaster", "CScale"], swiftSettings: kernelSettings),
        // JPEGs and moving pictures, encoded and decoded by libjpeg-turbo.
        .target(name: "JPEG", dependencies: ["SystemKit", "Frames", "CArt"], swiftSettings: hotSettings + smallCode),
        .target(name: "JSON", dependencies: ["SystemKit"], swiftSettings: swiftSettings + smallCode),
        // The USB camera as its service and its sink need it: the protocols, without any I/O.
        .target(name: "USBCamera", dependencies: ["SystemKit"], swiftSettings: hotSettings),
        .target(
            name: "V4L2", dependencies: ["SystemKit", "Frames", "USBCamera", "CLinux"],
            swiftSettings: swiftSettings + smallCode),
        .target(
            name: "Capture",
            dependencies: ["SystemKit", "Frames", "JPEG", "V4L2", "CLinux", "CConvert"],
            swiftSettings: swiftSettings + smallCode),
        .target(
            name: "Track", dependencies: ["SystemKit", "Frames", "JSON", "CLinux", "CCascade"],
            swiftSettings: kernelSettings),
        .target(
            name: "Outline", dependencies: ["SystemKit", "Frames", "COutline"], swiftSettings: kernelSettings),
        // Things on a plain background: cut out, and told apart.
        .target(name: "Objects", dependencies: ["SystemKit", "Frames", "CObjects"], swiftSettings: kernelSettings),
        .target(
            name: "Compose",
            dependencies: ["SystemKit", "Frames", "JPEG", "JSON", "Track", "Outline", "Objects", "CArt"],
            swiftSettings: hotSettings),
        .target(
            name: "Privacy", dependencies: ["SystemKit", "Frames", "Track", "Compose"],
            swiftSettings: swiftSettings + smallCode),
        .target(
            name: "Publish",
            dependencies: ["SystemKit", "Frames", "V4L2", "Privacy", "USBCamera", "CLinux"],
            swiftSettings: swiftSettings + smallCode),
        // The frame loop, and what it shares with the threads beside it.
        .target(
            name: "Engine",
            dependencies: [
                "SystemKit", "Frames", "Capture", "Track", "Compose", "Privacy", "Publish", "V4L2", "CLinux",
            ],
            swiftSettings: hotSettings + smallCode),
        // The modules beside the pipeline.
        .target(
            name: "Control", dependencies: ["SystemKit", "JSON", "CLinux"], swiftSettings: swiftSettings + smallCode),
        .target(
            name: "Page",
            dependencies: [
                "SystemKit", "Frames", "JPEG", "JSON", "Track", "Privacy", "Control", "CSodium",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: hotSettings + smallCode),
        .target(
            name: "Doctor", dependencies: ["SystemKit", "JSON", "V4L2", "Track", "CLinux"],
            swiftSettings: swiftSettings + smallCode),
        .executableTarget(
            name: "guise",
            dependencies: [
                "SystemKit", "Frames", "JPEG", "JSON", "V4L2", "Capture", "Track", "Outline", "Objects", "Compose",
                "Privacy", "Publish", "Engine", "Control", "Page", "Doctor",
                "CLinux", "CAllocations", "CVersion",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: hotSettings + smallCode,
            linkerSettings: smallSettings + noUnwinding),

        // Helpers shared by the tests: temporary folders, child processes, fixtures.
        .target(name: "CTestSupport", path: "Tests/CTestSupport"),
        .target(
            name: "TestSupport",
            dependencies: [
                "CArt", "CPictures", "CTestSupport", "CSodium", "SystemKit", "Frames", "JPEG", "JSON", "Capture",
                "Control",
            ],
            path: "Tests/Support",
            swiftSettings: hotSettings),
        // OpenCV, the reference for the tracker's classifier and for scaled pictures.
        .target(
            name: "COpenCVReference", path: "Tests/COpenCVReference",
            cxxSettings: [.unsafeFlags(["-isystem", "/usr/include/opencv4"])],
            // Named one by one: the pkg-config file pulls in 375 shared libraries.
            linkerSettings: [
                .linkedLibrary("opencv_core"), .linkedLibrary("opencv_imgproc"), .linkedLibrary("opencv_objdetect"),
            ]),
        // Unit tests: one target per module.
        unitTests("SystemKit", ["CLinux", "CTestSupport"]),
        unitTests("Frames", ["CAllocations", "COpenCVReference", "CRaster"], hotSettings),
        unitTests("JPEG", ["Frames", "CArt"], hotSettings),
        unitTests("JSON", ["Frames"]),
        unitTests("V4L2", ["Frames", "Capture", "Privacy", "Publish"]),
        unitTests("Capture", ["Frames", "V4L2", "Privacy", "Publish", "CAllocations"]),
        unitTests("Track", ["Capture", "Frames", "COpenCVReference"], hotSettings),
        unitTests("Outline", ["Frames", "COutline", "CAllocations"], hotSettings),
        unitTests("Objects", ["Frames", "CAllocations"], hotSettings),
        unitTests(
            "Compose", ["Frames", "JPEG", "JSON", "Capture", "Track", "Objects", "CAllocations", "COpenCVReference"],
            hotSettings),
        unitTests("Privacy", ["Frames", "JPEG", "Track", "Outline", "Compose"]),
        unitTests("Publish", ["Frames", "Capture", "Privacy", "USBCamera", "CLinux", "CAllocations"]),
        unitTests(
            "Engine",
            ["Frames", "Capture", "Track", "Compose", "Privacy", "Publish", "V4L2", "CAllocations"], hotSettings),
        unitTests("USBCamera", ["guise-camera", "CLinux", "CTestSupport"]),
        unitTests("Control", ["Frames", "JSON"]),
        unitTests("Page", ["Frames", "JPEG", "JSON", "Track", "Privacy", "Control", "CAllocations"]),
        unitTests("Doctor", ["Frames", "JSON", "V4L2"]),
        .testTarget(
            name: "GuiseTests",
            dependencies: [
                "guise", "TestSupport", "SystemKit", "Frames", "JPEG", "JSON", "Capture", "Track", "Compose", "Privacy",
                "Publish", "Engine", "Control", "Page", "V4L2",
            ], swiftSettings: hotSettings),
        // Runs the built program as a user would.
        .testTarget(
            name: "EndToEndTests", dependencies: ["TestSupport", "SystemKit", "Frames", "JSON", "Publish"],
            swiftSettings: swiftSettings),
        // Tests that take long, or need real time and a quiet machine: make accuracy, make soak.
        .testTarget(
            name: "AccuracyTests", dependencies: ["TestSupport", "SystemKit", "Frames", "Track", "Compose"],
            swiftSettings: swiftSettings),
        .testTarget(name: "SoakTests", dependencies: ["TestSupport", "JSON"], swiftSettings: swiftSettings),
    ],
    cxxLanguageStandard: .cxx17
)

// The fuzzer (make fuzz) and the modules it covers. Has its own build folder, because they are compiled differently.
if Context.environment["GUISE_FUZZ"] == "1" {
    let seen = SwiftSetting.unsafeFlags(["-sanitize=fuzzer"])
    for target in package.targets where ["JSON", "Compose", "Control"].contains(target.name) {
        target.swiftSettings = (target.swiftSettings ?? []) + [seen]
    }
    package.targets += [
        .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
        .executableTarget(
            name: "PackFuzzer", dependencies: ["CFuzzer", "Compose", "SystemKit", "Frames", "Track"],
            path: "Tests/Fuzz/PackFuzzer",
            swiftSettings: swiftSettings, linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]),
        .executableTarget(
            name: "RequestFuzzer", dependencies: ["CFuzzer", "Control", "SystemKit", "Frames", "JSON"],
            path: "Tests/Fuzz/RequestFuzzer", swiftSettings: swiftSettings,
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]),
    ]
}

// The programs that benchmarks in Python build upon (make verifier-evidence, make outline-mattes). They see the inner
// parts of modules, and have their own build folder for that.
if Context.environment["GUISE_BENCHMARKS"] == "1" {
    for target in package.targets where ["Track", "Outline"].contains(target.name) {
        target.swiftSettings =
            (target.swiftSettings ?? []) + [
                .unsafeFlags(["-enable-testing"], .when(configuration: .release))
            ]
    }
    package.targets += [
        .executableTarget(
            name: "verifier-evidence", dependencies: ["SystemKit", "Frames", "Track", "Capture"],
            path: "Benchmarks/Evidence", swiftSettings: swiftSettings),
        .executableTarget(
            name: "outline-mattes", dependencies: ["SystemKit", "Frames", "Outline"],
            path: "Benchmarks/Mattes", swiftSettings: swiftSettings),
    ]
}

// Each target names what it depends on through others too: the layouts of their types are compiled into it, but SwiftPM
// compiles a target again only if the interface of one that it names has changed (docs/workarounds.md).
var known = Dictionary(
    uniqueKeysWithValues: package.targets.map { target in
        let names = target.dependencies.compactMap { if case .byNameItem(let name, _) = $0 { name } else { nil } }
        return (target.name, Set(names))
    })
let direct = known
for _ in 0..<known.count {
    for (name, dependencies) in known {
        known[name] = dependencies.reduce(dependencies) { $0.union(known[$1] ?? []) }
    }
}
for target in package.targets {
    let indirect = known[target.name, default: []].subtracting(direct[target.name, default: []])
    target.dependencies += indirect.sorted().map { .byName(name: $0) }
}
