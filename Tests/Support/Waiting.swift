import Glibc

/// Waits until something is true that no event announces. It has no time limit, so that a busy machine fails no test:
/// `make test` bounds the whole run and names what did not end.
public func waits(until isMet: () throws -> Bool) rethrows { while try !isMet() { usleep(2000) } }
