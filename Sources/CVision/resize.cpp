#include "CVision.h"

#include <cstdio>
#include <opencv2/imgproc.hpp>

static int fail(char *error, size_t size, const char *text) {
    if (error && size) std::snprintf(error, size, "%s", text);
    return -1;
}

static cv::Mat mat(const cvision_plane &plane) {
    return cv::Mat(plane.height, plane.width, CV_8UC1, plane.samples, plane.stride);
}

int cvision_resize(struct cvision_plane source, struct cvision_plane target, char *error, size_t error_size) try {
    cv::Mat out = mat(target);
    // INTER_AREA only for half the size or less: above that, two samples per side are all there is to average, and
    // INTER_AREA takes five times as long.
    const bool small = 2 * target.width <= source.width || 2 * target.height <= source.height;
    cv::resize(mat(source), out, out.size(), 0, 0, small ? cv::INTER_AREA : cv::INTER_LINEAR);
    return 0;
} catch (const std::exception &e) {
    return fail(error, error_size, e.what());
} catch (...) {
    return fail(error, error_size, "unknown failure");
}

int cvision_warp(struct cvision_plane source, struct cvision_plane target, const double map[6], int keep, char *error,
                 size_t error_size) try {
    cv::Mat out = mat(target);
    const cv::Mat matrix(2, 3, CV_64F, const_cast<double *>(map));
    cv::warpAffine(mat(source), out, matrix, out.size(), cv::INTER_LINEAR | cv::WARP_INVERSE_MAP,
                   keep ? cv::BORDER_TRANSPARENT : cv::BORDER_REPLICATE);
    return 0;
} catch (const std::exception &e) {
    return fail(error, error_size, e.what());
} catch (...) {
    return fail(error, error_size, "unknown failure");
}

int cvision_turn(struct cvision_plane source, struct cvision_plane target, int quarters, int mirror, char *error,
                 size_t error_size) try {
    cv::Mat out = mat(target);
    // A transposition if needed, then a horizontal flip, a vertical one, both or none.
    const bool isAcross = quarters == 1 || quarters == 3;
    const bool isUpsideDown = quarters >= 2;
    const bool isReversed = (quarters == 1 || quarters == 2) != (mirror != 0);
    if (isAcross) cv::transpose(mat(source), out);
    const cv::Mat from = isAcross ? out : mat(source);
    if (isReversed || isUpsideDown)
        cv::flip(from, out, isReversed && isUpsideDown ? -1 : isReversed ? 1 : 0);
    else if (!isAcross)
        from.copyTo(out);
    return 0;
} catch (const std::exception &e) {
    return fail(error, error_size, e.what());
} catch (...) {
    return fail(error, error_size, "unknown failure");
}
