#ifndef GUISE_CALLOCATIONS_H
#define GUISE_CALLOCATIONS_H
#include <stdint.h>

/// How often the calling thread has asked for memory since it began.
///
/// A program that links this target has its malloc, calloc, realloc, reallocarray, memalign, posix_memalign,
/// aligned_alloc, valloc and pvalloc counted, whoever calls them: Swift, C, C++ or a shared library. They add one to a
/// number of the thread's own and go on to the C library's. What is mapped by mmap is not seen.
uint64_t callocations_count(void);

/// 0 where nothing is counted: sanitizers have a malloc of their own.
int callocations_counts(void);
#endif
