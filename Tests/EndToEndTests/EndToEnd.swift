import TestSupport
import Testing

/// Tests that run the built program as its users do. Suites run in parallel; the tests of one suite share a running
/// Guise, one after the other.
@Suite(.ownThread) struct EndToEnd {}
