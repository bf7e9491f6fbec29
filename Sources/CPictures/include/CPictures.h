#ifndef GUISE_CPICTURES_H
#define GUISE_CPICTURES_H
// PNGs and JPEGs by cairo and libjpeg-turbo, for guise-art and the tests. Results are from malloc; NULL is a failure,
// with the reason in the reply.
#include "CArt.h"

#include <cairo.h>
#include <stdbool.h>

/// Whether the bytes begin like a PNG or a JPEG.
bool cpictures_is_bitmap(const uint8_t *bytes, size_t size);
/// Decodes a PNG or JPEG and scales it as the request says. A JPEG's orientation tag is ignored.
/// Returns the pixels.
uint8_t *cpictures_draw(const uint8_t *bytes, const struct cart_request *request, struct cart_reply *reply);
/// Encodes pixels. Returns the PNG.
uint8_t *cpictures_encode(const uint8_t *rgba, const struct cart_request *request, struct cart_reply *reply);

/// Creates a transparent surface with a context; NULL if there is no memory left or the size is invalid.
cairo_t *cpictures_canvas(int width, int height);
/// Copies a surface's pixels to RGBA with premultiplied alpha.
uint8_t *cpictures_rgba(cairo_surface_t *surface);
#endif
