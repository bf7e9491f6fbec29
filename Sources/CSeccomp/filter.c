#include "CSeccomp.h"

#include <errno.h>
#include <fcntl.h>

int cseccomp_begin(scmp_filter_ctx *filter, const int *allowed, size_t count) {
    *filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!*filter) return -ENOMEM;
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++)
        result = seccomp_rule_add(*filter, SCMP_ACT_ALLOW, allowed[i], 0);
    const int writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
    if (result == 0)
        result = seccomp_rule_add(*filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, writes, 0));
    return result;
}
