#define _GNU_SOURCE
#include "guard.h"
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    TRIES = 100,       // attempts, until the kernel has closed the parent's descriptors
    PAUSE_MS = 20,     // between two attempts
    SHOWN_MS = 200,    // for readers to get the placeholder: stopping empties the queue of some versions
};

static void sleep_ms(int milliseconds) {
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static void close_all_but(int a, int b) {
    const unsigned low = a < b ? a : b, high = a < b ? b : a;
    if (low > 0) close_range(0, low - 1, 0);
    if (high > low + 1) close_range(low + 1, high - 1, 0);
    close_range(high + 1, ~0U, 0);
}

static int leave_placeholder(const char *device, const struct v4l2_format *wanted, const uint8_t *placeholder,
                             size_t size, int writes) {
    const int descriptor = open(device, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return -1;
    struct v4l2_format format = *wanted;
    int result = -1;
    // If another size was set, another program writes now, and its picture stays.
    if (ioctl(descriptor, VIDIOC_S_FMT, &format) == 0 && format.fmt.pix.width == wanted->fmt.pix.width &&
        format.fmt.pix.height == wanted->fmt.pix.height &&
        format.fmt.pix.pixelformat == wanted->fmt.pix.pixelformat) {
        int type = V4L2_BUF_TYPE_VIDEO_OUTPUT;
        (void)ioctl(descriptor, VIDIOC_STREAMON, &type);  // versions 0.14 and later start with the first write
        result = 0;
        for (int i = 0; i < writes && result == 0; i++) {
            if (write(descriptor, placeholder, size) != (ssize_t)size) result = -1;
            sleep_ms(SHOWN_MS / writes);
        }
        (void)ioctl(descriptor, VIDIOC_STREAMOFF, &type);
    }
    close(descriptor);
    return result;
}

/// Waits for the parent's end. Only async-signal-safe calls are allowed after fork: the parent may have had threads.
static void watch(const char *device, const struct v4l2_format *format, const struct clinux_guard *guard, int pipe,
                  int writes, int lock) {
    setsid();
    prctl(PR_SET_NAME, "guise-guard");
    sigset_t all;
    sigfillset(&all);
    // Signals that end the daemon or its whole process group must not end the guard before its work is done.
    sigprocmask(SIG_BLOCK, &all, NULL);
    close_all_but(pipe, lock < 0 ? pipe : lock);
    char byte;
    const ssize_t count = TEMP_FAILURE_RETRY(read(pipe, &byte, 1));
    if (count != 0) _exit(0);
    for (int i = 0; i < TRIES; i++) {
        if (leave_placeholder(device, format, guard->placeholder, guard->size, writes) == 0) break;
        sleep_ms(PAUSE_MS);
    }
    _exit(0);
}

int clinux_guard_start(const char *device, uint32_t pixel_format, int width, int height, size_t size, int writes,
                       int lock, struct clinux_guard *guard) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
    void *placeholder = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (placeholder == MAP_FAILED) {
        const int error = errno;
        close(ends[0]);
        close(ends[1]);
        return -error;
    }
    *guard = (struct clinux_guard){.pipe = ends[1], .placeholder = placeholder, .size = size};
    struct v4l2_format format;
    memset(&format, 0, sizeof format);
    format.type = V4L2_BUF_TYPE_VIDEO_OUTPUT;
    format.fmt.pix.width = width;
    format.fmt.pix.height = height;
    format.fmt.pix.pixelformat = pixel_format;
    format.fmt.pix.field = V4L2_FIELD_ANY;
    const pid_t pid = fork();
    if (pid == 0) watch(device, &format, guard, ends[0], writes, lock);
    const int error = errno;
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        munmap(placeholder, size);
        return -error;
    }
    guard->pid = pid;
    return 0;
}

void clinux_guard_end(struct clinux_guard *guard) {
    const uint8_t well = 1;
    // The guard may have been killed: then this write fails, which is no problem.
    (void)clinux_write(guard->pipe, &well, 1);
    close(guard->pipe);
    int status;
    (void)TEMP_FAILURE_RETRY(waitpid(guard->pid, &status, 0));
    munmap(guard->placeholder, guard->size);
}
