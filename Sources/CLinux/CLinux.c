#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

int clinux_flock(int descriptor, int operation) { return flock(descriptor, operation); }

int clinux_memory_file(const char *name) {
    const int descriptor = memfd_create(name, MFD_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

void clinux_name_thread(const char *name) { prctl(PR_SET_NAME, name); }

int clinux_query_menu(int descriptor, uint32_t control, uint32_t index, struct clinux_menu_item *item) {
    struct v4l2_querymenu query = {.id = control, .index = index};
    if (TEMP_FAILURE_RETRY(ioctl(descriptor, VIDIOC_QUERYMENU, &query)) < 0) return errno;
    // A menu of numbers has its value in the same place.
    memcpy(item->name, query.name, sizeof item->name);
    memcpy(&item->value, query.name, sizeof item->value);
    return 0;
}
