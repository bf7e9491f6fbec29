import SystemKit
import Track
import V4L2

extension Check {
    static let camera = Check("camera") { system in
        let cameras = system.devices.filter(\.isCamera)
        guard !cameras.isEmpty else {
            // Devices without permission are reported by the permission check.
            let isHidden = system.devices.contains { !$0.isLoopback && $0.problem?.kind == .forbidden }
            return isHidden ? nil : .warning("there is no camera: Guise shows the sample", fix: "plug a camera in")
        }
        let allHolders = cameras.map { system.holders(of: $0.path) }
        for (camera, holders) in zip(cameras, allHolders) {
            if let guise = holders.first(where: \.isGuise) { return .ok("\(guise) uses \(camera.path)") }
        }
        if let camera = cameras.first(where: { !system.isTaken($0.path) }) {
            return .ok("\(camera.label ?? "a camera") (\(camera.path)) is free")
        }
        let (path, holders) = (cameras[0].path, allHolders[0])
        guard !holders.isEmpty else {
            return .error("\(path) is in use by \(system.unseenHolder)", fix: "sudo fuser -v \(path)")
        }
        return .error(
            "\(path) is in use by \(holders.list): close that program, and choose Guise Camera in it",
            fix: holders.count == 1 ? "kill \(holders[0].id)" : "fuser -v \(path)")
    }

    static let cascades = Check("cascades") { system in
        guard let shared = system.shared else {
            return .error("Guise's own files were not found near the program", fix: "make install")
        }
        do {
            let catalog = try CascadeCatalog(folder: "\(shared)/Cascades")
            return .ok("all \(catalog.entries.count) cascades are installed")
        } catch let problem as Problem {
            return .error(problem.message, fix: problem.fix.isEmpty ? "make install" : problem.fix)
        } catch {
            return .error("\(error)", fix: "make install")
        }
    }

    static let landmarks = Check("landmarks") { system in
        let path = LandmarkModel.path(shared: system.shared, environment: system.environment)
        // Guise's own files are not below the root of a test's machine.
        let isOwn = system.shared.map { path.hasPrefix("\($0)/") } ?? false
        return isReadable(isOwn ? path : system.root + path)
            ? .ok("the landmark data is installed")
            : .warning(
                "the landmark data is missing (\(path)): masks fit less well", fix: "sudo apt install libdlib-data")
    }

    static let ffmpeg = Check("ffmpeg") { system in
        system.program("ffmpeg").map { .ok("\($0) reads and writes photos and clips") }
            ?? .warning("ffmpeg is not installed: no photos, clips or sample", fix: "sudo apt install ffmpeg")
    }

    static let configuration = Check("config") { system in
        switch system.setting {
        case .read(let file?, _, _): .ok("\(file) is valid")
        case .read(nil, _, _): .ok("there is no config.json: defaults apply")
        case .broken(let problem): .error(problem.message, fix: problem.fix.isEmpty ? "correct the file" : problem.fix)
        }
    }
}
