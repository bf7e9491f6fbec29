// guise-objects: the process that finds key points in pictures of things for guise: see CObjects.h.
#include "CObjects.h"
#include "CSeccomp.h"

#include <cstring>
#include <opencv2/features2d.hpp>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace {
// Levels of the picture in which points are searched, each smaller than the one before by a quarter: a thing that is
// tilted, or partly covered, is found at half the size at which it was taught.
constexpr float scale_step = 1.25f;
constexpr int levels = 4;
// Pixels along the picture's edge without points. The thing lies in its middle.
constexpr int margin = 8;
// Pixels of the square that a descriptor covers, and the difference of luma that makes a corner.
constexpr int patch_size = 31, corner_contrast = 14;

bool read_all(void *into, size_t size) {
    for (size_t done = 0; done < size;) {
        const ssize_t count = TEMP_FAILURE_RETRY(read(0, static_cast<char *>(into) + done, size - done));
        if (count <= 0) return false;
        done += count;
    }
    return true;
}

bool write_all(const void *from, size_t size) {
    for (size_t done = 0; done < size;) {
        const ssize_t count = TEMP_FAILURE_RETRY(write(1, static_cast<const char *>(from) + done, size - done));
        if (count <= 0) return false;
        done += count;
    }
    return true;
}

std::vector<cobjects_point> find_points(cv::Ptr<cv::ORB> &orb, const cv::Mat &luma, const cv::Mat &mask) {
    std::vector<cv::KeyPoint> found;
    cv::Mat descriptors;
    orb->detectAndCompute(luma, mask, found, descriptors);
    std::vector<cobjects_point> points;
    for (size_t i = 0; i < found.size() && i < COBJECTS_MAX_POINTS; i++) {
        const cv::KeyPoint &point = found[i];
        cobjects_point out = {point.pt.x, point.pt.y, point.size, point.angle, {}};
        std::memcpy(out.descriptor, descriptors.ptr(static_cast<int>(i)), sizeof out.descriptor);
        points.push_back(out);
    }
    return points;
}

/// Leaves this process nothing but computing and replying: no files, no network, no other programs.
bool restrict_calls() {
    static const int allowed[] = {
        SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(close), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(mmap),
        SCMP_SYS(munmap), SCMP_SYS(mprotect), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(futex),
        SCMP_SYS(getrandom), SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(getpid), SCMP_SYS(gettid),
        SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(sysinfo), SCMP_SYS(rt_sigaction),
        SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(tgkill), SCMP_SYS(rseq),
        SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group),
    };
    scmp_filter_ctx filter;
    int result = cseccomp_begin(&filter, allowed, sizeof allowed / sizeof *allowed);
    if (result == 0) result = seccomp_load(filter);
    seccomp_release(filter);
    return result == 0;
}
}  // namespace

int main() try {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    // A picture is too small to be shared between threads.
    cv::setNumThreads(1);
    cv::Ptr<cv::ORB> orb = cv::ORB::create(COBJECTS_MAX_POINTS - 56, scale_step, levels, margin, 0, 2,
                                           cv::ORB::HARRIS_SCORE, patch_size, corner_contrast);
    // What OpenCV reads of the system when it is first used, it reads now.
    find_points(orb, cv::Mat(64, 64, CV_8UC1, cv::Scalar(0)), cv::Mat(64, 64, CV_8UC1, cv::Scalar(255)));
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)  // the sanitizers need more system calls
    if (!restrict_calls()) return 1;
#endif
    cobjects_request request;
    std::vector<uint8_t> samples;
    while (read_all(&request, sizeof request)) {
        if (request.width < 1 || request.width > COBJECTS_MAX_SIDE || request.height < 1 ||
            request.height > COBJECTS_MAX_SIDE)
            return 2;
        const size_t count = static_cast<size_t>(request.width) * request.height;
        samples.resize(2 * count);
        if (!read_all(samples.data(), samples.size())) return 2;
        const cv::Mat luma(request.height, request.width, CV_8UC1, samples.data());
        const cv::Mat mask(request.height, request.width, CV_8UC1, samples.data() + count);
        const std::vector<cobjects_point> points = find_points(orb, luma, mask);
        const cobjects_reply reply = {static_cast<int32_t>(points.size())};
        if (!write_all(&reply, sizeof reply) || !write_all(points.data(), points.size() * sizeof points[0])) return 2;
    }
    return 0;
} catch (const std::exception &) {
    return 3;
}
