// The kernels for every processor, with vectors of four floats, and the choice between these and those of wide.c.
#include "COutline.h"
#define LANES 4
#define TABLE coutline_narrow
#include "kernels.h"

#if defined(__x86_64__)
extern const struct coutline_kernels coutline_wide;

int coutline_is_wide(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

const struct coutline_kernels *coutline_kernels(int wide) { return wide ? &coutline_wide : &coutline_narrow; }
#else
int coutline_is_wide(void) { return 0; }

const struct coutline_kernels *coutline_kernels(int wide) { return &coutline_narrow; }
#endif
