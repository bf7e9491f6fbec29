#include "CAllocations.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

// The C library's own functions, under the names that it exports beside the usual ones. A program's definitions of the
// usual ones replace them in the whole process (glibc manual, 3.2.5: Replacing malloc); free needs no counting.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static _Thread_local uint64_t count;

uint64_t callocations_count(void) { return count; }

#if defined(CALLOCATIONS_OFF)

int callocations_is_enabled(void) { return 0; }

#else

int callocations_is_enabled(void) { return 1; }

void *malloc(size_t size) {
    count++;
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
    count++;
    return __libc_calloc(n, size);
}

void *realloc(void *memory, size_t size) {
    count++;
    return __libc_realloc(memory, size);
}

void *reallocarray(void *memory, size_t n, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    count++;
    return __libc_realloc(memory, bytes);
}

void *memalign(size_t alignment, size_t size) {
    count++;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count++;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    count++;
    void *address = __libc_memalign(alignment, size);
    if (!address) return ENOMEM;
    *memory = address;
    return 0;
}

void *valloc(size_t size) { return memalign((size_t)sysconf(_SC_PAGESIZE), size); }

void *pvalloc(size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return memalign(page, (size + page - 1) & ~(page - 1));
}

#endif
