#include "CConvert.h"

#include <libv4lconvert.h>
#include <stdlib.h>

struct cconvert {
    struct v4lconvert_data *data;
    struct v4l2_format source, result;
};

struct cconvert *cconvert_create(int descriptor, const struct v4l2_pix_format *source) {
    struct cconvert *self = calloc(1, sizeof *self);
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

void cconvert_destroy(struct cconvert *self) {
    if (!self) return;
    v4lconvert_destroy(self->data);
    free(self);
}

long cconvert_frame(
    struct cconvert *self, const uint8_t *frame, size_t count, uint8_t *result, size_t capacity) {
    // The library's parameter is not const, but it only reads the source.
    return v4lconvert_convert(
        self->data, &self->source, &self->result, (uint8_t *)frame, (int)count, result, (int)capacity);
}
