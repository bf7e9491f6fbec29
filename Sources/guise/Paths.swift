import FoundationEssentials
import Page
import SystemKit

/// The paths of Guise's files: at the top of the source tree in a build, under `share/guise` once installed.
struct Paths {
    /// The folder with `Cascades`, `Masks`, `Page` and `config.json`.
    let shared: String
    /// The user's configuration folder: `$XDG_CONFIG_HOME/guise`, or else `~/.config/guise`; nil without a home folder.
    let user: String?
    /// The folder for the user's data: `$XDG_DATA_HOME/guise`, or else `~/.local/share/guise`; nil without a home
    /// folder.
    let data: String?
    /// The folder for state that outlives a restart: `$XDG_STATE_HOME/guise`, or else `~/.local/state/guise`; nil
    /// without a home folder.
    let state: String?
    /// The cache folder: `$XDG_CACHE_HOME/guise`, or else `~/.cache/guise`; nil without a home folder.
    let cache: String?

    /// Finds the folders.
    /// - Throws: `Problem` if no folder contains Guise's own files.
    init(environment: [String: String] = ProcessInfo.processInfo.environment) throws {
        func own(_ folder: UserFolder) -> String? { folder.path(in: environment).map { "\($0)/guise" } }
        (user, data, state, cache) = (own(.configuration), own(.data), own(.state), own(.cache))
        guard let program = realPath(of: "/proc/self/exe") else {
            throw Problem(.system, "/proc/self/exe cannot be read", fix: "mount /proc")
        }
        // bin/guise and share/guise have the same parent. A build is several folders below the package.
        var folder = program[..<(program.lastIndex(of: "/") ?? program.startIndex)]
        var candidates = ["\(folder)/../share/guise"]
        while let slash = folder.lastIndex(of: "/") {
            folder = folder[..<slash]
            candidates.append(String(folder))
        }
        guard let shared = candidates.first(where: { isReadable("\($0)/Cascades/catalogue.json") }) else {
            throw Problem(
                .missing, "Guise's own files (Cascades/catalogue.json) were not found near \(program)",
                fix: "run `make install` again")
        }
        self.shared = realPath(of: shared) ?? shared
    }

    /// Whether a file was installed with Guise.
    func isShared(_ file: String) -> Bool { (realPath(of: file) ?? file).hasPrefix("\(shared)/") }

    var cascades: String { "\(shared)/Cascades" }
    /// The mask folders. The user's comes first, so that a changed copy replaces a shipped mask.
    var masks: [String] { [user.map { "\($0)/Masks" }, "\(shared)/Masks"].compactMap { $0 } }
    /// The folder of the user's own pictures for backgrounds; nil without a home folder.
    var pictures: String? { user.map { "\($0)/Pictures" } }
    /// The folder of the things that the user has taught; nil without a home folder.
    var things: String? { data.map { "\($0)/Things" } }
    /// The folder of the landmarks that the user has placed by hand in photos; nil without a home folder.
    var corrections: String? { state.map { "\($0)/corrections" } }
    var configurations: [String] { [user.map { "\($0)/config.json" }, "\(shared)/config.json"].compactMap { $0 } }
    var page: String { "\(shared)/Page" }
    var pageSecrets: PageSecretStore { PageSecretStore(folder: state) }
    /// The model of the person's outline, which `setup outline` downloads.
    var outline: String { "\(shared)/samples/outline/selfie_segmentation_landscape.tflite" }
    var sample: String { "\(shared)/samples/astronaut.png" }
}
