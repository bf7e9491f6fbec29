// The child process that renders SVGs: see CArt.h.
#include "CArt.h"
#include "surface.h"

#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    MOST_SECONDS = 4,             // of CPU time per drawing; the heaviest of the included masks takes 0.1
    MOST_MEMORY = 768 << 20,      // bytes; librsvg nests at most 20 layers, of 16 MB each at 2048 x 2048 pixels
    MOST_BYTES = 4 << 20,         // the largest SVG file
};

static int read_all(void *into, size_t size) {
    for (size_t done = 0; done < size;) {
        const ssize_t count = read(0, (char *)into + done, size - done);
        if (count <= 0) return -1;
        done += count;
    }
    return 0;
}

static int write_all(const void *from, size_t size) {
    for (size_t done = 0; done < size;) {
        const ssize_t count = write(1, (const char *)from + done, size - done);
        if (count <= 0) return -1;
        done += count;
    }
    return 0;
}

/// Limits the CPU time of the next drawing: beyond it the kernel ends this process (SIGXCPU).
static void limit_time(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    const rlim_t until = used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1 + MOST_SECONDS;
    const struct rlimit limit = {until, RLIM_INFINITY};
    setrlimit(RLIMIT_CPU, &limit);
}

static void say(struct cart_reply *reply, const char *text) {
    snprintf(reply->error, sizeof reply->error, "%s", text && *text ? text : "unknown failure");
}

/// The parts of librsvg's interface since 2.52 (2021) and of GLib's that are used. They are loaded on demand: only this
/// process draws SVGs, and loading librsvg's dependencies would be a quarter of the start-up time of `guise toggle`.
struct rectangle {
    double x, y, width, height;
};
struct length {
    double length;
    int unit;
};
struct reason {
    uint32_t domain;
    int code;
    char *message;
};
typedef struct drawing drawing;
static struct {
    drawing *(*from_data)(const uint8_t *bytes, size_t size, struct reason **);
    void (*dimensions)(drawing *, int *has_width, struct length *width, int *has_height, struct length *height,
                       int *has_box, struct rectangle *box);
    int (*size_in_pixels)(drawing *, double *width, double *height);
    int (*render)(drawing *, cairo_t *, const struct rectangle *viewport, struct reason **);
    void (*clear_error)(struct reason **);
    void (*unref)(drawing *);
} rsvg;

/// Loads librsvg. Returns whether it is available. The functions of its dependencies are found through it too.
static int load(void) {
    static void *library;
    if (library) return 1;
    void *found = dlopen("librsvg-2.so.2", RTLD_NOW);
    if (!found) return 0;
    rsvg.from_data = dlsym(found, "rsvg_handle_new_from_data");
    rsvg.dimensions = dlsym(found, "rsvg_handle_get_intrinsic_dimensions");
    rsvg.size_in_pixels = dlsym(found, "rsvg_handle_get_intrinsic_size_in_pixels");
    rsvg.render = dlsym(found, "rsvg_handle_render_document");
    rsvg.clear_error = dlsym(found, "g_clear_error");
    rsvg.unref = dlsym(found, "g_object_unref");
    if (rsvg.from_data && rsvg.dimensions && rsvg.size_in_pixels && rsvg.render && rsvg.clear_error && rsvg.unref)
        library = found;
    return library != NULL;
}

static int box(drawing *svg, struct cart_reply *reply) {
    int has_width, has_height, has_box;
    struct length width, height;
    struct rectangle box;
    rsvg.dimensions(svg, &has_width, &width, &has_height, &height, &has_box, &box);
    if (has_box) {
        reply->x = box.x;
        reply->y = box.y;
        reply->box_width = box.width;
        reply->box_height = box.height;
        return 0;
    }
    return rsvg.size_in_pixels(svg, &reply->box_width, &reply->box_height) ? 0 : -1;
}

/// Renders an SVG. Returns the pixels; NULL on failure, with the reason in `reply`.
static uint8_t *draw(const uint8_t *bytes, const struct cart_request *request, struct cart_reply *reply) {
    if (!load()) {
        say(reply, "librsvg 2.52 or newer is needed for SVGs: install librsvg2-2");
        return NULL;
    }
    struct reason *reason = NULL;
    // A handle from data has no base URL, and without one librsvg loads no external resources.
    drawing *svg = rsvg.from_data(bytes, request->size, &reason);
    if (!svg) {
        char text[sizeof reply->error];
        snprintf(text, sizeof text, "it is neither a PNG nor an SVG (%s)", reason ? reason->message : "unknown failure");
        say(reply, text);
        rsvg.clear_error(&reason);
        return NULL;
    }
    uint8_t *rgba = NULL;
    const double near = 1e-3, far = 1e6;
    // Written so that NaN fails.
    if (box(svg, reply) < 0 || !(reply->box_width > near && reply->box_width < far) ||
        !(reply->box_height > near && reply->box_height < far) || !(fabs(reply->x) < far && fabs(reply->y) < far)) {
        say(reply, "the SVG says neither a usable viewBox nor a width and height");
    } else {
        reply->scale = fmin(request->limit / fmax(reply->box_width, reply->box_height), request->density);
        reply->width = (int32_t)fmax(1, round(reply->box_width * reply->scale));
        reply->height = (int32_t)fmax(1, round(reply->box_height * reply->scale));
        rgba = malloc((size_t)reply->width * reply->height * 4);
        cairo_t *context = rgba ? cart_canvas(reply->width, reply->height) : NULL;
        const struct rectangle viewport = {0, 0, reply->width, reply->height};
        if (context && rsvg.render(svg, context, &viewport, &reason)) {
            cart_to_rgba(cairo_get_target(context), rgba, reply->width, reply->height);
        } else {
            say(reply, !context ? "no memory for a picture of that size" : reason ? reason->message : NULL);
            free(rgba);
            rgba = NULL;
        }
        if (context) cairo_destroy(context);
    }
    rsvg.clear_error(&reason);
    rsvg.unref(svg);
    return rgba;
}

static void serve(void) {
    const struct rlimit memory = {MOST_MEMORY, MOST_MEMORY}, none = {0, 0};
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)  // their shadow is larger than any bound
    setrlimit(RLIMIT_DATA, &memory);
#else
    (void)memory;
#endif
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &none);
    signal(SIGXFSZ, SIG_IGN);
    struct cart_request request;
    while (read_all(&request, sizeof request) == 0) {
        uint8_t *bytes = request.size <= MOST_BYTES && request.limit > 0 ? malloc(request.size + 1) : NULL;
        if (!bytes || read_all(bytes, request.size) < 0) return;
        struct cart_reply reply;
        memset(&reply, 0, sizeof reply);
        limit_time();
        uint8_t *rgba = draw(bytes, &request, &reply);
        if (write_all(&reply, sizeof reply) < 0) return;
        if (rgba && write_all(rgba, (size_t)reply.width * reply.height * 4) < 0) return;
        free(rgba);
        free(bytes);
    }
}

/// Runs before main() of any program that this file is linked into, so that the renderer process is available, and the
/// same, in tests too.
__attribute__((constructor)) static void start(int argc, char **argv) {
    if (argc != 2 || strcmp(argv[0], "/proc/self/exe") != 0 || strcmp(argv[1], CART_ARTIST) != 0) return;
    serve();
    _exit(0);
}
