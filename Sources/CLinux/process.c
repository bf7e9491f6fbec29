#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { PIPE_SIZE = 1 << 20 };  // the most for an unprivileged user; fewer wake-ups per frame

static void close_both(int ends[2]) {
    close(ends[0]);
    close(ends[1]);
}

static int spawn(const char *const argv[], int in, int out, int err, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return -error;
    error = posix_spawnattr_init(&attributes);
    if (error) {
        posix_spawn_file_actions_destroy(&actions);
        return -error;
    }
    // The caller moved the descriptors above 2, so that no dup2 here overwrites the source of the next one.
    posix_spawn_file_actions_adddup2(&actions, in, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, err, 2);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    // A process group of its own: Ctrl-C in a terminal only reaches this process, which then ends the child cleanly.
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGTERM);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    error = posix_spawnp(pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -error;
}

int clinux_terminal_start(const char *const argv[], pid_t *pid) {
    return -posix_spawnp(pid, argv[0], NULL, NULL, (char *const *)argv, environ);
}

static int above_standard(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, 3); }

int clinux_child_start(const char *const argv[], int feeds, int input, int output, struct clinux_child *child) {
    int data[2], errors[2];
    if (pipe2(data, O_CLOEXEC) < 0) return -errno;
    if (pipe2(errors, O_CLOEXEC | O_NONBLOCK) < 0) {
        const int error = errno;
        close_both(data);
        return -error;
    }
    (void)fcntl(data[0], F_SETPIPE_SZ, PIPE_SIZE);  // fails if the user's quota is used up: then it is slower
    const int ours = feeds ? data[1] : data[0];
    const int theirs = feeds ? data[0] : data[1];
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int in = above_standard(feeds ? theirs : input >= 0 ? input : null);
    const int out = above_standard(output >= 0 ? output : feeds ? null : theirs);
    const int err = above_standard(errors[1]);
    int result = in < 0 || out < 0 || err < 0 ? -errno : 0;
    // Before the child is there: a failure leaves none behind.
    if (!feeds && result == 0 && fcntl(ours, F_SETFL, O_NONBLOCK) < 0) result = -errno;
    if (result == 0) result = spawn(argv, in, out, err, &child->pid);
    if (in >= 0) close(in);
    if (out >= 0) close(out);
    if (err >= 0) close(err);
    if (null >= 0) close(null);
    close(theirs);
    close(errors[1]);
    child->pipe = ours;
    child->errors = errors[0];
    if (result != 0) {
        close(ours);
        close(errors[0]);
    }
    return result;
}

/// Lowers both the soft and the hard limit. With a lower soft limit on CPU time SIGXCPU would come before SIGKILL, and
/// ffmpeg handles that as a request to end cleanly.
static int lower_limit(pid_t pid, enum __rlimit_resource resource, uint64_t value) {
    struct rlimit limit;
    if (prlimit(pid, resource, NULL, &limit) < 0) return -errno;
    // Nobody but root may raise a hard limit, and a lower one serves as well.
    if (limit.rlim_max > value) limit.rlim_max = value;
    limit.rlim_cur = limit.rlim_max;
    return prlimit(pid, resource, &limit, NULL) < 0 ? -errno : 0;
}

int clinux_child_limit(pid_t pid, uint64_t memory, uint64_t seconds) {
    const int space = memory ? lower_limit(pid, RLIMIT_AS, memory) : 0;
    const int time = seconds ? lower_limit(pid, RLIMIT_CPU, seconds) : 0;
    return space ? space : time;
}

ssize_t clinux_write(int descriptor, const uint8_t *bytes, size_t size) {
    sigset_t pipe_signal, before, pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    const ssize_t count = TEMP_FAILURE_RETRY(write(descriptor, bytes, size));
    const ssize_t result = count < 0 ? -errno : count;
    // If the reader closes while write waits for room, SIGPIPE is pending and the bytes written before are returned.
    if (result < (ssize_t)size && !sigismember(&pending, SIGPIPE)) {
        const struct timespec now = {0, 0};
        (void)TEMP_FAILURE_RETRY(sigtimedwait(&pipe_signal, NULL, &now));
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

ssize_t clinux_read(int descriptor, uint8_t *bytes, size_t size) {
    const ssize_t count = TEMP_FAILURE_RETRY(read(descriptor, bytes, size));
    return count < 0 ? -errno : count;
}

void clinux_child_await(pid_t pid) {
    siginfo_t info;
    (void)TEMP_FAILURE_RETRY(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
}

int clinux_child_has_ended(pid_t pid) {
    siginfo_t info;
    info.si_pid = 0;
    // A child that was reaped already is an error, and has ended.
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) < 0 || info.si_pid != 0;
}

int clinux_child_wait(pid_t pid) {
    int status;
    const pid_t got = TEMP_FAILURE_RETRY(waitpid(pid, &status, 0));
    if (got < 0) return -errno;
    if (WIFSIGNALED(status)) return 256 + WTERMSIG(status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}
