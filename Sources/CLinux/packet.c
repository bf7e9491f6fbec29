#define _GNU_SOURCE
#include "packet.h"
#include "unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int open_socket(const char *path, struct sockaddr_un *address) {
    const int error = clinux_socket_address(path, address);
    if (error) return error;
    const int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return descriptor < 0 ? -errno : descriptor;
}

int clinux_packet_listen(const char *path) {
    struct sockaddr_un address;
    const int descriptor = open_socket(path, &address);
    if (descriptor < 0) return descriptor;
    unlink(path);
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0 || chmod(path, 0666) < 0 ||
        listen(descriptor, 64) < 0)
        return clinux_close_failed(descriptor);
    return descriptor;
}

int clinux_packet_connect(const char *path) {
    struct sockaddr_un address;
    const int descriptor = open_socket(path, &address);
    if (descriptor < 0) return descriptor;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0) return clinux_close_failed(descriptor);
    return descriptor;
}

int clinux_packet_send(int descriptor, const uint8_t *bytes, size_t size, int passed) {
    struct iovec part = {(void *)bytes, size};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (passed >= 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        control.header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &passed, sizeof(int));
    }
    const ssize_t count = TEMP_FAILURE_RETRY(sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT));
    return count < 0 ? -errno : 0;
}

ssize_t clinux_packet_receive(int descriptor, uint8_t *bytes, size_t size, int *passed) {
    struct iovec part = {bytes, size};
    union {
        char bytes[CMSG_SPACE(4 * sizeof(int))];
        struct cmsghdr header;
    } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    *passed = -1;
    int is_too_much = 0;
    const ssize_t count = TEMP_FAILURE_RETRY(recvmsg(descriptor, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT));
    if (count < 0) return -errno;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        const size_t found = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < found; i++) {
            int one;
            memcpy(&one, CMSG_DATA(header) + i * sizeof(int), sizeof one);
            if (*passed < 0) {
                *passed = one;
            } else {
                close(one);
                is_too_much = 1;
            }
        }
    }
    if (is_too_much || message.msg_flags & MSG_TRUNC) {
        if (*passed >= 0) close(*passed);
        *passed = -1;
        return -EMSGSIZE;
    }
    return count;
}

int clinux_peer_in_group(int descriptor, gid_t group) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return 0;
    if (peer.gid == group) return 1;
    // The first call reports the size that is needed.
    gid_t none;
    size = 0;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, &none, &size) == 0 || errno != ERANGE) return 0;
    gid_t *groups = malloc(size);
    int found = 0;
    if (groups && getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, groups, &size) == 0)
        for (size_t i = 0; i < size / sizeof *groups; i++) found |= groups[i] == group;
    free(groups);
    return found;
}

int clinux_ring_create(size_t size) {
    const int descriptor = memfd_create("guise-camera", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return -errno;
    if (ftruncate(descriptor, (off_t)size) < 0 ||
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return clinux_close_failed(descriptor);
    return descriptor;
}

uint8_t *clinux_ring_map(int descriptor, size_t size, int is_writable) {
    struct stat status;
    if (fstat(descriptor, &status) < 0 || status.st_size < 0 || (size_t)status.st_size < size) return NULL;
    void *ring = mmap(NULL, size, is_writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, descriptor, 0);
    return ring == MAP_FAILED ? NULL : ring;
}

void clinux_ring_unmap(uint8_t *ring, size_t size) { munmap(ring, size); }
