#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <libv4lconvert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

int clinux_flock(int descriptor, int operation) { return flock(descriptor, operation); }

int clinux_memory_file(const char *name) {
    const int descriptor = memfd_create(name, MFD_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

void clinux_name_thread(const char *name) { prctl(PR_SET_NAME, name); }

struct clinux_converter {
    struct v4lconvert_data *data;
    struct v4l2_format source, result;
};

struct clinux_converter *clinux_converter_create(int descriptor, const struct v4l2_pix_format *source) {
    struct clinux_converter *self = calloc(1, sizeof *self);
    if (!self) return NULL;
    self->data = v4lconvert_create(descriptor);
    if (!self->data) {
        free(self);
        return NULL;
    }
    self->source.type = self->result.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    self->source.fmt.pix = *source;
    self->result.fmt.pix = *source;
    self->result.fmt.pix.width &= ~1u;
    self->result.fmt.pix.height &= ~1u;
    self->result.fmt.pix.pixelformat = V4L2_PIX_FMT_YUV420;
    v4lconvert_fixup_fmt(&self->result);
    return self;
}

void clinux_converter_destroy(struct clinux_converter *self) {
    if (!self) return;
    v4lconvert_destroy(self->data);
    free(self);
}

long clinux_converter_convert(
    struct clinux_converter *self, const uint8_t *frame, size_t count, uint8_t *result, size_t capacity) {
    // The library's parameter is not const, but it only reads the source.
    return v4lconvert_convert(
        self->data, &self->source, &self->result, (uint8_t *)frame, (int)count, result, (int)capacity);
}
