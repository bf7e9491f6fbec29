/// The version of the program, as `guise --version` and `status` report it.
let guiseVersion = "0.5"
