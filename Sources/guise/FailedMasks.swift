import Synchronization
import SystemKit

/// Why masks could not be loaded. A mask whose art takes too long costs seconds, and would cost them at each request
/// while all others wait; so it is tried again only once its files change.
final class FailedMasks: Sendable {
    private struct Failure {
        /// The versions of the mask's files when it was tried.
        let fileVersions: [FileVersion]
        let problem: Problem
    }

    private let failures = Mutex<[String: Failure]>([:])

    /// The most failures that are kept. Nobody has more masks.
    private static let maxFailures = 512

    /// Loads a mask, unless that failed before with the same files. What is not the files' fault is tried again.
    /// - Parameters:
    ///   - mask: the mask with its options.
    ///   - fileVersions: the versions of its files.
    /// - Throws: what `load` throws, or threw then.
    func load<Loaded>(_ mask: String, _ fileVersions: [FileVersion], _ load: () throws -> Loaded) throws -> Loaded {
        if let failure = failures.withLock({ $0[mask] }), failure.fileVersions == fileVersions {
            throw failure.problem
        }
        do { return try load() } catch let problem as Problem where [.unusable, .invalid].contains(problem.kind) {
            failures.withLock { failures in
                if failures.count >= Self.maxFailures { failures.removeAll() }
                failures[mask] = Failure(fileVersions: fileVersions, problem: problem)
            }
            throw problem
        }
    }
}
