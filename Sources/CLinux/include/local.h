#ifndef GUISE_LOCAL_H
#define GUISE_LOCAL_H
// Stream sockets in the file system. Descriptors are close-on-exec; a failure is -errno.
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Makes the socket at `path` for this user alone (0600) and listens. -EADDRINUSE where something is there already,
/// -ENAMETOOLONG for paths that do not fit an address.
int clinux_local_listen(const char *path);
/// -ECONNREFUSED: nobody listens there any more; -ENOENT: nothing is there. Blocks while the listener's queue is full.
int clinux_local_connect(const char *path);
/// The next one who wants to connect, not blocking; -EAGAIN where there is none.
int clinux_local_accept(int listener);
/// Who is at the other end (SO_PEERCRED). Returns 0 or -errno.
int clinux_local_peer(int descriptor, uid_t *user, pid_t *process);
/// send(2) without signal. Returns the bytes taken, -EAGAIN where none fit, or another -errno.
ssize_t clinux_local_send(int descriptor, const uint8_t *bytes, size_t size);
/// True where `descriptor` is a listening local stream socket: what systemd hands over is looked at before it is used.
int clinux_local_listens(int descriptor);
#endif
