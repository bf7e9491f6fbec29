// The functions of this file are compiled for AVX2 by an attribute, without compiler flags.
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

/// A group of filtered samples from its halves' 16 input samples.
static inline __m256i filtered(const uint8_t *low, const uint8_t *high, __m256i shuffle, __m256i weights) {
    const __m256i halves = _mm256_loadu2_m128i((const void *)high, (const void *)low);
    const __m256i pairs = _mm256_shuffle_epi8(halves, shuffle);
    // maddubs multiplies unsigned by signed bytes, so 128 is subtracted from the samples.
    return _mm256_maddubs_epi16(weights, _mm256_xor_si256(pairs, _mm256_set1_epi8(-128)));
}

static void filter(const uint8_t *samples, const struct cscale_filter *filter, int16_t *out) {
    const __m256i shuffle = load(filter->shuffle), weights = load(filter->weights);
    const uint8_t *next = samples + filter->starts[0];
    int i = 0;
    for (; i < filter->uniform; i++) {
        const __m256i group = filtered(next, next + filter->step, shuffle, weights);
        _mm256_storeu_si256((void *)(out + 16 * i), group);
        next += 2 * filter->step;
    }
    for (; i < filter->groups; i++) {
        const int32_t *starts = filter->starts + 2 * i;
        const __m256i group = filtered(samples + starts[0], samples + starts[1], load(filter->shuffle + 32 * i),
                                       load(filter->weights + 32 * i));
        _mm256_storeu_si256((void *)(out + 16 * i), group);
    }
}

// 64 * 32768 / 255: the rows are 255 times the samples, and the product is shifted by 15 bits.
enum { one = 8224 };

static inline __m256i weight(int second_weight) { return _mm256_set1_epi16((second_weight * one + 128) >> 8); }

/// Mixes 16 samples from the `i`th on. Products are rounded to 64ths of a sample.
static inline __m256i mixed(const struct cscale_rows *rows, int i) {
    const __m256i weight_b = weight(rows->second_weight), weight_a = _mm256_sub_epi16(_mm256_set1_epi16(one), weight_b);
    const __m256i sum = _mm256_add_epi16(_mm256_mulhrs_epi16(load(rows->first + i), weight_a),
                                         _mm256_mulhrs_epi16(load(rows->second + i), weight_b));
    return _mm256_srai_epi16(_mm256_add_epi16(sum, _mm256_set1_epi16(128 * 64 + 32)), 6);
}

/// Mixes 32 samples.
static inline __m256i mixed_pair(const struct cscale_rows *rows, int i) {
    // Packing keeps each half of a vector by itself, so the middle quarters change places.
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(mixed(rows, i), mixed(rows, i + 16)), 0xd8);
}

static void mix(const struct cscale_rows *rows, int count, uint8_t *out) {
    const struct cscale_rows r = *rows;  // what is written through `out` can't change it
    for (int i = 0; i < count; i += 32) {
        const __m256i samples = mixed_pair(&r, i);
        if (i + 32 <= count) _mm256_storeu_si256((void *)(out + i), samples);
        else memcpy(out + i, &samples, count - i);
    }
}

/// Interleaves 32 samples of luma with 32 of chroma, U and V alternating.
static inline void interleave(__m256i luma, __m256i chroma, int luma_first, __m256i words[2]) {
    const __m256i first = luma_first ? luma : chroma, second = luma_first ? chroma : luma;
    const __m256i left = _mm256_unpacklo_epi8(first, second), right = _mm256_unpackhi_epi8(first, second);
    words[0] = _mm256_permute2x128_si256(left, right, 0x20);
    words[1] = _mm256_permute2x128_si256(left, right, 0x31);
}

static int pack(const uint8_t *y, const uint8_t *u, const uint8_t *v, int count, int luma_first, uint8_t *out) {
    int i = 0;
    for (; i + 32 <= count; i += 32) {
        const __m128i us = _mm_loadu_si128((const void *)(u + i / 2));
        const __m128i vs = _mm_loadu_si128((const void *)(v + i / 2));
        const __m256i chroma = _mm256_set_m128i(_mm_unpackhi_epi8(us, vs), _mm_unpacklo_epi8(us, vs));
        __m256i words[2];
        interleave(load(y + i), chroma, luma_first, words);
        _mm256_storeu_si256((void *)(out + 2 * i), words[0]);
        _mm256_storeu_si256((void *)(out + 2 * i + 32), words[1]);
    }
    return i;
}

static void mix_packed(const struct cscale_rows *y_rows, const struct cscale_rows *u_rows,
                       const struct cscale_rows *v_rows, int count, int luma_first, uint8_t *out) {
    const struct cscale_rows y = *y_rows, u = *u_rows, v = *v_rows;
    // Of each half: U and V of a pixel pair side by side.
    const __m256i pairs = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
    for (int i = 0; i < count; i += 32) {
        const __m256i chroma = _mm256_shuffle_epi8(_mm256_packus_epi16(mixed(&u, i / 2), mixed(&v, i / 2)), pairs);
        __m256i words[2];
        interleave(mixed_pair(&y, i), chroma, luma_first, words);
        if (i + 32 <= count) {
            _mm256_storeu_si256((void *)(out + 2 * i), words[0]);
            _mm256_storeu_si256((void *)(out + 2 * i + 32), words[1]);
        } else {
            memcpy(out + 2 * i, words, 2 * (count - i));
        }
    }
}

/// 16 channels of four rows, weighted.
static inline __m256i weighted_rows(const uint8_t *at, intptr_t stride, const __m256i weights[4]) {
    __m256i sum = _mm256_set1_epi16(32);
    for (int i = 0; i < 4; i++) {
        const __m256i row = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(at + (i - 1) * stride)));
        sum = _mm256_add_epi16(sum, _mm256_mullo_epi16(row, weights[i]));
    }
    return _mm256_srai_epi16(sum, 6);
}

/// Four pixels from seven: those of `a` and the first three of `b`.
static inline __m256i weighted_columns(__m256i a, __m256i b, const __m256i weights[4]) {
    // Shifts keep each half of a vector by itself, so the halves in the middle come first.
    const __m256i middle = _mm256_permute2x128_si256(a, b, 0x21);
    __m256i sum = _mm256_add_epi16(_mm256_set1_epi16(32), _mm256_mullo_epi16(a, weights[0]));
    sum = _mm256_add_epi16(sum, _mm256_mullo_epi16(_mm256_alignr_epi8(middle, a, 8), weights[1]));
    sum = _mm256_add_epi16(sum, _mm256_mullo_epi16(middle, weights[2]));
    sum = _mm256_add_epi16(sum, _mm256_mullo_epi16(_mm256_alignr_epi8(b, middle, 8), weights[3]));
    const __m256i mixed = _mm256_srai_epi16(sum, 6);
    const __m256i alpha = _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(mixed, 0xff), 0xff);
    return _mm256_min_epi16(mixed, alpha);
}

static void interpolate(const uint8_t *pixels, intptr_t stride, uint64_t across, uint64_t down, uint8_t *out) {
    __m256i columns[4], rows[4];
    for (int i = 0; i < 4; i++) {
        columns[i] = _mm256_set1_epi16((int16_t)(across >> 16 * i));
        rows[i] = _mm256_set1_epi16((int16_t)(down >> 16 * i));
    }
    // Twelve pixels, beginning one before the first.
    const __m256i first = weighted_rows(pixels - 4, stride, rows), second = weighted_rows(pixels + 12, stride, rows),
                  third = weighted_rows(pixels + 28, stride, rows);
    const __m256i packed = _mm256_packus_epi16(weighted_columns(first, second, columns),
                                               weighted_columns(second, third, columns));
    _mm256_storeu_si256((void *)out, _mm256_permute4x64_epi64(packed, 0xd8));
}

/// `count` samples between two rows, 256 times each, less 32768: as many fit in 16 bits with a sign.
static inline void mix_rows(const uint8_t *upper, const uint8_t *lower, int below, int count, int16_t *out) {
    const __m256i above = _mm256_set1_epi16(256 - below), under = _mm256_set1_epi16(below);
    int i = 0;
    for (; i + 16 <= count; i += 16) {
        const __m256i a = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(upper + i)));
        const __m256i b = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(lower + i)));
        const __m256i sum = _mm256_add_epi16(_mm256_mullo_epi16(a, above), _mm256_mullo_epi16(b, under));
        _mm256_storeu_si256((void *)(out + i), _mm256_xor_si256(sum, _mm256_set1_epi16(INT16_MIN)));
    }
    for (; i < count; i++) out[i] = upper[i] * (256 - below) + lower[i] * below - 32768;
}

static inline int pair(const int16_t *mixed, int32_t start) {
    int both;
    memcpy(&both, mixed + start, sizeof both);
    return both;
}

static void interpolate_row(const uint8_t *upper, const uint8_t *lower, int below, const struct cscale_taps *taps,
                            int16_t *mixed, uint8_t *out) {
    const int count = taps->count, first = taps->starts[0], last = taps->starts[count - 1];
    // The last one's right neighbour may lie outside of the row; then its weight is 0.
    const int right = (taps->weights[count - 1] >> 16) != 0;
    mix_rows(upper + first, lower + first, below, last + 1 + right - first, mixed);
    mixed[last + 1 + right - first] = 0;
    mixed -= first;
    const __m256i half = _mm256_set1_epi32((32768 << 8) + 32768);
    for (int i = 0; i < count; i += 8) {
        const int32_t *at = taps->starts + i;
        // Loads of single pairs: a gather is slower on many processors.
        const __m256i pairs = _mm256_setr_epi32(pair(mixed, at[0]), pair(mixed, at[1]), pair(mixed, at[2]),
                                                pair(mixed, at[3]), pair(mixed, at[4]), pair(mixed, at[5]),
                                                pair(mixed, at[6]), pair(mixed, at[7]));
        const __m256i sum = _mm256_madd_epi16(pairs, load(taps->weights + i));
        const __m256i samples = _mm256_srli_epi32(_mm256_add_epi32(sum, half), 16);
        const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(samples), _mm256_extracti128_si256(samples, 1));
        const __m128i bytes = _mm_packus_epi16(words, words);
        if (i + 8 <= count) _mm_storel_epi64((void *)(out + i), bytes);
        else memcpy(out + i, &bytes, count - i);
    }
}

/// Eight pixels' channels between those of `a`, whose lower bytes are `half`, and of `b`: in two vectors of 16-bit
/// numbers, in the order in which they are packed.
static inline __m256i between(__m256i a, __m256i b, __m256i low_weights, __m256i high_weights) {
    const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi8(-128);
    // 256 a + (b - a) w + 128 fits in 16 bits; intermediate results may wrap.
    const __m256i low = _mm256_sub_epi16(_mm256_unpacklo_epi8(b, zero), _mm256_unpacklo_epi8(a, zero));
    const __m256i high = _mm256_sub_epi16(_mm256_unpackhi_epi8(b, zero), _mm256_unpackhi_epi8(a, zero));
    const __m256i low_sum = _mm256_add_epi16(_mm256_unpacklo_epi8(half, a), _mm256_mullo_epi16(low, low_weights));
    const __m256i high_sum = _mm256_add_epi16(_mm256_unpackhi_epi8(half, a), _mm256_mullo_epi16(high, high_weights));
    return _mm256_packus_epi16(_mm256_srli_epi16(low_sum, 8), _mm256_srli_epi16(high_sum, 8));
}

/// Eight pixels of a row from `first` on, 16 fraction bits, `step` apart. That's at most one pixel, so that the eight
/// lie between nine neighbours.
static inline __m256i eight_pixels(const uint32_t *row, int first, int step) {
    const __m256i places = _mm256_add_epi32(_mm256_set1_epi32(first & 0xffff), _mm256_mullo_epi32(
        _mm256_set1_epi32(step), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
    const __m256i order = _mm256_srli_epi32(places, 16);
    const __m256i a = _mm256_permutevar8x32_epi32(load(row + (first >> 16)), order);
    const __m256i b = _mm256_permutevar8x32_epi32(load(row + (first >> 16) + 1), order);
    // The highest byte of a fraction, for each of a pixel's channels.
    const __m256i low = _mm256_setr_epi8(1, -1, 1, -1, 1, -1, 1, -1, 5, -1, 5, -1, 5, -1, 5, -1,
                                         1, -1, 1, -1, 1, -1, 1, -1, 5, -1, 5, -1, 5, -1, 5, -1);
    const __m256i high = _mm256_add_epi8(low, _mm256_setr_epi8(8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0,
                                                               8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0));
    return between(a, b, _mm256_shuffle_epi8(places, low), _mm256_shuffle_epi8(places, high));
}

static void enlarge_row(const uint32_t *upper, const uint32_t *lower, int below, const struct cscale_line *line,
                        uint32_t *mixed, uint32_t *out) {
    const int first = (int)(line->start >> 24);
    const int count = (int)((line->start + (line->end - line->begin - 1) * line->step) >> 24) + 2 - first;
    const __m256i weights = _mm256_set1_epi16(below);
    int i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_si256((void *)(mixed + i), between(load(upper + first + i), load(lower + first + i), weights,
                                                         weights));
    __m256i last[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    memcpy(last, upper + first + i, 4 * (count - i));
    memcpy(last + 1, lower + first + i, 4 * (count - i));
    _mm256_storeu_si256((void *)(mixed + i), between(last[0], last[1], weights, weights));
    // A run reads up to 17 pixels.
    for (int j = 1; j <= 3; j++) _mm256_storeu_si256((void *)(mixed + i + 8 * j), _mm256_setzero_si256());

    const int step = (int)(line->step >> 8);
    for (int x = line->begin & ~15; x < line->end; x += 16) {
        const int begin = x < line->begin ? line->begin : x, end = x + 16 < line->end ? x + 16 : line->end;
        // The lowest bits only matter for the sum over many runs.
        const int place = (int)((line->start + (begin - line->begin) * line->step) >> 8) - (first << 16);
        const uint32_t *at = mixed + (place >> 16);
        const __m256i all = _mm256_or_si256(_mm256_or_si256(load(at), load(at + 8)), load(at + 9));
        if (_mm256_testz_si256(all, all)) continue;
        __m256i run[2] = {eight_pixels(mixed, place, step), eight_pixels(mixed, place + 8 * step, step)};
        if (end - begin < 16) {
            uint32_t part[16] = {0};
            memcpy(part + (begin - x), run, 4 * (end - begin));
            memcpy(run, part, sizeof run);
        }
        const __m256i any = _mm256_or_si256(run[0], run[1]);
        if (_mm256_testz_si256(any, any)) continue;
        _mm256_storeu_si256((void *)(out + x), run[0]);
        _mm256_storeu_si256((void *)(out + x + 8), run[1]);
    }
}

/// Eight samples of a moved row: positions with 12 bits after the point, and what is read.
struct line {
    int u, v, du, dv;
    int first_column, first_row, columns, rows;
};

static inline struct line line_of(const struct cscale_patch *patch, int y) {
    struct line line = {
        .u = (patch->u + y * patch->down_u) >> 4,
        .v = (patch->v + y * patch->down_v) >> 4,
        .du = (patch->du + y * patch->down_du + 8) >> 4,
        .dv = (patch->dv + y * patch->down_dv + 8) >> 4,
    };
    const int end_u = line.u + 7 * line.du, end_v = line.v + 7 * line.dv;
    line.first_column = (line.u < end_u ? line.u : end_u) >> 12;
    line.first_row = (line.v < end_v ? line.v : end_v) >> 12;
    line.columns = ((line.u < end_u ? end_u : line.u) >> 12) - line.first_column + 2;
    line.rows = ((line.v < end_v ? end_v : line.v) >> 12) - line.first_row + 2;
    return line;
}

static void move_line(const uint8_t *samples, intptr_t stride, struct line line, uint8_t *out) {
    for (int i = 0; i < 8; i++) {
        const int u = line.u + i * line.du, v = line.v + i * line.dv;
        const int right = u >> 4 & 255, below = v >> 4 & 255;
        const uint8_t *at = samples + (v >> 12) * stride + (u >> 12);
        const int first = at[0] * (256 - below) + at[stride] * below;
        const int second = at[1] * (256 - below) + at[stride + 1] * below;
        out[i] = (first * (256 - right) + second * right + 32768) >> 16;
    }
}

static inline __m256i both(int first, int second) {
    return _mm256_set_m128i(_mm_set1_epi16(second), _mm_set1_epi16(first));
}

/// Moves two rows whose neighbours are in 16 columns and 17 rows at most.
static void move_two(const uint8_t *samples, intptr_t stride, struct line a, struct line b, uint8_t *out) {
    const __m256i numbers = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i byte = _mm256_set1_epi16(255), one = _mm256_set1_epi16(256), sign = _mm256_set1_epi16(INT16_MIN);
    const __m256i u = _mm256_add_epi16(both(a.u - (a.first_column << 12), b.u - (b.first_column << 12)),
                                       _mm256_mullo_epi16(both(a.du, b.du), numbers));
    const __m256i v = _mm256_add_epi16(both(a.v - (a.first_row << 12), b.v - (b.first_row << 12)),
                                       _mm256_mullo_epi16(both(a.dv, b.dv), numbers));
    // As 16-bit numbers: an index with the highest bit set gives 0.
    const __m256i left = _mm256_or_si256(_mm256_srli_epi16(u, 12), sign);
    const __m256i right = _mm256_add_epi16(left, _mm256_set1_epi16(1));
    const uint8_t *above_a = samples + a.first_row * stride + a.first_column;
    const uint8_t *above_b = samples + b.first_row * stride + b.first_column;
    const int rows = a.rows < b.rows ? b.rows : a.rows;
    __m256i down = _mm256_srli_epi16(v, 4), first = _mm256_setzero_si256(), second = first;
    for (int row = 0; row < rows; row++) {
        const __m256i line = _mm256_loadu2_m128i((const void *)(above_b + row * stride),
                                                 (const void *)(above_a + row * stride));
        // The nearer the row, the more it weighs; more than a row away, nothing.
        const __m256i weight = _mm256_subs_epu16(one, _mm256_abs_epi16(down));
        first = _mm256_add_epi16(first, _mm256_mullo_epi16(_mm256_shuffle_epi8(line, left), weight));
        second = _mm256_add_epi16(second, _mm256_mullo_epi16(_mm256_shuffle_epi8(line, right), weight));
        down = _mm256_sub_epi16(down, one);
    }
    // Unsigned sums as signed numbers, less 32768, which is added again after the weights.
    first = _mm256_xor_si256(first, sign);
    second = _mm256_xor_si256(second, sign);
    const __m256i across = _mm256_and_si256(_mm256_srli_epi16(u, 4), byte), rest = _mm256_sub_epi16(one, across);
    const __m256i half = _mm256_set1_epi32((32768 << 8) + 32768);
    const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(first, second), _mm256_unpacklo_epi16(rest, across));
    const __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(first, second), _mm256_unpackhi_epi16(rest, across));
    const __m256i words = _mm256_packus_epi32(_mm256_srli_epi32(_mm256_add_epi32(low, half), 16),
                                              _mm256_srli_epi32(_mm256_add_epi32(high, half), 16));
    const __m256i bytes = _mm256_packus_epi16(words, words);
    _mm_storel_epi64((void *)out, _mm256_castsi256_si128(bytes));
    _mm_storel_epi64((void *)(out + 8), _mm256_extracti128_si256(bytes, 1));
}

static void move(const uint8_t *samples, intptr_t stride, const struct cscale_patch *patch, int rows, uint8_t *out) {
    for (int y = 0; y < rows; y += 2) {
        const struct line a = line_of(patch, y), b = line_of(patch, y + 1);
        const int columns = a.columns < b.columns ? b.columns : a.columns;
        if (columns <= 16 && a.rows <= 17 && b.rows <= 17) {
            move_two(samples, stride, a, b, out + 8 * y);
        } else {
            move_line(samples, stride, a, out + 8 * y);
            move_line(samples, stride, b, out + 8 * y + 8);
        }
    }
}

#pragma clang attribute pop

const struct cscale_kernels *cscale_kernels(void) {
    static const struct cscale_kernels kernels = {gather, filter,      mix,            mix_packed,
                                                  pack,   interpolate, interpolate_row, enlarge_row,
                                                  move};
    return __builtin_cpu_supports("avx2") ? &kernels : 0;
}
#else
const struct cscale_kernels *cscale_kernels(void) { return 0; }
#endif
