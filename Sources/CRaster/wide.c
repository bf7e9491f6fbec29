// The same kernels for AVX2. Only this file is compiled for it, without compiler flags.
#include "CRaster.h"
#if defined(__x86_64__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#define TABLE craster_wide
#include "kernels.h"
#pragma clang attribute pop
#endif
