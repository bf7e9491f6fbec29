#ifndef GUISE_PACKET_H
#define GUISE_PACKET_H
// Unix-domain sockets that keep the bounds of messages (SOCK_SEQPACKET) and pass descriptors, and memory that is shared
// over them. Descriptors are close-on-exec and non-blocking; failures are returned as -errno.
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Creates a socket at `path` that everybody may connect to, in place of an old one, and listens.
int clinux_packet_listen(const char *path);
/// Connects to a socket. Never blocks: -EAGAIN if the listener's queue is full.
int clinux_packet_connect(const char *path);
/// Sends a message, with a descriptor unless `passed` is negative. Returns 0 or -errno; -EAGAIN if the receiver's queue
/// is full.
int clinux_packet_send(int descriptor, const uint8_t *bytes, size_t size, int passed);
/// Receives a message. Stores a descriptor that came with it in `passed`, or -1. Returns its size, 0 if the other end
/// is closed, -EMSGSIZE if it was longer than `size` or more than one descriptor came with it, or another -errno.
ssize_t clinux_packet_receive(int descriptor, uint8_t *bytes, size_t size, int *passed);
/// Whether the process at the other end was in a group when it connected (SO_PEERCRED, SO_PEERGROUPS).
int clinux_peer_in_group(int descriptor, gid_t group);

/// Creates shared memory that nobody can resize (sealed memfd). Returns a descriptor or -errno.
int clinux_ring_create(size_t size);
/// Maps shared memory of at least `size` bytes. Returns NULL if it is smaller or cannot be mapped.
uint8_t *clinux_ring_map(int descriptor, size_t size, int is_writable);
void clinux_ring_unmap(uint8_t *ring, size_t size);
#endif
