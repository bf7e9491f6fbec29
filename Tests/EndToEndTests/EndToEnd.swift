import TestSupport
import Testing

/// They drive the built program as its users do. Suites run beside each other; tests of one suite share its running
/// guise, one after the other.
@Suite(.ownThread) struct EndToEnd {}
