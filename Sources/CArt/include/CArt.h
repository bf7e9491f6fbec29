#ifndef GUISE_CART_H
#define GUISE_CART_H
// Pictures by librsvg, cairo and libjpeg-turbo behind a small C interface. Rules: plain C types; bytes are borrowed for
// the call; results go into the caller's memory; a negative result (or NULL) is a failure and fills `error` (always
// terminated). A handle belongs to one thread at a time.
#include <stddef.h>
#include <stdint.h>
#include <turbojpeg.h>

// --- SVGs are rendered by a child process, guise-svg, because librsvg cannot be stopped: if an untrusted SVG takes too
// much time or memory, or crashes librsvg, only the child ends. It reads requests from standard input until its end,
// and writes the replies to standard output.

/// A request, followed by the SVG's bytes. No external resources are loaded: no other files, and nothing from the
/// network.
struct cart_request {
    uint64_t size;
    /// The largest scale, in pixels per unit of the drawing; may be infinite.
    double density;
    /// The largest size of the longer side, pixels.
    int32_t limit;
    int32_t reserved;
};

/// A reply. If `error` is empty, it is followed by width x height pixels, RGBA with premultiplied alpha, rows without
/// padding.
struct cart_reply {
    int32_t width, height;
    /// The scale, in pixels per unit of the drawing.
    double scale;
    /// The viewBox; if there is none, the size in pixels.
    double x, y, box_width, box_height;
    char error[256];
};

/// Decodes a PNG and scales it to width x height pixels, RGBA with premultiplied alpha.
int cart_png_draw(const uint8_t *bytes, size_t size, uint8_t *rgba, int width, int height, char *error,
                  size_t error_size);
/// The size of a JPEG in pixels, from its header. Returns 0, or -1 if it has none.
int cart_jpeg_size(const uint8_t *bytes, size_t size, int *width, int *height);
/// Decodes a JPEG and scales it to width x height pixels, opaque RGBA. Its orientation tag is ignored.
int cart_jpeg_draw(const uint8_t *bytes, size_t size, uint8_t *rgba, int width, int height, char *error,
                   size_t error_size);
/// Draws a short text in black over RGBA with premultiplied alpha; (x, y) is the start of its baseline, pixels.
void cart_label(uint8_t *rgba, int width, int height, const char *text, int x, int y, int size);
/// Writes a PNG file from RGBA with premultiplied alpha.
int cart_png_write(const char *path, const uint8_t *rgba, int width, int height, char *error, size_t error_size);

struct cart_encoder;

/// Creates a JPEG encoder; NULL if there is no memory left.
struct cart_encoder *cart_encoder_open(void);
void cart_encoder_close(struct cart_encoder *encoder);
/// The largest possible size of a 4:2:0 frame's JPEG, bytes.
size_t cart_encoder_capacity(int width, int height);
/// Encodes the planes of a 4:2:0 frame in full range. Returns the size of the JPEG in bytes, or -1.
ptrdiff_t cart_encoder_encode(struct cart_encoder *encoder, const uint8_t *y, size_t y_stride, const uint8_t *u,
                              const uint8_t *v, size_t chroma_stride, int width, int height, int quality,
                              uint8_t *jpeg, size_t capacity);
#endif
