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

/// The sums of eight windows' leaves.
struct totals {
    __m256d low, high;
};

static inline void add(struct totals *totals, __m256 leaves) {
    totals->low = _mm256_add_pd(totals->low, _mm256_cvtps_pd(_mm256_castps256_ps128(leaves)));
    totals->high = _mm256_add_pd(totals->high, _mm256_cvtps_pd(_mm256_extractf128_ps(leaves, 1)));
}

static inline int compare(const struct totals *totals, float threshold, float *margins) {
    const __m256d needed = _mm256_set1_pd(threshold);
    _mm_storeu_ps(margins, _mm256_cvtpd_ps(_mm256_sub_pd(totals->low, needed)));
    _mm_storeu_ps(margins + 4, _mm256_cvtpd_ps(_mm256_sub_pd(totals->high, needed)));
    return _mm256_movemask_pd(_mm256_cmp_pd(totals->low, needed, _CMP_LT_OQ))
        | _mm256_movemask_pd(_mm256_cmp_pd(totals->high, needed, _CMP_LT_OQ)) << 4;
}

static int stumps(const int32_t *window, const float *scales, const struct ccascade_trees *trees, float threshold,
                  float *margins) {
    const __m256 scale = _mm256_loadu_ps(scales);
    struct totals totals = {_mm256_setzero_pd(), _mm256_setzero_pd()};
    for (int i = 0; i < trees->count; i++) {
        const struct ccascade_node *node = trees->nodes + trees->roots[i];
        const __m256 left = _mm256_set1_ps(trees->leaves[~node->left]);
        const __m256 right = _mm256_set1_ps(trees->leaves[~node->right]);
        add(&totals, _mm256_blendv_ps(right, left, below(window, scale, node)));
    }
    return compare(&totals, threshold, margins);
}

/// For trees of two nodes, of which one branch of the first leads to the second. Evaluates both.
static int pairs(const int32_t *window, const float *scales, const struct ccascade_trees *trees, float threshold,
                 float *margins) {
    const __m256 scale = _mm256_loadu_ps(scales);
    struct totals totals = {_mm256_setzero_pd(), _mm256_setzero_pd()};
    for (int i = 0; i < trees->count; i++) {
        const struct ccascade_node *root = trees->nodes + trees->roots[i], *node = root + 1;
        const __m256 root_below = below(window, scale, root);
        const __m256 left = _mm256_set1_ps(trees->leaves[~node->left]);
        const __m256 right = _mm256_set1_ps(trees->leaves[~node->right]);
        const __m256 second = _mm256_blendv_ps(right, left, below(window, scale, node));
        const int is_leaf_left = root->left < 0;
        const __m256 first = _mm256_set1_ps(trees->leaves[~(is_leaf_left ? root->left : root->right)]);
        add(&totals, is_leaf_left ? _mm256_blendv_ps(second, first, root_below)
                                  : _mm256_blendv_ps(first, second, root_below));
    }
    return compare(&totals, threshold, margins);
}

/// For trees of any size. Evaluates all nodes, the last one first, since branches lead to later nodes.
static int others(const int32_t *window, const float *scales, const struct ccascade_trees *trees, float threshold,
                  float *margins) {
    const __m256 scale = _mm256_loadu_ps(scales);
    struct totals totals = {_mm256_setzero_pd(), _mm256_setzero_pd()};
    for (int i = 0; i < trees->count; i++) {
        const int first = trees->roots[i];
        __m256 values[ccascade_max_nodes];
        for (int node = trees->roots[i + 1] - 1; node >= first; node--) {
            const int left = trees->nodes[node].left, right = trees->nodes[node].right;
            const __m256 left_value = left < 0 ? _mm256_set1_ps(trees->leaves[~left]) : values[left - first];
            const __m256 right_value = right < 0 ? _mm256_set1_ps(trees->leaves[~right]) : values[right - first];
            values[node - first] =
                _mm256_blendv_ps(right_value, left_value, below(window, scale, trees->nodes + node));
        }
        add(&totals, values[0]);
    }
    return compare(&totals, threshold, margins);
}

#pragma clang attribute pop

ccascade_stage ccascade_kernel(int most_nodes, int are_pairs) {
    if (most_nodes > ccascade_max_nodes || !__builtin_cpu_supports("avx2")) return 0;
    return are_pairs ? pairs : most_nodes == 1 ? stumps : others;
}
#else
ccascade_stage ccascade_kernel(int most_nodes, int are_pairs) { return 0; }
#endif
