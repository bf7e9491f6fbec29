#ifndef GUISE_CCONVERT_H
#define GUISE_CCONVERT_H
#include <linux/videodev2.h>
#include <stddef.h>
#include <stdint.h>

/// A converter (libv4lconvert) of camera formats without direct support to planar 4:2:0. Used by one thread at a time.
struct cconvert;

/// Creates a converter. `source` is the camera's format; the result has its width and height, both rounded down to
/// even. Returns NULL if there is no memory left.
struct cconvert *cconvert_create(int descriptor, const struct v4l2_pix_format *source);
void cconvert_destroy(struct cconvert *converter);
/// Converts a frame to Y, U and V planes without padding. Returns the bytes written to `result`, or -1 for a damaged
/// frame or an unknown format.
long cconvert_frame(
    struct cconvert *converter, const uint8_t *frame, size_t count, uint8_t *result, size_t capacity);
#endif
