import CVersion

/// The version of the program, as `guise --version` and `status` report it.
let guiseVersion = "0.5"

/// The commit that the program was built from, given to the build as GUISE_COMMIT; empty if it is unknown.
let guiseCommit = unsafe String(cString: guise_commit())
