#ifndef GUISE_CSCALE_H
#define GUISE_CSCALE_H
// Kernels that scale, move and pack pixels, for processors with AVX2. They are in C because Swift has no way to
// compile one function for a better processor than the rest of the program; the callers have others for every
// processor. They allocate nothing and check nothing: the caller guarantees the sizes. Loads and stores need no
// alignment.
#include <stdint.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/// Samples that are computed together.
enum { cscale_group = 16 };

/// A filter of rows: each output sample is the weighted mean of two input samples.
struct cscale_filter {
    /// Groups of output samples; at least one.
    int groups;
    /// The number of first groups that have the first one's order and weights, and whose halves are `step` input
    /// samples apart: nearly all of them if 1920 samples become 1280.
    int uniform;
    int step;
    /// The first of 16 input samples from which half a group is made: two for each group.
    const int32_t *_Nonnull starts;
    /// Where the two samples of each output are among those 16: `2 * cscale_group` for each group.
    const uint8_t *_Nonnull shuffle;
    /// The weights of the two samples, of which the sum is 255.
    const uint8_t *_Nonnull weights;
};

/// Two rows that `filter` wrote, and how they are mixed.
struct cscale_rows {
    const int16_t *_Nonnull first;
    const int16_t *_Nonnull second;
    /// The second row's weight, 0 to 256.
    int second_weight;
};

/// Where each sample of an output row lies in two input rows.
struct cscale_taps {
    int count;
    /// The left one of each output's two input samples, ascending; up to the next multiple of 8.
    const int32_t *_Nonnull starts;
    /// The weights of the left and right input sample in 256ths, 16 bits each, the left one's lowest; likewise.
    const uint32_t *_Nonnull weights;
};

struct cscale_kernels {
    /// Collects every second or fourth byte.
    void (*_Nonnull gather)(const uint8_t *_Nonnull bytes, int step, int count, uint8_t *_Nonnull out);
    /// Filters a row. Writes 255 * (sample - 128), whole groups.
    void (*_Nonnull filter)(const uint8_t *_Nonnull samples, const struct cscale_filter *_Nonnull filter,
                            int16_t *_Nonnull out);
    /// Mixes two rows, of which whole pairs of groups are read.
    void (*_Nonnull mix)(const struct cscale_rows *_Nonnull rows, int count, uint8_t *_Nonnull out);
    /// Mixes the rows of three components into packed 4:2:2, YUYV or UYVY, of `count` pixels (even).
    void (*_Nonnull mix_packed)(const struct cscale_rows *_Nonnull y, const struct cscale_rows *_Nonnull u,
                                const struct cscale_rows *_Nonnull v, int count, int luma_first,
                                uint8_t *_Nonnull out);
    /// Packs rows of three components into 4:2:2, YUYV or UYVY. Returns how many of `count` pixels it has packed: whole
    /// pairs of groups.
    int (*_Nonnull pack)(const uint8_t *_Nonnull y, const uint8_t *_Nonnull u, const uint8_t *_Nonnull v, int count,
                         int luma_first, uint8_t *_Nonnull out);
    /// Interpolates eight pixels of four channels from their 4 x 4 neighbours, first vertically, then horizontally. No
    /// channel becomes greater than the last one, which is alpha. Rows are `stride` bytes apart. `across` and `down`
    /// are the weights of four neighbours in 64ths, 16 bits each, the first one's lowest.
    void (*_Nonnull interpolate)(const uint8_t *_Nonnull pixels, intptr_t stride, uint64_t across, uint64_t down,
                                 uint8_t *_Nonnull out);
    /// Interpolates a row between two rows, of which the lower one's weight is `below` 256ths. `mixed` has room for the
    /// input samples from the first one that is needed to the last, and one more.
    void (*_Nonnull interpolate_row)(const uint8_t *_Nonnull upper, const uint8_t *_Nonnull lower, int below,
                                     const struct cscale_taps *_Nonnull taps, int16_t *_Nonnull mixed,
                                     uint8_t *_Nonnull out);
};

/// Four numbers, such as a colour's channels, or one for each of a pixel's samples.
typedef float cscale_float4 __attribute__((ext_vector_type(4)));
typedef uint32_t cscale_uint4 __attribute__((ext_vector_type(4)));

// Three functions that are inlined, with SSE2, which every x86-64 has. Those that end in `plain` are for other
// processors, with the same result.

static inline uint32_t cscale_pack_plain(cscale_float4 color) {
    uint32_t pixel = 0;
    for (int i = 0; i < 4; i++) {
        const float bounded = color[i] > 0 ? color[i] < 255 ? color[i] : 255 : 0;
        pixel |= (uint32_t)__builtin_rintf(bounded) << 8 * i;
    }
    return pixel;
}

/// Rounds four channels to a pixel's bytes, the first one's lowest; limited to 0 and 255.
static inline uint32_t cscale_pack(cscale_float4 color) {
#if defined(__SSE2__)
    const __m128i words = _mm_cvtps_epi32((__m128)color), halves = _mm_packs_epi32(words, words);
    return (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(halves, halves));
#else
    return cscale_pack_plain(color);
#endif
}

static inline int cscale_signs_plain(cscale_uint4 numbers) {
    return (int)(numbers[0] >> 31 | numbers[1] >> 31 << 1 | numbers[2] >> 31 << 2 | numbers[3] >> 31 << 3);
}

/// The sign bits of four numbers, the first one's lowest.
static inline int cscale_signs(cscale_uint4 numbers) {
#if defined(__SSE2__)
    return _mm_movemask_ps((__m128)numbers);
#else
    return cscale_signs_plain(numbers);
#endif
}

static inline cscale_float4 cscale_interpolate_plain(const void *_Nonnull upper, const void *_Nonnull lower, int right,
                                                     int below) {
    const uint8_t *a = (const uint8_t *)upper, *b = (const uint8_t *)lower;
    cscale_float4 mixed;
    for (int i = 0; i < 4; i++) {
        const int first = (a[i] * (256 - below) + b[i] * below + 128) >> 8;
        const int second = (a[i + 4] * (256 - below) + b[i + 4] * below + 128) >> 8;
        mixed[i] = (float)((first * (256 - right) + second * right + 128) >> 8);
    }
    return mixed;
}

/// Interpolates between two texels of a row and the two below them, first vertically, then horizontally. `right` and
/// `below` are the weights of the right and of the lower texels, 0 to 255 of 256.
static inline cscale_float4 cscale_interpolate(const void *_Nonnull upper, const void *_Nonnull lower, int right,
                                               int below) {
#if defined(__SSE2__)
    const __m128i zero = _mm_setzero_si128(), half = _mm_set1_epi16(128);
    const __m128i a = _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)upper), zero);
    const __m128i b = _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)lower), zero);
    // 256 a + (b - a) w fits in 16 bits; intermediate results may wrap.
    __m128i sum = _mm_add_epi16(_mm_mullo_epi16(_mm_sub_epi16(b, a), _mm_set1_epi16((short)below)), half);
    const __m128i rows = _mm_srli_epi16(_mm_add_epi16(_mm_slli_epi16(a, 8), sum), 8);
    const __m128i next = _mm_srli_si128(rows, 8);
    sum = _mm_add_epi16(_mm_mullo_epi16(_mm_sub_epi16(next, rows), _mm_set1_epi16((short)right)), half);
    const __m128i mixed = _mm_srli_epi16(_mm_add_epi16(_mm_slli_epi16(rows, 8), sum), 8);
    return (cscale_float4)_mm_cvtepi32_ps(_mm_unpacklo_epi16(mixed, zero));
#else
    return cscale_interpolate_plain(upper, lower, right, below);
#endif
}

/// The kernels; NULL if the processor can't run them.
const struct cscale_kernels *_Nullable cscale_kernels(void);
#endif
