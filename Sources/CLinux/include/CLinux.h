#ifndef GUISE_CLINUX_H
#define GUISE_CLINUX_H
#include "process.h"  // child processes
// Kernel and C library text that Swift's Glibc module does not show. Each line says what it is for.
#include <linux/videodev2.h>  // V4L2 structures
#include <sys/eventfd.h>      // waking the frame loop
#include <sys/signalfd.h>     // SIGINT and SIGTERM as a descriptor
#include <libv4lconvert.h>    // camera formats that are not ours
#endif
