#ifndef GUISE_GUARD_H
#define GUISE_GUARD_H
// The guard: a child process that leaves a placeholder on a loopback when its parent dies before it could do so itself, by
// whatever signal. It costs a few pages of memory and never runs until then.
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct clinux_guard {
    pid_t pid;
    int pipe;
    /// Shared with the child: `size` bytes, the frame that is to be left.
    uint8_t *placeholder;
    size_t size;
};

/// Forks. Call it before memory is full: the child keeps a copy of what the parent changes later.
/// `lock` stays open in the child, so that nobody else takes the device in between; `writes` is how often the frame is
/// written, for it to be in all of the driver's buffers. Returns 0 or -errno.
int clinux_guard_start(const char *device, uint32_t format, int width, int height, size_t size, int writes, int lock,
                       struct clinux_guard *guard);
/// All is well: the child ends without doing anything, and is reaped.
void clinux_guard_end(struct clinux_guard *guard);
#endif
