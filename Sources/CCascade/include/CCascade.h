#ifndef GUISE_CCASCADE_H
#define GUISE_CCASCADE_H
// Stages of Haar cascades for eight windows at once, on processors with AVX2. In C because Swift has no way to compile
// one function for a better processor than the rest of the program; CascadeProgram has the same for every processor,
// and both give the same results to the bit. Nothing is allocated or checked: CascadeProgram guarantees the offsets.
#include <stdint.h>

typedef int32_t ccascade_corners __attribute__((ext_vector_type(4)));
typedef float ccascade_weights __attribute__((ext_vector_type(4)));

/// The largest tree that the kernel evaluates, in nodes.
enum { ccascade_max_nodes = 8 };

/// One node of a Haar tree: up to three weighted rectangle sums, compared with a threshold.
struct ccascade_node {
    /// Offsets of each rectangle's corners (+, -, -, +) in the integral, from the window's first entry.
    ccascade_corners first, second, third;
    /// Weights of the three rectangles; 0: there is no third. OpenCV's are small integers, so sums of them are exact.
    ccascade_weights weights;
    /// The threshold of the weighted sum divided by the window's contrast. Below it the left branch is taken.
    float threshold;
    /// The next node if 0 or more, else the leaf `~left`.
    int32_t left, right;
};

/// The trees of one stage.
struct ccascade_trees {
    /// All nodes of the cascade; the first node of each of the stage's trees, and of the tree after them.
    const struct ccascade_node *_Nonnull nodes;
    const int32_t *_Nonnull roots;
    /// All leaves of the cascade.
    const float *_Nonnull leaves;
    int count;
};

/// Evaluates a stage for the windows at `window` and the next seven entries.
/// - scales: one for each window, by which its features are multiplied.
/// - threshold: the sum of leaves that a window needs to pass.
/// - margins: receives each window's sum minus the threshold.
/// Returns one bit for each window that fails.
typedef int (*ccascade_stage)(const int32_t *_Nonnull window, const float *_Nonnull scales,
                              const struct ccascade_trees *_Nonnull trees, float threshold, float *_Nonnull margins);

/// - most_nodes: the number of nodes of the largest tree.
/// - are_pairs: whether each tree has two nodes, of which one branch of the first leads to the second.
/// Returns NULL if the processor can't run it, or if trees have more than `ccascade_max_nodes`.
ccascade_stage _Nullable ccascade_kernel(int most_nodes, int are_pairs);

/// A row of an integral whose even columns are stored first.
struct ccascade_rows {
    /// The entries of the first pair's second and first sample.
    int32_t *_Nonnull even, *_Nonnull odd;
    /// Entries from this row to the one above it.
    intptr_t above;
    /// Entries from the sums to the sums of squares; 0: there are none.
    intptr_t squares;
};

/// The sum of a row's samples, and of their squares.
struct ccascade_sums {
    int32_t sum, square;
};

/// Adds pairs of samples to a row, and to the sums. Returns how many: whole groups of eight.
typedef int (*ccascade_add_pairs)(const uint8_t *_Nonnull samples, int pairs, struct ccascade_rows rows,
                                  struct ccascade_sums *_Nonnull sums);

/// Returns NULL if the processor can't run it.
ccascade_add_pairs _Nullable ccascade_adder(void);
#endif
