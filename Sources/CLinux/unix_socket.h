#ifndef GUISE_UNIX_SOCKET_H
#define GUISE_UNIX_SOCKET_H
// What local.c and packet.c share; not part of the module's interface.
#include <sys/un.h>

/// Sets the address of a socket file. Returns 0, or -ENAMETOOLONG.
int clinux_socket_address(const char *path, struct sockaddr_un *address);

/// Closes a descriptor after a failed call. Returns -errno of that call.
int clinux_close_failed(int descriptor);

#endif
