#ifndef GUISE_SURFACE_H
#define GUISE_SURFACE_H
// Between cairo's surfaces and RGBA, for the files of this shim.
#include <cairo.h>
#include <stdint.h>

/// A transparent surface with a context on it; NULL where memory is short or the size impossible.
cairo_t *cart_canvas(int width, int height);
/// Copies a surface's pixels, alpha premultiplied.
void cart_to_rgba(cairo_surface_t *surface, uint8_t *rgba, int width, int height);
#endif
