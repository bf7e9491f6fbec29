#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/prctl.h>

int clinux_flock(int descriptor, int operation) { return flock(descriptor, operation); }

int clinux_memory_file(const char *name) {
    const int descriptor = memfd_create(name, MFD_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

void clinux_name_thread(const char *name) { prctl(PR_SET_NAME, name); }
