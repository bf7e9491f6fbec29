// swift-tools-version:6.2
import PackageDescription

/// Warnings fail the debug build where `GUISE_STRICT=1` (make test, CI), so that a newer compiler's new warnings never
/// keep a user from building. Release builds have the same flags always, so that `make run` after `make test` builds
/// nothing again.
let strict = Context.environment["GUISE_STRICT"] == "1"

/// Set by `make sanitize`.
let isSanitized = Context.environment["GUISE_SANITIZE"] == "1"

let swiftSettings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .strictMemorySafety(),
        .enableUpcomingFeature("ExistentialAny"),
        // `@_lifetime` on the few views that lend a frame's bytes.
        .enableExperimentalFeature("Lifetimes"),
    ] + (strict ? [.treatAllWarnings(as: .error, .when(configuration: .debug))] : [])

/// What runs for each pixel or frame is optimised in debug builds too, with all of Swift's checks: the tests would take
/// twenty times as long otherwise, and could not ask that a warm frame allocates nothing.
let hotSettings = swiftSettings + [.unsafeFlags(["-O"], .when(configuration: .debug))]

/// The kernels' generic functions are specialised only where the compiler sees the whole module.
let kernelSettings =
    hotSettings + [.unsafeFlags(["-whole-module-optimization", "-num-threads", "2"], .when(configuration: .debug))]

/// A module's unit tests: `MODULETests` in Tests.
/// - Parameter settings: `hotSettings` for tests that compare many pixels.
func unitTests(_ module: String, _ others: [String] = [], _ settings: [SwiftSetting] = swiftSettings) -> Target {
    .testTarget(
        name: "\(module)Tests", dependencies: ([module, "TestSupport"] + others).map { .byName(name: $0) },
        swiftSettings: settings)
}

let package = Package(
    name: "guise",
    products: [.executable(name: "guise", targets: ["guise"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        // The shims: C interfaces to what Swift cannot see.
        .target(name: "CLinux", linkerSettings: [.linkedLibrary("v4lconvert"), .linkedLibrary("systemd")]),
        .target(
            name: "CVision",
            cxxSettings: [.unsafeFlags(["-isystem", "/usr/include/opencv4"])],
            linkerSettings: [
                // Named one by one: the pkg-config file pulls in 375 shared libraries.
                .linkedLibrary("opencv_core"), .linkedLibrary("opencv_imgproc"),
            ]),
        // Counts what a program asks of malloc: for `guise bench` and the tests.
        .target(name: "CAllocations", cSettings: isSanitized ? [.define("CALLOCATIONS_OFF")] : []),
        .systemLibrary(name: "CCairo", pkgConfig: "cairo"),
        // The codes that the page and its server prove themselves with.
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium"),
        .target(name: "CArt", dependencies: ["CCairo"], linkerSettings: [.linkedLibrary("turbojpeg")]),

        .target(name: "CGLTF", linkerSettings: [.linkedLibrary("tinygltf")]),

        // The way of a frame.
        .target(name: "Frames", dependencies: ["CLinux"], swiftSettings: kernelSettings),
        .target(name: "JSON", dependencies: ["Frames"], swiftSettings: swiftSettings),
        .target(name: "V4L2", dependencies: ["Frames", "CLinux"], swiftSettings: swiftSettings),
        .target(
            name: "Capture",
            dependencies: ["Frames", "V4L2", "CLinux", "CArt", "CVision"],
            swiftSettings: swiftSettings),
        .target(name: "Track", dependencies: ["Frames", "JSON"], swiftSettings: hotSettings),
        .target(
            name: "Compose", dependencies: ["Frames", "JSON", "Track", "CArt", "CGLTF", "CVision", "CLinux"],
            swiftSettings: hotSettings),
        .target(name: "Privacy", dependencies: ["Frames", "Track", "Compose"], swiftSettings: swiftSettings),
        .target(
            name: "Publish", dependencies: ["Frames", "V4L2", "Capture", "Privacy", "CLinux"],
            swiftSettings: swiftSettings),
        // Beside it.
        .target(name: "Control", dependencies: ["Frames", "JSON", "CLinux"], swiftSettings: swiftSettings),
        .target(
            name: "Page",
            dependencies: [
                "Frames", "JSON", "Privacy", "Control", "CLinux", "CArt", "CSodium",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: hotSettings),
        .target(
            name: "Doctor", dependencies: ["Frames", "JSON", "V4L2", "Capture", "Track"], swiftSettings: swiftSettings),
        .executableTarget(
            name: "guise",
            dependencies: [
                "Frames", "JSON", "V4L2", "Capture", "Track", "Compose", "Privacy", "Publish", "Control", "Page",
                "Doctor",
                "CLinux", "CAllocations",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: hotSettings),

        // What tests share: scratch folders, programs at work, fixtures.
        .target(name: "CTestSupport", path: "Tests/CTestSupport"),
        .target(
            name: "TestSupport", dependencies: ["CTestSupport", "CSodium", "Frames", "JSON", "Capture", "Control"],
            path: "Tests/Support",
            swiftSettings: hotSettings),
        // OpenCV's classifier, which the tracker's own is held to.
        .target(
            name: "CRival", path: "Tests/CRival",
            cxxSettings: [.unsafeFlags(["-isystem", "/usr/include/opencv4"])],
            linkerSettings: [.linkedLibrary("opencv_core"), .linkedLibrary("opencv_objdetect")]),
        // Unit tests, a target for each module.
        unitTests("Frames", ["CAllocations", "CTestSupport"], hotSettings),
        unitTests("JSON", ["Frames"]),
        unitTests("V4L2", ["Frames", "Capture", "Privacy", "Publish"]),
        unitTests("Capture", ["Frames", "V4L2", "Privacy", "Publish", "CArt", "CVision", "CAllocations"]),
        unitTests("Track", ["Capture", "Frames", "CRival"], hotSettings),
        unitTests("Compose", ["Frames", "JSON", "Capture", "Track", "CAllocations"], hotSettings),
        unitTests("Privacy", ["Frames", "Track", "Compose"]),
        unitTests("Publish", ["Frames", "Capture", "Privacy", "CAllocations"]),
        unitTests("Control", ["Frames", "JSON"]),
        unitTests("Page", ["Frames", "JSON", "Privacy", "Control", "CAllocations"]),
        unitTests("Doctor", ["Frames", "V4L2"]),
        .testTarget(
            name: "GuiseTests",
            dependencies: [
                "guise", "TestSupport", "Frames", "JSON", "Capture", "Track", "Compose", "Privacy", "Publish",
                "Control",
                "Page", "CAllocations",
            ], swiftSettings: hotSettings),
        // Drives the built program as its users do.
        .testTarget(
            name: "EndToEndTests", dependencies: ["TestSupport", "Frames", "JSON", "Publish"],
            swiftSettings: swiftSettings),
        // For they take long, or want real time and a quiet machine: make accuracy, make soak.
        .testTarget(
            name: "AccuracyTests", dependencies: ["TestSupport", "Frames", "Track", "Compose"],
            swiftSettings: swiftSettings),
        .testTarget(name: "SoakTests", dependencies: ["TestSupport", "JSON"], swiftSettings: swiftSettings),
    ],
    cxxLanguageStandard: .cxx17
)

// The fuzzer (make fuzz), and what it sees into: a build of its own, for all of it is compiled otherwise.
if Context.environment["GUISE_FUZZ"] == "1" {
    let seen = SwiftSetting.unsafeFlags(["-sanitize=fuzzer"])
    for target in package.targets where ["JSON", "Compose", "Control"].contains(target.name) {
        target.swiftSettings = (target.swiftSettings ?? []) + [seen]
    }
    for target in package.targets where target.name == "CGLTF" {
        target.cxxSettings = [.unsafeFlags(["-fsanitize=fuzzer-no-link"])]
    }
    package.targets += [
        .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
        .executableTarget(
            name: "PackFuzzer", dependencies: ["CFuzzer", "Compose", "Frames", "Track"], path: "Tests/Fuzz/PackFuzzer",
            swiftSettings: swiftSettings, linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]),
        .executableTarget(
            name: "RequestFuzzer", dependencies: ["CFuzzer", "Control", "Frames", "JSON"],
            path: "Tests/Fuzz/RequestFuzzer", swiftSettings: swiftSettings,
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]),
    ]
}
