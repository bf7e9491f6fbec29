// guise-art: the process that reads the art of masks for guise. Untrusted art may crash it: see CArt.h. It reads
// requests from standard input until its end, and writes the replies to standard output.
#define _GNU_SOURCE  // for CLONE_THREAD
#include "CGLTF.h"
#include "CPictures.h"
#include "CSeccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <librsvg/rsvg.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    MAX_SECONDS = 4,         // of CPU to read art; the heaviest that comes with Guise takes 0.1
    MAX_ENCODING = 60,       // seconds of CPU; 64 million pixels take 15
    MAX_MEMORY = 768 << 20,  // bytes; librsvg nests at most 20 layers, of 16 MB at 2048 x 2048 pixels
    MAX_SVG = 4 << 20,       // bytes; a larger one is a mistake or an attack
};

static int read_all(void *into, size_t size) {
    for (size_t done = 0; done < size;) {
        const ssize_t count = TEMP_FAILURE_RETRY(read(0, (char *)into + done, size - done));
        if (count <= 0) return -1;
        done += count;
    }
    return 0;
}

static int write_all(const void *from, size_t size) {
    for (size_t done = 0; done < size;) {
        const ssize_t count = TEMP_FAILURE_RETRY(write(1, (const char *)from + done, size - done));
        if (count <= 0) return -1;
        done += count;
    }
    return 0;
}

/// Limits the CPU time of the next request: beyond it the kernel ends this process (SIGXCPU).
static void limit_time(rlim_t seconds) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    const rlim_t until = used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1 + seconds;
    const struct rlimit limit = {until, RLIM_INFINITY};
    setrlimit(RLIMIT_CPU, &limit);
}

static int view_box(RsvgHandle *svg, struct cart_reply *reply) {
    gboolean has_width, has_height, has_box;
    RsvgLength width, height;
    RsvgRectangle box;
    rsvg_handle_get_intrinsic_dimensions(svg, &has_width, &width, &has_height, &height, &has_box, &box);
    if (has_box) {
        reply->x = box.x;
        reply->y = box.y;
        reply->box_width = box.width;
        reply->box_height = box.height;
        return 0;
    }
    return rsvg_handle_get_intrinsic_size_in_pixels(svg, &reply->box_width, &reply->box_height) ? 0 : -1;
}

/// Renders an SVG. Returns the pixels; NULL on failure, with the reason in `reply`.
static uint8_t *draw_svg(const uint8_t *bytes, const struct cart_request *request, struct cart_reply *reply) {
    if (request->size > MAX_SVG) return cart_fail(reply, "an SVG of more than 4 MB is too large");
    GError *reason = NULL;
    // A handle made from data has no base URL, and without one librsvg loads no other files.
    RsvgHandle *svg = rsvg_handle_new_from_data(bytes, request->size, &reason);
    if (!svg) {
        cart_fail(reply, "it is neither an SVG, a PNG nor a JPEG (%s)", reason ? reason->message : "unknown failure");
        g_clear_error(&reason);
        return NULL;
    }
    uint8_t *rgba = NULL;
    const double near = 1e-3, far = 1e6;
    // Written so that NaN fails.
    if (view_box(svg, reply) < 0 || !(reply->box_width > near && reply->box_width < far) ||
        !(reply->box_height > near && reply->box_height < far) || !(fabs(reply->x) < far && fabs(reply->y) < far)) {
        cart_fail(reply, "the SVG has neither a usable viewBox nor a width and height");
    } else {
        reply->scale = fmin(request->limit / fmax(reply->box_width, reply->box_height), request->density);
        reply->width = (int32_t)fmax(1, round(reply->box_width * reply->scale));
        reply->height = (int32_t)fmax(1, round(reply->box_height * reply->scale));
        cairo_t *context = cpictures_canvas(reply->width, reply->height);
        const RsvgRectangle viewport = {0, 0, reply->width, reply->height};
        if (context && rsvg_handle_render_document(svg, context, &viewport, &reason))
            rgba = cpictures_rgba(cairo_get_target(context));
        if (!rgba) cart_fail(reply, "%s", reason ? reason->message : "out of memory for a picture of that size");
        if (context) cairo_destroy(context);
    }
    g_clear_error(&reason);
    g_object_unref(svg);
    return rgba;
}

/// Does what is requested. Returns the bytes that follow the reply; NULL on failure, with the reason in `reply`.
static uint8_t *answer(const uint8_t *bytes, const struct cart_request *request, struct cart_reply *reply) {
    switch (request->task) {
    case CART_ENCODE: return cpictures_encode(bytes, request, reply);
    case CART_MODEL: return cgltf_read(bytes, request, reply);
    case CART_DRAW: {
        const bool is_bitmap = cpictures_is_bitmap(bytes, request->size);
        uint8_t *rgba = (is_bitmap ? cpictures_draw : draw_svg)(bytes, request, reply);
        reply->size = rgba ? (uint64_t)reply->width * reply->height * 4 : 0;
        return rgba;
    }
    }
    return cart_fail(reply, "an unknown task");
}

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
/// Restricts this process to reading files, computing and replying: no network, no writing to files, no other programs.
/// Other system calls fail with EPERM. Returns 0, or -1.
static int restrict_calls(void) {
    static const int allowed[] = {
        SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close), SCMP_SYS(lseek), SCMP_SYS(pread64),
        SCMP_SYS(readv), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(statx),
        SCMP_SYS(fadvise64), SCMP_SYS(statfs), SCMP_SYS(fstatfs), SCMP_SYS(access), SCMP_SYS(faccessat),
        SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64), SCMP_SYS(getcwd),
        SCMP_SYS(fcntl), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mprotect), SCMP_SYS(mremap), SCMP_SYS(madvise),
        SCMP_SYS(brk), SCMP_SYS(futex), SCMP_SYS(getrandom), SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday),
        SCMP_SYS(time), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
        SCMP_SYS(getegid), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(getrusage), SCMP_SYS(prlimit64),
        SCMP_SYS(setrlimit), SCMP_SYS(getrlimit), SCMP_SYS(sysinfo), SCMP_SYS(uname), SCMP_SYS(rt_sigaction),
        SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(tgkill), SCMP_SYS(rseq),
        SCMP_SYS(set_robust_list), SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group),
    };
    scmp_filter_ctx filter;
    // Fonts and their configuration are read when a text is drawn.
    int result = cseccomp_begin(&filter, allowed, sizeof allowed / sizeof *allowed);
    const int writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1, SCMP_A1(SCMP_CMP_MASKED_EQ, writes, 0));
    // Pango starts a thread for fonts. The flags of clone3 are in memory, where a filter can't see them. Without
    // clone3, the C library uses clone.
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
    if (result == 0) result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
    if (result == 0) result = seccomp_load(filter);
    seccomp_release(filter);
    return result == 0 ? 0 : -1;
}
#endif

int main(void) {
    const struct rlimit memory = {MAX_MEMORY, MAX_MEMORY}, none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &none);
    signal(SIGXFSZ, SIG_IGN);
// The sanitizers need more memory and system calls.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
    setrlimit(RLIMIT_DATA, &memory);
    if (restrict_calls() < 0) return 1;
#else
    (void)memory;
#endif
    struct cart_request request;
    while (read_all(&request, sizeof request) == 0) {
        uint8_t *bytes = request.size <= CART_MAX_BYTES ? malloc(request.size + 1) : NULL;
        if (!bytes || read_all(bytes, request.size) < 0) return 2;
        struct cart_reply reply;
        memset(&reply, 0, sizeof reply);
        limit_time(request.task == CART_ENCODE ? MAX_ENCODING : MAX_SECONDS);
        uint8_t *result = answer(bytes, &request, &reply);
        if (write_all(&reply, sizeof reply) < 0 || (result && write_all(result, reply.size) < 0)) return 2;
        free(result);
        free(bytes);
    }
    return 0;
}
