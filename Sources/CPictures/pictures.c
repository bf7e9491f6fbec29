#include "CPictures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_PER_PIXEL = 4 };

// --- Conversion between cairo's pixels (native-endian 0xAARRGGBB) and RGBA

cairo_t *cpictures_canvas(int width, int height) {
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height);
    cairo_t *context = cairo_create(surface);
    cairo_surface_destroy(surface);  // the context keeps a reference
    if (cairo_status(context) == CAIRO_STATUS_SUCCESS) return context;
    cairo_destroy(context);
    return NULL;
}

uint8_t *cpictures_rgba(cairo_surface_t *surface) {
    cairo_surface_flush(surface);
    const uint8_t *pixels = cairo_image_surface_get_data(surface);
    const size_t stride = cairo_image_surface_get_stride(surface);
    const int width = cairo_image_surface_get_width(surface), height = cairo_image_surface_get_height(surface);
    uint8_t *rgba = malloc((size_t)width * height * BYTES_PER_PIXEL);
    if (!rgba) return NULL;
    for (int y = 0; y < height; y++) {
        const uint32_t *row = (const uint32_t *)(const void *)(pixels + y * stride);
        uint8_t *out = rgba + (size_t)y * width * BYTES_PER_PIXEL;
        for (int x = 0; x < width; x++) {
            out[4 * x] = row[x] >> 16;
            out[4 * x + 1] = row[x] >> 8;
            out[4 * x + 2] = row[x];
            out[4 * x + 3] = row[x] >> 24;
        }
    }
    return rgba;
}

/// Copies RGBA pixels to a new cairo surface. Check its status: it is an error surface if there is no memory left.
static cairo_surface_t *from_rgba(const uint8_t *rgba, int width, int height) {
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS) return surface;
    uint8_t *pixels = cairo_image_surface_get_data(surface);
    const size_t stride = cairo_image_surface_get_stride(surface);
    for (int y = 0; y < height; y++) {
        uint32_t *row = (uint32_t *)(void *)(pixels + y * stride);
        const uint8_t *in = rgba + (size_t)y * width * BYTES_PER_PIXEL;
        for (int x = 0; x < width; x++) {
            row[x] = (uint32_t)in[4 * x + 3] << 24 | (uint32_t)in[4 * x] << 16 | (uint32_t)in[4 * x + 1] << 8 |
                     in[4 * x + 2];
        }
    }
    cairo_surface_mark_dirty(surface);
    return surface;
}

/// Scales a picture to the reply's size, and destroys it.
static uint8_t *scaled(cairo_surface_t *picture, struct cart_reply *reply) {
    cairo_t *context = cpictures_canvas(reply->width, reply->height);
    uint8_t *rgba = NULL;
    if (context) {
        cairo_scale(context, reply->width / reply->box_width, reply->height / reply->box_height);
        cairo_set_source_surface(context, picture, 0, 0);
        cairo_pattern_set_filter(cairo_get_source(context), CAIRO_FILTER_GOOD);
        // Otherwise the edges of a picture that is made smaller would be mixed with what is outside of it.
        cairo_pattern_set_extend(cairo_get_source(context), CAIRO_EXTEND_PAD);
        cairo_set_operator(context, CAIRO_OPERATOR_SOURCE);
        cairo_paint(context);
        if (cairo_status(context) == CAIRO_STATUS_SUCCESS) rgba = cpictures_rgba(cairo_get_target(context));
        cairo_destroy(context);
    }
    cairo_surface_destroy(picture);
    return rgba ? rgba : cart_fail(reply, "out of memory for a picture of that size");
}

// --- PNG

static const uint8_t png_signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

/// The size of a PNG: bytes 16 to 23, in the header (IHDR, 13 bytes), which is its first chunk. Returns 0, or -1 if
/// there is none.
static int png_size(const uint8_t *bytes, size_t size, int64_t *width, int64_t *height) {
    if (size < 24 || memcmp(bytes + sizeof png_signature, "\0\0\0\rIHDR", 8) != 0) return -1;
    *width = (int64_t)bytes[16] << 24 | bytes[17] << 16 | bytes[18] << 8 | bytes[19];
    *height = (int64_t)bytes[20] << 24 | bytes[21] << 16 | bytes[22] << 8 | bytes[23];
    return 0;
}

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

static cairo_surface_t *decode_png(const uint8_t *bytes, size_t size, char *reason, size_t reason_size) {
    struct reader reader = {bytes, size, 0};
    cairo_surface_t *picture = cairo_image_surface_create_from_png_stream(read_some, &reader);
    const cairo_status_t status = cairo_surface_status(picture);
    if (status == CAIRO_STATUS_SUCCESS) return picture;
    snprintf(reason, reason_size, "%s", cairo_status_to_string(status));
    cairo_surface_destroy(picture);
    return NULL;
}

static cairo_status_t write_some(void *closure, const unsigned char *bytes, unsigned int count) {
    return fwrite(bytes, 1, count, closure) == count ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

uint8_t *cpictures_encode(const uint8_t *rgba, const struct cart_request *request, struct cart_reply *reply) {
    if ((uint64_t)request->width * request->height * BYTES_PER_PIXEL != request->size)
        return cart_fail(reply, "the pixels are truncated");
    char *png = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&png, &size);
    cairo_surface_t *picture = from_rgba(rgba, request->width, request->height);
    cairo_status_t status = stream ? cairo_surface_status(picture) : CAIRO_STATUS_NO_MEMORY;
    if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_write_to_png_stream(picture, write_some, stream);
    cairo_surface_destroy(picture);
    if (stream && fclose(stream) != 0 && status == CAIRO_STATUS_SUCCESS) status = CAIRO_STATUS_NO_MEMORY;
    if (status != CAIRO_STATUS_SUCCESS) {
        free(png);
        return cart_fail(reply, "%s", cairo_status_to_string(status));
    }
    reply->size = size;
    return (uint8_t *)png;
}

// --- JPEG

static int jpeg_size(const uint8_t *bytes, size_t size, int64_t *width, int64_t *height) {
    tjhandle decoder = tjInitDecompress();
    int sampling, colors, own_width = 0, own_height = 0;
    // Succeeds without a size if the file ends within its header.
    if (decoder) tjDecompressHeader3(decoder, bytes, size, &own_width, &own_height, &sampling, &colors);
    if (decoder) tjDestroy(decoder);
    *width = own_width;
    *height = own_height;
    return own_width > 0 && own_height > 0 ? 0 : -1;
}

static cairo_surface_t *decode_jpeg(const uint8_t *bytes, size_t size, int width, int height, char *reason,
                                    size_t reason_size) {
    cairo_surface_t *picture = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height);
    tjhandle decoder = cairo_surface_status(picture) == CAIRO_STATUS_SUCCESS ? tjInitDecompress() : NULL;
    int result = -1;
    snprintf(reason, reason_size, "out of memory for a picture of that size");
    if (decoder) {
        cairo_surface_flush(picture);
        const int format = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? TJPF_BGRA : TJPF_ARGB;
        // Progressive pictures may have so many scans that they take minutes: those fail.
        result = tjDecompress2(decoder, bytes, size, cairo_image_surface_get_data(picture), width,
                               cairo_image_surface_get_stride(picture), height, format, TJFLAG_LIMITSCANS);
        if (result < 0 && cart_is_padded_jpeg(decoder)) result = 0;
        if (result < 0) snprintf(reason, reason_size, "%s", tjGetErrorStr2(decoder));
        tjDestroy(decoder);
        cairo_surface_mark_dirty(picture);
    }
    if (result == 0) return picture;
    cairo_surface_destroy(picture);
    return NULL;
}

// --- Both

static bool is_png(const uint8_t *bytes, size_t size) {
    return size >= sizeof png_signature && memcmp(bytes, png_signature, sizeof png_signature) == 0;
}

bool cpictures_is_bitmap(const uint8_t *bytes, size_t size) {
    return is_png(bytes, size) || (size >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0);
}

uint8_t *cpictures_draw(const uint8_t *bytes, const struct cart_request *request, struct cart_reply *reply) {
    const bool png = is_png(bytes, request->size);
    const char *kind = png ? "PNG" : "JPEG";
    char reason[128];
    int64_t width, height;
    if ((png ? png_size : jpeg_size)(bytes, request->size, &width, &height) < 0)
        return cart_fail(reply, "the %s is truncated", kind);
    if (width < 1 || height < 1) return cart_fail(reply, "the %s has no pixels", kind);
    if (width > CART_MAX_SIDE || height > CART_MAX_SIDE)
        return cart_fail(reply, "a %s of %lldx%lld is too large, the limit is %dx%d", kind, (long long)width,
                         (long long)height, CART_MAX_SIDE, CART_MAX_SIDE);
    cairo_surface_t *picture = png ? decode_png(bytes, request->size, reason, sizeof reason)
        : decode_jpeg(bytes, request->size, (int)width, (int)height, reason, sizeof reason);
    if (!picture) return cart_fail(reply, "the %s is damaged (%s)", kind, reason);
    reply->box_width = width;
    reply->box_height = height;
    reply->scale = fmin(1, fmin(request->limit / fmax(width, height), request->density));
    reply->width = (int32_t)fmax(1, round(width * reply->scale));
    reply->height = (int32_t)fmax(1, round(height * reply->scale));
    return scaled(picture, reply);
}
