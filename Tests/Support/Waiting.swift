import Glibc

/// Waits until a condition is true that no event announces. There is no time limit, so that a busy machine fails no
/// test: `make test` limits the whole run and names the tests that did not end.
public func waits(until isMet: () throws -> Bool) rethrows { while try !isMet() { usleep(2000) } }
