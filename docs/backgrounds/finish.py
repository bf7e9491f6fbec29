"""Takes the noise out of a rendered background, which is out of focus anyway, and writes it as a JPEG:
finish.py IN.png OUT.jpg SOFTNESS [WIDTH]. Softness is in pixels of a picture that is 1280 wide. Needs OpenCV's Python
module."""

import sys

import cv2
import numpy

picture = cv2.imread(sys.argv[1]).astype(numpy.float32)
width = int(sys.argv[4]) if len(sys.argv) > 4 else 1600
# Brighter spots than anything around them are samples of light that went astray.
median = cv2.medianBlur(picture, 3)
picture = numpy.where(picture > 1.25 * median + 8, median, picture)
# Strong edges keep more of their sharpness than a plain blur would leave them.
scale = picture.shape[1] / 1280
picture = cv2.bilateralFilter(picture, 0, 26, 2 * float(sys.argv[3]) * scale)
picture = cv2.GaussianBlur(picture, (0, 0), float(sys.argv[3]) * scale)
picture = cv2.resize(picture, (width, width * 9 // 16), interpolation=cv2.INTER_CUBIC)
# A little grain, as a camera has it, also keeps gradients from showing steps.
random = numpy.random.default_rng(5)
picture += random.normal(0, 1.2, picture.shape[:2] + (1,)) + random.normal(0, 0.7, picture.shape)
picture = numpy.clip(picture + 0.5, 0, 255).astype(numpy.uint8)
cv2.imwrite(sys.argv[2], picture, [cv2.IMWRITE_JPEG_QUALITY, 91, cv2.IMWRITE_JPEG_OPTIMIZE, 1])
