#ifndef GUISE_LOCAL_H
#define GUISE_LOCAL_H
// Unix-domain sockets. Descriptors are close-on-exec; failures are returned as -errno.
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Creates a socket at `path` for this user alone (0600) and listens. Returns a descriptor, -EADDRINUSE if something
/// exists there already, -ENAMETOOLONG if the path doesn't fit in an address, or another -errno.
int clinux_local_listen(const char *path);
/// Connects to a socket. While the listener's queue is full, waits if `waits` is true, and otherwise returns -EAGAIN.
/// The descriptor blocks if `waits` is true. Returns it, -ECONNREFUSED if nobody listens there any more, -ENOENT if
/// nothing exists there, or another -errno.
int clinux_local_connect(const char *path, int waits);
/// Accepts the next connection without blocking. Returns a descriptor, -EAGAIN if there is none, or another -errno.
int clinux_local_accept(int listener);
/// Gets the user and process at the other end (SO_PEERCRED). Returns 0 or -errno.
int clinux_local_peer(int descriptor, uid_t *user, pid_t *process);
/// send(2) without SIGPIPE. Returns the number of bytes sent, -EAGAIN if none fit, or another -errno.
ssize_t clinux_local_send(int descriptor, const uint8_t *bytes, size_t size);
/// Connects to a socket of datagrams. `path` may be in the abstract namespace, with @ as its first byte. Returns a
/// descriptor, or -errno.
int clinux_datagram_connect(const char *path);
/// Whether `descriptor` is a listening Unix-domain stream socket: checks a descriptor passed by systemd.
int clinux_local_listens(int descriptor);
#endif
