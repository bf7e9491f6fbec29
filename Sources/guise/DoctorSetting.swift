import Compose
import Doctor
import JSON
import SystemKit

extension System.Setting {
    /// The parts of the user's configuration that the checks need.
    static func current() -> System.Setting {
        guard let paths = try? Paths() else { return .read(file: nil, width: 1280, height: 720) }
        do {
            let context = try AppContext(paths: paths)
            try checkStartMasks(context)
            let output = context.configuration.output
            return .read(file: context.configurationText.file, width: output.width, height: output.height)
        } catch let problem as Problem {
            return .broken(problem)
        } catch {
            return .broken(Problem(.system, "\(error)"))
        }
    }

    /// - Throws: `Problem` if Guise would not start, because what is worn then is not there, or can't be read.
    private static func checkStartMasks(_ context: AppContext) throws {
        let library = context.library
        for name in try context.startMasks(LookStore(folder: context.paths.user)).map(\.mask)
        where library.summary(of: name) == nil {
            guard !library.names.contains(name) else {
                throw Problem(
                    .unusable, "the mask '\(name)', which is worn at the start, cannot be read",
                    fix: "guise masks \(name)")
            }
            let hint = nearest(to: name, among: library.names).map { "did you mean '\($0)'?" }
            throw Problem(
                .missing, "the mask '\(brief(name))', which is worn at the start, does not exist",
                fix: hint ?? "choose one that `guise masks` lists")
        }
    }
}
