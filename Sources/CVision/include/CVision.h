#ifndef GUISE_CVISION_H
#define GUISE_CVISION_H
// OpenCV behind a C interface. Rules: plain C types; pictures are borrowed for the call (luma, 8 bits, row stride in
// bytes); results go into the caller's array; a negative result is a failure and fills `error` (always terminated);
// no C++ exception escapes. A handle belongs to one thread at a time.
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One plane of 8-bit samples. Planes named `target` are written to.
struct cvision_plane {
    uint8_t *samples;
    int width, height;
    size_t stride;
};

/// Scales a plane to the target's size: by area averages if it is reduced to half or less, else bilinearly. Returns 0
/// or -1.
int cvision_resize(struct cvision_plane source, struct cvision_plane target, char *error, size_t error_size);

/// Warps a plane into the target by `map`, the six numbers of a 2 x 3 matrix, row by row, from the target's pixels to
/// the source's (integers are pixel centres). Outside the source its edge is repeated; or, if `keep` is not 0, the
/// target is left unchanged there. Returns 0 or -1.
int cvision_warp(struct cvision_plane source, struct cvision_plane target, const double map[6], int keep, char *error,
                 size_t error_size);

/// Rotates a plane clockwise by quarter turns (0 to 3), then mirrors it horizontally if `mirror` is not 0. The target
/// must have the resulting size. Returns 0 or -1.
int cvision_turn(struct cvision_plane source, struct cvision_plane target, int quarters, int mirror, char *error,
                 size_t error_size);

#ifdef __cplusplus
}
#endif
#endif
