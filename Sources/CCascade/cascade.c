// The functions of this file are compiled for AVX2 by an attribute, without compiler flags. Not for fused
// multiplications, which round differently.
#include "CCascade.h"

#if defined(__x86_64__)
#include <immintrin.h>

#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)

static inline __m256i load(const int32_t *from) { return _mm256_loadu_si256((const void *)from); }

static inline __m256 sums(const int32_t *window, const ccascade_corners *at) {
    const __m256i outer = _mm256_sub_epi32(load(window + at->x), load(window + at->y));
    return _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_sub_epi32(outer, load(window + at->z)), load(window + at->w)));
}

/// All bits of each window whose feature is below the node's threshold.
static inline __m256 below(const int32_t *window, __m256 scales, const struct ccascade_node *node) {
    __m256 value = _mm256_mul_ps(sums(window, &node->first), _mm256_set1_ps(node->weights.x));
    value = _mm256_add_ps(value, _mm256_mul_ps(sums(window, &node->second), _mm256_set1_ps(node->weights.y)));
    if (node->weights.z != 0)
        value = _mm256_add_ps(value, _mm256_mul_ps(sums(window, &node->third), _mm256_set1_ps(node->weights.z)));
    return _mm256_cmp_ps(_mm256_mul_ps(value, scales), _mm256_set1_ps(node->threshold), _CMP_LT_OQ);
}

/// The leaves that eight windows reach in one tree, the nodes of which are those from `first` up to `end`.
typedef __m256 tree(const int32_t *window, __m256 scales, const struct ccascade_trees *trees, int first, int end);

static inline __m256 leaf(const struct ccascade_trees *trees, int branch) {
    return _mm256_set1_ps(trees->leaves[~branch]);
}

static inline __m256 stump(const int32_t *window, __m256 scales, const struct ccascade_trees *trees, int first,
                           int end) {
    const struct ccascade_node *node = trees->nodes + first;
    return _mm256_blendv_ps(leaf(trees, node->right), leaf(trees, node->left), below(window, scales, node));
}

/// Of two nodes, of which one branch of the first leads to the second. Evaluates both.
static inline __m256 pair(const int32_t *window, __m256 scales, const struct ccascade_trees *trees, int first,
                          int end) {
    const struct ccascade_node *root = trees->nodes + first;
    const __m256 root_below = below(window, scales, root), second = stump(window, scales, trees, first + 1, end);
    return root->left < 0 ? _mm256_blendv_ps(second, leaf(trees, root->left), root_below)
                          : _mm256_blendv_ps(leaf(trees, root->right), second, root_below);
}

/// Of any size. Evaluates all nodes, the last one first, since branches lead to later nodes.
static inline __m256 other(const int32_t *window, __m256 scales, const struct ccascade_trees *trees, int first,
                           int end) {
    __m256 values[ccascade_max_nodes];
    for (int i = end - 1; i >= first; i--) {
        const struct ccascade_node *node = trees->nodes + i;
        const __m256 left = node->left < 0 ? leaf(trees, node->left) : values[node->left - first];
        const __m256 right = node->right < 0 ? leaf(trees, node->right) : values[node->right - first];
        values[i - first] = _mm256_blendv_ps(right, left, below(window, scales, node));
    }
    return values[0];
}

static inline __attribute__((always_inline)) int evaluate(tree *tree, const int32_t *window, const float *scales,
                                                          const struct ccascade_trees *trees, float threshold,
                                                          float *margins) {
    const __m256 scale = _mm256_loadu_ps(scales);
    __m256d low = _mm256_setzero_pd(), high = low;
    for (int i = 0; i < trees->count; i++) {
        const __m256 leaves = tree(window, scale, trees, trees->roots[i], trees->roots[i + 1]);
        low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(leaves)));
        high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(leaves, 1)));
    }
    const __m256d needed = _mm256_set1_pd(threshold);
    _mm_storeu_ps(margins, _mm256_cvtpd_ps(_mm256_sub_pd(low, needed)));
    _mm_storeu_ps(margins + 4, _mm256_cvtpd_ps(_mm256_sub_pd(high, needed)));
    return _mm256_movemask_pd(_mm256_cmp_pd(low, needed, _CMP_LT_OQ))
        | _mm256_movemask_pd(_mm256_cmp_pd(high, needed, _CMP_LT_OQ)) << 4;
}

static int stumps(const int32_t *window, const float *scales, const struct ccascade_trees *trees, float threshold,
                  float *margins) {
    return evaluate(stump, window, scales, trees, threshold, margins);
}

static int pairs(const int32_t *window, const float *scales, const struct ccascade_trees *trees, float threshold,
                 float *margins) {
    return evaluate(pair, window, scales, trees, threshold, margins);
}

static int others(const int32_t *window, const float *scales, const struct ccascade_trees *trees, float threshold,
                  float *margins) {
    return evaluate(other, window, scales, trees, threshold, margins);
}

/// The sum of each lane and those before it, and of what came before.
static inline __m256i running(__m256i values, __m256i before) {
    values = _mm256_add_epi32(values, _mm256_slli_si256(values, 4));
    values = _mm256_add_epi32(values, _mm256_slli_si256(values, 8));
    // Shifts keep each half of a vector by itself.
    const __m256i half = _mm256_permutevar8x32_epi32(values, _mm256_set1_epi32(3));
    values = _mm256_add_epi32(values, _mm256_blend_epi32(_mm256_setzero_si256(), half, 0xf0));
    return _mm256_add_epi32(values, before);
}

static inline __m256i last(__m256i values) { return _mm256_permutevar8x32_epi32(values, _mm256_set1_epi32(7)); }

/// Adds to eight entries what is above them.
static inline void store(int32_t *entries, intptr_t above, __m256i sums) {
    _mm256_storeu_si256((void *)entries, _mm256_add_epi32(sums, load(entries + above)));
}

static int add_pairs(const uint8_t *samples, int pairs, struct ccascade_rows rows, struct ccascade_sums *sums) {
    __m256i sum = _mm256_set1_epi32(sums->sum), square = _mm256_set1_epi32(sums->square);
    int i = 0;
    for (; i + 8 <= pairs; i += 8) {
        const __m256i words = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(samples + 2 * i)));
        const __m256i second = _mm256_srli_epi32(words, 16);
        sum = running(_mm256_madd_epi16(words, _mm256_set1_epi16(1)), sum);
        store(rows.even + i, rows.above, sum);
        store(rows.odd + i, rows.above, _mm256_sub_epi32(sum, second));
        sum = last(sum);
        if (rows.squares == 0) continue;
        square = running(_mm256_madd_epi16(words, words), square);
        store(rows.even + i + rows.squares, rows.above, square);
        store(rows.odd + i + rows.squares, rows.above, _mm256_sub_epi32(square, _mm256_madd_epi16(second, second)));
        square = last(square);
    }
    sums->sum = _mm256_cvtsi256_si32(sum);
    sums->square = _mm256_cvtsi256_si32(square);
    return i;
}

#pragma clang attribute pop

ccascade_add_pairs ccascade_adder(void) { return __builtin_cpu_supports("avx2") ? add_pairs : 0; }

ccascade_stage ccascade_kernel(int most_nodes, int are_pairs) {
    if (most_nodes > ccascade_max_nodes || !__builtin_cpu_supports("avx2")) return 0;
    return are_pairs ? pairs : most_nodes == 1 ? stumps : others;
}
#else
ccascade_add_pairs ccascade_adder(void) { return 0; }
ccascade_stage ccascade_kernel(int most_nodes, int are_pairs) { return 0; }
#endif
