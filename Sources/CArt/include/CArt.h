#ifndef GUISE_CART_H
#define GUISE_CART_H
// Pictures by librsvg, cairo and libjpeg-turbo behind a small C interface.
#include <stddef.h>
#include <stdint.h>
#include <turbojpeg.h>
#endif
