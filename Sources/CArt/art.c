#include "CArt.h"
#include "surface.h"

#include <cairo.h>
#include <stdio.h>
#include <string.h>

static void say(char *error, size_t size, const char *text) {
    if (error && size) snprintf(error, size, "%s", text);
}

static int fail(char *error, size_t size, const char *text) {
    say(error, size, text);
    return -1;
}

// --- Conversion between cairo's pixels (native-endian 0xAARRGGBB) and RGBA

void cart_to_rgba(cairo_surface_t *surface, uint8_t *rgba, int width, int height) {
    cairo_surface_flush(surface);
    const uint8_t *pixels = cairo_image_surface_get_data(surface);
    const size_t stride = cairo_image_surface_get_stride(surface);
    for (int y = 0; y < height; y++) {
        const uint32_t *row = (const uint32_t *)(const void *)(pixels + y * stride);
        uint8_t *out = rgba + (size_t)y * width * 4;
        for (int x = 0; x < width; x++) {
            out[4 * x] = row[x] >> 16;
            out[4 * x + 1] = row[x] >> 8;
            out[4 * x + 2] = row[x];
            out[4 * x + 3] = row[x] >> 24;
        }
    }
}

cairo_t *cart_canvas(int width, int height) {
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height);
    cairo_t *context = cairo_create(surface);
    cairo_surface_destroy(surface);  // the context keeps a reference
    if (cairo_status(context) == CAIRO_STATUS_SUCCESS) return context;
    cairo_destroy(context);
    return NULL;
}

/// Scales a picture to width x height pixels, and destroys it.
static int draw_scaled(cairo_surface_t *picture, uint8_t *rgba, int width, int height, char *error, size_t error_size) {
    cairo_status_t status = cairo_surface_status(picture);
    cairo_t *context = status == CAIRO_STATUS_SUCCESS ? cart_canvas(width, height) : NULL;
    if (!context) {
        cairo_surface_destroy(picture);
        return fail(error, error_size, status ? cairo_status_to_string(status) : "out of memory for a picture of that size");
    }
    cairo_scale(context, (double)width / cairo_image_surface_get_width(picture),
                (double)height / cairo_image_surface_get_height(picture));
    cairo_set_source_surface(context, picture, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(context), CAIRO_FILTER_GOOD);
    // Otherwise the edges of a picture that is made smaller would be mixed with what is outside of it.
    cairo_pattern_set_extend(cairo_get_source(context), CAIRO_EXTEND_PAD);
    cairo_set_operator(context, CAIRO_OPERATOR_SOURCE);
    cairo_paint(context);
    status = cairo_status(context);
    if (status == CAIRO_STATUS_SUCCESS) cart_to_rgba(cairo_get_target(context), rgba, width, height);
    cairo_destroy(context);
    cairo_surface_destroy(picture);
    return status ? fail(error, error_size, cairo_status_to_string(status)) : 0;
}

// --- PNG

struct reader {
    const uint8_t *bytes;
    size_t size, offset;
};

static cairo_status_t read_some(void *closure, unsigned char *into, unsigned int count) {
    struct reader *reader = closure;
    if (count > reader->size - reader->offset) return CAIRO_STATUS_READ_ERROR;
    memcpy(into, reader->bytes + reader->offset, count);
    reader->offset += count;
    return CAIRO_STATUS_SUCCESS;
}

int cart_png_draw(const uint8_t *bytes, size_t size, uint8_t *rgba, int width, int height, char *error,
                  size_t error_size) {
    struct reader reader = {bytes, size, 0};
    return draw_scaled(cairo_image_surface_create_from_png_stream(read_some, &reader), rgba, width, height, error,
                       error_size);
}

/// Copies RGBA pixels to a new cairo surface. Check its status: it is an error surface if there is no memory left.
static cairo_surface_t *from_rgba(const uint8_t *rgba, int width, int height) {
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS) return surface;
    uint8_t *pixels = cairo_image_surface_get_data(surface);
    const size_t stride = cairo_image_surface_get_stride(surface);
    for (int y = 0; y < height; y++) {
        uint32_t *row = (uint32_t *)(void *)(pixels + y * stride);
        const uint8_t *in = rgba + (size_t)y * width * 4;
        for (int x = 0; x < width; x++) {
            row[x] = (uint32_t)in[4 * x + 3] << 24 | (uint32_t)in[4 * x] << 16 | (uint32_t)in[4 * x + 1] << 8 |
                     in[4 * x + 2];
        }
    }
    cairo_surface_mark_dirty(surface);
    return surface;
}

int cart_png_write(const char *path, const uint8_t *rgba, int width, int height, char *error, size_t error_size) {
    cairo_surface_t *surface = from_rgba(rgba, width, height);
    cairo_status_t status = cairo_surface_status(surface);
    if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_write_to_png(surface, path);
    cairo_surface_destroy(surface);
    return status ? fail(error, error_size, cairo_status_to_string(status)) : 0;
}

void cart_label(uint8_t *rgba, int width, int height, const char *text, int x, int y, int size) {
    cairo_surface_t *surface = from_rgba(rgba, width, height);
    cairo_t *context = cairo_create(surface);
    cairo_select_font_face(context, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(context, size);
    cairo_move_to(context, x, y);
    cairo_show_text(context, text);
    if (cairo_status(context) == CAIRO_STATUS_SUCCESS) cart_to_rgba(surface, rgba, width, height);
    cairo_destroy(context);
    cairo_surface_destroy(surface);
}

// --- JPEG

int cart_jpeg_size(const uint8_t *bytes, size_t size, int *width, int *height) {
    tjhandle decoder = tjInitDecompress();
    int sampling, colors;
    *width = *height = 0;
    // Without an end of the header, it is no error to the library.
    if (decoder) tjDecompressHeader3(decoder, bytes, size, width, height, &sampling, &colors);
    if (decoder) tjDestroy(decoder);
    return *width > 0 && *height > 0 ? 0 : -1;
}

int cart_jpeg_draw(const uint8_t *bytes, size_t size, uint8_t *rgba, int width, int height, char *error,
                   size_t error_size) {
    int own_width, own_height;
    if (cart_jpeg_size(bytes, size, &own_width, &own_height) < 0) return fail(error, error_size, "it has no header");
    cairo_surface_t *picture = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, own_width, own_height);
    tjhandle decoder = cairo_surface_status(picture) == CAIRO_STATUS_SUCCESS ? tjInitDecompress() : NULL;
    if (!decoder) {
        cairo_surface_destroy(picture);
        return fail(error, error_size, "out of memory for a picture of that size");
    }
    cairo_surface_flush(picture);
    const int format = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? TJPF_BGRA : TJPF_ARGB;
    // Progressive pictures may have so many scans that they take minutes: those fail.
    const int result = tjDecompress2(decoder, bytes, size, cairo_image_surface_get_data(picture), own_width,
                                     cairo_image_surface_get_stride(picture), own_height, format, TJFLAG_LIMITSCANS);
    if (result < 0) say(error, error_size, tjGetErrorStr2(decoder));
    tjDestroy(decoder);
    cairo_surface_mark_dirty(picture);
    if (result == 0) return draw_scaled(picture, rgba, width, height, error, error_size);
    cairo_surface_destroy(picture);
    return -1;
}

struct cart_encoder *cart_encoder_open(void) { return tjInitCompress(); }

void cart_encoder_close(struct cart_encoder *encoder) {
    if (encoder) tjDestroy(encoder);
}

size_t cart_encoder_capacity(int width, int height) { return tjBufSize(width, height, TJSAMP_420); }

ptrdiff_t cart_encoder_encode(struct cart_encoder *encoder, const uint8_t *y, size_t y_stride, const uint8_t *u,
                              const uint8_t *v, size_t chroma_stride, int width, int height, int quality,
                              uint8_t *jpeg, size_t capacity) {
    if (capacity < cart_encoder_capacity(width, height)) return -1;
    const unsigned char *planes[3] = {y, u, v};
    const int strides[3] = {(int)y_stride, (int)chroma_stride, (int)chroma_stride};
    unsigned char *out = jpeg;
    unsigned long size = capacity;
    const int result = tjCompressFromYUVPlanes(encoder, planes, width, strides, height, TJSAMP_420, &out, &size,
                                               quality, TJFLAG_NOREALLOC);
    return result == 0 ? (ptrdiff_t)size : -1;
}
