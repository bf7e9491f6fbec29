#include "COpenCVReference.h"

#include <opencv2/imgproc.hpp>

int opencv_reference_resize(const uint8_t *source, int width, int height, size_t stride, uint8_t *target,
                            int target_width, int target_height) try {
    // OpenCV takes const pictures through a non-const header; it does not write to them.
    const cv::Mat in(height, width, CV_8UC1, const_cast<uint8_t *>(source), stride);
    cv::Mat out(target_height, target_width, CV_8UC1, target);
    const bool small = 2 * target_width <= width || 2 * target_height <= height;
    cv::resize(in, out, out.size(), 0, 0, small ? cv::INTER_AREA : cv::INTER_LINEAR);
    return 0;
} catch (...) {
    return -1;
}

int opencv_reference_warp(const uint8_t *source, int width, int height, size_t stride, const double map[6],
                          uint8_t *target, int target_width, int target_height) try {
    const cv::Mat in(height, width, CV_8UC1, const_cast<uint8_t *>(source), stride);
    cv::Mat out(target_height, target_width, CV_8UC1, target);
    const cv::Mat matrix(2, 3, CV_64F, const_cast<double *>(map));
    cv::warpAffine(in, out, matrix, out.size(), cv::INTER_LINEAR | cv::WARP_INVERSE_MAP, cv::BORDER_TRANSPARENT);
    return 0;
} catch (...) {
    return -1;
}
