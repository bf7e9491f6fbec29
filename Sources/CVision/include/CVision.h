#ifndef GUISE_CVISION_H
#define GUISE_CVISION_H
// OpenCV behind a C interface. Rules: plain C types; pictures are borrowed for the call (luma, 8 bits, row stride in
// bytes); results go into the caller's array; a negative result is a failure and fills `error` (always terminated);
// no C++ exception leaves. A handle belongs to one thread at a time.
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One plane of 8-bit samples; `target` planes are written to.
struct cvision_plane {
    uint8_t *samples;
    int width, height;
    size_t stride;
};

/// Scales a plane to the other's size: by averages where it becomes much smaller, else bilinearly. Returns 0 or -1.
int cvision_resize(struct cvision_plane source, struct cvision_plane target, char *error, size_t error_size);

/// Fills the target by `map`, six numbers row by row that lead from its pixels to the source's (whole numbers are pixel
/// centres). Outside of the source its edge goes on, or, where `keep` is not 0, the target stays as it is. Returns 0
/// or -1.
int cvision_warp(struct cvision_plane source, struct cvision_plane target, const double map[6], int keep, char *error,
                 size_t error_size);

/// Turns a plane clockwise by quarters (0 to 3), then reverses its rows where `mirror` is not 0. The target has the size
/// that comes of it. Returns 0 or -1.
int cvision_turn(struct cvision_plane source, struct cvision_plane target, int quarters, int mirror, char *error,
                 size_t error_size);

#ifdef __cplusplus
}
#endif
#endif
