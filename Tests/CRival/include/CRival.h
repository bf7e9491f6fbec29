#ifndef GUISE_CRIVAL_H
#define GUISE_CRIVAL_H
// OpenCV's classifier behind a C interface: tests compare the tracker's own with its decisions and its CPU time.
// A handle belongs to one thread at a time; a negative result is a failure and fills `error` (always terminated); no C++
// exception leaves.
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One window that passed every stage, before any grouping.
struct crival_window {
    int x, y, width, height;
    /// The last stage's sum.
    double sum;
};

struct crival_cascade;

/// Loads an OpenCV cascade (XML). NULL on failure.
struct crival_cascade *crival_cascade_open(const char *path, char *error, size_t error_size);
void crival_cascade_close(struct crival_cascade *cascade);
/// Searches a picture at window sizes from min_size to max_size (pixels, 0: no limit), each `step` times the last, and
/// returns every window that passes, ungrouped. OpenCV tests every second row and column at sizes under twice the
/// trained one, and skips the next window if one fails the first stage. Returns the number of windows, at most
/// `capacity`, or -1.
int crival_cascade_windows(struct crival_cascade *cascade, const uint8_t *luma, int width, int height, size_t stride,
                            double step, int min_size, int max_size, struct crival_window *windows, int capacity,
                            char *error, size_t error_size);

#ifdef __cplusplus
}
#endif
#endif
