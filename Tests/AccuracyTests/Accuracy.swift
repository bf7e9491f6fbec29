import TestSupport
import Testing

/// Accuracy of detection, tracking and mask placement on the labelled photos and clips. Run by `make accuracy`, because
/// it takes minutes of computing. Independent of the clock.
@Suite(.ownThread, .needsLabelledFaces, .needsReleaseBuild) struct Accuracy {}
