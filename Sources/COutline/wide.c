// The same kernels for AVX2 and FMA. Only this file is compiled for them, without compiler flags.
#include "COutline.h"
#if defined(__x86_64__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#define LANES 8
#define TABLE coutline_wide
#include "kernels.h"
#pragma clang attribute pop
#endif
