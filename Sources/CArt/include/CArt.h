#ifndef GUISE_CART_H
#define GUISE_CART_H
// The messages to the process that decodes pictures, and an encoder of JPEGs by libjpeg-turbo. Rules: plain C types;
// bytes are borrowed for the call; results go into the caller's memory; a negative result (or NULL) is a failure. A
// handle belongs to one thread at a time.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <turbojpeg.h>

// --- The art of masks is read by a child process, guise-art, because it may come from strangers, and librsvg cannot be
// stopped: if art takes too much time or memory, or crashes a library, only the child ends. It reads requests from
// standard input until its end, and writes the replies to standard output. It opens no other files, and loads nothing
// from the network.

enum {
    CART_MAX_SIDE = 4096,        // of a PNG or JPEG, pixels
    CART_MAX_BYTES = 256 << 20,  // that follow a request or a reply: 64 million pixels
    CART_MAX_VERTICES = 60000,   // of a model
    CART_MAX_TRIANGLES = 60000,
};

enum cart_task {
    /// Draw an SVG, PNG or JPEG. The reply is followed by width x height pixels.
    CART_DRAW,
    /// Encode width x height pixels. The reply is followed by a PNG.
    CART_ENCODE,
    /// Read a glTF model. The reply is followed by its primitives.
    CART_MODEL,
};

/// A request, followed by `size` bytes. Pixels are RGBA with premultiplied alpha, rows without padding.
struct cart_request {
    uint64_t size;
    enum cart_task task;
    /// The size of the pixels to encode.
    int32_t width, height;
    /// The largest size of a drawing's longer side, pixels.
    int32_t limit;
    /// The largest scale, in pixels per unit of the drawing; may be infinite.
    double density;
};

/// A reply, followed by `size` bytes. If `error` is not empty, there are none.
struct cart_reply {
    uint64_t size;
    int32_t width, height;
    /// The scale, in pixels per unit of the drawing. The unit of a PNG or JPEG is its pixel.
    double scale;
    /// The viewBox; if there is none, the size in pixels.
    double x, y, box_width, box_height;
    char error[256];
};

#ifdef __cplusplus
extern "C"
#endif
/// Sets a reply's error, which is never empty. Returns NULL.
void *cart_fail(struct cart_reply *reply, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// A vertex in glTF's coordinates (right-handed, y up), transformed to the scene.
struct cart_vertex {
    float position[3], normal[3], uv[2];
};

/// The triangles of one material, followed by the vertices, the indices and the texture.
struct cart_primitive {
    uint32_t vertex_count;
    /// Three indices (uint32_t) for each triangle, counter-clockwise from outside; each less than vertex_count.
    uint32_t index_count;
    /// Bytes of the texture, PNG or JPEG as in the file; 0: none.
    uint32_t texture_size;
    /// Whether the material's alpha mode is BLEND. An alpha cutoff is not read.
    int32_t is_blended, is_two_sided, has_normals;
    /// The base colour: linear RGBA, 0...1.
    float color[4];
    float roughness, metal;
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

/// Whether a decoder's last error is only a warning of "extraneous bytes", with which many cameras pad a picture that
/// is complete.
bool cart_is_padded_jpeg(tjhandle decoder);
#endif
