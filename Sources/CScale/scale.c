// Only this file is compiled for AVX2, without compiler flags.
#include "CScale.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)

static void gather(const uint8_t *bytes, int step, int count, uint8_t *out) {
    if (step == 2) for (int i = 0; i < count; i++) out[i] = bytes[2 * i];
    else for (int i = 0; i < count; i++) out[i] = bytes[4 * i];
}

static inline __m256i load(const void *from) { return _mm256_loadu_si256(from); }

static void filter(const uint8_t *samples, const struct cscale_filter *filter, int16_t *out) {
    const __m256i middle = _mm256_set1_epi8(-128);
    for (int i = 0; i < filter->groups; i++) {
        const int32_t *starts = filter->starts + 2 * i;
        const __m256i halves = _mm256_loadu2_m128i((const void *)(samples + starts[1]),
                                                   (const void *)(samples + starts[0]));
        const __m256i pairs = _mm256_shuffle_epi8(halves, load(filter->places + 32 * i));
        // Less 128: one factor is unsigned, the other one signed.
        const __m256i sums = _mm256_maddubs_epi16(load(filter->weights + 32 * i), _mm256_xor_si256(pairs, middle));
        _mm256_storeu_si256((void *)(out + 16 * i), sums);
    }
}

/// Mixes 16 samples. Products are rounded to 64ths of a sample.
static inline __m256i mixed(const int16_t *a, const int16_t *b, __m256i weight_a, __m256i weight_b) {
    const __m256i sum = _mm256_add_epi16(_mm256_mulhrs_epi16(load(a), weight_a),
                                         _mm256_mulhrs_epi16(load(b), weight_b));
    return _mm256_srai_epi16(_mm256_add_epi16(sum, _mm256_set1_epi16(128 * 64 + 32)), 6);
}

static void mix(const int16_t *above, const int16_t *other, int below, int count, uint8_t *out) {
    // 64 * 32768 / 255: the rows are 255 times the samples, and the product is shifted by 15 bits.
    const int one = 8224, share = (below * one + 128) >> 8;
    const __m256i weight_a = _mm256_set1_epi16(one - share), weight_b = _mm256_set1_epi16(share);
    for (int i = 0; i < count; i += 32) {
        const __m256i low = mixed(above + i, other + i, weight_a, weight_b);
        const __m256i high = mixed(above + i + 16, other + i + 16, weight_a, weight_b);
        // Packing keeps each half of a vector by itself, so the middle quarters change places.
        const __m256i samples = _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xd8);
        if (i + 32 <= count) _mm256_storeu_si256((void *)(out + i), samples);
        else memcpy(out + i, &samples, count - i);
    }
}

#pragma clang attribute pop

const struct cscale_kernels *cscale_kernels(void) {
    static const struct cscale_kernels kernels = {gather, filter, mix};
    return __builtin_cpu_supports("avx2") ? &kernels : 0;
}
#else
const struct cscale_kernels *cscale_kernels(void) { return 0; }
#endif
