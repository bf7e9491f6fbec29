#ifndef GUISE_COUTLINE_H
#define GUISE_COUTLINE_H
// Pixel kernels of the person's outline: of the network, of the edge filter, and of what is laid behind the person.
//
// They are in C, because each is compiled twice: for AVX2 and FMA, and for every processor. Swift has no way to compile
// one function for a better processor than the rest of the program. They allocate nothing and check nothing: the
// callers in the module Outline guarantee the sizes. Loads and stores need no alignment.
//
// Activations lie pixel by pixel (NHWC), as floats. The channels of a pixel are padded to a multiple of
// `coutline_block`; padding of the weights is 0, so that padded channels never reach a real one.
#include <stddef.h>
#include <stdint.h>

/// The channels of a pixel are padded to a multiple of this.
enum { coutline_block = 8 };

/// Samples of the background's cells are 16-bit numbers with this many bits after the point.
enum { coutline_fraction = 6 };

enum coutline_activation {
    coutline_none,
    coutline_relu,
    coutline_hard_swish,
    coutline_sigmoid,
};

/// A convolution's geometry. Strides are 1 or 2; padding on the right and at the bottom follows from the sizes.
struct coutline_window {
    int width, height;
    int out_width, out_height;
    /// Padded channels of the input. A dense convolution's input may be unpadded.
    int channels;
    int size, stride;
    int pad_left, pad_top;
    int activation;
};

/// Bilinear interpolation from `cells` cells to more samples: `starts` has the first sample after each cell's centre
/// (cells + 2 of them: the first is 0, the last the number of samples), `weights` the next cell's weight at each
/// sample, followed by 8 more floats; `fixed_weights` the same, times 32768 and at most 32767, followed by 16 more.
struct coutline_steps {
    int cells;
    const int32_t *_Nonnull starts;
    const float *_Nonnull weights;
    const int16_t *_Nonnull fixed_weights;
};

/// Two rows of cells that `expand_samples` has brought to the frame's width.
struct coutline_rows {
    const int16_t *_Nonnull upper;
    const int16_t *_Nonnull lower;
};

struct coutline_kernels {
    /// Outputs per panel of `pointwise`'s weights. The last panel may have `coutline_block`.
    int panel;

    // MARK: the network

    /// A 1x1 convolution: out[p][n] = activation(bias[n] + sum over k < inputs of in[p][k] w[k][n]). `weights` holds
    /// panel after panel, each input by input. `outputs` is a multiple of `coutline_block`.
    void (*_Nonnull pointwise)(const float *_Nonnull in, int in_stride, const float *_Nonnull weights,
                               const float *_Nonnull bias, float *_Nonnull out, int out_stride, int pixels, int inputs,
                               int outputs, int activation);
    /// A convolution of any size, as `pointwise` on one row of windows at a time. `channels` of the window are the
    /// real ones, `in_stride` the floats per pixel. Scratch: out_width * size * size * channels.
    void (*_Nonnull dense)(const struct coutline_window *_Nonnull window, int in_stride, const float *_Nonnull in,
                           const float *_Nonnull weights, const float *_Nonnull bias, float *_Nonnull out, int outputs,
                           float *_Nonnull scratch);
    /// A depthwise convolution of size 3 or 5. Weights: size * size rows of `channels`. Scratch: (size + 1) *
    /// max((out_width - 1) * stride + size, width + pad_left) * channels.
    void (*_Nonnull depthwise)(const struct coutline_window *_Nonnull window, const float *_Nonnull in,
                               const float *_Nonnull weights, const float *_Nonnull bias, float *_Nonnull out,
                               float *_Nonnull scratch);
    /// Doubles width and height: bilinear, with half-pixel centres. Scratch: width * channels.
    void (*_Nonnull resize)(const float *_Nonnull in, int width, int height, int channels, float *_Nonnull out,
                            float *_Nonnull scratch);
    /// The mean of all pixels, channel by channel.
    void (*_Nonnull mean)(const float *_Nonnull in, int pixels, int channels, float *_Nonnull out);
    void (*_Nonnull add)(const float *_Nonnull a, const float *_Nonnull b, float *_Nonnull out, size_t count);
    /// Multiplies each pixel's channels by `factors`.
    void (*_Nonnull scale)(const float *_Nonnull in, const float *_Nonnull factors, int pixels, int channels,
                           float *_Nonnull out);
    /// A transposed convolution of size 2 and stride 2 to one channel: four weights per input (upper left, upper right,
    /// lower left, lower right), padded to `coutline_block`. Scratch: width * `coutline_block`.
    void (*_Nonnull double_up)(const float *_Nonnull in, int width, int height, int in_stride, int inputs,
                               const float *_Nonnull weights, const float *_Nonnull bias, float *_Nonnull out,
                               int activation, float *_Nonnull scratch);

    // MARK: the picture, reduced to cells

    /// The sums of `height` rows of bytes, at most 257 of them.
    void (*_Nonnull sum_rows)(const uint8_t *_Nonnull rows, ptrdiff_t stride, int height, int count,
                              uint16_t *_Nonnull sums);
    /// The means of cells from the sums of rows. A cell has the samples from edges[i] up to edges[i + 1], `step` sums
    /// apart: all have equally many, or some one more, and at least one. Reads one sum more. `weight` is 1 / rows.
    void (*_Nonnull cells)(const uint16_t *_Nonnull sums, int step, const int32_t *_Nonnull edges, int count,
                           float weight, float *_Nonnull out);
    /// RGB from 0 to 1 from YUV samples (BT.601): r = luma * (y - black) + v_to_r * (v - 128), and so on.
    void (*_Nonnull rgb)(const float *_Nonnull y, const float *_Nonnull u, const float *_Nonnull v, size_t count,
                         int is_limited, float *_Nonnull out);
    /// Moves a mask towards a new one: by the fraction `least` where `change` is 0 and both are alike, as noise leaves
    /// them; all the way where `change` is 1, or they differ by a half.
    void (*_Nonnull smooth)(const float *_Nonnull fresh, const float *_Nonnull change, size_t count, float least,
                            float *_Nonnull mask);
    /// How much cells changed: 0 up to a difference of `low`, 1 from `high` on. Returns the sum.
    float (*_Nonnull change)(const float *_Nonnull a, const float *_Nonnull b, size_t count, float low, float high,
                             float *_Nonnull out);

    // MARK: the edge

    /// The coefficients of a guided filter (He, Sun, Tang: Guided Image Filtering, 2010): mask = a * luma + b around
    /// each cell, averaged. The width is a multiple of 8, the height greater than the radius. Scratch:
    /// (4 * radius + 10) * width + 12 * radius.
    void (*_Nonnull guide)(const float *_Nonnull mask, const float *_Nonnull luma, int width, int height, int radius,
                           float smoothness, float *_Nonnull a, float *_Nonnull b, float *_Nonnull scratch);
    /// Adds contrast around one half to the coefficients, and tells what the matte is in the gaps between cells'
    /// centres, (rows + 1) * (columns + 1) of them, whatever the luma: 0 background, 2 person, 1 neither. `cells` is
    /// scratch, a byte a cell.
    void (*_Nonnull classify)(float *_Nonnull a, float *_Nonnull b, int columns, int rows, float contrast,
                              uint8_t *_Nonnull cells, uint8_t *_Nonnull gaps);
    /// Interpolates a row of cells to samples from cell `first` - 1 to cell `end`: those in starts[first] up to
    /// starts[end]. Writes up to 8 samples more.
    void (*_Nonnull expand)(const float *_Nonnull cells, struct coutline_steps steps, int first, int end,
                            float *_Nonnull out);
    /// The matte of some pixels of a row, 0 to 255, from their luma (`step` bytes apart) and the coefficients of the
    /// rows of cells above and below. `denoised` is luma of the last frames, without their noise, and is updated.
    void (*_Nonnull matte)(const uint8_t *_Nonnull luma, int step, const float *_Nonnull a0, const float *_Nonnull b0,
                           const float *_Nonnull a1, const float *_Nonnull b1, float below, int count,
                           uint8_t *_Nonnull denoised, uint8_t *_Nonnull out);

    // MARK: the background

    /// The weight of cells in a blur: the more of the person they show (a * luma + b, 0 to 1), the less, down to
    /// `covered`; luma above `bright` adds up to `shine` times the weight. Without coefficients, nothing is covered.
    void (*_Nonnull weigh)(const float *_Nonnull luma, const float *_Nullable a, const float *_Nullable b, size_t count,
                           float covered, float bright, float shine, float *_Nonnull out);
    void (*_Nonnull multiply)(const float *_Nonnull a, const float *_Nonnull b, size_t count, float *_Nonnull out);
    /// Sums over squares of 2 x 2 cells, of products with `factors` if there are any. The width is a multiple of 16,
    /// the height even.
    void (*_Nonnull pool)(const float *_Nonnull in, const float *_Nullable factors, int width, int height,
                          float *_Nonnull out);
    /// Samples of cells from sums of weighted samples and sums of weights.
    void (*_Nonnull divide)(const float *_Nonnull sums, const float *_Nonnull weights, size_t count,
                            int16_t *_Nonnull out);
    /// Sums over ellipses: out[y][x] = the sum of in[y + dy][x + dx] over |dy| <= spans[dx + radius]; the next
    /// cells above and below count parts[dx + radius], if there are parts. Beyond the edge, the edge is repeated. The
    /// width is a multiple of 32. Scratch: (height + 2 * reach + 1) * (width + 2 * radius), where `reach` is the
    /// longest span, or with parts one more.
    void (*_Nonnull disc)(const float *_Nonnull in, int width, int height, int radius,
                          const int32_t *_Nonnull spans, const float *_Nullable parts, int reach, float *_Nonnull out,
                          float *_Nonnull scratch);
    /// As `expand`, for samples of cells. Writes up to 16 samples more.
    void (*_Nonnull expand_samples)(const int16_t *_Nonnull cells, struct coutline_steps steps, int first, int end,
                                    int16_t *_Nonnull out);
    /// Mixes two expanded rows of cells to bytes. Reads and writes up to 16 samples more.
    void (*_Nonnull mix)(const int16_t *_Nonnull upper, const int16_t *_Nonnull lower, float below, int count,
                         uint8_t *_Nonnull out);
    /// Mixes the rows of three components as `mix` does, and packs them as `pack` does; behind the person, as `lay`
    /// does, if there is a matte (of each pixel). Reads up to 32 bytes more of the matte. Writes no byte more.
    void (*_Nonnull mix_packed)(const struct coutline_rows *_Nonnull y, const struct coutline_rows *_Nonnull u,
                                const struct coutline_rows *_Nonnull v, float below, const uint8_t *_Nullable matte,
                                int pairs, int is_luma_first, uint8_t *_Nonnull to);
    /// Lays a background behind the person: out = m * out + (1 - m) * back. Reads and writes up to 16 bytes more.
    void (*_Nonnull lay)(const uint8_t *_Nonnull back, const uint8_t *_Nonnull matte, int count,
                         uint8_t *_Nonnull out);
    /// Replaces the background by another, after removing its colour from the person's edge: what is left of a sample
    /// after subtracting (1 - m) of the room's colour is the person's part, which is at most m of a full sample. Where
    /// the matte is 0 nothing of the room is left. `zero` is the sample of no colour: black level, or 128.
    void (*_Nonnull replace)(const uint8_t *_Nonnull back, const uint8_t *_Nonnull room,
                             const uint8_t *_Nonnull matte, int zero, int count, uint8_t *_Nonnull out);
    /// Changes the background's samples linearly: out = m * out + (1 - m) * (gain * (out - zero) + zero + offset).
    void (*_Nonnull adjust)(const uint8_t *_Nonnull matte, float gain, float offset, int zero, int count,
                            uint8_t *_Nonnull out);
    /// The matte of pairs of pixels, which share chroma. Reads up to 32 bytes more, and writes up to 16.
    void (*_Nonnull halve)(const uint8_t *_Nonnull matte, int count, uint8_t *_Nonnull out);
    /// Copies samples that are `step` bytes apart to neighbouring bytes, and back.
    void (*_Nonnull gather)(const uint8_t *_Nonnull from, int step, int count, uint8_t *_Nonnull to);
    void (*_Nonnull scatter)(const uint8_t *_Nonnull from, int step, int count, uint8_t *_Nonnull to);
    /// Writes pairs of pixels as Y U Y V, or, if luma is not first, as U Y V Y.
    void (*_Nonnull pack)(const uint8_t *_Nonnull y, const uint8_t *_Nonnull u, const uint8_t *_Nonnull v, int pairs,
                          int is_luma_first, uint8_t *_Nonnull to);
    /// Brings parts of rows into the cache, all at once: edges of people lie all over a frame, and waiting for each
    /// row in turn takes longer than all else that is done with it.
    void (*_Nonnull prefetch)(const uint8_t *_Nonnull from, ptrdiff_t stride, int rows, int count);
};

/// Whether the processor has AVX2 and FMA.
int coutline_is_wide(void);

/// The kernels for AVX2 and FMA, which may be called only if `coutline_is_wide`; or those for every processor.
const struct coutline_kernels *_Nonnull coutline_kernels(int wide);
#endif
