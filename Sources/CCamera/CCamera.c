#define _GNU_SOURCE
#include "CCamera.h"
#include "CSeccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <systemd/sd-login.h>
#include <unistd.h>

enum {
    DEVICE_ID = 1 << 16 | 2,      // bus 1, device 2: any number does
    SEND_BUFFER = 8 << 20,        // bytes; a picture fits, so that sending it switches to the kernel's thread only once
    MOST_DESCRIPTORS = 64,
    MOST_PACKETS = 128,           // as in USBIP.maxPackets
};

uint32_t ccamera_device_id(void) { return DEVICE_ID; }

int ccamera_attach(const char *attach, int port, int speed) {
    int ends[2];
    // The kernel's end blocks: its thread would give up at EAGAIN.
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return -errno;
    const int size = SEND_BUFFER;
    // Without the right to it, the buffer is smaller and sending slower.
    if (setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) < 0)
        setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    char text[64];
    const int length = snprintf(text, sizeof text, "%d %d %d %d", port, ends[1], DEVICE_ID, speed);
    const int file = open(attach, O_WRONLY | O_CLOEXEC);
    int result = file < 0 ? -errno : 0;
    if (file >= 0) {
        const ssize_t written = write(file, text, length);
        if (written != length) result = written < 0 ? -errno : -EIO;
    }
    if (file >= 0) close(file);
    close(ends[1]);
    if (result == 0) return ends[0];
    close(ends[0]);
    return result;
}

int ccamera_find_user(const char *name, uid_t *user, gid_t *group) {
    const struct passwd *found = getpwnam(name);
    if (!found) return -ENOENT;
    *user = found->pw_uid;
    *group = found->pw_gid;
    return 0;
}

int ccamera_find_group(const char *name, gid_t *group) {
    const struct group *found = getgrnam(name);
    if (!found) return -ENOENT;
    *group = found->gr_gid;
    return 0;
}

int ccamera_drop_privileges(uid_t user, gid_t group, size_t most_bytes) {
    if (user == 0 || group == 0) return -EINVAL;
    const struct rlimit none = {0, 0}, bytes = {most_bytes, most_bytes};
    const struct rlimit descriptors = {MOST_DESCRIPTORS, MOST_DESCRIPTORS};
    if (setgroups(0, NULL) < 0 || setresgid(group, group, group) < 0 || setresuid(user, user, user) < 0) return -errno;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -errno;
    // Changing the user from root has cleared the capabilities; this makes sure.
    if (setuid(0) == 0) return -EPERM;
    if (setrlimit(RLIMIT_FSIZE, &bytes) < 0 || setrlimit(RLIMIT_NOFILE, &descriptors) < 0 ||
        setrlimit(RLIMIT_NPROC, &none) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
        return -errno;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

int ccamera_restrict_calls(void) {
    static const int allowed[] = {
        // The loop.
        SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev),
        SCMP_SYS(recvmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(accept4),
        SCMP_SYS(getsockopt), SCMP_SYS(shutdown), SCMP_SYS(close), SCMP_SYS(memfd_create), SCMP_SYS(ftruncate),
        SCMP_SYS(fcntl), SCMP_SYS(fstat), SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
        // The state of the port, and who is at the seat.
        SCMP_SYS(lseek), SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(access), SCMP_SYS(faccessat),
        SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(getdents64), SCMP_SYS(pread64), SCMP_SYS(ioctl),
        // The runtime's own.
        SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mprotect), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk),
        SCMP_SYS(futex), SCMP_SYS(getrandom), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid),
        SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(sched_yield), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
        SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(tgkill), SCMP_SYS(restart_syscall), SCMP_SYS(exit),
        SCMP_SYS(exit_group),
    };
    scmp_filter_ctx filter;
    int result = cseccomp_begin(&filter, allowed, sizeof allowed / sizeof *allowed);
    if (result == 0) result = seccomp_load(filter);
    seccomp_release(filter);
    return result;
}

int ccamera_seat_user(uid_t *user) { return sd_seat_get_active("seat0", NULL, user); }

int ccamera_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    const int descriptor = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
}

/// Sends all parts; they are changed.
static int send_parts(int descriptor, struct iovec *parts, size_t count) {
    while (count) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
        ssize_t sent = TEMP_FAILURE_RETRY(sendmsg(descriptor, &message, MSG_NOSIGNAL));
        if (sent < 0) return -errno;
        while (count && (size_t)sent >= parts->iov_len) {
            sent -= parts->iov_len;
            parts++;
            count--;
        }
        if (!count) return 0;
        parts->iov_base = (uint8_t *)parts->iov_base + sent;
        parts->iov_len -= sent;
    }
    return 0;
}

int ccamera_send(int descriptor, const uint8_t *bytes, size_t size) {
    struct iovec part = {(void *)bytes, size};
    return send_parts(descriptor, &part, size ? 1 : 0);
}

int ccamera_send_reply(int descriptor, const struct ccamera_reply *reply) {
    struct iovec parts[2 + 2 * MOST_PACKETS];
    size_t count = 0, done = 0;
    const size_t header = 2;
    parts[count++] = (struct iovec){(void *)reply->header, reply->header_size};
    for (size_t i = 0; done < reply->picture_size; i++) {
        if (i == MOST_PACKETS || (i + 1) * header > reply->payload_headers_size || !reply->packet_bytes) return -EINVAL;
        size_t size = reply->picture_size - done;
        if (size > reply->packet_bytes) size = reply->packet_bytes;
        parts[count++] = (struct iovec){(void *)(reply->payload_headers + i * header), header};
        parts[count++] = (struct iovec){(void *)(reply->picture + done), size};
        done += size;
    }
    parts[count++] = (struct iovec){(void *)reply->descriptors, reply->descriptors_size};
    return send_parts(descriptor, parts, count);
}
