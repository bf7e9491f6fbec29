#ifndef GUISE_CRASTER_H
#define GUISE_CRASTER_H
// The pixel loops of the rasterizer (`Rasterizer` in the module Frames).
//
// They are in C, because each is compiled twice, for AVX2 and for every processor, with the same results to the bit.
// Swift has no way to compile one function for a better processor than the rest of the program. They allocate nothing;
// the caller guarantees sizes and addresses, but vertices may have any values.
#include <stdint.h>

typedef float craster_float4 __attribute__((ext_vector_type(4)));
typedef uint32_t craster_uint4 __attribute__((ext_vector_type(4)));

/// As `RasterVertex`.
struct craster_vertex {
    /// x and y in pixels of the frame, the depth, unused.
    craster_float4 position;
    /// Luma above black, U and V relative to 128, the light alone.
    craster_float4 color;
    /// Texels of the finest level.
    float u, v;
};

struct craster_mesh {
    const struct craster_vertex *_Nonnull vertices;
    int vertex_count;
    /// Three indices of vertices each, clockwise on screen if the front is seen.
    const uint16_t *_Nonnull triangles;
    int triangle_count;
    /// Whether the back is drawn too.
    int both_sides;
};

enum craster_kind {
    craster_plain,
    craster_glass,
    craster_grain,
    craster_picture,
};

/// As `RasterSurface`.
struct craster_surface {
    enum craster_kind kind;
    /// Added to a colour: black's luma, and 128 twice.
    craster_float4 black;
    /// Glass: 0 is clear, 1 is opaque.
    float opacity;
    /// From the finest level's texels to those of the grain or the picture, in which integers are pixel centres.
    float scale, shift_x, shift_y;
    /// A square of 2^size_log samples on a side.
    const uint8_t *_Nullable grain;
    int size_log;
    /// Premultiplied pixels; both sides have at least two.
    const uint32_t *_Nullable picture;
    int width, height;
    /// Picture: by how much the vertices' U and V, which are the light's on white, are multiplied for each level of
    /// luma.
    float cast;
};

/// The columns drawn in a row; from INT32_MAX to 0 if there are none.
struct craster_span {
    int32_t begin, end;
};

/// The band of rows that is drawn.
struct craster_band {
    /// The frame's column and row of the first pixel.
    int x, y;
    int width, height;
    /// For each pixel the nearest depths at four samples, those of occluders included; set where it is drawn. One pixel
    /// more than the band has.
    craster_float4 *_Nonnull depth;
    /// For each pixel four premultiplied YUVA samples, at first transparent; likewise.
    craster_uint4 *_Nonnull color;
    /// For each row.
    struct craster_span *_Nonnull drawn;
    /// The occluders' depths, one for each pixel of the band and of a border of one pixel around it, from the first
    /// pixel inside of the border on; rows have two more pixels than the band's.
    const float *_Nonnull occluders;
    /// The farthest occluder of each block of `craster_block` pixels on a side, of the whole region and its border of
    /// one pixel, and the band's first row in the region.
    const float *_Nonnull farthest;
    int blocks_across, first_row;
};

/// The binary logarithm of a block's side.
enum { craster_block_log = 3 };

/// The colour of a shadow, in samples up to 250.
struct craster_shade {
    uint32_t luma, u, v;
};

/// A cell of 8 x 8 pixels: the shadow at its corners in 256ths of a level, and its rows that are darkened.
struct craster_cell {
    uint32_t top_left, top_right, bottom_left, bottom_right;
    int first_row, end_row;
};

struct craster_kernels {
    /// Draws triangles.
    void (*_Nonnull draw)(const struct craster_band *_Nonnull band, const struct craster_mesh *_Nonnull mesh,
                          const struct craster_surface *_Nonnull surface);
    /// Averages a row's samples, and resets them.
    void (*_Nonnull resolve_row)(craster_uint4 *_Nonnull color, int count, uint32_t *_Nonnull out);
    /// Composites the columns `begin ..< end` of a cell over the shadow's colour, where there are occluders. The cell's
    /// pixels are at `pixels` and their occluders at `occluders`, each with a row's length.
    void (*_Nonnull darken)(const struct craster_cell *_Nonnull cell, int begin, int end,
                            struct craster_shade shade, const float *_Nonnull occluders, intptr_t occluder_stride,
                            uint32_t *_Nonnull pixels, intptr_t stride);
};

/// Whether this processor can run the kernels for AVX2.
int craster_is_wide(void);

/// The kernels for AVX2 or for every processor, with the same results.
const struct craster_kernels *_Nonnull craster_kernels(int wide);
#endif
