#ifndef GUISE_CCAMERA_H
#define GUISE_CCAMERA_H
// What the camera service does as root, and the system calls of its stream. Failures are returned as -errno.
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Connects a new socket to a port of the virtual host controller, by writing to its `attach` file. The device is
/// detached when the socket is closed. Returns our end, in blocking mode, or -errno.
/// - speed: the kernel's enum usb_device_speed.
int ccamera_attach(const char *attach, int port, int speed);

/// The number with which the camera is plugged in, as the controller's status shows it.
uint32_t ccamera_device_id(void);

/// Looks up a user. Returns 0, or -ENOENT if there is none.
int ccamera_find_user(const char *name, uid_t *user, gid_t *group);
/// Looks up a group. Returns 0, or -ENOENT if there is none.
int ccamera_find_group(const char *name, gid_t *group);

/// Gives up all rights, for good: another user without groups and capabilities, no new privileges, limits on memory
/// files, descriptors and processes. Returns 0 or -errno.
/// - most_bytes: of the largest file that may be made.
int ccamera_drop_privileges(uid_t user, gid_t group, size_t most_bytes);
/// Restricts this process to the system calls of its loop: reading files, sockets, memory. Others fail with EPERM, and
/// execve and socket are among them. Returns 0 or -errno.
int ccamera_restrict_calls(void);

/// The user who is active at the seat of this machine. Returns 0, or -errno if there is none.
int ccamera_seat_user(uid_t *user);

/// SIGINT and SIGTERM as a descriptor (signalfd) instead of as signals.
int ccamera_signals(void);

/// A reply to an isochronous transfer: see CameraDevice.VideoReply.
struct ccamera_reply {
    const uint8_t *header, *payload_headers, *picture, *descriptors;
    size_t header_size, payload_headers_size, packet_bytes, picture_size, descriptors_size;
};
/// Sends a reply; waits while the kernel's queue is full. Returns 0 or -errno.
int ccamera_send_reply(int descriptor, const struct ccamera_reply *reply);
/// Sends bytes; waits while the kernel's queue is full. Returns 0 or -errno.
int ccamera_send(int descriptor, const uint8_t *bytes, size_t size);
#endif
