#ifndef GUISE_CART_H
#define GUISE_CART_H
// The messages to the process that decodes pictures, and an encoder of JPEGs by libjpeg-turbo. Rules: plain C types;
// bytes are borrowed for the call; results go into the caller's memory; a negative result (or NULL) is a failure. A
// handle belongs to one thread at a time.
#include <stddef.h>
#include <stdint.h>
#include <turbojpeg.h>

// --- The pictures of masks are decoded by a child process, guise-art, because they may come from strangers, and
// librsvg cannot be stopped: if a picture takes too much time or memory, or crashes a library, only the child ends. It
// reads requests from standard input until its end, and writes the replies to standard output.

enum {
    CART_MAX_SIDE = 4096,        // of a PNG or JPEG, pixels
    CART_MAX_BYTES = 256 << 20,  // that follow a request or a reply: 64 million pixels
};

/// A request to draw a picture, or to encode one as PNG.
struct cart_request {
    /// The bytes that follow: an SVG, PNG or JPEG; or width x height pixels, RGBA with premultiplied alpha, rows
    /// without padding. No external resources are loaded: no other files, and nothing from the network.
    uint64_t size;
    /// The size of the pixels to encode; 0 x 0: a picture is drawn.
    int32_t width, height;
    /// The largest scale, in pixels per unit of the drawing; may be infinite.
    double density;
    /// The largest size of the longer side, pixels.
    int32_t limit;
    int32_t reserved;
};

/// A reply. If `error` is empty, it is followed by `size` bytes: width x height pixels like those of a request, or a
/// PNG.
struct cart_reply {
    uint64_t size;
    int32_t width, height;
    /// The scale, in pixels per unit of the drawing. The unit of a PNG or JPEG is its pixel.
    double scale;
    /// The viewBox; if there is none, the size in pixels.
    double x, y, box_width, box_height;
    char error[256];
};

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
