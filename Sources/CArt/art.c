#include "CArt.h"

#include <librsvg/rsvg.h>
#include <stdio.h>
#include <string.h>

static void say(char *error, size_t size, const char *text) {
    if (error && size) snprintf(error, size, "%s", text);
}

static int fail(char *error, size_t size, const char *text) {
    say(error, size, text);
    return -1;
}

// --- SVG

struct cart_svg *cart_svg_open(const uint8_t *bytes, size_t size, char *error, size_t error_size) {
    GError *reason = NULL;
    // A handle from data has no base address, and without one librsvg loads nothing but what is inside.
    RsvgHandle *handle = rsvg_handle_new_from_data(bytes, size, &reason);
    if (!handle) {
        say(error, error_size, reason ? reason->message : "unknown failure");
        g_clear_error(&reason);
        return NULL;
    }
    return (struct cart_svg *)handle;
}

void cart_svg_close(struct cart_svg *svg) {
    if (svg) g_object_unref(svg);
}

int cart_svg_box(struct cart_svg *svg, double *x, double *y, double *width, double *height) {
    gboolean has_width, has_height, has_box;
    RsvgLength declared_width, declared_height;
    RsvgRectangle box;
    rsvg_handle_get_intrinsic_dimensions((RsvgHandle *)svg, &has_width, &declared_width, &has_height, &declared_height,
                                         &has_box, &box);
    *x = *y = 0;
    if (has_box) {
        *x = box.x;
        *y = box.y;
        *width = box.width;
        *height = box.height;
        return 0;
    }
    return rsvg_handle_get_intrinsic_size_in_pixels((RsvgHandle *)svg, width, height) ? 0 : -1;
}

// --- between cairo's pixels (native-endian 0xAARRGGBB) and RGBA

static void to_rgba(cairo_surface_t *surface, uint8_t *rgba, int width, int height) {
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

/// A transparent surface with a context on it; NULL where memory is short or the size impossible.
static cairo_t *canvas(int width, int height) {
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height);
    cairo_t *context = cairo_create(surface);
    cairo_surface_destroy(surface);  // the context holds it
    if (cairo_status(context) == CAIRO_STATUS_SUCCESS) return context;
    cairo_destroy(context);
    return NULL;
}

int cart_svg_draw(struct cart_svg *svg, uint8_t *rgba, int width, int height, char *error, size_t error_size) {
    cairo_t *context = canvas(width, height);
    if (!context) return fail(error, error_size, "no memory for a picture of that size");
    GError *reason = NULL;
    const RsvgRectangle viewport = {0, 0, width, height};
    const gboolean ok = rsvg_handle_render_document((RsvgHandle *)svg, context, &viewport, &reason);
    if (ok) to_rgba(cairo_get_target(context), rgba, width, height);
    else say(error, error_size, reason ? reason->message : "unknown failure");
    g_clear_error(&reason);
    cairo_destroy(context);
    return ok ? 0 : -1;
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
    cairo_surface_t *picture = cairo_image_surface_create_from_png_stream(read_some, &reader);
    cairo_status_t status = cairo_surface_status(picture);
    cairo_t *context = status == CAIRO_STATUS_SUCCESS ? canvas(width, height) : NULL;
    if (!context) {
        cairo_surface_destroy(picture);
        return fail(error, error_size, status ? cairo_status_to_string(status) : "no memory for a picture of that size");
    }
    cairo_scale(context, (double)width / cairo_image_surface_get_width(picture),
                (double)height / cairo_image_surface_get_height(picture));
    cairo_set_source_surface(context, picture, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(context), CAIRO_FILTER_GOOD);
    cairo_set_operator(context, CAIRO_OPERATOR_SOURCE);
    cairo_paint(context);
    status = cairo_status(context);
    if (status == CAIRO_STATUS_SUCCESS) to_rgba(cairo_get_target(context), rgba, width, height);
    cairo_destroy(context);
    cairo_surface_destroy(picture);
    return status ? fail(error, error_size, cairo_status_to_string(status)) : 0;
}

int cart_png_write(const char *path, const uint8_t *rgba, int width, int height, char *error, size_t error_size) {
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height);
    cairo_status_t status = cairo_surface_status(surface);
    if (status == CAIRO_STATUS_SUCCESS) {
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
        status = cairo_surface_write_to_png(surface, path);
    }
    cairo_surface_destroy(surface);
    return status ? fail(error, error_size, cairo_status_to_string(status)) : 0;
}

// --- JPEG

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
