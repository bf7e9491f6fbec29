// The kernels for every processor, and the choice between these and those of wide.c.
#include "CRaster.h"
#define TABLE craster_narrow
#include "kernels.h"

#if defined(__x86_64__)
extern const struct craster_kernels craster_wide;

int craster_is_wide(void) { return __builtin_cpu_supports("avx2") != 0; }

const struct craster_kernels *craster_kernels(int wide) { return wide ? &craster_wide : &craster_narrow; }
#else
int craster_is_wide(void) { return 0; }

const struct craster_kernels *craster_kernels(int wide) { return &craster_narrow; }
#endif
