#ifndef GUISE_CSECCOMP_H
#define GUISE_CSECCOMP_H
// The start of a filter of system calls, for the processes that give up their rights.
#include <seccomp.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C"
#endif
/// Creates a filter that allows these system calls, and opening files to read them. All others fail with EPERM. Add
/// what else is allowed, load it, and release it in any case. Returns 0 or -errno.
int cseccomp_begin(scmp_filter_ctx *filter, const int *allowed, size_t count);
#endif
