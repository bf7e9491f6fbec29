#include "CArt.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void *cart_fail(struct cart_reply *reply, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(reply->error, sizeof reply->error, format, values);
    va_end(values);
    if (!*reply->error) snprintf(reply->error, sizeof reply->error, "unknown failure");
    return NULL;
}

struct cart_encoder *cart_encoder_open(void) { return tjInitCompress(); }

void cart_encoder_close(struct cart_encoder *encoder) {
    if (encoder) tjDestroy(encoder);
}

size_t cart_encoder_capacity(int width, int height) { return tjBufSize(width, height, TJSAMP_420); }

ptrdiff_t cart_encoder_encode(struct cart_encoder *encoder, const uint8_t *y, size_t y_stride, const uint8_t *u,
                              const uint8_t *v, size_t chroma_stride, int width, int height, int quality,
                              uint8_t *jpeg, size_t capacity) {
    if (capacity < cart_encoder_capacity(width, height)) return -1;
    const unsigned char *planes[3] = {y, u, v};
    const int strides[3] = {(int)y_stride, (int)chroma_stride, (int)chroma_stride};
    unsigned char *out = jpeg;
    unsigned long size = capacity;
    const int result = tjCompressFromYUVPlanes(encoder, planes, width, strides, height, TJSAMP_420, &out, &size,
                                               quality, TJFLAG_NOREALLOC);
    return result == 0 ? (ptrdiff_t)size : -1;
}

bool cart_is_padded_jpeg(tjhandle decoder) {
    return tjGetErrorCode(decoder) == TJERR_WARNING && strstr(tjGetErrorStr2(decoder), "extraneous bytes") != NULL;
}
