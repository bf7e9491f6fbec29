import Doctor
import SystemKit

extension System.Setting {
    /// The parts of the user's configuration that the checks need.
    static func current() -> System.Setting {
        guard let paths = try? Paths() else { return .read(file: nil, width: 1280, height: 720) }
        do {
            let read = try ConfigurationText.load(named: nil, paths: paths)
            return .read(file: read.file, width: read.value.output.width, height: read.value.output.height)
        } catch let problem as Problem {
            return .broken(problem)
        } catch {
            return .broken(Problem(.system, "\(error)"))
        }
    }
}
