#ifndef GUISE_COBJECTS_H
#define GUISE_COBJECTS_H
// The messages to guise-objects, the process that finds key points in pictures of things with OpenCV. OpenCV's
// libraries need 24 others and 9 ms to load, which every command of guise would pay for if they were linked to it. The
// process reads requests from standard input until its end, and writes the replies to standard output.
#include <stdint.h>

enum {
    COBJECTS_MAX_SIDE = 1024,   // of a picture, pixels
    COBJECTS_MAX_POINTS = 256,  // of a reply
};

/// A request, followed by width x height samples of luma, and as many of a mask, which is not 0 where points may be.
struct cobjects_request {
    int32_t width, height;
};

/// A reply, followed by its points.
struct cobjects_reply {
    int32_t count;
};

/// An ORB key point: its place and diameter in pixels, its direction in degrees (clockwise, since y points down), and
/// 256 comparisons of its surroundings' luma.
struct cobjects_point {
    float x, y, size, angle;
    uint64_t descriptor[4];
};
#endif
