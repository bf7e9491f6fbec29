#ifndef GUISE_PROCESS_H
#define GUISE_PROCESS_H
// Child processes at the end of a pipe. Descriptors are close-on-exec here; a failure is -errno.
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct clinux_child {
    pid_t pid;
    /// Our end of the child's standard output or input.
    int pipe;
    /// What the child says on standard error, never blocking on either side.
    int errors;
};

/// Starts argv[0], found in PATH, in a process group of its own, with every other descriptor closed and no signal
/// blocked. `feeds` is true where we write to the child; else we read from it, and our end does not block. `input`
/// becomes the standard input of a child that we read from; -1: /dev/null. Returns 0 or -errno.
int clinux_child_start(const char *const argv[], int feeds, int input, struct clinux_child *child);

/// Bounds what a child that was just started may use: bytes of address space, and seconds of processor time, 0: any.
/// Returns 0 or -errno.
int clinux_child_limit(pid_t pid, uint64_t memory, uint64_t seconds);

/// write() that answers a closed pipe with -EPIPE and no signal. Retries EINTR. Returns the bytes written or -errno.
ssize_t clinux_write(int descriptor, const uint8_t *bytes, size_t size);
/// read(), retried on EINTR. Returns the bytes read, 0 at the end, or -errno.
ssize_t clinux_read(int descriptor, uint8_t *bytes, size_t size);
/// Waits for the child to end. Returns its exit status (0...255), 256 + signal, or -errno.
int clinux_child_wait(pid_t pid);
/// Waits for the child to end, and leaves it to be waited for again.
void clinux_child_await(pid_t pid);
#endif
