#ifndef GUISE_CALLOCATIONS_H
#define GUISE_CALLOCATIONS_H
#include <stdint.h>

/// The number of allocations that the calling thread has made since it began.
///
/// In a program that links this target, all calls of malloc, calloc, realloc, reallocarray, memalign, posix_memalign,
/// aligned_alloc, valloc and pvalloc are counted, whether from Swift, C, C++ or a shared library. Each adds one to a
/// thread-local counter and goes on to the C library's function. Direct mappings by mmap are not counted.
uint64_t callocations_count(void);

/// Whether allocations are counted: 0 in builds with sanitizers, which replace malloc themselves.
int callocations_is_enabled(void);
#endif
