#ifndef GUISE_SURFACE_H
#define GUISE_SURFACE_H
// Conversion between cairo's surfaces and RGBA, for the files of this module.
#include <cairo.h>
#include <stdint.h>

/// Creates a transparent surface with a context; NULL if there is no memory left or the size is invalid.
cairo_t *cart_canvas(int width, int height);
/// Copies a surface's pixels to RGBA with premultiplied alpha.
void cart_to_rgba(cairo_surface_t *surface, uint8_t *rgba, int width, int height);
#endif
