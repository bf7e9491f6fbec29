#define _GNU_SOURCE
#include "lifeline.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

int clinux_lifeline_pipe(int *reading, int *writing) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
    *reading = ends[0];
    *writing = ends[1];
    return 0;
}

void clinux_lifeline_hold(int writing) {
    sigset_t all;
    sigfillset(&all);
    // A handler that ran on this thread would miss the process's descriptors.
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    // The first call copies the table, without what it closes.
    const int error = close_range(writing + 1, ~0U, CLOSE_RANGE_UNSHARE);
    if (!error && writing > 0) close_range(0, writing - 1, 0);
    const char is_held = !error;
    (void)TEMP_FAILURE_RETRY(write(writing, &is_held, 1));
    while (is_held) pause();
}
