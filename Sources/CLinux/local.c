#define _GNU_SOURCE
#include "local.h"
#include "unix_socket.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int clinux_socket_address(const char *path, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) return -ENAMETOOLONG;
    strcpy(address->sun_path, path);
    return 0;
}

int clinux_close_failed(int descriptor) {
    const int error = errno;
    close(descriptor);
    return -error;
}

int clinux_local_listen(const char *path) {
    struct sockaddr_un address;
    const int error = clinux_socket_address(path, &address);
    if (error) return error;
    const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    // Nobody can connect between bind and chmod, since the socket doesn't listen yet.
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) return clinux_close_failed(descriptor);
    if (chmod(path, 0600) < 0 || listen(descriptor, SOMAXCONN) < 0) return clinux_close_failed(descriptor);
    return descriptor;
}

int clinux_local_connect(const char *path, int waits) {
    struct sockaddr_un address;
    const int error = clinux_socket_address(path, &address);
    if (error) return error;
    const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (waits ? 0 : SOCK_NONBLOCK), 0);
    if (descriptor < 0) return -errno;
    const int result = TEMP_FAILURE_RETRY(connect(descriptor, (struct sockaddr *)&address, sizeof address));
    return result < 0 ? clinux_close_failed(descriptor) : descriptor;
}

int clinux_local_accept(int listener) {
    int descriptor;
    do descriptor = TEMP_FAILURE_RETRY(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
    while (descriptor < 0 && errno == ECONNABORTED);
    return descriptor < 0 ? -errno : descriptor;
}

int clinux_local_peer(int descriptor, uid_t *user, pid_t *process) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return -errno;
    *user = peer.uid;
    *process = peer.pid;
    return 0;
}

ssize_t clinux_local_send(int descriptor, const uint8_t *bytes, size_t size) {
    const ssize_t count = TEMP_FAILURE_RETRY(send(descriptor, bytes, size, MSG_NOSIGNAL));
    return count < 0 ? -errno : count;
}

int clinux_datagram_connect(const char *path) {
    struct sockaddr_un address;
    const int error = clinux_socket_address(path, &address);
    if (error) return error;
    if (*path == '@') address.sun_path[0] = 0;
    const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    // An abstract address is as long as its name: zeros after it would be part of it.
    const socklen_t size = offsetof(struct sockaddr_un, sun_path) + strlen(path);
    if (connect(descriptor, (struct sockaddr *)&address, size) < 0) return clinux_close_failed(descriptor);
    return descriptor;
}

int clinux_local_listens(int descriptor) {
    int domain = 0, type = 0, listens = 0;
    socklen_t size = sizeof(int);
    return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
           getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
           getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens;
}
