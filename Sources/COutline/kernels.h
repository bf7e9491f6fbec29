// The kernels, in vectors of LANES floats: included once for each kind of processor. TABLE names their table.
#include <string.h>

typedef float vector __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t integers __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
// Twice as many samples fill a vector of 16-bit numbers.
typedef int16_t shorts __attribute__((vector_size(4 * LANES), aligned(2), may_alias));
typedef int16_t wide_shorts __attribute__((vector_size(4 * LANES)));
typedef uint16_t words __attribute__((vector_size(4 * LANES), aligned(1), may_alias));
typedef uint8_t bytes __attribute__((vector_size(2 * LANES), aligned(1), may_alias));

#define INLINE static inline __attribute__((always_inline))

INLINE vector load(const float *p) { return *(const vector *)p; }
INLINE void store(float *p, vector v) { *(vector *)p = v; }
INLINE vector every(float x) { return x - (vector){0}; }
INLINE vector larger(vector a, vector b) { return __builtin_elementwise_max(a, b); }
INLINE vector smaller(vector a, vector b) { return __builtin_elementwise_min(a, b); }

INLINE int clamped(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
INLINE float unit(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

// MARK: - The network

/// 1 / (1 + 2^(-x log2 e)), with a polynomial of degree 5 for the fraction of the exponent; off by at most 2e-6.
INLINE vector sigmoid(vector x) {
    vector t = smaller(larger(x * every(-1.44269504f), every(-126)), every(126));
    // Adding 1.5 * 2^23 rounds to an integer.
    vector whole = (t + every(12582912)) - every(12582912), f = t - whole;
    vector power = every(1) + f * (every(.693147182f) + f * (every(.240226462f) + f * (every(.0555055f)
        + f * (every(.00967884f) + f * every(.00132648f)))));
    integers exponent = (__builtin_convertvector(whole, integers) + 127) << 23;
    return every(1) / (every(1) + power * (vector)exponent);
}

INLINE vector hard_swish(vector x) {
    return x * smaller(larger(x + every(3), every(0)), every(6)) * every(1 / 6.f);
}

/// Applies an activation to some vectors in registers.
#define ACTIVATE(values, count, activation) \
    switch (activation) { \
    case coutline_relu: for (int i_ = 0; i_ < (count); i_++) (values)[i_] = larger((values)[i_], every(0)); break; \
    case coutline_hard_swish: for (int i_ = 0; i_ < (count); i_++) (values)[i_] = hard_swish((values)[i_]); break; \
    case coutline_sigmoid: for (int i_ = 0; i_ < (count); i_++) (values)[i_] = sigmoid((values)[i_]); break; \
    }

/// A tile of ROWS pixels by WIDE vectors of outputs, which stays in registers.
#define TILE(NAME, ROWS, WIDE) \
INLINE void NAME(const float *in, int in_stride, const float *w, const float *bias, float *out, int out_stride, \
                 int inputs, int activation) { \
    vector sum[ROWS * WIDE]; \
    _Pragma("unroll") for (int r = 0; r < ROWS; r++) \
        _Pragma("unroll") for (int j = 0; j < WIDE; j++) sum[r * WIDE + j] = load(bias + LANES * j); \
    for (int k = 0; k < inputs; k++) { \
        vector q[WIDE]; \
        _Pragma("unroll") for (int j = 0; j < WIDE; j++) q[j] = load(w + (k * WIDE + j) * LANES); \
        _Pragma("unroll") for (int r = 0; r < ROWS; r++) { \
            vector x = every(in[(size_t)r * in_stride + k]); \
            _Pragma("unroll") for (int j = 0; j < WIDE; j++) sum[r * WIDE + j] += x * q[j]; \
        } \
    } \
    ACTIVATE(sum, ROWS * WIDE, activation) \
    _Pragma("unroll") for (int r = 0; r < ROWS; r++) \
        _Pragma("unroll") for (int j = 0; j < WIDE; j++) \
            store(out + (size_t)r * out_stride + LANES * j, sum[r * WIDE + j]); \
}
TILE(six_by_two, 6, 2)
TILE(one_by_two, 1, 2)
#if LANES == 8
TILE(eight_by_one, 8, 1)
TILE(one_by_one, 1, 1)
#endif

static void pointwise(const float *in, int in_stride, const float *w, const float *bias, float *out, int out_stride,
                      int pixels, int inputs, int outputs, int activation) {
    int n = 0;
    for (; outputs - n >= 2 * LANES; n += 2 * LANES, w += 2 * LANES * inputs) {
        int p = 0;
        for (; p + 6 <= pixels; p += 6)
            six_by_two(in + (size_t)p * in_stride, in_stride, w, bias + n, out + (size_t)p * out_stride + n, out_stride,
                       inputs, activation);
        for (; p < pixels; p++)
            one_by_two(in + (size_t)p * in_stride, in_stride, w, bias + n, out + (size_t)p * out_stride + n, out_stride,
                       inputs, activation);
    }
#if LANES == 8
    if (n < outputs) {
        int p = 0;
        for (; p + 8 <= pixels; p += 8)
            eight_by_one(in + (size_t)p * in_stride, in_stride, w, bias + n, out + (size_t)p * out_stride + n,
                         out_stride, inputs, activation);
        for (; p < pixels; p++)
            one_by_one(in + (size_t)p * in_stride, in_stride, w, bias + n, out + (size_t)p * out_stride + n, out_stride,
                       inputs, activation);
    }
#endif
}

static void dense(const struct coutline_window *o, int in_stride, const float *in, const float *w, const float *bias,
                  float *out, int outputs, float *scratch) {
    int run = o->size * o->channels, inputs = o->size * run;
    for (int y = 0; y < o->out_height; y++) {
        for (int ky = 0; ky < o->size; ky++) {
            int iy = y * o->stride - o->pad_top + ky;
            for (int x = 0; x < o->out_width; x++) {
                float *to = scratch + (size_t)x * inputs + ky * run;
                int ix = x * o->stride - o->pad_left;
                const float *from = in + ((ptrdiff_t)iy * o->width + ix) * in_stride;
                if (iy < 0 || iy >= o->height) {
                    for (int i = 0; i < run; i++) to[i] = 0;
                } else if (in_stride == 3 && o->size == 3 && ix >= 0 && ix + 3 <= o->width) {
                    memcpy(to, from, 9 * sizeof(float));
                } else {
                    for (int kx = 0; kx < o->size; kx++)
                        for (int c = 0; c < o->channels; c++)
                            to[kx * o->channels + c] =
                                ix + kx >= 0 && ix + kx < o->width ? from[kx * in_stride + c] : 0;
                }
            }
        }
        pointwise(scratch, inputs, w, bias, out + (size_t)y * o->out_width * outputs, outputs, o->out_width, inputs,
                  outputs, o->activation);
    }
}

/// A depthwise convolution of one size and stride. Rows with their padding lie in a ring of `size` rows, followed by a
/// row of zeros for those above and below the picture.
INLINE void depthwise_of(const struct coutline_window *o, const float *in, const float *w, const float *bias,
                         float *out, float *scratch, int size, int stride) {
    int channels = o->channels, across = (o->out_width - 1) * stride + size;
    if (across < o->width + o->pad_left) across = o->width + o->pad_left;
    size_t length = (size_t)across * channels;
    memset(scratch, 0, sizeof(float) * length * (size + 1));
    const float *rows[5];
    int next = 0;
    for (int y = 0; y < o->out_height; y++) {
        int top = y * stride - o->pad_top;
        for (; next < top + size && next < o->height; next++)
            memcpy(scratch + next % size * length + (size_t)o->pad_left * channels,
                   in + (size_t)next * o->width * channels, sizeof(float) * o->width * channels);
        for (int i = 0; i < size; i++)
            rows[i] = scratch + (top + i < 0 || top + i >= o->height ? size : (top + i) % size) * length;
        for (int c = 0; c < channels; c += LANES) {
            vector q[25], b = load(bias + c);
            float *to = out + (size_t)y * o->out_width * channels + c;
            _Pragma("unroll") for (int i = 0; i < size * size; i++) q[i] = load(w + (size_t)i * channels + c);
            int x = 0;
            for (; x + 4 <= o->out_width; x += 4) {
                vector sum[4] = {b, b, b, b};
                _Pragma("unroll") for (int i = 0; i < size; i++) {
                    const float *r = rows[i] + (size_t)x * stride * channels + c;
                    _Pragma("unroll") for (int j = 0; j < size; j++)
                        _Pragma("unroll") for (int s = 0; s < 4; s++)
                            sum[s] += q[i * size + j] * load(r + (size_t)(j + s * stride) * channels);
                }
                ACTIVATE(sum, 4, o->activation)
                for (int s = 0; s < 4; s++) store(to + (size_t)(x + s) * channels, sum[s]);
            }
            for (; x < o->out_width; x++) {
                vector sum[1] = {b};
                for (int i = 0; i < size; i++)
                    for (int j = 0; j < size; j++)
                        sum[0] += q[i * size + j] * load(rows[i] + (size_t)(x * stride + j) * channels + c);
                ACTIVATE(sum, 1, o->activation)
                store(to + (size_t)x * channels, sum[0]);
            }
        }
    }
}

static void depthwise(const struct coutline_window *o, const float *in, const float *w, const float *bias, float *out,
                      float *scratch) {
    if (o->size == 3 && o->stride == 1) depthwise_of(o, in, w, bias, out, scratch, 3, 1);
    else if (o->size == 3) depthwise_of(o, in, w, bias, out, scratch, 3, 2);
    else if (o->stride == 1) depthwise_of(o, in, w, bias, out, scratch, 5, 1);
    else depthwise_of(o, in, w, bias, out, scratch, 5, 2);
}

static void resize(const float *in, int width, int height, int channels, float *out, float *scratch) {
    int length = width * channels;
    for (int y = 0; y < 2 * height; y++) {
        // Three quarters of the nearest row, a quarter of the next one.
        int near = y >> 1, far = clamped(y & 1 ? near + 1 : near - 1, 0, height - 1);
        const float *p = in + (size_t)near * length, *q = in + (size_t)far * length;
        float *to = out + (size_t)y * 2 * length;
        for (int i = 0; i < length; i += LANES)
            store(scratch + i, every(.75f) * load(p + i) + every(.25f) * load(q + i));
        for (int x = 0; x < width; x++) {
            const float *m = scratch + x * channels;
            const float *left = x > 0 ? m - channels : m, *right = x + 1 < width ? m + channels : m;
            for (int c = 0; c < channels; c += LANES) {
                vector t = every(.75f) * load(m + c);
                store(to + 2 * x * channels + c, t + every(.25f) * load(left + c));
                store(to + (2 * x + 1) * channels + c, t + every(.25f) * load(right + c));
            }
        }
    }
}

static void mean(const float *in, int pixels, int channels, float *out) {
    for (int c = 0; c < channels; c += LANES) {
        vector sum[4] = {every(0), every(0), every(0), every(0)};
        int p = 0;
        for (; p + 4 <= pixels; p += 4)
            for (int k = 0; k < 4; k++) sum[k] += load(in + (size_t)(p + k) * channels + c);
        for (; p < pixels; p++) sum[0] += load(in + (size_t)p * channels + c);
        store(out + c, (sum[0] + sum[1] + sum[2] + sum[3]) * every(1.f / pixels));
    }
}

static void add(const float *a, const float *b, float *out, size_t count) {
    for (size_t i = 0; i < count; i += LANES) store(out + i, load(a + i) + load(b + i));
}

static void scale(const float *in, const float *factors, int pixels, int channels, float *out) {
    for (int p = 0; p < pixels; p++)
        for (int c = 0; c < channels; c += LANES) {
            size_t i = (size_t)p * channels + c;
            store(out + i, load(in + i) * load(factors + c));
        }
}

static void double_up(const float *in, int width, int height, int in_stride, int inputs, const float *w,
                      const float *bias, float *out, int activation, float *scratch) {
    for (int y = 0; y < height; y++) {
        pointwise(in + (size_t)y * width * in_stride, in_stride, w, bias, scratch, coutline_block, width, inputs,
                  coutline_block, activation);
        float *upper = out + (size_t)y * 4 * width, *lower = upper + 2 * width;
        for (int x = 0; x < width; x++) {
            const float *four = scratch + coutline_block * x;
            upper[2 * x] = four[0];
            upper[2 * x + 1] = four[1];
            lower[2 * x] = four[2];
            lower[2 * x + 1] = four[3];
        }
    }
}

// MARK: - The picture, reduced to cells

static void sum_rows(const uint8_t *rows, ptrdiff_t stride, int height, int count, uint16_t *sums) {
    int x = 0;
    for (; x + 2 * LANES <= count; x += 2 * LANES) {
        words sum = (words){0};
        for (int y = 0; y < height; y++) sum += __builtin_convertvector(*(const bytes *)(rows + y * stride + x), words);
        *(words *)(sums + x) = sum;
    }
    for (; x < count; x++) {
        sums[x] = 0;
        for (int y = 0; y < height; y++) sums[x] += rows[y * stride + x];
    }
}

/// Cells of `least` samples, some of one more.
INLINE void cells_of(const uint16_t *sums, int step, int least, const int32_t *edges, int count, float weight,
                     float *out) {
    float few = weight / least, many = weight / (least + 1);
    for (int i = 0; i < count; i++) {
        const uint16_t *from = sums + edges[i] * step;
        int32_t is_longer = edges[i + 1] - edges[i] - least, sum = from[least * step] & -is_longer;
        for (int x = 0; x < least; x++) sum += from[x * step];
        out[i] = sum * (is_longer ? many : few);
    }
}

/// The loops are unrolled for what 320 to 1920 pixels need: this takes 0.4 of the time.
INLINE void cells_by(const uint16_t *sums, int step, const int32_t *edges, int count, float weight, float *out) {
    int least = edges[count] / count;
    switch (least) {
    case 0:
        for (int i = 0; i < count; i++) out[i] = sums[edges[i] * step] * weight;
        break;
    case 1: cells_of(sums, step, 1, edges, count, weight, out); break;
    case 2: cells_of(sums, step, 2, edges, count, weight, out); break;
    case 3: cells_of(sums, step, 3, edges, count, weight, out); break;
    case 5: cells_of(sums, step, 5, edges, count, weight, out); break;
    case 7: cells_of(sums, step, 7, edges, count, weight, out); break;
    default: cells_of(sums, step, least, edges, count, weight, out);
    }
}

static void cells(const uint16_t *sums, int step, const int32_t *edges, int count, float weight, float *out) {
    switch (step) {
    case 1: cells_by(sums, 1, edges, count, weight, out); break;
    case 2: cells_by(sums, 2, edges, count, weight, out); break;
    default: cells_by(sums, 4, edges, count, weight, out);
    }
}

static void rgb(const float *restrict y, const float *restrict u, const float *restrict v, size_t count, int is_limited,
                float *restrict out) {
    float black = is_limited ? 16 : 0, luma = is_limited ? 1 / 219.f : 1 / 255.f;
    float chroma = is_limited ? 1 / 224.f : 1 / 255.f;
    for (size_t i = 0; i < count; i++) {
        float l = (y[i] - black) * luma, b = (u[i] - 128) * chroma, r = (v[i] - 128) * chroma;
        out[3 * i] = unit(l + 1.402f * r);
        out[3 * i + 1] = unit(l - .344136f * b - .714136f * r);
        out[3 * i + 2] = unit(l + 1.772f * b);
    }
}

static void smooth(const float *restrict fresh, const float *restrict change, size_t count, float least,
                   float *restrict mask) {
    for (size_t i = 0; i < count; i++) {
        float d = fresh[i] - mask[i], far = unit(((d < 0 ? -d : d) - .2f) * (1 / .3f));
        mask[i] += d * (least + (1 - least) * (far > change[i] ? far : change[i]));
    }
}

static float change(const float *restrict a, const float *restrict b, size_t count, float low, float high,
                    float *restrict out) {
    float slope = 1 / (high - low);
    vector sum = every(0);
    for (size_t i = 0; i < count; i += LANES) {
        vector d = load(a + i) - load(b + i);
        vector weight = smaller(larger((larger(d, -d) - every(low)) * every(slope), every(0)), every(1));
        store(out + i, weight);
        sum += weight;
    }
    float all = 0;
    for (int i = 0; i < LANES; i++) all += sum[i];
    return all;
}

// MARK: - The edge

/// Sums of 2 radius + 1 neighbours, from the sums of their columns.
INLINE vector across(const float *sums, int radius) {
    vector sum = load(sums);
    for (int i = 1; i <= radius; i++) sum += load(sums - i) + load(sums + i);
    return sum;
}

/// Repeats the first and the last of the sums of columns on both sides.
INLINE void repeat_ends(float *sums, int width, int radius) {
    for (int i = 1; i <= radius; i++) {
        sums[-i] = sums[0];
        sums[width - 1 + i] = sums[width - 1];
    }
}

/// In one sweep: each row of sums is used at once, and so are the coefficients of single windows for their means.
INLINE void guide_of(const float *restrict mask, const float *restrict luma, int width, int height, int radius,
                     float smoothness, float *restrict a, float *restrict b, float *restrict scratch) {
    size_t length = width + 2 * radius;
    // Sums of columns: of luma, mask, their product, luma squared, then of both coefficients.
    float *sums[6];
    for (int i = 0; i < 6; i++) sums[i] = scratch + i * length + radius;
    // The coefficients of the windows around the last rows' cells.
    int kept = 2 * radius + 2;
    float *slopes = scratch + 6 * length, *bases = slopes + (size_t)kept * width;
    vector weight = every(1.f / ((2 * radius + 1) * (2 * radius + 1)));
    for (int y = -radius; y < height + radius; y++) {
        // Rows enter sums 2 radius before they leave them. Beyond the edge, the edge is repeated.
        const float *entering_luma = luma + (size_t)clamped(y + radius, 0, height - 1) * width;
        const float *entering_mask = mask + (size_t)clamped(y + radius, 0, height - 1) * width;
        const float *leaving_luma = luma + (size_t)clamped(y - radius - 1, 0, height - 1) * width;
        const float *leaving_mask = mask + (size_t)clamped(y - radius - 1, 0, height - 1) * width;
        for (int x = 0; y < height && x < width; x += LANES) {
            vector l = load(entering_luma + x), m = load(entering_mask + x);
            vector values[4] = {l, m, l * m, l * l};
            if (y == -radius) {
                for (int i = 0; i < 4; i++) store(sums[i] + x, values[i] * every(radius + 1));
            } else if (y <= 0) {
                for (int i = 0; i < 4; i++) store(sums[i] + x, load(sums[i] + x) + values[i]);
            } else {
                vector old_l = load(leaving_luma + x), old_m = load(leaving_mask + x);
                vector old[4] = {old_l, old_m, old_l * old_m, old_l * old_l};
                for (int i = 0; i < 4; i++) store(sums[i] + x, load(sums[i] + x) + (values[i] - old[i]));
            }
        }
        if (y < 0) continue;
        if (y < height) {
            for (int i = 0; i < 4; i++) repeat_ends(sums[i], width, radius);
            float *slope_row = slopes + (size_t)(y % kept) * width, *base_row = bases + (size_t)(y % kept) * width;
            for (int x = 0; x < width; x += LANES) {
                vector mean_luma = across(sums[0] + x, radius) * weight;
                vector mean_mask = across(sums[1] + x, radius) * weight;
                vector mean_products = across(sums[2] + x, radius) * weight;
                vector mean_squares = across(sums[3] + x, radius) * weight;
                vector covariance = mean_products - mean_luma * mean_mask;
                vector variance = mean_squares - mean_luma * mean_luma;
                vector slope = covariance / (larger(variance, every(0)) + every(smoothness));
                store(slope_row + x, slope);
                store(base_row + x, mean_mask - slope * mean_luma);
            }
        }
        int entering = (y < height ? y : height - 1) % kept, row = y - radius;
        int leaving = (row - radius - 1 < 0 ? 0 : row - radius - 1) % kept;
        for (int i = 0; i < 2; i++) {
            const float *rows = i == 0 ? slopes : bases;
            float *to = sums[4 + i];
            for (int x = 0; x < width; x += LANES) {
                vector value = load(rows + (size_t)entering * width + x);
                if (y == 0) store(to + x, value * every(radius + 1));
                else if (row <= 0) store(to + x, load(to + x) + value);
                else store(to + x, load(to + x) + (value - load(rows + (size_t)leaving * width + x)));
            }
            if (row < 0) continue;
            repeat_ends(to, width, radius);
            for (int x = 0; x < width; x += LANES)
                store((i == 0 ? a : b) + (size_t)row * width + x, across(to + x, radius) * weight);
        }
    }
}

static void guide(const float *mask, const float *luma, int width, int height, int radius, float smoothness, float *a,
                  float *b, float *scratch) {
    // Unrolled for the radius that is used.
    if (radius == 3) guide_of(mask, luma, width, height, 3, smoothness, a, b, scratch);
    else guide_of(mask, luma, width, height, radius, smoothness, a, b, scratch);
}

static void classify(float *restrict a, float *restrict b, int columns, int rows, float contrast,
                     uint8_t *restrict cells, uint8_t *restrict gaps) {
    // Below and above what a byte's rounding leaves.
    const float none = .4f / 255, full = 1 - .4f / 255;
    for (int i = 0; i < columns * rows; i++) {
        float slope = a[i] * contrast, base = (b[i] - .5f) * contrast + .5f, other = base + slope * 255;
        float least = base < other ? base : other, most = base < other ? other : base;
        a[i] = slope;
        b[i] = base;
        cells[i] = (uint8_t)((most > none) + (least >= full));
    }
    for (int row = 0; row <= rows; row++) {
        const uint8_t *upper = cells + (size_t)clamped(row - 1, 0, rows - 1) * columns;
        const uint8_t *lower = cells + (size_t)clamped(row, 0, rows - 1) * columns;
        uint8_t *to = gaps + (size_t)row * (columns + 1);
        to[0] = upper[0] == lower[0] ? upper[0] : 1;
        for (int x = 1; x < columns; x++) {
            uint8_t first = upper[x - 1];
            int is_same = (first == upper[x]) & (first == lower[x - 1]) & (first == lower[x]);
            to[x] = is_same ? first : 1;
        }
        to[columns] = upper[columns - 1] == lower[columns - 1] ? upper[columns - 1] : 1;
    }
}

static void expand(const float *cells, struct coutline_steps steps, int first, int end, float *out) {
    for (int g = first; g < end; g++) {
        // Between the centres of cells g - 1 and g.
        float a = cells[clamped(g - 1, 0, steps.cells - 1)], b = cells[clamped(g, 0, steps.cells - 1)];
        for (int x = steps.starts[g]; x < steps.starts[g + 1]; x += LANES)
            store(out + x, every(a) + every(b - a) * load(steps.weights + x));
    }
}

/// Rounds floats from 0 to 255 to bytes.
INLINE void store_bytes(uint8_t *to, vector v) {
    typedef uint8_t bytes __attribute__((vector_size(LANES), aligned(1), may_alias));
    *(bytes *)to = __builtin_convertvector(__builtin_convertvector(v + every(.5f), integers), bytes);
}

INLINE vector load_bytes(const uint8_t *from) {
    typedef uint8_t bytes __attribute__((vector_size(LANES), aligned(1), may_alias));
    return __builtin_convertvector(__builtin_convertvector(*(const bytes *)from, integers), vector);
}

/// The upper halves of products.
INLINE shorts upper_halves(shorts a, shorts b) {
#if LANES == 8
    // What the other line compiles to, but for values that are the same in all lanes.
    return (shorts)__builtin_ia32_pmulhw256((wide_shorts)a, (wide_shorts)b);
#else
    typedef int32_t products __attribute__((vector_size(8 * LANES)));
    return __builtin_convertvector(
        (__builtin_convertvector(a, products) * __builtin_convertvector(b, products)) >> 16, shorts);
#endif
}

/// A weighted difference of samples; the weight is in 32768ths. With 6 bits after the point, twice the difference fits.
INLINE shorts part(shorts difference, shorts weight) { return upper_halves(difference + difference, weight); }

static void expand_samples(const int16_t *cells, struct coutline_steps steps, int first, int end, int16_t *out) {
    int last = steps.cells - 1;
    int16_t a = cells[clamped(first - 1, 0, last)];
    for (int g = first; g < end; g++) {
        int16_t b = cells[g < last ? g : last];
        shorts left = (shorts){0} + a, step = (shorts){0} + (int16_t)(b - a);
        for (int x = steps.starts[g]; x < steps.starts[g + 1]; x += 2 * LANES)
            *(shorts *)(out + x) = left + part(step, *(const shorts *)(steps.fixed_weights + x));
        a = b;
    }
}

/// Luma of LANES pixels without the camera's noise: of a small change since the last frame only a quarter is taken
/// over.
INLINE vector denoised_luma(vector luma, uint8_t *denoised) {
    // Changes up to 8 grey levels are noise: four standard deviations of a webcam's in a lit room. From 16 on they
    // aren't.
    const float noise = 8, least = .25f;
    vector last = load_bytes(denoised), d = luma - last;
    vector weight = (larger(d, -d) - every(noise)) * every((1 - least) / noise) + every(least);
    vector result = last + d * smaller(larger(weight, every(least)), every(1));
    store_bytes(denoised, result);
    return result;
}

/// The matte of LANES pixels.
INLINE vector matte_of(vector luma, const float *a0, const float *b0, const float *a1, const float *b1, float below) {
    vector a = load(a0), b = load(b0);
    a += every(below) * (load(a1) - a);
    b += every(below) * (load(b1) - b);
    return smaller(larger((a * luma + b) * every(255), every(0)), every(255));
}

static void matte(const uint8_t *luma, int step, const float *a0, const float *b0, const float *a1, const float *b1,
                  float below, int count, uint8_t *denoised, uint8_t *out) {
    typedef uint16_t pairs __attribute__((vector_size(2 * LANES), aligned(1), may_alias));
    int x = 0;
    if (step == 1)
        for (; x + LANES <= count; x += LANES) {
            vector guide = denoised_luma(load_bytes(luma + x), denoised + x);
            store_bytes(out + x, matte_of(guide, a0 + x, b0 + x, a1 + x, b1 + x, below));
        }
    else
        // One byte more than the last sample is read, so the last vector must not be the end.
        for (; x + LANES < count; x += LANES) {
            integers samples = __builtin_convertvector(*(const pairs *)(luma + 2 * x) & 255, integers);
            vector guide = denoised_luma(__builtin_convertvector(samples, vector), denoised + x);
            store_bytes(out + x, matte_of(guide, a0 + x, b0 + x, a1 + x, b1 + x, below));
        }
    if (x == count) return;
    uint8_t samples[LANES] = {0}, old[LANES] = {0}, last[LANES];
    for (int i = 0; x + i < count; i++) {
        samples[i] = luma[(x + i) * step];
        old[i] = denoised[x + i];
    }
    vector guide = denoised_luma(load_bytes(samples), old);
    store_bytes(last, matte_of(guide, a0 + x, b0 + x, a1 + x, b1 + x, below));
    for (int i = 0; x + i < count; i++) {
        denoised[x + i] = old[i];
        out[x + i] = last[i];
    }
}

// MARK: - The background

INLINE void disc_of(const float *restrict in, int width, int height, int radius, const int32_t *spans,
                    const float *parts, int reach, float *restrict out, float *restrict scratch) {
    // Row i has the sums of each column from the top on, of i rows; the edge is repeated on all sides.
    int length = width + 2 * radius;
    for (int x = 0; x < length; x++) scratch[x] = 0;
    for (int i = 0; i < height + 2 * reach; i++) {
        const float *from = in + (size_t)clamped(i - reach, 0, height - 1) * width;
        const float *above = scratch + (size_t)i * length;
        float *to = scratch + (size_t)(i + 1) * length;
        for (int x = 0; x < radius; x++) to[x] = above[x] + from[0];
        for (int x = 0; x < width; x++) to[x + radius] = above[x + radius] + from[x];
        for (int x = radius + width; x < length; x++) to[x] = above[x] + from[width - 1];
    }
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x += 4 * LANES) {
            vector sum[4] = {every(0), every(0), every(0), every(0)};
            for (int i = 0; i <= 2 * radius; i++) {
                const float *upper = scratch + (size_t)(y + reach - spans[i]) * length + x + i;
                const float *lower = scratch + (size_t)(y + reach + spans[i] + 1) * length + x + i;
                _Pragma("unroll") for (int k = 0; k < 4; k++) {
                    vector to = load(lower + k * LANES), from = load(upper + k * LANES);
                    if (parts) {
                        to += every(parts[i]) * (load(lower + length + k * LANES) - to);
                        from += every(parts[i]) * (load(upper - length + k * LANES) - from);
                    }
                    sum[k] += to - from;
                }
            }
            _Pragma("unroll") for (int k = 0; k < 4; k++) store(out + (size_t)y * width + x + k * LANES, sum[k]);
        }
    }
}

static void disc(const float *in, int width, int height, int radius, const int32_t *spans, const float *parts,
                 int reach, float *out, float *scratch) {
    if (parts) disc_of(in, width, height, radius, spans, parts, reach, out, scratch);
    else disc_of(in, width, height, radius, spans, 0, reach, out, scratch);
}

static void weigh(const float *luma, const float *a, const float *b, size_t count, float covered, float bright,
                  float shine, float *out) {
    float slope = 1 / (255 - bright);
    for (size_t i = 0; i < count; i += LANES) {
        vector sample = load(luma + i), weight = every(1);
        if (a) {
            vector person = smaller(larger(load(a + i) * sample + load(b + i), every(0)), every(1));
            weight = larger(every(covered), every(1) - every(1.5f) * person);
        }
        vector excess = larger(every(0), sample - every(bright)) * every(slope);
        store(out + i, weight * (every(1) + every(shine) * excess * excess));
    }
}

static void multiply(const float *a, const float *b, size_t count, float *out) {
    for (size_t i = 0; i < count; i += LANES) store(out + i, load(a + i) * load(b + i));
}

static void pool(const float *restrict in, const float *restrict factors, int width, int height,
                 float *restrict out) {
    for (int y = 0; y + 1 < height; y += 2)
        for (int x = 0; x < width; x += 2 * LANES) {
            size_t upper = (size_t)y * width + x, lower = upper + width;
            vector left = load(in + upper), right = load(in + upper + LANES);
            vector below = load(in + lower), beside = load(in + lower + LANES);
            if (factors) {
                left *= load(factors + upper);
                right *= load(factors + upper + LANES);
                below *= load(factors + lower);
                beside *= load(factors + lower + LANES);
            }
            left += below;
            right += beside;
#if LANES == 8
            vector even = __builtin_shufflevector(left, right, 0, 2, 4, 6, 8, 10, 12, 14);
            vector odd = __builtin_shufflevector(left, right, 1, 3, 5, 7, 9, 11, 13, 15);
#else
            vector even = __builtin_shufflevector(left, right, 0, 2, 4, 6);
            vector odd = __builtin_shufflevector(left, right, 1, 3, 5, 7);
#endif
            store(out + (size_t)y / 2 * (width / 2) + x / 2, even + odd);
        }
}

static void divide(const float *sums, const float *weights, size_t count, int16_t *out) {
    typedef int16_t half __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
    for (size_t i = 0; i < count; i += LANES) {
        vector mean = smaller(larger(load(sums + i) / load(weights + i), every(0)), every(255));
        integers whole = __builtin_convertvector(mean * every(1 << coutline_fraction) + every(.5f), integers);
        *(half *)(out + i) = __builtin_convertvector(whole, half);
    }
}

/// Packs eight pairs of pixels.
INLINE void pack_eight(const uint8_t *y, const uint8_t *u, const uint8_t *v, int is_luma_first, uint8_t *to) {
    typedef uint8_t eight __attribute__((vector_size(8), aligned(1), may_alias));
    typedef uint8_t sixteen __attribute__((vector_size(16), aligned(1), may_alias));
    typedef uint8_t many __attribute__((vector_size(32), aligned(1), may_alias));
    sixteen luma = *(const sixteen *)y;
    eight a = *(const eight *)u, b = *(const eight *)v;
    sixteen chroma = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    sixteen first = is_luma_first ? luma : chroma, second = is_luma_first ? chroma : luma;
    *(many *)to = __builtin_shufflevector(first, second, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24,
                                          9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// As many bytes of two rows mixed as a vector has 16-bit numbers.
INLINE bytes mixed(const int16_t *upper, const int16_t *lower, shorts weight) {
    shorts a = *(const shorts *)upper, b = *(const shorts *)lower;
    shorts sum = a + part(b - a, weight);
    return __builtin_convertvector((sum + (1 << (coutline_fraction - 1))) >> coutline_fraction, bytes);
}

static void mix(const int16_t *upper, const int16_t *lower, float below, int count, uint8_t *out) {
    // Rows beside the centres have weights beyond 0 and 1: extrapolated samples could leave their bytes.
    shorts weight = (shorts){0} + (int16_t)(unit(below) * 32767);
    for (int x = 0; x < count; x += 2 * LANES) *(bytes *)(out + x) = mixed(upper + x, lower + x, weight);
}

/// As many bytes laid as a vector has 16-bit numbers.
INLINE bytes laid(bytes person, bytes back, bytes matte) {
    words m = __builtin_convertvector(matte, words);
    words own = __builtin_convertvector(person, words), other = __builtin_convertvector(back, words);
    // (v + (v >> 8)) >> 8 divides by 255, rounded, for the 16 bits of a product of bytes plus 128.
    words v = own * m + other * (255 - m) + 128;
    return __builtin_convertvector((v + (v >> 8)) >> 8, bytes);
}

static void lay(const uint8_t *back, const uint8_t *matte, int count, uint8_t *out) {
    for (int x = 0; x < count; x += 2 * LANES)
        *(bytes *)(out + x) = laid(*(const bytes *)(out + x), *(const bytes *)(back + x), *(const bytes *)(matte + x));
}

INLINE bytes halved(const uint8_t *matte) {
    words pairs = *(const words *)matte;
    return __builtin_convertvector(((pairs & 255) + (pairs >> 8) + 1) >> 1, bytes);
}

static void halve(const uint8_t *matte, int count, uint8_t *out) {
    for (int x = 0; x < count; x += 2 * LANES) *(bytes *)(out + x) = halved(matte + 2 * x);
}

/// Lays a background behind the person in packed pairs of pixels, as many as a vector has 16-bit numbers.
INLINE void lay_packed(const uint8_t *back, const uint8_t *matte, int is_luma_first, uint8_t *out) {
    enum { count = 2 * LANES };
    uint8_t chroma[count], packed[4 * count];
    *(bytes *)chroma = halved(matte);
    _Pragma("unroll") for (int j = 0; j < count; j += 8)
        pack_eight(matte + 2 * j, chroma + j, chroma + j, is_luma_first, packed + 4 * j);
    _Pragma("unroll") for (int j = 0; j < 4 * count; j += count)
        *(bytes *)(out + j) = laid(*(const bytes *)(out + j), *(const bytes *)(back + j), *(const bytes *)(packed + j));
}

static void mix_packed(const struct coutline_rows *y_rows, const struct coutline_rows *u_rows,
                       const struct coutline_rows *v_rows, float below, const uint8_t *matte, int pairs,
                       int is_luma_first, uint8_t *to) {
    struct coutline_rows y = *y_rows, u = *u_rows, v = *v_rows;  // what is written through `to` can't change them
    shorts weight = (shorts){0} + (int16_t)(unit(below) * 32767);
    enum { count = 2 * LANES };
    for (int i = 0; i < pairs; i += count) {
        uint8_t luma[2 * count], chroma[2][count], packed[4 * count], last[4 * count];
        *(bytes *)luma = mixed(y.upper + 2 * i, y.lower + 2 * i, weight);
        *(bytes *)(luma + count) = mixed(y.upper + 2 * i + count, y.lower + 2 * i + count, weight);
        *(bytes *)chroma[0] = mixed(u.upper + i, u.lower + i, weight);
        *(bytes *)chroma[1] = mixed(v.upper + i, v.lower + i, weight);
        int rest = pairs - i < count ? pairs - i : count;
        uint8_t *out = rest < count ? last : to + 4 * i, *back = matte ? packed : out;
        _Pragma("unroll") for (int j = 0; j < count; j += 8)
            pack_eight(luma + 2 * j, chroma[0] + j, chroma[1] + j, is_luma_first, back + 4 * j);
        if (matte) {
            if (rest < count) memcpy(last, to + 4 * i, 4 * rest);
            lay_packed(packed, matte + 2 * i, is_luma_first, out);
        }
        if (rest < count) memcpy(to + 4 * i, last, 4 * rest);
    }
}

static void replace(const uint8_t *restrict back, const uint8_t *restrict room, const uint8_t *restrict matte, int zero,
                    int count, uint8_t *restrict out) {
    float least = zero == 128 ? -128 : 0, most = zero == 128 ? 127 : 255 - zero;
    for (int x = 0; x < count; x++) {
        float m = matte[x] * (1 / 255.f);
        float person = (out[x] - zero) - (1 - m) * (room[x] - zero);
        person = person < least * m ? least * m : person > most * m ? most * m : person;
        out[x] = (uint8_t)(int32_t)(person + (1 - m) * (back[x] - zero) + zero + .5f);
    }
}

static void adjust(const uint8_t *restrict matte, float gain, float offset, int zero, int count,
                   uint8_t *restrict out) {
    for (int x = 0; x < count; x++) {
        float m = matte[x] * (1 / 255.f), c = out[x];
        float n = gain * (c - zero) + zero + offset;
        float r = m * c + (1 - m) * n + .5f;
        out[x] = (uint8_t)(int32_t)(r < 0 ? 0 : r > 255 ? 255 : r);
    }
}

static void gather(const uint8_t *restrict from, int step, int count, uint8_t *restrict to) {
    switch (step) {
    case 1: memcpy(to, from, count); break;
    case 2: for (int x = 0; x < count; x++) to[x] = from[2 * x]; break;
    default: for (int x = 0; x < count; x++) to[x] = from[4 * x];
    }
}

static void scatter(const uint8_t *restrict from, int step, int count, uint8_t *restrict to) {
    switch (step) {
    case 1: memcpy(to, from, count); break;
    case 2: for (int x = 0; x < count; x++) to[2 * x] = from[x]; break;
    default: for (int x = 0; x < count; x++) to[4 * x] = from[x];
    }
}

static void pack(const uint8_t *restrict y, const uint8_t *restrict u, const uint8_t *restrict v, int pairs,
                 int is_luma_first, uint8_t *restrict to) {
    int i = 0;
    for (; i + 8 <= pairs; i += 8) pack_eight(y + 2 * i, u + i, v + i, is_luma_first, to + 4 * i);
    int luma = is_luma_first ? 0 : 1;
    for (; i < pairs; i++) {
        to[4 * i + luma] = y[2 * i];
        to[4 * i + 2 + luma] = y[2 * i + 1];
        to[4 * i + 1 - luma] = u[i];
        to[4 * i + 3 - luma] = v[i];
    }
}

static void prefetch(const uint8_t *from, ptrdiff_t stride, int rows, int count) {
    for (int y = 0; y < rows; y++, from += stride) {
        for (int x = 0; x < count; x += 64) __builtin_prefetch(from + x);
        __builtin_prefetch(from + count - 1);
    }
}

const struct coutline_kernels TABLE = {
    .panel = 2 * LANES,
    .pointwise = pointwise, .dense = dense, .depthwise = depthwise, .resize = resize, .mean = mean, .add = add,
    .scale = scale, .double_up = double_up,
    .sum_rows = sum_rows, .cells = cells, .rgb = rgb, .smooth = smooth, .change = change,
    .guide = guide, .classify = classify, .expand = expand, .matte = matte,
    .weigh = weigh, .multiply = multiply, .pool = pool, .divide = divide, .disc = disc,
    .expand_samples = expand_samples, .mix = mix, .mix_packed = mix_packed, .lay = lay, .replace = replace,
    .adjust = adjust, .halve = halve,
    .gather = gather, .scatter = scatter, .pack = pack, .prefetch = prefetch,
};
