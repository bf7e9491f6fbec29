#ifndef GUISE_CART_H
#define GUISE_CART_H
// Pictures by librsvg, cairo and libjpeg-turbo behind a small C interface. Rules: plain C types; bytes are borrowed for
// the call; results go into the caller's memory; a negative result (or NULL) is a failure and fills `error` (always
// terminated). A handle belongs to one thread at a time.
#include <stddef.h>
#include <stdint.h>
#include <turbojpeg.h>

struct cart_svg;

/// Reads an SVG. Nothing outside of it is loaded: no other file, nothing from the network.
struct cart_svg *cart_svg_open(const uint8_t *bytes, size_t size, char *error, size_t error_size);
void cart_svg_close(struct cart_svg *svg);
/// The drawing's own units: its viewBox, else its size in pixels. Returns 0, or -1 where it says neither.
int cart_svg_box(struct cart_svg *svg, double *x, double *y, double *width, double *height);
/// Draws the box onto width x height pixels, RGBA with premultiplied alpha, rows close together.
int cart_svg_draw(struct cart_svg *svg, uint8_t *rgba, int width, int height, char *error, size_t error_size);

/// Decodes a PNG onto width x height pixels (any size; it is scaled), RGBA with premultiplied alpha.
int cart_png_draw(const uint8_t *bytes, size_t size, uint8_t *rgba, int width, int height, char *error,
                  size_t error_size);
/// Writes a PNG file from RGBA with premultiplied alpha.
int cart_png_write(const char *path, const uint8_t *rgba, int width, int height, char *error, size_t error_size);

struct cart_encoder;

/// An encoder of JPEG frames; NULL where memory is short.
struct cart_encoder *cart_encoder_open(void);
void cart_encoder_close(struct cart_encoder *encoder);
/// The most bytes that a 4:2:0 frame of that size can take.
size_t cart_encoder_capacity(int width, int height);
/// Encodes planes of 4:2:0, full range. Returns the size of the JPEG, or -1.
ptrdiff_t cart_encoder_encode(struct cart_encoder *encoder, const uint8_t *y, size_t y_stride, const uint8_t *u,
                              const uint8_t *v, size_t chroma_stride, int width, int height, int quality,
                              uint8_t *jpeg, size_t capacity);
#endif
