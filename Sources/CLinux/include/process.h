#ifndef GUISE_PROCESS_H
#define GUISE_PROCESS_H
// Child processes connected by pipes. Descriptors are close-on-exec here; failures are returned as -errno.
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct clinux_child {
    pid_t pid;
    /// The parent's end of the pipe to the child's standard input, or from its standard output.
    int pipe;
    /// The parent's end of the pipe from the child's standard error; non-blocking at both ends.
    int errors;
};

/// Starts argv[0], found in PATH, in a process group of its own, with every other descriptor closed and no signal
/// blocked. If `feeds` is true, the parent writes to the child; else it reads from it, and its end doesn't block.
/// `input` becomes the standard input of a child that is read from; -1: /dev/null. `output` becomes its standard output
/// instead of the pipe or /dev/null; -1: neither. Returns 0 or -errno.
int clinux_child_start(const char *const argv[], int feeds, int input, int output, struct clinux_child *child);

/// Limits the resources of a child that was just started: bytes of address space, and seconds of CPU time; 0: no limit.
/// Returns 0 or -errno.
int clinux_child_limit(pid_t pid, uint64_t memory, uint64_t seconds);

/// Starts argv[0], found in PATH, with this process's standard streams, terminal and process group. Returns 0 or
/// -errno.
int clinux_terminal_start(const char *const argv[], pid_t *pid);

/// write() that returns -EPIPE for a closed pipe, without SIGPIPE. Retries on EINTR. Returns the bytes written or
/// -errno.
ssize_t clinux_write(int descriptor, const uint8_t *bytes, size_t size);
/// read(), retried on EINTR. Returns the bytes read, 0 at the end, or -errno.
ssize_t clinux_read(int descriptor, uint8_t *bytes, size_t size);
/// Waits for the child to end. Returns its exit status (0...255), 256 + signal, or -errno.
int clinux_child_wait(pid_t pid);
/// Waits for the child to end, without reaping it.
void clinux_child_await(pid_t pid);
/// Whether the child has ended, without waiting or reaping it: 1 or 0.
int clinux_child_has_ended(pid_t pid);
#endif
