// What tests need to start programs and look at threads, as far as Swift's C library module does not show it.
#pragma once

#include <stddef.h>
#include <sys/types.h>

/// Starts argv[0], found in PATH, with a given folder and environment, empty standard input, no open descriptors except
/// its two outputs, and no signal blocked or ignored. Returns 0, or a negative errno.
int ctest_spawn(const char *const argv[], const char *const environment[], const char *folder, int out, int errors,
                pid_t *pid);

/// A pipe that children do not inherit. Returns 0, or a negative errno.
int ctest_pipe(int *reading, int *writing);

/// Sends a message over a local socket, with `count` descriptors, at most 8. Returns 0, or a negative errno.
int ctest_send(int socket, const void *bytes, size_t size, const int *passed, size_t count);

/// A file in `folder` that has no name and that children do not inherit. Returns its descriptor, or a negative errno.
int ctest_unnamed_file(const char *folder);

/// Bytes of the calling thread's stack.
size_t ctest_stack_size(void);
