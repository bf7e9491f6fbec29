#include "COpenCVReference.h"

#include <cstdio>
#include <memory>
#include <opencv2/objdetect.hpp>
#include <vector>

struct opencv_reference_cascade {
    cv::CascadeClassifier classifier;
    // Kept between calls, so that a search does not reallocate them.
    std::vector<cv::Rect> boxes;
    std::vector<int> counts;
    std::vector<double> sums;
};

// One thread, like the tracker. Before any other thread runs: OpenCV replaces its pool of threads without a lock, which
// ended the tests when another one was scaling meanwhile.
[[maybe_unused]] static const bool has_one_thread = (cv::setNumThreads(1), true);

static void say(char *error, size_t size, const char *text) {
    if (error && size) std::snprintf(error, size, "%s", text);
}

struct opencv_reference_cascade *opencv_reference_cascade_open(const char *path, char *error, size_t error_size) try {
    auto cascade = std::make_unique<opencv_reference_cascade>();
    if (!cascade->classifier.load(path)) {
        say(error, error_size, "not a cascade that OpenCV can read");
        return nullptr;
    }
    return cascade.release();
} catch (const std::exception &e) {
    say(error, error_size, e.what());
    return nullptr;
} catch (...) {
    say(error, error_size, "unknown failure");
    return nullptr;
}

void opencv_reference_cascade_close(struct opencv_reference_cascade *cascade) { delete cascade; }

int opencv_reference_cascade_windows(struct opencv_reference_cascade *cascade, const uint8_t *luma, int width,
                                     int height, size_t stride, double step, int min_size, int max_size,
                                     struct opencv_reference_window *windows, int capacity, char *error,
                                     size_t error_size) try {
    // OpenCV takes const pictures through a non-const header; it does not write to them.
    const cv::Mat picture(height, width, CV_8UC1, const_cast<uint8_t *>(luma), stride);
    cascade->classifier.detectMultiScale(picture, cascade->boxes, cascade->counts, cascade->sums, step, 0, 0,
                                         cv::Size(min_size, min_size), cv::Size(max_size, max_size), true);
    const int n = std::min<int>(capacity, cascade->boxes.size());
    for (int i = 0; i < n; i++) {
        const cv::Rect &box = cascade->boxes[i];
        windows[i] = {box.x, box.y, box.width, box.height, cascade->sums[i]};
    }
    return n;
} catch (const std::exception &e) {
    say(error, error_size, e.what());
    return -1;
} catch (...) {
    say(error, error_size, "unknown failure");
    return -1;
}
