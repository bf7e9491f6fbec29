// The kernels: included once for each kind of processor. TABLE names their table.
//
// Two pixels are drawn at a time, side by side in vectors of eight: four samples or four channels of each. The compiler
// makes one AVX2 instruction of an operation, or two of SSE2 or NEON.
#include <string.h>

// Functions whose vectors are too long for a processor's registers are inlined, so how they are passed doesn't matter.
#pragma clang diagnostic ignored "-Wpsabi"
// Both kinds of processors must round alike: no multiplication is fused with an addition.
#pragma STDC FP_CONTRACT OFF

typedef craster_float4 float4;
typedef float float8 __attribute__((ext_vector_type(8)));
typedef int32_t int4 __attribute__((ext_vector_type(4)));
typedef int32_t int8 __attribute__((ext_vector_type(8)));
typedef uint32_t uint8 __attribute__((ext_vector_type(8)));
typedef uint64_t longs __attribute__((ext_vector_type(4)));
typedef uint16_t words __attribute__((ext_vector_type(16)));
typedef uint8_t bytes __attribute__((ext_vector_type(32)));
// In memory, where they are aligned to a pixel's samples, or not at all.
typedef float8 float8_pair __attribute__((aligned(16), may_alias));
typedef uint8 uint8_pair __attribute__((aligned(16), may_alias));
typedef float4 float4_loose __attribute__((aligned(4), may_alias));
typedef int4 int4_loose __attribute__((aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

INLINE int least(int a, int b) { return a < b ? a : b; }
INLINE int greatest(int a, int b) { return a > b ? a : b; }
INLINE float least3(float a, float b, float c) {
    const float d = b < a ? b : a;
    return c < d ? c : d;
}
INLINE float greatest3(float a, float b, float c) {
    const float d = b > a ? b : a;
    return c > d ? c : d;
}
INLINE float8 joined(float4 a, float4 b) { return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7); }
INLINE float8 twice(float4 a) { return joined(a, a); }
INLINE float8 every(float a) { return (float8)a; }
/// Lanes of `b` where the mask's sign bit is set, else of `a`.
INLINE float8 choose(float8 a, float8 b, int8 mask) { return (float8)(mask < 0 ? (int8)b : (int8)a); }
INLINE uint8 choose_bits(uint8 a, uint8 b, int8 mask) { return (uint8)(mask < 0 ? (int8)b : (int8)a); }
INLINE float4 choose4(float4 a, float4 b, int4 mask) { return (float4)(mask < 0 ? (int4)b : (int4)a); }
INLINE float8 lower(float8 a, float8 b) { return b < a ? b : a; }
INLINE float8 upper(float8 a, float8 b) { return b > a ? b : a; }
INLINE float4 lower4(float4 a, float4 b) { return b < a ? b : a; }
INLINE float4 upper4(float4 a, float4 b) { return b > a ? b : a; }
INLINE float4 absolute(float4 a) { return (float4)((int4)a & 0x7fffffff); }
INLINE int any(int8 mask) { return __builtin_reduce_or(mask < 0) != 0; }

/// Adding 1.5 * 2^23 rounds to an integer, which is left in the lowest bits.
#define ROUNDING 12582912.f
INLINE int8 rounded(float8 a) { return (int8)(a + ROUNDING) - 0x4b400000; }

/// Rounds x and y to the nearest 1/16 pixel.
INLINE float4 snapped(float4 position) {
    float4 place = ((position * 16 + ROUNDING) - ROUNDING) * 0.0625f;
    place.z = position.z;
    return place;
}

// MARK: - Colours of pixels

/// What the colours of a triangle's pixels are computed from.
struct shader {
    /// A copy: what is written to the samples can't change it.
    struct craster_surface surface;
    float8 black;
};

/// Rounds four channels to a pixel's bytes, limited to 0 and 255, in all four lanes.
INLINE uint8 packed(float8 color) {
    const bytes b = (bytes)(lower(upper(every(0), color), every(255)) + ROUNDING);
    return (uint8)__builtin_shufflevector(b, b, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12,
                                          16, 20, 24, 28, 16, 20, 24, 28, 16, 20, 24, 28, 16, 20, 24, 28);
}

INLINE uint8 plain_pixels(const struct shader *s, float8 shade) { return packed(shade + s->black) | 0xff000000u; }

INLINE uint8 glass_pixels(const struct shader *s, float8 shade) {
    // Not above white, for a premultiplied colour is never above its alpha.
    const float opacity = s->surface.opacity;
    float8 shown = lower(shade + s->black, every(255)) * opacity;
    shown[3] = shown[7] = 255 * opacity;
    return packed(shown);
}

INLINE uint8 grain_pixels(const struct shader *s, float8 shade, float8 texture) {
    // The sample it lies in, since levels are about as fine as pixels; wrapped.
    const int8 place = (int8)((texture * s->surface.scale - 0.5f) + ROUNDING);
    const int log = s->surface.size_log;
    // Column and row in one number.
    const longs pairs = (longs)(place & ((1 << log) - 1)), at = pairs | pairs >> (32 - log);
    const int a = s->surface.grain[(uint32_t)at[0]], b = s->surface.grain[(uint32_t)at[2]];
    const float8 gain = __builtin_convertvector((int8){a, a, a, a, b, b, b, b}, float8) * (1 / 128.f);
    return packed(shade * gain + s->black) | 0xff000000u;
}

/// The channels of a texel and of the one to its right.
INLINE uint64_t two_texels(const uint32_t *at) {
    uint64_t both;
    memcpy(&both, at, sizeof both);
    return both;
}

/// Pixels of a picture; transparent outside of it.
INLINE uint8 picture_pixels(const struct shader *s, float8 shade, float8 texture) {
    const struct craster_surface *p = &s->surface;
    const float x = p->shift_x, y = p->shift_y, right = p->width - 1, bottom = p->height - 1;
    const float8 place = texture * p->scale + (float8){x, y, 1, 1, x, y, 1, 1};
    const int8 within = (place > 0) & (place < (float8){right, bottom, 2, 2, right, bottom, 2, 2});
    const int8 shown = __builtin_shufflevector(within, within, 0, 0, 0, 0, 4, 4, 4, 4)
        & __builtin_shufflevector(within, within, 1, 1, 1, 1, 5, 5, 5, 5);
    // In 1/256 of a texel, rounded down.
    const int8 fine = rounded(choose(every(0), place, shown) * 256 - 0.5f);
    const uint32_t *a = p->picture + (intptr_t)(fine[1] >> 8) * p->width + (fine[0] >> 8);
    const uint32_t *b = p->picture + (intptr_t)(fine[5] >> 8) * p->width + (fine[4] >> 8);
    typedef uint64_t two_longs __attribute__((ext_vector_type(2)));
    typedef uint8_t texels __attribute__((ext_vector_type(16)));
    const words above = __builtin_convertvector((texels)(two_longs){two_texels(a), two_texels(b)}, words);
    const words below = __builtin_convertvector(
        (texels)(two_longs){two_texels(a + p->width), two_texels(b + p->width)}, words);
    const words parts = (words)(fine & 255);
    const words across = __builtin_shufflevector(parts, parts, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8);
    const words down = __builtin_shufflevector(parts, parts, 2, 2, 2, 2, 2, 2, 2, 2, 10, 10, 10, 10, 10, 10, 10, 10);
    // 256 a + (b - a) w fits in 16 bits; intermediate results may wrap.
    const words rows = ((above << 8) + (below - above) * down + 128) >> 8;
    const words next = __builtin_shufflevector(rows, rows, 4, 5, 6, 7, 4, 5, 6, 7, 12, 13, 14, 15, 12, 13, 14, 15);
    const words sum = ((rows << 8) + (next - rows) * across + 128) >> 8;
    typedef uint16_t channels __attribute__((ext_vector_type(8)));
    const channels both = __builtin_shufflevector(sum, sum, 0, 1, 2, 3, 8, 9, 10, 11);
    const float8 mixed = __builtin_convertvector(__builtin_convertvector(both, int8), float8);
    // Premultiplied: the constant part of a colour is scaled by alpha.
    const float8 alpha = __builtin_shufflevector(mixed, mixed, 3, 3, 3, 3, 7, 7, 7, 7);
    const float8 constant = s->black * (alpha * (1 / 255.f));
    float8 light = __builtin_shufflevector(shade, shade, 3, 3, 3, 3, 7, 7, 7, 7);
    light[3] = light[7] = 1;
    const float8 texel = mixed - constant;
    // The light's own colour is added to U and V, by how bright the texel is.
    const float8 luma = __builtin_shufflevector(texel, texel, 0, 0, 0, 0, 4, 4, 4, 4);
    const float8 cast = shade * luma * (float8){0, p->cast, p->cast, 0, 0, p->cast, p->cast, 0};
    return packed(texel * light + constant + cast) & (uint8)shown;
}

INLINE uint8 pixels(const struct shader *s, enum craster_kind kind, float8 shade, float8 texture) {
    switch (kind) {
    case craster_plain: return plain_pixels(s, shade);
    case craster_glass: return glass_pixels(s, shade);
    case craster_grain: return grain_pixels(s, shade, texture);
    case craster_picture: return picture_pixels(s, shade, texture);
    }
}

/// A pixel's colour with full opacity.
static uint32_t opaque(uint32_t pixel) {
    const uint32_t alpha = pixel >> 24;
    if (alpha == 0) return 0;
    uint32_t whole = 0xff000000;
    for (int i = 0; i < 24; i += 8) {
        const uint32_t channel = (pixel >> i & 255) * 255 / alpha;
        whole |= (channel < 255 ? channel : 255) << i;
    }
    return whole;
}

/// Alpha to coverage: the alpha selects how many of the four samples are drawn, with full opacity.
static __attribute__((noinline)) void cover(uint32_t pixel[8], int32_t shown[8]) {
    static const int least_alpha[4] = {32, 224, 96, 160};
    for (int i = 0; i < 8; i++) {
        if ((int)(pixel[i] >> 24) < least_alpha[i & 3]) shown[i] = 0;
        pixel[i] = opaque(pixel[i]);
    }
}

/// Premultiplied pixels composited over samples.
INLINE uint8 over(uint8 pixel, uint8 under) {
    const uint8 rest = 255 - (pixel >> 24);
    const uint8 even = (under & 0x00ff00ff) * rest + 0x00800080;
    const uint8 odd = (under >> 8 & 0x00ff00ff) * rest + 0x00800080;
    const uint8 even_part = (even + (even >> 8 & 0x00ff00ff)) >> 8 & 0x00ff00ff;
    const uint8 odd_part = (odd + (odd >> 8 & 0x00ff00ff)) & 0xff00ff00;
    return (even_part | odd_part) + pixel;
}

/// Two pixels' samples: adjacent, or not.
struct samples {
    float8 depth;
    uint8 color;
};

/// Draws two pixels on their samples. The sign bit of `shown` is set for those that are shown.
INLINE struct samples mixed(const struct shader *s, enum craster_kind kind, struct samples under, float8 shade,
                            float8 texture, float8 z, int8 shown) {
    uint8 pixel = pixels(s, kind, shade, texture);
    if (kind == craster_glass) {
        under.color = choose_bits(under.color, over(pixel, under.color), shown);
        return under;
    }
    if (kind == craster_picture && any((int8)((pixel >> 24) != 255))) {
        uint32_t colors[8];
        int32_t masks[8];
        memcpy(colors, &pixel, sizeof colors);
        memcpy(masks, &shown, sizeof masks);
        cover(colors, masks);
        memcpy(&pixel, colors, sizeof colors);
        memcpy(&shown, masks, sizeof masks);
    }
    under.color = choose_bits(under.color, pixel, shown);
    under.depth = choose(under.depth, z, shown);
    return under;
}

// MARK: - Triangles

/// The samples' positions relative to the pixel's centre: a rotated grid, in which no two share a row or column.
#define SAMPLE_X ((float4){-0.125f, 0.375f, -0.375f, 0.125f})
#define SAMPLE_Y ((float4){-0.375f, -0.125f, 0.125f, 0.375f})

/// The largest error of a column, since the quotient is rounded.
#define HAIR 0.01f
/// A column beyond all others.
#define FAR 1e6f

/// The edge functions of a triangle, one per lane; the last lane is unused. They are integers in units of 1/256 pixel's
/// area, positive inside; triangles are small enough that floats represent them exactly.
struct edges {
    float4 step_x, step_y;
    /// The values at the centre of the start pixel.
    float4 value;
    /// The largest difference between the value at a sample and at the pixel's centre, to either side.
    float4 margin;
    /// Columns per unit of the edge functions, for left edges and for right edges; 0 for the others.
    float4 left_slope, right_slope;
    /// Offsets of an edge's column: for rounding it to an integer, or beyond all columns for edges of the other side.
    float4 left_offset, right_offset;
};

/// Edges between corners, lane by lane, in 1/16 pixel relative to the start pixel.
INLINE struct edges make_edges(float4 x, float4 y, float4 next_x, float4 next_y) {
    struct edges e;
    const float4 dx = next_x - x, dy = next_y - y, zero = 0, one = 1;
    e.step_x = dy * -16;
    e.step_y = dx * 16;
    // Clockwise with y down: a top edge goes right, a left edge goes up. A sample on any other edge is outside.
    const int4 up = (int4)dy < 0, down = (int4)(zero - dy) < 0, level = ~(up | down);
    const int4 owns = up | (level & ((int4)(zero - dx) < 0));
    e.value = dy * x - dx * y - choose4(one, zero, owns);
    e.margin = upper4(absolute(dx * 6 - dy * 2), absolute(dx * 2 + dy * 6));
    // A horizontal edge keeps all columns or none.
    const float4 columns = choose4(one / (dy * 16), -FAR, level);
    e.left_slope = choose4(columns, zero, down);
    e.right_slope = choose4(zero, columns, down);
    // Rounds down and adds one, by rounding to the nearest.
    e.left_offset = choose4(0.5f - HAIR, -FAR, down);
    e.right_offset = choose4(FAR, -0.5f + HAIR, down);
    return e;
}

/// The columns of eight rows: first, from the first to the last column in which no edge has all four samples outside
/// (contiguous, since each edge bounds a half line); second, the columns in which all samples are inside of all edges.
/// An empty range ends before it begins.
struct columns {
    int32_t begin[8], end[8], full[8], full_end[8];
};

/// Not inlined: its constants would be moved out of the loop, and fill all registers.
static __attribute__((noinline)) void find_columns(const struct edges *e, int row, int last, struct columns *out) {
    const float8 rows = (float)row + (float8){0, 1, 2, 3, 4, 5, 6, 7};
    float8 begin = 0, end = last, full = 0, full_end = last;
    _Pragma("unroll") for (int i = 0; i < 3; i++) {
        const float8 at = rows * e->step_y[i] + e->value[i], outer = at + e->margin[i], inner = at - e->margin[i];
        begin = upper(begin, outer * e->left_slope[i] + e->left_offset[i]);
        end = lower(end, outer * e->right_slope[i] + e->right_offset[i]);
        full = upper(full, inner * e->left_slope[i] + (e->left_offset[i] + 2 * HAIR));
        full_end = lower(full_end, inner * e->right_slope[i] + (e->right_offset[i] - 2 * HAIR));
    }
    // Values too small for `rounded` stay below 0, and values too large stay large: the bits of floats are in the order
    // of the floats.
    const int8 found[4] = {rounded(begin), rounded(end), rounded(full), rounded(full_end)};
    memcpy(out, found, sizeof found);
}

/// Whether occluders hide a depth in all of these columns and rows; conservative, since it tests whole blocks.
INLINE int is_hidden(const struct craster_band *b, int left, int top, int right, int bottom, float z) {
    // Samples test the occluders of neighbouring pixels, which have a border of one row and column on each side.
    const int first = left >> craster_block_log, last = (right + 2) >> craster_block_log;
    const int last_row = (bottom + b->first_row + 2) >> craster_block_log;
    for (int y = (top + b->first_row) >> craster_block_log; y <= last_row; y++)
        for (int x = first; x <= last; x++)
            if (z < b->farthest[y * b->blocks_across + x]) return 0;
    return 1;
}

// MARK: - Rows

/// Sets depths to those of the occluders. Each sample has that of a neighbouring pixel on its own side, so that
/// outlines, which have one sample per pixel, fade over three pixels.
static void begin_depths(const float *occluders, intptr_t stride, int count, float4 *depth) {
    int x = 0;
    for (; x + 4 <= count; x += 4) {
        const float *at = occluders + x;
        const float4 a = *(const float4_loose *)(at - stride), b = *(const float4_loose *)(at + 1),
                     c = *(const float4_loose *)(at - 1), d = *(const float4_loose *)(at + stride);
        const float4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
        const float4 ef = __builtin_shufflevector(a, b, 2, 6, 3, 7), gh = __builtin_shufflevector(c, d, 2, 6, 3, 7);
        depth[x] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
        depth[x + 1] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
        depth[x + 2] = __builtin_shufflevector(ef, gh, 0, 1, 4, 5);
        depth[x + 3] = __builtin_shufflevector(ef, gh, 2, 3, 6, 7);
    }
    for (; x < count; x++) {
        const float *at = occluders + x;
        depth[x] = (float4){at[-stride], at[1], at[-1], at[stride]};
    }
}

/// Makes a row's columns a part of what is drawn.
static __attribute__((noinline)) void begin_columns(const struct craster_band *band, int y, int begin, int end) {
    struct craster_span *drawn = band->drawn + y;
    const intptr_t stride = band->width + 2;
    const float *occluders = band->occluders + y * stride;
    float4 *depth = band->depth + (intptr_t)y * band->width;
    // Eight at a time, since neighbours come next.
    begin &= ~7;
    end = least((end + 7) & ~7, band->width);
    if (drawn->begin >= drawn->end) {
        begin_depths(occluders + begin, stride, end - begin, depth + begin);
        *drawn = (struct craster_span){begin, end};
        return;
    }
    if (begin < drawn->begin) {
        begin_depths(occluders + begin, stride, drawn->begin - begin, depth + begin);
        drawn->begin = begin;
    }
    if (end > drawn->end) {
        begin_depths(occluders + drawn->end, stride, end - drawn->end, depth + drawn->end);
        drawn->end = end;
    }
}

/// A triangle's values at a row, at the samples or at the centres of the first column, and their changes by column.
struct row {
    float8 edge[3], edge_step[3];
    float8 z, z_step, shade, shade_step, texture, texture_step;
    // The limits outside of the triangle.
    float8 z_low, z_high, shade_low, shade_high, texture_low, texture_high;
    float4 *depth;
    craster_uint4 *color;
    /// The column of the pixel that the band has more; it is never drawn.
    intptr_t spare;
};

INLINE int is_textured(enum craster_kind kind) { return kind == craster_grain || kind == craster_picture; }

/// The values of the second pixel in the upper half.
INLINE float8 upper_half(float8 a, float8 b) { return __builtin_shufflevector(a, b, 0, 1, 2, 3, 12, 13, 14, 15); }

INLINE float8 limited(float8 a, float8 low, float8 high) { return lower(upper(a, low), high); }

/// Draws a row's ends, sample by sample: pixels from two columns on. If `adjacent`, these are `first` and `first + 1`,
/// and two pixels are drawn at a time.
INLINE void draw_ends(const struct shader *s, enum craster_kind kind, const struct row *r, int adjacent, int first,
                      int count, int second, int second_count) {
    const float8 a = every(first), b = every(second), column = adjacent ? a : upper_half(a, b);
    float8 edge[3], step[3];
    _Pragma("unroll") for (int i = 0; i < 3; i++) {
        edge[i] = r->edge[i] + column * r->edge_step[i];
        step[i] = r->edge_step[i];
    }
    float8 z = r->z + column * r->z_step, shade = r->shade + column * r->shade_step;
    float8 texture = is_textured(kind) ? r->texture + column * r->texture_step : every(0);
    if (adjacent) {
        _Pragma("unroll") for (int i = 0; i < 3; i++) {
            edge[i] = upper_half(edge[i], edge[i] + step[i]);
            step[i] = step[i] + step[i];
        }
        z = upper_half(z, z + r->z_step);
        shade = upper_half(shade, shade + r->shade_step);
        texture = upper_half(texture, texture + r->texture_step);
    }
    // Negative until the end.
    const int c = -count, d = adjacent ? 1 - count : -second_count;
    int8 left = {c, c, c, c, d, d, d, d};
    const int most = adjacent ? count : greatest(count, second_count);
    for (int i = 0; i < most; i += 1 + adjacent) {
        // One end may be longer than the other.
        const intptr_t x = adjacent || i < count ? first + i : r->spare;
        const intptr_t other = i < second_count ? second + i : r->spare;
        struct samples under;
        if (adjacent) {
            under.depth = *(const float8_pair *)(r->depth + x);
        } else {
            under.depth = joined(r->depth[x], r->depth[other]);
        }
        // Slivers are so steep that rounding errors alone would put them in front of nearer surfaces.
        const float8 near = limited(z, r->z_low, r->z_high);
        const int8 outside = (int8)edge[0] | (int8)edge[1] | (int8)edge[2];
        const int8 shown = (int8)(near - under.depth) & ~outside & left;
        if (any(shown)) {
            if (adjacent) {
                under.color = *(const uint8_pair *)(r->color + x);
            } else {
                under.color = (uint8)joined((float4)r->color[x], (float4)r->color[other]);
            }
            const struct samples now = mixed(s, kind, under, limited(shade, r->shade_low, r->shade_high),
                                             limited(texture, r->texture_low, r->texture_high), near, shown);
            if (adjacent) {
                *(uint8_pair *)(r->color + x) = now.color;
                if (kind != craster_glass) *(float8_pair *)(r->depth + x) = now.depth;
            } else {
                r->color[x] = now.color.lo;
                r->color[other] = now.color.hi;
                if (kind != craster_glass) {
                    r->depth[x] = now.depth.lo;
                    r->depth[other] = now.depth.hi;
                }
            }
        }
        left += 1 + adjacent;
        _Pragma("unroll") for (int j = 0; j < 3; j++) edge[j] += step[j];
        _Pragma("unroll") for (int j = 0; j <= adjacent; j++) {
            z += r->z_step;
            shade += r->shade_step;
            if (is_textured(kind)) texture += r->texture_step;
        }
    }
}

/// Draws a row's inside, which is fully covered.
INLINE void draw_inside(const struct shader *s, enum craster_kind kind, const struct row *r, int first, int count) {
    const float8 column = every(first);
    float8 z = r->z + column * r->z_step, shade = r->shade + column * r->shade_step;
    float8 texture = is_textured(kind) ? r->texture + column * r->texture_step : every(0);
    z = upper_half(z, z + r->z_step);
    shade = upper_half(shade, shade + r->shade_step);
    texture = upper_half(texture, texture + r->texture_step);
    const int c = -count, d = 1 - count;
    int8 left = {c, c, c, c, d, d, d, d};
    for (int i = 0; i < count; i += 2) {
        float8_pair *depth = (float8_pair *)(r->depth + first + i);
        uint8_pair *color = (uint8_pair *)(r->color + first + i);
        struct samples under = {*depth, 0};
        const int8 shown = (int8)(z - under.depth) & left;
        if (any(shown)) {
            under.color = *color;
            const struct samples now = mixed(s, kind, under, shade, texture, z, shown);
            *color = now.color;
            if (kind != craster_glass) *depth = now.depth;
        }
        left += 2;
        _Pragma("unroll") for (int j = 0; j < 2; j++) {
            z += r->z_step;
            shade += r->shade_step;
            if (is_textured(kind)) texture += r->texture_step;
        }
    }
}

/// Draws a triangle, clockwise on screen, whose corners are at pixels of the band.
INLINE void fill(const struct craster_band *band, const struct craster_surface *surface, enum craster_kind kind,
                 const struct craster_vertex *a, const struct craster_vertex *b, const struct craster_vertex *c) {
    float4 p = a->position, q = b->position, r = c->position;
    // Samples are up to 3/8 pixel from the centre, and rounding adds 1/32.
    const int left = greatest(0, (int)(least3(p.x, q.x, r.x) + 1) - 1);
    const int top = greatest(0, (int)(least3(p.y, q.y, r.y) + 1) - 1);
    const int right = least(band->width - 1, (int)(greatest3(p.x, q.x, r.x) + 1));
    const int bottom = least(band->height - 1, (int)(greatest3(p.y, q.y, r.y) + 1));
    if (left > right || top > bottom) return;
    if (is_hidden(band, left, top, right, bottom, least3(p.z, q.z, r.z))) return;
    const float4 origin = {left, top, 0, 0};
    // Snapped again: the midpoints of split sides are between sixteenths.
    p = snapped(p) - origin;
    q = snapped(q) - origin;
    r = snapped(r) - origin;
    const float area = (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x);
    if (!(area > 0)) return;
    const struct edges edges = make_edges(
        (float4){p.x, q.x, r.x, 0} * 16, (float4){p.y, q.y, r.y, 0} * 16, (float4){q.x, r.x, p.x, 0} * 16,
        (float4){q.y, r.y, p.y, 0} * 16);

    // Planes through the values at the snapped corners, whose smallest area bounds the slopes.
    const float inverse = 1 / area;
    const float ux = (r.y - p.y) * inverse, uy = (p.x - r.x) * inverse;
    const float vx = (p.y - q.y) * inverse, vy = (q.x - p.x) * inverse;
    const float dq = q.z - p.z, dr = r.z - p.z, zx = dq * ux + dr * vx, zy = dq * uy + dr * vy;
    const float4 sample_z = SAMPLE_X * zx + SAMPLE_Y * zy + (p.z - p.x * zx - p.y * zy);
    const float4 color_q = b->color - a->color, color_r = c->color - a->color;
    const float4 color_x = color_q * ux + color_r * vx, color_y = color_q * uy + color_r * vy;
    const float4 color_0 = a->color - color_x * p.x - color_y * p.y;
    const float4 texture_a = {a->u, a->v, 0, 0}, texture_b = {b->u, b->v, 0, 0}, texture_c = {c->u, c->v, 0, 0};
    const float4 texture_q = texture_b - texture_a, texture_r = texture_c - texture_a;
    const float4 texture_x = texture_q * ux + texture_r * vx, texture_y = texture_q * uy + texture_r * vy;
    const float4 texture_0 = texture_a - texture_x * p.x - texture_y * p.y;

    // Pixel centres may be outside a triangle that covers a sample: clamp the values there to those of its corners.
    const float4 p_z = p.z, q_z = q.z, r_z = r.z;
    struct row row = {
        .z_step = every(zx),
        .z_low = twice(lower4(lower4(p_z, q_z), r_z)),
        .z_high = twice(upper4(upper4(p_z, q_z), r_z)),
        .shade_step = twice(color_x),
        .shade_low = twice(lower4(lower4(a->color, b->color), c->color)),
        .shade_high = twice(upper4(upper4(a->color, b->color), c->color)),
        .texture_step = twice(texture_x),
        .texture_low = twice(lower4(lower4(texture_a, texture_b), texture_c)),
        .texture_high = twice(upper4(upper4(texture_a, texture_b), texture_c)),
    };
    // At the four samples, a row above the first.
    _Pragma("unroll") for (int i = 0; i < 3; i++) {
        const float down = edges.step_y[i];
        row.edge_step[i] = every(edges.step_x[i]);
        row.edge[i] = twice(SAMPLE_Y * down + SAMPLE_X * edges.step_x[i]) + (edges.value[i] - down);
    }
    const struct shader shader = {*surface, twice(surface->black)};
    const struct craster_span *drawn = band->drawn + top;
    struct columns columns;
    for (int y = 0, lane = 8; y <= bottom - top; y++, lane++) {
        if (lane == 8) {
            find_columns(&edges, y, right - left, &columns);
            lane = 0;
        }
        _Pragma("unroll") for (int i = 0; i < 3; i++) row.edge[i] += every(edges.step_y[i]);
        const int begin = columns.begin[lane], end = columns.end[lane];
        if (begin > end) continue;
        const int full = columns.full[lane], full_end = columns.full_end[lane];
        if (left + begin < drawn[y].begin || left + end >= drawn[y].end)
            begin_columns(band, top + y, left + begin, left + end + 1);
        const intptr_t at = (intptr_t)(top + y) * band->width + left;
        row.depth = band->depth + at;
        row.color = band->color + at;
        row.spare = (intptr_t)band->width * band->height - at;
        row.z = twice(sample_z + zy * y);
        row.shade = twice(color_0 + color_y * y);
        row.texture = twice(texture_0 + texture_y * y);
        if (full <= full_end) {
            if (begin < full || full_end < end)
                draw_ends(&shader, kind, &row, 0, begin, full - begin, full_end + 1, end - full_end);
            draw_inside(&shader, kind, &row, full, full_end - full + 1);
        } else {
            draw_ends(&shader, kind, &row, 1, begin, end - begin + 1, begin + 1, 0);
        }
    }
}

typedef void fill_triangle(const struct craster_band *, const struct craster_surface *, const struct craster_vertex *,
                           const struct craster_vertex *, const struct craster_vertex *);

#define FILL(KIND) \
    static void fill_##KIND(const struct craster_band *band, const struct craster_surface *surface, \
                            const struct craster_vertex *a, const struct craster_vertex *b, \
                            const struct craster_vertex *c) { \
        fill(band, surface, craster_##KIND, a, b, c); \
    }
FILL(plain)
FILL(glass)
FILL(grain)
FILL(picture)

/// The largest side of a triangle, pixels. Larger ones are split, so that edge functions, 2 * (16 * side)^2 at most,
/// stay exact in floats.
#define LARGEST_SIDE 170.f
/// Triangles with a corner farther away than this are not drawn, pixels.
#define FARTHEST 20000.f

INLINE float twice_area(float4 p, float4 q, float4 r) {
    return (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x);
}

INLINE struct craster_vertex middle(const struct craster_vertex *a, const struct craster_vertex *b) {
    return (struct craster_vertex){(a->position + b->position) / 2, (a->color + b->color) / 2, (a->u + b->u) / 2,
                                   (a->v + b->v) / 2};
}

/// Draws one triangle, clockwise on screen, and splits it if it is too large.
static void draw_triangle(const struct craster_band *band, const struct craster_surface *surface, fill_triangle *fill,
                          const struct craster_vertex *a, const struct craster_vertex *b,
                          const struct craster_vertex *c, int depth) {
    const float4 p = a->position, q = b->position, r = c->position;
    const float area = twice_area(p, q, r);
    if (!(area > 0 && area < __builtin_inff())) return;
    const float low_x = least3(p.x, q.x, r.x), low_y = least3(p.y, q.y, r.y);
    const float high_x = greatest3(p.x, q.x, r.x), high_y = greatest3(p.y, q.y, r.y);
    if (!(low_x < band->width && low_y < band->height && high_x > -1 && high_y > -1 && low_x > -FARTHEST
          && low_y > -FARTHEST && high_x < FARTHEST && high_y < FARTHEST))
        return;
    if (high_x - low_x <= LARGEST_SIDE && high_y - low_y <= LARGEST_SIDE) {
        fill(band, surface, a, b, c);
        return;
    }
    // Enough: twice the farthest corner / 2^8 is less than the largest side.
    if (depth == 8) return;
    const struct craster_vertex ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
    draw_triangle(band, surface, fill, a, &ab, &ca, depth + 1);
    draw_triangle(band, surface, fill, &ab, b, &bc, depth + 1);
    draw_triangle(band, surface, fill, &ca, &bc, c, depth + 1);
    draw_triangle(band, surface, fill, &ab, &bc, &ca, depth + 1);
}

static void draw(const struct craster_band *band, const struct craster_mesh *mesh,
                 const struct craster_surface *surface) {
    fill_triangle *fills[] = {fill_plain, fill_glass, fill_grain, fill_picture}, *fill = fills[surface->kind];
    const float4 origin = {band->x, band->y, 0, 0};
    const float low = (float)band->y - 1, high = (float)band->y + (float)band->height;
    // Back faces are drawn second: most are hidden by then, and cheap.
    for (int side = 0; side <= mesh->both_sides; side++) {
        for (int i = 0; i < mesh->triangle_count; i++) {
            const uint16_t *t = mesh->triangles + 3 * i;
            const int first = t[0], second = t[1 + side], third = t[2 - side];
            if (greatest(greatest(first, second), third) >= mesh->vertex_count) __builtin_trap();
            const struct craster_vertex *a = mesh->vertices + first, *b = mesh->vertices + second,
                                        *c = mesh->vertices + third;
            // Most triangles are in other bands.
            const float y = a->position.y, y2 = b->position.y, y3 = c->position.y;
            if (!(greatest3(y, y2, y3) > low && least3(y, y2, y3) < high)) continue;
            // Snapped before the origin is subtracted, so that a vertex has the same position in all of its triangles,
            // whatever region is drawn.
            const float4 p = snapped(a->position) - origin, q = snapped(b->position) - origin,
                         r = snapped(c->position) - origin;
            // Half of the triangles face away.
            if (!(twice_area(p, q, r) > 0)) continue;
            const struct craster_vertex d = {p, a->color, a->u, a->v}, e = {q, b->color, b->u, b->v},
                                        f = {r, c->color, c->u, c->v};
            draw_triangle(band, surface, fill, &d, &e, &f, 0);
        }
    }
}

typedef craster_uint4 uint4;
typedef uint4 uint4_loose __attribute__((aligned(4), may_alias));

/// The means of four pixels' samples, channel by channel, rounded.
INLINE uint4 means(uint4 a, uint4 b, uint4 c, uint4 d) {
    const uint4 e = __builtin_shufflevector(a, b, 0, 4, 1, 5), f = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const uint4 g = __builtin_shufflevector(a, b, 2, 6, 3, 7), h = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    const uint4 first = __builtin_shufflevector(e, f, 0, 1, 4, 5), second = __builtin_shufflevector(e, f, 2, 3, 6, 7);
    const uint4 third = __builtin_shufflevector(g, h, 0, 1, 4, 5), fourth = __builtin_shufflevector(g, h, 2, 3, 6, 7);
    const uint32_t mask = 0x00ff00ff, two = 0x00020002;
    const uint4 even = (first & mask) + (second & mask) + (third & mask) + (fourth & mask) + two;
    const uint4 odd = (first >> 8 & mask) + (second >> 8 & mask) + (third >> 8 & mask) + (fourth >> 8 & mask) + two;
    return (even >> 2 & mask) | (odd >> 2 & mask) << 8;
}

static void resolve_row(craster_uint4 *color, int count, uint32_t *out) {
    int x = 0;
    for (; x + 4 <= count; x += 4) {
        uint4 *at = color + x;
        *(uint4_loose *)(out + x) = means(at[0], at[1], at[2], at[3]);
        memset(at, 0, 4 * sizeof *at);
    }
    for (; x < count; x++) {
        out[x] = means(color[x], 0, 0, 0)[0];
        color[x] = 0;
    }
}

/// Quotients by 255, rounded down, of products up to 65024 in each lane's lower half.
INLINE uint8 divided_by_255(words product) { return ((uint8)product + 1 + ((uint8)product >> 8)) >> 8; }

static void darken(const struct craster_cell *cell, int begin, int end, struct craster_shade shade,
                   const float *occluders, intptr_t occluder_stride, uint32_t *pixels, intptr_t stride) {
    typedef int8 int8_loose __attribute__((aligned(4), may_alias));
    typedef uint8 uint8_loose __attribute__((aligned(4), may_alias));
    const int8 column = {0, 1, 2, 3, 4, 5, 6, 7}, inside = (column >= begin) & (column < end);
    const words right_part = (words)column, left_part = (words)(8 - column);
    for (int y = cell->first_row; y < cell->end_row; y++) {
        // Only visible skin is darkened; the bits of infinity are greater than those of other numbers.
        const int8 skin = inside & (*(const int8_loose *)(occluders + y * occluder_stride) < 0x7f800000);
        if (!any(skin)) continue;
        const uint32_t left = (cell->top_left * (8 - y) + cell->bottom_left * y) >> 6;
        const uint32_t right = (cell->top_right * (8 - y) + cell->bottom_right * y) >> 6;
        const words sum = (words)(uint8)left * left_part + (words)(uint8)right * right_part;
        const words dark = (words)((uint8)sum >> 8 & (uint8)skin);
        uint8_loose *at = (uint8_loose *)(pixels + y * stride);
        const uint8 under = *at;
        const uint8 alpha = divided_by_255(dark * (words)(255 - (under >> 24)));
        const words half = (words)(uint8)127;
        const uint8 luma = divided_by_255((words)alpha * (words)(uint8)shade.luma);
        const uint8 u = divided_by_255((words)alpha * (words)(uint8)shade.u + half);
        const uint8 v = divided_by_255((words)alpha * (words)(uint8)shade.v + half);
        // No sum exceeds 255, since colours are premultiplied.
        *at = under + luma + (u << 8) + (v << 16) + (alpha << 24);
    }
}

const struct craster_kernels TABLE = {draw, resolve_row, darken};
