#ifndef GUISE_COPENCVREFERENCE_H
#define GUISE_COPENCVREFERENCE_H
// OpenCV behind a C interface: tests compare the tracker's own classifier with its decisions and its CPU time, and our
// scaled and warped pictures with its own.
// A handle belongs to one thread at a time; a negative result is a failure and fills `error` (always terminated); no
// C++ exception leaves.
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One window that passed every stage, before any grouping.
struct opencv_reference_window {
    int x, y, width, height;
    /// The last stage's sum.
    double sum;
};

struct opencv_reference_cascade;

/// Loads an OpenCV cascade (XML). NULL on failure.
struct opencv_reference_cascade *opencv_reference_cascade_open(const char *path, char *error, size_t error_size);
void opencv_reference_cascade_close(struct opencv_reference_cascade *cascade);
/// Searches a picture at window sizes from min_size to max_size (pixels, 0: no limit), each `step` times the last, and
/// returns every window that passes, ungrouped. OpenCV tests every second row and column at sizes under twice the
/// trained one, and skips the next window if one fails the first stage. Returns the number of windows, at most
/// `capacity`, or -1.
int opencv_reference_cascade_windows(struct opencv_reference_cascade *cascade, const uint8_t *luma, int width,
                                     int height, size_t stride, double step, int min_size, int max_size,
                                     struct opencv_reference_window *windows, int capacity, char *error,
                                     size_t error_size);

/// Scales a plane of 8-bit samples: by area averages if it is reduced to half or less, else bilinearly. Rows of the
/// target have no padding. Returns 0 or -1.
int opencv_reference_resize(const uint8_t *source, int width, int height, size_t stride, uint8_t *target,
                            int target_width, int target_height);
/// Warps a plane bilinearly over the target by `map`, the 2 x 3 matrix from the target's pixels to the source's, row by
/// row. Outside the source the target is left unchanged. Returns 0 or -1.
int opencv_reference_warp(const uint8_t *source, int width, int height, size_t stride, const double map[6],
                          uint8_t *target, int target_width, int target_height);

#ifdef __cplusplus
}
#endif
#endif
