#ifndef GUISE_GUARD_H
#define GUISE_GUARD_H
// The guard: a child process that writes a placeholder to a loopback if its parent is killed, by whatever signal,
// before it could do so itself. It uses a few pages of memory and sleeps until then.
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct clinux_guard {
    pid_t pid;
    /// The write end of the pipe to the child, whose closing wakes it.
    int pipe;
    /// The placeholder frame, `size` bytes, in memory shared with the child.
    uint8_t *placeholder;
    size_t size;
};

/// Forks the guard. Call it early, while the process is small: the child keeps a copy of pages that the parent changes.
/// `lock` stays open in the child, so that nobody else takes the device in between. `writes` is the number of times the
/// frame is written, so that it fills all of the driver's buffers. Returns 0 or -errno.
int clinux_guard_start(const char *device, uint32_t format, int width, int height, size_t size, int writes, int lock,
                       struct clinux_guard *guard);
/// Dismisses the guard: the child ends without doing anything, and is reaped.
void clinux_guard_end(struct clinux_guard *guard);
#endif
