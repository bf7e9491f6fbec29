import TestSupport
import Testing

/// How well faces are found, followed and dressed, on the labelled photos and clips. By `make accuracy`, for it takes
/// minutes of computing; it looks at no clock.
@Suite(.ownThread, .needsLabelledFaces, .needsReleaseBuild) struct Accuracy {}
