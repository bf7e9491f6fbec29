#ifndef GUISE_CSCALE_H
#define GUISE_CSCALE_H
// Kernels that scale, move and pack pixels, for processors with AVX2. They are in C because Swift has no way to
// compile one function for a better processor than the rest of the program; the callers have others for every
// processor. They allocate nothing and check nothing: the caller guarantees the sizes. Loads and stores need no
// alignment.
#include <stdint.h>

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

/// The columns of an output row, and where they lie in the input rows.
struct cscale_line {
    int begin, end;
    /// The first column's position in the input rows, and the step to the next, at most 1; 24 bits after the point.
    int64_t start, step;
};

/// Where rows of eight samples come from. Positions and steps have 16 bits after the point; of steps across, the last
/// four are rounded off.
struct cscale_patch {
    /// The first sample of the first row, at least 1/128.
    int32_t u, v;
    /// The step to the next sample of the first row.
    int32_t du, dv;
    /// The step to the first sample of the next row, and how the step across changes from row to row.
    int32_t down_u, down_v, down_du, down_dv;
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
    /// Interpolates a row of pixels of four channels between two rows, of which the lower one's weight is `below`
    /// 256ths, first vertically, then horizontally. Writes runs of 16 pixels, from column 0 of `out` on, unless they
    /// are transparent. `mixed` has room for the input pixels from the first one that is needed to the last, and 32
    /// more.
    void (*_Nonnull enlarge_row)(const uint32_t *_Nonnull upper, const uint32_t *_Nonnull lower, int below,
                                 const struct cscale_line *_Nonnull line, uint32_t *_Nonnull mixed,
                                 uint32_t *_Nonnull out);
    /// Moves samples: rows of eight, each between its 2 x 2 neighbours, first vertically, then horizontally. Rows of
    /// `samples` are `stride` bytes apart. Reads up to 16 bytes and 17 rows from the first neighbour on. `rows` is
    /// even.
    void (*_Nonnull move)(const uint8_t *_Nonnull samples, intptr_t stride, const struct cscale_patch *_Nonnull patch,
                          int rows, uint8_t *_Nonnull out);
};

/// The kernels; NULL if the processor can't run them.
const struct cscale_kernels *_Nullable cscale_kernels(void);
#endif
